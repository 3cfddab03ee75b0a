"""What is still found if only what was extracted is kept: `python -m benchmarks.through_extraction
[--data FOLDER] [--limit N]`.

The LoCoMo questions of `benchmarks.quality`, asked of a vault with every turn and of vaults with
less: what the rules keep, and what simpler rules would keep in as much room. A turn is found if a
memory that came from it is among the first results. A memory that stands for several turns (they
said the same) takes a place for each of them, as in `benchmarks.quality`; two memories of one turn
take two places and find it once.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby
from pathlib import Path
from statistics import fmean
from time import perf_counter
from typing import Any

from benchmarks import datasets, extraction
from benchmarks.datasets import Document, Question, Store
from benchmarks.quality import AskingClock, scored
from benchmarks.tables import PAGE, Table, rewrite
from benchmarks.timing import machine
from muisti import Extracted, Memory, Muisti, Utterance, bootstrap

RESULTS = Path(__file__).parent / "results" / "through_extraction.json"
FIGURES = ("recall@5", "recall@10", "any@10", "all@10")
SIZES = ("memories", "content", "files", "index")
CATEGORIES = {1: "several turns", 2: "time", 3: "open", 4: "one turn", 5: "adversarial"}
"""LoCoMo's kinds of question: multi-hop, temporal, open-domain, single-hop and those with a false
premise.
"""
WHOLE = "every turn"
ROOM = 2000
"""Letters, which is about what ten turns take."""
Found = dict[str, Any]


@dataclass(frozen=True)
class Conversation:
    """One conversation with the questions asked of it, and what the rules keep of it."""

    store: Store
    categories: tuple[str, ...]
    """Of each question."""
    kept: tuple[tuple[Document, Extracted], ...]
    """With the turn that it came from."""

    @property
    def evidence(self) -> frozenset[str]:
        return frozenset(key for question in self.store.questions for key in question.gold)


def conversations(folder: Path, limit: int | None) -> list[Conversation]:
    stores = datasets.locomo(folder)[:limit]
    items = json.loads((folder / "locomo_dev.json").read_text("utf-8"))[:limit]
    with (
        tempfile.TemporaryDirectory(prefix="muisti-extractor-") as empty,
        Muisti.open(empty) as memory,
    ):
        return [
            Conversation(store, tuple(_categories(item, store)), tuple(_kept(memory, store)))
            for item, store in zip(items, stores, strict=True)
        ]


def _categories(item: dict[str, Any], store: Store) -> list[str]:
    """In the order of the store's questions, which lacks those whose evidence is not in the talk."""
    known = {document.key for document in store.documents}
    asked = [
        (qa, {turn for entry in qa.get("evidence") or () for turn in datasets._turn_ids(entry)})
        for qa in item["qa"]
    ]
    return [CATEGORIES[qa["category"]] for qa, gold in asked if gold & known]


def _kept(memory: Muisti, store: Store) -> Iterable[tuple[Document, Extracted]]:
    """What the rules keep of each session, as `muisti extract` does.

    A memory does not say which turn it came from. But they come in the order of the talk, so those
    that a session has more of when it is one turn longer came from that turn.
    """
    for session in _sessions(store):
        talk = _talk(session, store)
        counts = [len(memory.extract(talk[:length])) for length in range(len(talk) + 1)]
        found = memory.extract(talk)
        for place, document in enumerate(session):
            of_turn = found[counts[place] : counts[place + 1]]
            yield from (
                (document, one) for one in of_turn if one.importance >= extraction.THRESHOLD
            )


def _sessions(store: Store) -> list[list[Document]]:
    return [
        list(session)
        for _, session in groupby(store.documents, key=lambda document: document.group)
    ]


def _talk(session: Sequence[Document], store: Store) -> list[Utterance]:
    speakers = {document.text.partition(": ")[0] for document in store.documents}
    talk = []
    for document in session:
        speaker, _, text = document.text.partition(": ")
        talk.append(
            Utterance(
                text, speaker, at=session[0].at, addressee=next(iter(speakers - {speaker}), "")
            )
        )
    return talk


# Ways to fill a vault: each answers the memories with the turns that they came from ---------------

Kept = list[tuple[Memory, str]]


def every_turn(memory: Muisti, talk: Conversation, *, of_session: bool = True) -> Kept:
    """As `benchmarks.quality` does it."""
    return _saved(
        memory,
        ((document, document.text) for document in talk.store.documents),
        of_session=of_session,
    )


def extracted(memory: Muisti, talk: Conversation, *, of_session: bool = True) -> Kept:
    """Session by session and as of its beginning, as `muisti extract --save --at … --session …`
    does it.
    """
    kept: Kept = []
    for session, group in groupby(talk.kept, key=lambda pair: pair[0].group):
        pairs = list(group)
        began = next(document.at for document in talk.store.documents if document.group == session)
        saved = memory.save_extracted(
            [one for _, one in pairs], session_id=session if of_session else None, said_at=began
        )
        kept += [(one, document.key) for (document, _), one in zip(pairs, saved, strict=True)]
    return kept


def first_person(memory: Muisti, talk: Conversation) -> Kept:
    """The longest sentences with "I" or "we" in them, as many as the rules keep memories."""
    sessions = [
        list(zip([d.key for d in one], _talk(one, talk.store), strict=True))
        for one in _sessions(talk.store)
    ]
    said = extraction.first_person(
        extraction.Talk(talk.store.name, tuple(map(tuple, sessions)), ())
    )
    pairs = [
        (document, f"{document.text.partition(': ')[0]}: {sentence}")
        for document in talk.store.documents
        for sentence in said[document.key]
    ]
    longest = sorted(range(len(pairs)), key=lambda place: (-len(pairs[place][1]), place))[
        : len(talk.kept)
    ]
    return _saved(memory, (pairs[place] for place in sorted(longest)))


def longest_turns(memory: Muisti, talk: Conversation) -> Kept:
    """Whole turns, the longest first, until they are as many bytes as what the rules keep."""
    room = sum(_bytes(one.content) for _, one in talk.kept)
    chosen = set()
    for document in sorted(talk.store.documents, key=lambda document: -len(document.text)):
        room -= _bytes(document.text)
        if room < 0:
            break
        chosen.add(document.key)
    return _saved(
        memory,
        ((document, document.text) for document in talk.store.documents if document.key in chosen),
    )


def _saved(
    memory: Muisti, pairs: Iterable[tuple[Document, str]], *, of_session: bool = True
) -> Kept:
    chosen = list(pairs)
    saved = memory.save_batch(
        {
            "content": text,
            "created_at": document.at,
            "session_id": document.group if of_session else None,
        }
        for document, text in chosen
    )
    return [(one, document.key) for (document, _), one in zip(chosen, saved, strict=True)]


WAYS: Mapping[str, Callable[[Muisti, Conversation], Kept]] = {
    WHOLE: every_turn,
    "every turn, no session": lambda memory, talk: every_turn(memory, talk, of_session=False),
    "extracted": extracted,
    "extracted, no session": lambda memory, talk: extracted(memory, talk, of_session=False),
    "first-person sentences, as many": first_person,
    "longest turns, as many bytes": longest_turns,
}

# Figures ------------------------------------------------------------------------------------------


class Vault:
    """A vault filled in one way, which can be asked."""

    def __init__(
        self, talk: Conversation, fill: Callable[[Muisti, Conversation], Kept], root: Path
    ) -> None:
        self._talk = talk
        clock = AskingClock(max(document.at for document in talk.store.documents))
        self.memory: Muisti = bootstrap.open(root, clock=clock, settings={"record_recall": False})
        turns: dict[str, dict[str, None]] = defaultdict(dict)
        for memory, key in fill(self.memory, talk):
            turns[memory.id][key] = None
        self.memory.reindex_missing()
        self._stands_for = {id_: tuple(keys) for id_, keys in turns.items()}

    @property
    def turns(self) -> frozenset[str]:
        """Those that a memory stands for."""
        return frozenset(key for keys in self._stands_for.values() for key in keys)

    def asked(self, question: Question) -> dict[str, float]:
        """The figures of one question, and how much text its first ten results are."""
        found = [
            result.memory
            for result in self.memory.search(question.text, limit=10, asked_at=question.at)
        ]
        more = [
            result.memory
            for result in self.memory.search(question.text, limit=50, asked_at=question.at)
        ]
        length = list(accumulate(len(memory.content) for memory in more))
        fitting = self._keys(
            memory for memory, end in zip(more, length, strict=True) if end <= ROOM
        )
        figures = scored(question.gold, self._keys(found))
        return {
            **{name: figures[name] for name in FIGURES},
            "in_room": len(question.gold.intersection(fitting)) / len(question.gold),
            "possible": len(question.gold & self.turns) / len(question.gold),
            "letters": float(sum(len(memory.content) for memory in found)),
        }

    def _keys(self, memories: Iterable[Memory]) -> list[str]:
        return [key for memory in memories for key in self._stands_for[memory.id]]

    def sizes(self) -> dict[str, int]:
        """In bytes, but for the number of memories. Closes the vault: only then is everything in
        its files.
        """
        kept = self.memory.list(limit=None, project="*")
        self.memory.close()
        files = [path for path in self.memory.root.rglob("*") if path.is_file()]
        index = sum(
            path.stat().st_size
            for path in files
            if ".muisti" in path.relative_to(self.memory.root).parts
        )
        return {
            "memories": len(kept),
            "content": sum(_bytes(one.content) for one in kept),
            "files": sum(path.stat().st_size for path in files) - index,
            "index": index,
        }


def _bytes(text: str) -> int:
    return len(text.encode())


def run(folder: Path, limit: int | None, ways: Sequence[str]) -> Found:
    """Every figure, as one dictionary of plain values."""
    began = perf_counter()
    talks = conversations(folder, limit)
    turns = [document for talk in talks for document in talk.store.documents]
    found: Found = {
        "machine": machine(),
        "conversations": len(talks),
        "turns": len(turns),
        "questions": sum(len(talk.store.questions) for talk in talks),
        "evidence_turns": sum(len(talk.evidence) for talk in talks),
        "extracting_seconds": round(perf_counter() - began, 1),
        "ways": {},
    }
    for way in ways:
        print(f"{way} …", file=sys.stderr)
        found["ways"][way] = _measured(talks, WAYS[way])
    return found | {"seconds": round(perf_counter() - began, 1)}


def _measured(talks: Sequence[Conversation], fill: Callable[[Muisti, Conversation], Kept]) -> Found:
    began = perf_counter()
    answers: dict[str, list[dict[str, float]]] = defaultdict(list)
    sizes = dict.fromkeys(SIZES, 0)
    lacking = 0
    for talk in talks:
        with tempfile.TemporaryDirectory(prefix="muisti-through-") as root:
            vault = Vault(talk, fill, Path(root) / "vault")
            for question, category in zip(talk.store.questions, talk.categories, strict=True):
                answers[category].append(vault.asked(question))
            lacking += len(talk.evidence - vault.turns)
            sizes = {name: size + sizes[name] for name, size in vault.sizes().items()}
    return {
        **_means([one for of_category in answers.values() for one in of_category]),
        **sizes,
        "evidence_turns_without_memory": lacking,
        "categories": {
            name: _means(answers[name]) for name in CATEGORIES.values() if name in answers
        },
        "seconds": round(perf_counter() - began, 1),
    }


def _means(answers: Sequence[dict[str, float]]) -> Found:
    return {name: fmean(one[name] for one in answers) for name in answers[0]} | {
        "questions": len(answers)
    }


# Tables -------------------------------------------------------------------------------------------


def tables(found: Found) -> list[Table]:
    return [_recall(found), _categorised(found), _sized(found)]


def _recall(found: Found) -> Table:
    whole = found["ways"].get(WHOLE)
    rows = [
        (
            way,
            *(f"{row[name]:.3f}" for name in FIGURES),
            f"{row['recall@10'] - whole['recall@10']:+.3f}" if whole else "",
            f"{row['in_room']:.3f}",
            f"{row['possible']:.3f}",
            f"{row['evidence_turns_without_memory'] / found['evidence_turns']:.1%}",
            f"{row['letters']:,.0f}",
        )
        for way, row in found["ways"].items()
    ]
    head = (
        "kept",
        *FIGURES,
        "recall@10 lost",
        "in equal room",
        "possible",
        "evidence without a memory",
        "letters of the ten",
    )
    note = (
        f"{found['questions']:,} questions on {found['turns']:,} turns, {found['evidence_turns']:,} of which are evidence. In equal "
        f"room: the recall of the first {ROOM:,} letters of results. Possible: if everything that is kept were found. Letters: of the "
        "first ten results together."
    )
    return Table("through-extraction", "What is found if less is kept", head, tuple(rows), note)


def _categorised(found: Found) -> Table:
    names = [
        name
        for name in CATEGORIES.values()
        if any(name in row["categories"] for row in found["ways"].values())
    ]
    head = ("kept", *(f"{name}, @{k}" for name in names for k in (5, 10)))
    rows = [
        (way, *(f"{row['categories'][name][f'recall@{k}']:.3f}" for name in names for k in (5, 10)))
        for way, row in found["ways"].items()
    ]
    counts = {
        name: row["categories"][name]["questions"]
        for row in found["ways"].values()
        for name in names
    }
    note = f"Questions: {', '.join(f'{name} {count}' for name, count in counts.items())}."
    return Table("through-extraction-kinds", "Recall by kind of question", head, tuple(rows), note)


def _sized(found: Found) -> Table:
    whole = found["ways"].get(WHOLE)
    rows = [
        (
            way,
            *(
                cell
                for name in SIZES
                for cell in (f"{row[name]:,}", f"{row[name] / whole[name]:.2f}" if whole else "")
            ),
        )
        for way, row in found["ways"].items()
    ]
    names = {
        "memories": "memories",
        "content": "bytes of text",
        "files": "bytes of files",
        "index": "bytes of index",
    }
    head = ("kept", *(cell for name in SIZES for cell in (names[name], "share")))
    return Table(
        "through-extraction-size",
        "What it takes",
        head,
        tuple(rows),
        "Share: of what every turn takes.",
    )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="benchmarks.through_extraction", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument(
        "--data", type=Path, default=datasets.DEFAULT_FOLDER, help="folder with the question sets"
    )
    parser.add_argument("--limit", type=int, help="only so many conversations")
    parser.add_argument("--ways", nargs="*", choices=WAYS, default=[*WAYS], help="only these")
    parser.add_argument(
        "--json", type=Path, help=f"where the figures go; of a whole run, to {RESULTS.name}"
    )
    parser.add_argument(
        "--markdown", action="store_true", help=f"rewrite the tables in {PAGE.name}"
    )
    options = parser.parse_args(arguments)
    absent = datasets.missing(options.data, ["locomo_dev.json"])
    if absent:
        print(
            "\n".join([*absent, "skipped: put the file into one folder and name it with --data"]),
            file=sys.stderr,
        )
        return 0
    found = run(options.data, options.limit, options.ways)
    made = tables(found)
    print("\n\n".join(table.text() for table in made))
    print(f"\n{found['seconds']:.0f} s")
    is_whole = options.limit is None and len(options.ways) == len(WAYS)
    if target := options.json or (RESULTS if is_whole else None):
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(json.dumps(found, indent=2, ensure_ascii=False) + "\n", "utf-8")
    if options.markdown:
        rewrite(PAGE, {table.name: table.markdown() for table in made})
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
