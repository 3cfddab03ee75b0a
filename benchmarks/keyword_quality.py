"""How well keyword search finds what was said: `python -m benchmarks.keyword_quality [--data FOLDER]`.

Goes through the public interface only: a vault in a temporary folder, `save_batch`, `search`. No option
is set that a plain `Muisti.open` would not have, but for the clock (questions are asked at their date) and
the notes of what was recalled, which would only cost time.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from benchmarks import datasets
from benchmarks.datasets import Store
from benchmarks.tables import PAGE, Table, rewrite
from muisti import Muisti
from muisti.bootstrap import open_vault

DEPTH = 100
"""How many memories a session is looked for in; users see ten."""
RESULTS = Path(__file__).parent / "results" / "keyword_quality.json"
FIGURES = ("recall@5", "recall@10", "any@10", "all@10")
Ranking = list[str]

PLAIN: dict[str, dict[str, float]] = {
    # BM25 with stop words and stemming, measured with an independent script (the data's README).
    "LoCoMo dev, turn": dict(zip(FIGURES, (0.562, 0.643, 0.693, 0.602), strict=True)),
    "LoCoMo dev, session": dict(zip(FIGURES, (0.880, 0.943, 0.971, 0.909), strict=True)),
    "LongMemEval dev pooled, turn": dict(zip(FIGURES, (0.558, 0.662, 0.782, 0.538), strict=True)),
    "LongMemEval dev pooled, session": dict(zip(FIGURES, (0.757, 0.826, 0.887, 0.752), strict=True)),
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
        self.memory: Muisti = open_vault(folder / store.name, clock=self._clock, arguments={"record_recall": False})
        self.groups = {document.key: document.group for document in store.documents}
        saved = self.memory.save_batch({"content": d.text, "created_at": d.at, "session_id": d.group} for d in store.documents)
        # Texts that are equal become one memory: it stands for all of their documents, each of which takes a place.
        self.stands_for: dict[str, list[str]] = defaultdict(list)
        for document, memory in zip(store.documents, saved, strict=True):
            self.stands_for[memory.id].append(document.key)

    def ranking(self, question: datasets.Question, limit: int) -> Ranking:
        """Keys of documents, best first."""
        self._clock.at = question.at
        found = self.memory.search(question.text, limit=limit)
        return [key for result in found for key in self.stands_for[result.memory.id]]


def scored(gold: frozenset[str], ranking: Sequence[str]) -> dict[str, float]:
    """The figures for one question."""
    first = {k: len(gold.intersection(ranking[:k])) / len(gold) for k in (5, 10)}
    return {"recall@5": first[5], "recall@10": first[10], "any@10": float(first[10] > 0), "all@10": float(first[10] == 1)}


def folded(ranking: Sequence[str], groups: dict[str, str]) -> Ranking:
    """Turns as sessions, by first appearance."""
    return list(dict.fromkeys(groups[key] for key in ranking))


def measured(stores: Sequence[Store], *, sessions: bool) -> list[dict[str, float]]:
    """Mean figures over all questions: of documents and, if asked, of their sessions."""
    totals: list[list[dict[str, float]]] = [[], []]
    with tempfile.TemporaryDirectory(prefix="muisti-quality-") as folder:
        for store in stores:
            asked = Asked(store, Path(folder))
            with asked.memory:
                for question in store.questions:
                    totals[0].append(scored(question.gold, asked.ranking(question, 10)))
                    if sessions:
                        gold = frozenset(asked.groups[key] for key in question.gold)
                        totals[1].append(scored(gold, folded(asked.ranking(question, DEPTH), asked.groups)))
    return [
        {f: sum(one[f] for one in total) / len(total) for f in FIGURES} | {"questions": len(total)} for total in totals if total
    ]


def run(folder: Path) -> dict[str, dict[str, float]]:
    """All sets that are there."""
    found: dict[str, dict[str, float]] = {}
    if (folder / "locomo_dev.json").is_file():
        found["LoCoMo dev, turn"], found["LoCoMo dev, session"] = measured(datasets.locomo(folder), sessions=True)
    if (folder / "longmemeval_dev.json").is_file():
        pooled = [datasets.longmemeval(folder)]
        found["LongMemEval dev pooled, turn"], found["LongMemEval dev pooled, session"] = measured(pooled, sessions=True)
    for language in ("en", "ru", "zh"):
        if (folder / f"xquad.{language}.json").is_file():
            found[f"XQuAD {language}"] = measured([datasets.xquad(folder, language)], sessions=False)[0]
    return found


def table(found: dict[str, dict[str, float]]) -> Table:
    """Ours, and in brackets the difference to plain BM25."""
    rows = []
    for name, figures in found.items():
        plain = PLAIN.get(name, {})
        shown = [f"{figures[f]:.3f}" + (f" ({figures[f] - plain[f]:+.3f})" if f in plain else "") for f in FIGURES]
        rows.append((name, f"{figures['questions']:,.0f}", *shown))
    note = "In brackets: the difference to plain BM25 with stop words and stemming. For XQuAD, recall@k is hit@k."
    return Table("keyword-quality", "Keyword search", ("set", "questions", *FIGURES), tuple(rows), note)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.keyword_quality", description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--data", type=Path, default=datasets.DEFAULT_FOLDER, help="folder with the question sets")
    parser.add_argument("--json", type=Path, default=RESULTS, help="where the figures go")
    parser.add_argument("--markdown", action="store_true", help=f"rewrite the table in {PAGE.name}")
    options = parser.parse_args(arguments)
    for line in datasets.missing(options.data, list(datasets.HOW_TO_GET)):
        print(line, file=sys.stderr)
    found = run(options.data)
    if not found:
        print("nothing to measure: put the files into one folder and name it with --data", file=sys.stderr)
        return 1
    shown = table(found)
    print(shown.text())
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(found, indent=2), "utf-8")
    if options.markdown:
        rewrite(PAGE, {shown.name: shown.markdown()})
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
