"""How well it finds what was said: `python -m benchmarks.quality [--data FOLDER] [--ablations]
[--vaults FOLDER]`.

Goes through the public interface only: a vault, `save_batch`, `search`. No option is set that a
plain `Muisti.open` would not have, but for the clock (questions are asked at their date) and the
notes of what was recalled, which would only cost time. Each mode of search is measured, and hybrid
search without each of its signals in turn.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from datetime import datetime
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from benchmarks import datasets
from benchmarks.chart import CHART, drawn
from benchmarks.datasets import Store
from benchmarks.tables import PAGE, Table, rewrite
from muisti import Muisti, bootstrap
from muisti.recall import features, neighbours, query

DEPTH = 100
"""How many memories a session is looked for in; users see ten."""
RESULTS = Path(__file__).parent / "results" / "quality.json"
FIGURES = ("recall@5", "recall@10", "any@10", "all@10", "all@5")
Ranking = list[str]

PLAIN: dict[str, dict[str, float]] = {
    # BM25 with stop words and stemming, measured with an independent script (the data's README).
    "LoCoMo dev, turn": dict(zip(FIGURES, (0.562, 0.643, 0.693, 0.602), strict=False)),
    "LoCoMo dev, session": dict(zip(FIGURES, (0.880, 0.943, 0.971, 0.909), strict=False)),
    "LongMemEval dev pooled, turn": dict(zip(FIGURES, (0.558, 0.662, 0.782, 0.538), strict=False)),
    "LongMemEval dev pooled, session": dict(
        zip(FIGURES, (0.757, 0.826, 0.887, 0.752, 0.664), strict=False)
    ),
    "XQuAD ru": {"recall@5": 0.916, "recall@10": 0.935},
    "XQuAD zh": {"recall@5": 0.121},
}


class AskingClock:
    """Time as the question has it."""

    def __init__(self, at: datetime) -> None:
        self.at = at

    def now(self) -> datetime:
        return self.at


class Asked:
    """A vault with one store's documents in it."""

    def __init__(self, store: Store, folder: Path) -> None:
        self._clock = AskingClock(max(document.at for document in store.documents))
        self.memory: Muisti = bootstrap.open(
            folder / store.name, clock=self._clock, settings={"record_recall": False}
        )
        self.groups = {document.key: document.group for document in store.documents}
        # Texts that are equal become one memory: it stands for all of their documents, each of
        # which takes a place.
        self.stands_for: dict[str, list[str]] = defaultdict(list)
        saved = self._saved(store)
        for document, memory in zip(store.documents, saved, strict=True):
            self.stands_for[memory].append(document.key)

    def _saved(self, store: Store) -> list[str]:
        """The memories' ids; those of an earlier run, if the vault is kept."""
        noted = self.memory.root / "ids.json"
        if noted.is_file():
            ids: list[str] = json.loads(noted.read_text("utf-8"))
        else:
            saved = self.memory.save_batch(
                {"content": d.text, "created_at": d.at, "session_id": d.group}
                for d in store.documents
            )
            ids = [memory.id for memory in saved]
            noted.write_text(json.dumps(ids), "utf-8")
        self.memory.reindex_missing()
        return ids

    def ranking(self, question: datasets.Question, limit: int, mode: str) -> Ranking:
        """Keys of documents, best first."""
        found = self.memory.search(question.text, limit=limit, mode=mode, asked_at=question.at)
        return [key for result in found for key in self.stands_for[result.memory.id]]


@contextmanager
def without(signal: str) -> Iterator[None]:
    """Hybrid search that lacks one of its signals."""
    module, name, value = SIGNALS[signal]
    kept = getattr(module, name)
    setattr(module, name, value)
    try:
        yield
    finally:
        setattr(module, name, kept)


def features_without(name: str) -> tuple[features.Feature, ...]:
    return tuple(feature for feature in features.FEATURES if feature.name != name)


SIGNALS: dict[str, tuple[ModuleType, str, object]] = {
    "neighbours": (neighbours, "score_shortness", lambda lengths, _: lengths * 0.0),
    "speaker": (features, "FEATURES", features_without("speaker")),
    "session": (features, "FEATURES", features_without("session_words")),
    "time": (query, "parse_when", lambda *_: None),
    "prior": (features, "FEATURES", features_without("prior")),
}
MODES = ("keyword", "vector", "hybrid")


def scored(gold: frozenset[str], ranking: Sequence[str]) -> dict[str, float]:
    """The figures for one question."""
    first = {k: len(gold.intersection(ranking[:k])) / len(gold) for k in (5, 10)}
    return {
        "recall@5": first[5],
        "recall@10": first[10],
        "any@10": float(first[10] > 0),
        "all@10": float(first[10] == 1),
        "all@5": float(first[5] == 1),
    }


def folded(ranking: Sequence[str], groups: dict[str, str]) -> Ranking:
    """Turns as sessions, by first appearance."""
    return list(dict.fromkeys(groups[key] for key in ranking))


def measured(
    stores: Sequence[Store], folder: Path, way: str, *, sessions: bool
) -> list[dict[str, float]]:
    """Mean figures over all questions, found in one way: of documents and, if asked, of their
    sessions.
    """
    mode, lacking = (
        ("hybrid", way.removeprefix("without ")) if way.startswith("without ") else (way, None)
    )
    totals: list[list[dict[str, float]]] = [[], []]
    for store in stores:
        asked = Asked(store, folder)
        with asked.memory, without(lacking) if lacking else nullcontext():
            for question in store.questions:
                totals[0].append(scored(question.gold, asked.ranking(question, 10, mode)))
                if sessions:
                    gold = frozenset(asked.groups[key] for key in question.gold)
                    totals[1].append(
                        scored(gold, folded(asked.ranking(question, DEPTH, mode), asked.groups))
                    )
    return [
        {f: sum(one[f] for one in total) / len(total) for f in FIGURES} | {"questions": len(total)}
        for total in totals
        if total
    ]


def run(folder: Path, vaults: Path, ways: Sequence[str]) -> Found:
    """All sets that are there, each in every way: set → way → figures."""
    found: Found = {}
    for name, load in SETS.items():
        if not (folder / load.file).is_file():
            continue
        stores = load.read(folder)
        for way in (
            ways if load.sessions else [way for way in ways if way in MODES]
        ):  # paragraphs have no neighbours
            print(f"{name}: {way} …", file=sys.stderr)
            figures = measured(stores, vaults / name, way, sessions=load.sessions)
            for part, one in zip(("turn", "session"), figures, strict=False):
                found.setdefault(f"{name}, {part}" if load.sessions else name, {})[way] = one
    return found


Found = dict[str, dict[str, dict[str, float]]]


class Load(NamedTuple):
    file: str
    read: Callable[[Path], Sequence[Store]]
    sessions: bool


SETS = {
    "LoCoMo dev": Load("locomo_dev.json", datasets.locomo, True),
    "LongMemEval dev pooled": Load(
        "longmemeval_dev.json", lambda folder: [datasets.longmemeval(folder)], True
    ),
    **{
        f"XQuAD {language}": Load(
            f"xquad.{language}.json", partial(datasets.xquads, language=language), False
        )
        for language in ("en", "ru", "zh")
    },
}


def table(found: Found) -> Table:
    """A row for each set and way."""
    rows = []
    for name, ways in found.items():
        if name in PLAIN:
            rows.append(
                (
                    name,
                    "plain BM25",
                    *(f"{PLAIN[name][f]:.3f}" if f in PLAIN[name] else "" for f in FIGURES),
                )
            )
        rows += [
            (name, way, *(f"{figures[f]:.3f}" for f in FIGURES)) for way, figures in ways.items()
        ]
    note = "Plain BM25: with stop words and stemming, measured by others. For XQuAD, recall@k is hit@k."
    return Table("quality", "What is found", ("set", "search", *FIGURES), tuple(rows), note)


def bars(found: Found) -> dict[str, dict[str, float]]:
    """Recall of the first ten, for the chart."""
    plain = {
        name: {"plain BM25": figures["recall@10"]}
        for name, figures in PLAIN.items()
        if "recall@10" in figures
    }
    return {
        name: plain.get(name, {}) | {way: one["recall@10"] for way, one in ways.items()}
        for name, ways in found.items()
    }


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="benchmarks.quality", description=__doc__.splitlines()[0] if __doc__ else ""
    )
    parser.add_argument(
        "--data", type=Path, default=datasets.DEFAULT_FOLDER, help="folder with the question sets"
    )
    parser.add_argument("--json", type=Path, default=RESULTS, help="where the figures go")
    parser.add_argument("--markdown", action="store_true", help=f"rewrite the table in {PAGE.name}")
    parser.add_argument(
        "--vaults",
        type=Path,
        help="keep the vaults here, and use those of an earlier run: embedding takes minutes",
    )
    parser.add_argument(
        "--ablations", action="store_true", help="also hybrid search without each of its signals"
    )
    parser.add_argument(
        "--ways",
        nargs="*",
        default=MODES,
        help="only these: keyword, vector, hybrid, 'without speaker' …",
    )
    options = parser.parse_args(arguments)
    ways = [*options.ways, *(f"without {signal}" for signal in SIGNALS if options.ablations)]
    for line in datasets.missing(options.data, list(datasets.HOW_TO_GET)):
        print(line, file=sys.stderr)
    with tempfile.TemporaryDirectory(prefix="muisti-quality-") as temporary:
        found = run(options.data, options.vaults or Path(temporary), ways)
    if not found:
        print(
            "nothing to measure: put the files into one folder and name it with --data",
            file=sys.stderr,
        )
        return 1
    shown = table(found)
    print(shown.text())
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(found, indent=2), "utf-8")
    if options.markdown:
        rewrite(PAGE, {shown.name: shown.markdown()})
        CHART.write_text(
            drawn("Recall of the first ten results", bars(found), ("plain BM25", *MODES)), "utf-8"
        )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
