"""Whether two checkouts give the same answers: `python -m benchmarks.same_answers --against
CHECKOUT [--every 5]`.

The development questions of LoCoMo and LongMemEval are asked of copies of the same vaults. The
vaults, the vectors of the questions and the answers of a checkout without changes are kept between
runs. Two lists are the same set if they differ only by results that tie with the last; they are in
the same order if only results with the same score change places.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import platformdirs

from benchmarks import datasets
from benchmarks.tables import Table
from benchmarks.workers import ROOT, Worker, serve

CACHE = Path(platformdirs.user_cache_path("muisti-bench", appauthor=False)) / "answers"
MODES = ("hybrid", "keyword")
LIMIT = 10
TIE = 1e-6
"""Scores that differ by less are equal."""
BATCH = 500
QUERIES = "queries.npz"
CHANGED = "changed"
"""Stands for the hash of a source that was not committed; such answers are not kept."""


class Hit(NamedTuple):
    """One result of a list."""

    id: str
    score: float
    why: str


class Compared(NamedTuple):
    """How two lists of results differ."""

    same_set: bool
    same_order: bool
    difference: float
    """The largest difference between two scores of one memory."""


def compare(old: Sequence[Hit], new: Sequence[Hit]) -> Compared:
    """Compare two lists of results, ties excepted."""
    before, after = ({hit.id: hit.score for hit in hits} for hits in (old, new))
    common = before.keys() & after.keys()
    same_set = len(old) == len(new) and all(
        abs(hit.score - hits[-1].score) < TIE
        for hits in (old, new)
        for hit in hits
        if hit.id not in common
    )
    same_order = same_set and all(
        hit.id not in before or abs(before[hit.id] - at_place.score) < TIE
        for hit, at_place in zip(new, old, strict=True)
    )
    difference = max((abs(before[id_] - after[id_]) for id_ in common), default=0.0)
    return Compared(same_set, same_order, difference)


# The process that asks ----------------------------------------------------------------------------


class AskingClock:
    """Time as the vault's last text has it."""

    def __init__(self, at: datetime) -> None:
        self._at = at

    def now(self) -> datetime:
        return self._at


class KnownQueries:
    """Passes everything on to an embedder, but for queries whose vectors are kept."""

    def __init__(self, inner: Any, kept: dict[str, Any]) -> None:
        self._inner = inner
        self._kept = kept

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def embed_query(self, text: str) -> Any:
        """Return the kept vector, or embed the text and keep it."""
        if text not in self._kept:
            self._kept[text] = self._inner.embed_query(text)
        return self._kept[text]


def load_queries(cache: Path) -> dict[str, Any]:
    """Return the vectors of questions that are kept, by question."""
    if not (cache / QUERIES).is_file():
        return {}
    with np.load(cache / QUERIES) as stored:
        return dict(zip(stored["texts"].tolist(), stored["vectors"], strict=True))


class AnswersWorker:
    """Builds vaults and asks them, with the muisti that PYTHONPATH names."""

    def __init__(self, cache: Path, data: Path) -> None:
        self._stores = load_stores(data)
        self._kept = cache / QUERIES
        self._queries = load_queries(cache)
        self._known = len(self._queries)
        self._memory: Any = None

    def schema(self) -> int:
        from muisti.storage.sqlite.migrations import NEWEST

        return NEWEST

    def build(self, store: str, vault: str) -> None:
        """Save the documents of a store and embed them."""
        from muisti import bootstrap

        documents = self._stores[store].documents
        shutil.rmtree(vault, ignore_errors=True)
        clock = AskingClock(max(document.at for document in documents))
        rest = iter(documents)
        with bootstrap.open(vault, clock=clock, settings={"record_recall": False}) as memory:
            while batch := list(islice(rest, BATCH)):
                memory.save_batch(
                    {"content": d.text, "created_at": d.at, "session_id": d.group} for d in batch
                )
            memory.reindex_missing()

    def copy(self, source: str, target: str) -> None:
        from benchmarks.scale_vaults import copy_vault

        copy_vault(Path(source), Path(target))

    def open(self, store: str, vault: str) -> None:
        from benchmarks.scale_vaults import GivenEmbedders
        from muisti import bootstrap
        from muisti.models.embedders.factory import make_embedder

        clock = AskingClock(max(document.at for document in self._stores[store].documents))
        self._memory = bootstrap.open(vault, clock=clock, settings={"record_recall": False})
        embedder: Any = KnownQueries(make_embedder("onnx"), self._queries)
        self._memory._services.embedders = GivenEmbedders(embedder)

    def ask(self, question: str, at: str, mode: str) -> list[tuple[str, float, str]]:
        """Return ID, score and reasons of each result."""
        asked_at = datetime.fromisoformat(at)
        found = self._memory.search(question, limit=LIMIT, mode=mode, asked_at=asked_at)
        return [(hit.memory.id, hit.score, "; ".join(map(str, hit.why))) for hit in found]

    def close(self) -> None:
        self._memory.close()
        if len(self._queries) > self._known:
            part = self._kept.with_name("part.npz")
            texts = np.array(list(self._queries))
            np.savez(part, texts=texts, vectors=np.stack(list(self._queries.values())))
            part.replace(self._kept)


# The comparison -----------------------------------------------------------------------------------


def load_stores(data: Path) -> dict[str, datasets.Store]:
    """Return the development sets by name."""
    stores = [*datasets.locomo(data), datasets.longmemeval(data)]
    return {store.name: store for store in stores}


@dataclass(frozen=True)
class Plan:
    """What is asked, and where things are kept."""

    cache: Path
    data: Path
    every: int
    stores: Sequence[str] | None = None

    def start(self, checkout: Path) -> Worker:
        """Start a process with the muisti of a checkout."""
        return Worker("same_answers", "--work", self.cache, self.data, source=checkout / "src")

    def list_questions(self) -> dict[str, tuple[datasets.Question, ...]]:
        """Return every nth question of each store, in a fixed order."""
        stores = load_stores(self.data)
        names = self.stores or list(stores)
        return {name: stores[name].questions[:: self.every] for name in names}


def find_answers(plan: Plan, checkout: Path, vaults: dict[str, Path]) -> list[Any]:
    """Return the results of a checkout for each question and mode."""
    asked = "-".join([str(plan.every), *(plan.stores or ())])
    kept = plan.cache / f"answers-{_identify(checkout)}-{asked}.json"
    if kept.is_file():
        answers: list[Any] = json.loads(kept.read_text("utf-8"))
        return answers
    answers = []
    for name, questions in plan.list_questions().items():
        _say(f"{checkout}: {name}")
        copied = plan.cache / f"copy-{os.getpid()}-{name}"
        try:
            with plan.start(checkout) as worker:
                worker.ask("copy", source=str(vaults[name]), target=str(copied))
                worker.ask("open", store=name, vault=str(copied))
                for question in questions:
                    at = {"question": question.text, "at": question.at.isoformat()}
                    answers.append([worker.ask("ask", mode=mode, **at).result for mode in MODES])
                worker.ask("close")
        finally:
            shutil.rmtree(copied, ignore_errors=True)
    if CHANGED not in kept.name:
        kept.write_text(json.dumps(answers), "utf-8")
    return answers


def _identify(checkout: Path) -> str:
    """Return the hash of the source of a checkout; `changed` if it is not that of a commit."""
    git = ["git", "-C", str(checkout)]
    commands = ([*git, "rev-parse", "HEAD:src"], [*git, "status", "--porcelain", "src"])
    try:
        tree, changes = (subprocess.check_output(one, text=True).strip() for one in commands)
    except (OSError, subprocess.CalledProcessError):
        return CHANGED
    return CHANGED if changes else tree[:12]


def build_vaults(plan: Plan, checkouts: Sequence[Path]) -> dict[str, Path]:
    """Return the kept vaults by the name of their store; build them with the older schema."""
    schemas = {}
    for checkout in set(checkouts):
        with plan.start(checkout) as worker:
            schemas[checkout] = worker.ask("schema").result
    oldest = min(schemas, key=lambda one: schemas[one])
    kept = [int(folder.name.rpartition("-")[2]) for folder in plan.cache.glob("schema-*")]
    usable = [schema for schema in kept if schema <= schemas[oldest]]
    folder = plan.cache / f"schema-{max(usable, default=schemas[oldest])}"
    folder.mkdir(parents=True, exist_ok=True)
    vaults = {name: folder / name for name in plan.list_questions()}
    with plan.start(oldest) as worker:
        for name, vault in vaults.items():
            done = folder / f"{name}.done"
            if not done.is_file():
                _say(f"embedding {name}: once, some minutes")
                worker.ask("build", store=name, vault=str(vault))
                done.touch()
    return vaults


def compare_all(
    plan: Plan, old: Sequence[Any], new: Sequence[Any]
) -> tuple[dict[str, list[Compared]], list[str]]:
    """Compare all answers by mode, and describe those that differ."""
    questions = [one for some in plan.list_questions().values() for one in some]
    compared: dict[str, list[Compared]] = {mode: [] for mode in MODES}
    differing = []
    for question, before, after in zip(questions, old, new, strict=True):
        for mode, *lists in zip(MODES, before, after, strict=True):
            was, now = ([Hit(*hit) for hit in hits] for hits in lists)
            compared[mode].append(compare(was, now))
            if not compared[mode][-1].same_order:
                differing.append(show_difference(question.text, mode, was, now))
    return compared, differing


def make_table(compared: dict[str, list[Compared]]) -> Table:
    """A row for each mode."""
    rows = []
    for mode, ones in compared.items():
        count = len(ones)
        rows.append(
            (
                mode,
                f"{count}",
                f"{sum(one.same_set for one in ones) / count:.2%}",
                f"{sum(one.same_order for one in ones) / count:.2%}",
                f"{max(one.difference for one in ones):.2g}",
            )
        )
    head = ("search", "questions", "same ten", "same order", "largest difference of a score")
    return Table("same-answers", "The same answers", head, tuple(rows))


def show_difference(question: str, mode: str, old: Sequence[Hit], new: Sequence[Hit]) -> str:
    """Return both lists where they differ, with the reasons."""
    lines = [f"{mode}: {question}"]
    for place, (before, after) in enumerate(zip(old, new, strict=False), 1):
        if before.id != after.id or abs(before.score - after.score) > TIE:
            lines.append(f"  {place:2} old {before.id} {before.score:.6f} {before.why}")
            lines.append(f"     new {after.id} {after.score:.6f} {after.why}")
    if len(old) != len(new):
        lines.append(f"  old has {len(old)} results, new has {len(new)}")
    return "\n".join(lines)


def _say(what: str) -> None:
    print(f"… {what}", file=sys.stderr, flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="benchmarks.same_answers", description=__doc__.splitlines()[0] if __doc__ else ""
    )
    parser.add_argument("--against", type=Path, help="the checkout whose answers are expected")
    parser.add_argument("--every", type=int, default=1, help="ask only each nth question")
    parser.add_argument("--stores", nargs="*", help="only these: conv-26 …, pooled")
    parser.add_argument("--cache", type=Path, default=CACHE, help="where vaults are kept")
    parser.add_argument("--show", type=int, default=5, help="how many differences are printed")
    parser.add_argument("--wanted", type=float, default=0.99, help="share with the same ten")
    parser.add_argument("--data", type=Path, default=datasets.DEFAULT_FOLDER)
    parser.add_argument("--work", nargs=2, type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.work:
        worker = AnswersWorker(*options.work)
        names = [name for name in vars(AnswersWorker) if not name.startswith("_")]
        serve({name: getattr(worker, name) for name in names})
        return 0
    files = ["locomo_dev.json", "longmemeval_dev.json"]
    if problems := datasets.missing(options.data, files):
        print("\n".join(problems), file=sys.stderr)
        return 1
    if options.against is None or not (options.against / "src" / "muisti").is_dir():
        parser.error("--against must name a checkout of muisti")
    plan = Plan(options.cache.resolve(), options.data.resolve(), options.every, options.stores)
    other = options.against.resolve()
    vaults = build_vaults(plan, [ROOT, other])
    compared, differing = compare_all(plan, *(find_answers(plan, x, vaults) for x in (other, ROOT)))
    print("\n\n".join([*differing[: options.show], make_table(compared).text()]))
    shares = [sum(one.same_set for one in ones) / len(ones) for ones in compared.values()]
    return 0 if min(shares) >= options.wanted else 1


if __name__ == "__main__":
    raise SystemExit(main())
