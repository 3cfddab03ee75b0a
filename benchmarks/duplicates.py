"""How safely memories are merged: `python -m benchmarks.duplicates [--data FOLDER] [--cosine]
[--turns]`.

What must stay apart and what must be one is made from real sentences (`pairs.py`); what people have
judged comes on top. The rule was written while looking at half A of the sentences, chosen by their
hash; half B was held back.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks import datasets, pairs
from benchmarks.tables import Table
from benchmarks.timing import interleaved, machine
from muisti.remember.similarity.contradict import find_contradiction
from muisti.remember.similarity.near_duplicate import compare
from muisti.remember.similarity.normal_form import normalize

RESULTS = Path(__file__).parent / "results" / "duplicates.json"
HALVES = ("A", "B")
MOST_APART, MOST_AGAIN = 1000, 400
LANGUAGES = (
    ("Russian", "ru", pairs.negated_in_russian),
    ("Chinese", "zh", pairs.negated_in_chinese),
)
THRESHOLDS = (0.90, 0.95, 0.97, 0.98, 0.99)
Found = dict[str, Any]
Cosines = Callable[[str, str], float | None]


def run(folder: Path, cosines: Cosines) -> Found:
    """Every figure, as one dictionary of plain values."""
    judged = {"MRPC": pairs.mrpc(folder), "STS-B": pairs.sts(folder)}
    source = pairs.sentences([pair for kind in judged.values() for pair in kind])
    halves = [[text for text in source if pairs.half(text) == number] for number in (0, 1)]
    return {
        "machine": machine(),
        "apart": {
            name: [_merged(pairs.made(maker, half, MOST_APART)) for half in halves]
            for name, maker in pairs.OTHERS.items()
        },
        "again": {
            name: [_merged(made) for made in _made_again(name, halves)]
            for name in (*pairs.AGAIN, "sentences swapped")
        },
        "languages": {name: languages(folder, code, negated) for name, code, negated in LANGUAGES},
        "judged": {
            name: [_judged(kind, number, cosines) for number in (0, 1)]
            for name, kind in judged.items()
        },
        "speed": speed(judged["MRPC"], source),
    }


def languages(folder: Path, code: str, negated: pairs.Maker) -> Found:
    """The same for another language, by what needs no knowledge of it."""
    source = pairs.foreign(document.text for document in datasets.xquad(folder, code).documents)
    makers = {
        "number": pairs.number,
        "negation": negated,
        "re-typed": pairs.retyped,
        "re-cased": pairs.recased,
    }
    return {name: _merged(pairs.made(maker, source, MOST_AGAIN)) for name, maker in makers.items()}


def _made_again(name: str, halves: Sequence[Sequence[str]]) -> list[list[tuple[str, str]]]:
    if name == "sentences swapped":
        return [pairs.sentences_swapped(half, MOST_AGAIN) for half in halves]
    return [pairs.made(pairs.AGAIN[name], half, MOST_AGAIN) for half in halves]


def _merged(made: Sequence[tuple[str, str]]) -> Found:
    merged = [pair for pair in made if compare(*pair).same]
    return {
        "pairs": len(made),
        "merged": len(merged),
        "examples": merged[:3] if len(merged) < 10 else [],
    }


def _judged(kind: Sequence[pairs.Judged], number: int, cosines: Cosines) -> Found:
    half = [pair for pair in kind if pairs.half(pair.first) == number]
    merged = [
        pair
        for pair in half
        if compare(pair.first, pair.second, cosine=cosines(pair.first, pair.second)).same
    ]
    wrong = [(pair.first, pair.second) for pair in merged if pair.same is False]
    return {
        "positives": sum(pair.same is True for pair in half),
        "negatives": sum(pair.same is False for pair in half),
        "right": sum(pair.same is True for pair in merged),
        "wrong": len(wrong),
        "examples": wrong[:5],
    }


def speed(judged: Sequence[pairs.Judged], source: Sequence[str]) -> Found:
    """Microseconds for one decision, each on texts that were never read before."""
    kinds = {
        "unrelated": [(judged[at].first, judged[at + 1].second) for at in range(800)],
        "near, refused": [(pair.first, pair.second) for pair in judged[800:1600]],
        "typo": pairs.made(pairs.typo, source, 800),
        "phrase first": pairs.made(pairs.reordered, source, 800),
    }
    compare("load everything, please", "load everythng, please")
    found = {}
    for name, made in kinds.items():
        times = interleaved({"compare": lambda pair: compare(*pair)}, made)["compare"]
        found[name] = {"p50_us": times.p50 * 1e6, "p95_us": times.p95 * 1e6}
    return found


def tables(found: Found) -> list[Table]:
    apart = [
        (name, *(f"{half['merged']} / {half['pairs']:,}" for half in halves))
        for name, halves in found["apart"].items()
    ]
    again = [
        (name, *(f"{_share(half)} of {half['pairs']}" for half in halves))
        for name, halves in found["again"].items()
    ]
    total = [_summed(found["again"], number) for number in (0, 1)]
    again.append(("all", *(f"{_share(half)} of {half['pairs']:,}" for half in total)))
    judged = [
        (f"{name}, half {letter}", *_rates(half))
        for name, halves in found["judged"].items()
        for letter, half in zip(HALVES, halves, strict=True)
    ]
    kinds = ("number", "negation", "re-typed", "re-cased")
    foreign = [
        (name, *(f"{row[kind]['merged']} / {row[kind]['pairs']}" for kind in kinds))
        for name, row in found["languages"].items()
    ]
    taken = [
        (name, f"{row['p50_us']:.0f}", f"{row['p95_us']:.0f}")
        for name, row in found["speed"].items()
    ]
    return [
        Table(
            "APART",
            "Another fact: how many were merged",
            ("What was changed", "half A", "half B (held back)"),
            tuple(apart),
        ),
        Table(
            "AGAIN",
            "The same again: share that was merged",
            ("What was changed", "half A", "half B (held back)"),
            tuple(again),
        ),
        Table(
            "LANGUAGES", "Merged, in other languages (XQuAD)", ("Language", *kinds), tuple(foreign)
        ),
        Table(
            "JUDGED",
            "Judged by people",
            ("Set", "merged right", "merged wrong", "precision", "recall"),
            tuple(judged),
        ),
        Table("TAKEN", "Microseconds for one decision", ("Pair", "p50", "p95"), tuple(taken)),
    ]


def _summed(again: dict[str, list[Found]], number: int) -> Found:
    return {
        key: sum(halves[number][key] for halves in again.values()) for key in ("pairs", "merged")
    }


def _share(half: Found) -> str:
    return f"{half['merged'] / max(1, half['pairs']):.3f}"


def _rates(half: Found) -> tuple[str, str, str, str]:
    merged = half["right"] + half["wrong"]
    precision = f"{half['right'] / merged:.3f}" if merged else "–"
    return (
        str(half["right"]),
        str(half["wrong"]),
        precision,
        f"{half['right'] / half['positives']:.3f}",
    )


# What embeddings could add ------------------------------------------------------------------------


def embedded(folder: Path) -> tuple[Cosines, Found]:
    """The cosine of any two sentences by the default model, and what a threshold on it would let
    through.
    """
    import numpy as np

    from muisti.models.embedders.factory import SettingsEmbedders
    from muisti.settings import Settings

    judged = [*pairs.mrpc(folder), *pairs.sts(folder)]
    source = pairs.sentences(judged)
    changed = {name: pairs.made(maker, source, 300) for name, maker in pairs.OTHERS.items()}
    texts = sorted(
        {*source, *(text for made in changed.values() for pair in made for text in pair)}
    )
    embedder = SettingsEmbedders(Settings())(None)
    assert embedder is not None
    vectors = np.concatenate(
        [
            np.asarray(embedder.embed_documents(texts[at : at + 64]))
            for at in range(0, len(texts), 64)
        ]
    )
    place = {text: at for at, text in enumerate(texts)}

    def cosine(first: str, second: str) -> float:
        return float(vectors[place[first]] @ vectors[place[second]])

    near = [pair for pair in judged if _one_word_differs(pair)]
    return cosine, {
        "one word exchanged or more": {
            str(least): _at_least(
                [(cosine(pair.first, pair.second), pair.same) for pair in near], least
            )
            for least in THRESHOLDS
        },
        "another fact, share at least as near": {
            name: {
                str(least): sum(cosine(*pair) >= least for pair in made) / len(made)
                for least in THRESHOLDS
            }
            for name, made in changed.items()
        },
    }


def _one_word_differs(pair: pairs.Judged) -> bool:
    differing = compare(pair.first, pair.second).differences
    figures = [
        [token for token in normalize(text).content if token[0].isdigit()]
        for text in (pair.first, pair.second)
    ]
    return len(differing) == 1 and " " not in "".join(differing[0]) and figures[0] == figures[1]


def _at_least(cosines: Sequence[tuple[float, bool | None]], least: float) -> Found:
    above = [same for cosine, same in cosines if cosine >= least and same is not None]
    return {
        "right": sum(same is True for same in above),
        "wrong": sum(same is False for same in above),
    }


def cosine_tables(found: Found) -> list[Table]:
    head = ("cosine at least", *(f"{least:.2f}" for least in THRESHOLDS))
    near = found["one word exchanged or more"]
    rows = [
        (side, *(str(near[str(least)][side]) for least in THRESHOLDS))
        for side in ("right", "wrong")
    ]
    rows += [
        (f"{name}: passes", *(f"{shares[str(least)]:.2f}" for least in THRESHOLDS))
        for name, shares in found["another fact, share at least as near"].items()
    ]
    return [
        Table(
            "COSINE",
            "If a cosine excused one word: judged pairs, and other facts that would pass",
            head,
            tuple(rows),
        )
    ]


# Contradictions -----------------------------------------------------------------------------------


def alarms(folder: Path, most: int = 2500) -> Found:
    """How many turns of real talks are said to contradict one of the four earlier turns nearest to
    them.
    """
    from rapidfuzz import fuzz, process

    found = {}
    for name, stores in (
        ("LoCoMo", datasets.locomo(folder)),
        ("LongMemEval", [datasets.longmemeval(folder)]),
    ):
        turns, clashing = 0, []
        for store in stores:
            texts = [
                doc.text.split(": ", 1)[1]
                for doc in sorted(store.documents, key=lambda doc: doc.at)
                if len(doc.text) < 1000
            ]
            for at, text in enumerate(texts[:most]):
                turns += 1
                near = process.extract(
                    text, texts[:at], scorer=fuzz.token_sort_ratio, limit=4, score_cutoff=40
                )
                clashing += [
                    (text, other) for other, _, _ in near if find_contradiction(text, other)
                ][:1]
        found[name] = {"turns": turns, "clashing": len(clashing), "examples": clashing[:5]}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=datasets.DEFAULT_FOLDER)
    parser.add_argument(
        "--cosine", action="store_true", help="embed every sentence, too: some minutes"
    )
    parser.add_argument(
        "--turns", action="store_true", help="count false contradictions in talks, too: a minute"
    )
    asked = parser.parse_args()
    cosines, about = embedded(asked.data) if asked.cosine else (lambda _first, _second: None, {})
    found = run(asked.data, cosines)
    shown = tables(found)
    if about:
        found["cosine"] = about
        shown += cosine_tables(about)
    if asked.turns:
        found["alarms"] = alarms(asked.data)
        rows = tuple(
            (name, f"{row['turns']:,}", str(row["clashing"]))
            for name, row in found["alarms"].items()
        )
        shown.append(
            Table(
                "ALARMS",
                "Turns of talks taken for contradictions",
                ("Set", "turns", "clashing"),
                rows,
            )
        )
    print("\n\n".join(table.markdown() for table in shown))
    for first, second in _examples(found):
        print(f"\nwrong: {first}\n       {second}")
    RESULTS.write_text(json.dumps(found, indent=2, ensure_ascii=False) + "\n", "utf-8")


def _examples(found: Any) -> list[tuple[str, str]]:
    """What went wrong, taken out of the figures: the data's sentences are not ours to keep in the
    repository.
    """
    if isinstance(found, list):
        return [pair for part in found for pair in _examples(part)]
    if not isinstance(found, dict):
        return []
    return [
        *found.pop("examples", ()),
        *(pair for part in found.values() for pair in _examples(part)),
    ]


if __name__ == "__main__":
    main()
