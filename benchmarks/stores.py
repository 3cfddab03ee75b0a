"""Whether PostgreSQL gives the same answers as a folder: `python -m benchmarks.stores [--every 1]
[--dsn postgresql://…] [--cache FOLDER]`.

The development questions of LoCoMo and LongMemEval are asked of the vaults of
`benchmarks.same_answers` and of the databases that these were pushed into; without `--dsn` the
server of the tests is used. Lists are compared as there. Quality is the share of the texts with the
answer that are among the ten. Times are wall time beside each other in one run: only ratios count.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks import datasets, scale_vaults
from benchmarks.postgres import name_database
from benchmarks.same_answers import (
    CACHE,
    LIMIT,
    MODES,
    AskingClock,
    Compared,
    Hit,
    KnownQueries,
    Plan,
    build_vaults,
    compare,
    load_queries,
    load_stores,
)
from benchmarks.tables import Table
from benchmarks.workers import ROOT
from muisti import Muisti, bootstrap, bootstrap_moving
from muisti.models.embedders.factory import make_embedder

NAMES = ("folder", "PostgreSQL")


class Asked:
    """What both stores answered to the questions of one set, in one mode."""

    def __init__(self) -> None:
        self.compared: list[Compared] = []
        self.recall: dict[str, list[float]] = {name: [] for name in NAMES}
        self.times: dict[str, list[float]] = {name: [] for name in NAMES}

    def make_cells(self) -> tuple[str, ...]:
        """Return the row of the table."""
        count = len(self.compared)
        recall = [statistics.mean(self.recall[name]) for name in NAMES]
        p50 = [1000 * statistics.median(self.times[name]) for name in NAMES]
        return (
            f"{count}",
            f"{sum(one.same_set for one in self.compared) / count:.2%}",
            f"{sum(one.same_order for one in self.compared) / count:.2%}",
            f"{max(one.difference for one in self.compared):.2g}",
            f"{recall[0]:.4f} / {recall[1]:.4f}",
            f"{p50[0]:.1f} / {p50[1]:.1f} ms",
        )


def ask(memory: Muisti, question: datasets.Question, mode: str) -> tuple[list[Hit], float]:
    """Return the results of a question, by their content, and how long it took."""
    start = time.perf_counter()
    found = memory.search(question.text, limit=LIMIT, mode=mode, asked_at=question.at)
    seconds = time.perf_counter() - start
    return [Hit(hit.memory.content, hit.score, "") for hit in found], seconds


def ask_store(
    store: datasets.Store, places: Sequence[Path | str], every: int, embedder: Any, asked: Any
) -> None:
    """Ask the questions of a store in both places."""
    clock = AskingClock(max(document.at for document in store.documents))
    texts = {document.key: document.text for document in store.documents}
    with ExitStack() as closing:
        vaults = []
        for place in places:
            settings: dict[str, bool] = {"record_recall": False}
            memory = bootstrap.open(place, clock=clock, settings=settings)
            memory._services.embedders = scale_vaults.GivenEmbedders(embedder)  # type: ignore[assignment]
            vaults.append(closing.enter_context(memory))
            memory.search("ready?", mode="keyword")
            database: Any = memory._services.index._db  # type: ignore[attr-defined]
            kept = database.tables if hasattr(database, "tables") else database.snapshots
            kept.wait()  # so that the questions are asked of what a server searches in
        for question in store.questions[::every]:
            gold = {texts[key] for key in question.gold}
            for mode in MODES:
                lists = []
                for name, memory in zip(NAMES, vaults, strict=True):
                    hits, seconds = ask(memory, question, mode)
                    lists.append(hits)
                    found = sum(hit.id in gold for hit in hits) / len(gold)
                    asked[mode].recall[name].append(found)
                    asked[mode].times[name].append(seconds)
                asked[mode].compared.append(compare(*lists))


def main(arguments: Sequence[str] | None = None) -> int:
    """Push the vault of each store, ask, and print a table."""
    parser = argparse.ArgumentParser(prog="benchmarks.stores", description=__doc__)
    parser.add_argument("--every", type=int, default=1, help="ask every n-th question")
    parser.add_argument("--stores", nargs="*", help="only these: conv-26 …, pooled")
    parser.add_argument("--dsn", help="a database whose owner may create others")
    parser.add_argument("--cache", type=Path, default=CACHE, help="where vaults are kept")
    options = parser.parse_args(arguments)
    plan = Plan(options.cache, datasets.DEFAULT_FOLDER, options.every, options.stores)
    vaults = build_vaults(plan, [ROOT])
    embedder: Any = KnownQueries(make_embedder("onnx"), load_queries(options.cache))
    stores = load_stores(datasets.DEFAULT_FOLDER)
    rows: dict[tuple[str, str], Asked] = {}
    for store in map(stores.__getitem__, vaults):
        name = "LongMemEval" if store.name == "pooled" else "LoCoMo"
        asked = {mode: rows.setdefault((name, mode), Asked()) for mode in MODES}
        with tempfile.TemporaryDirectory() as folder:
            vault = Path(folder) / "vault"
            scale_vaults.copy_vault(vaults[store.name], vault)
            place = make_address(options.dsn, store.name)
            bootstrap_moving.push(place, vault)
            ask_store(store, (vault, place), options.every, embedder, asked)
    head = (
        "questions", "mode", "number", "same ten", "same order", "largest difference",
        "recall@10", "p50",
    )  # fmt: skip
    cells = tuple((*key, *one.make_cells()) for key, one in rows.items())
    note = "Recall and time: folder / PostgreSQL."
    print(Table("stores", "The same answers on both stores", head, cells, note).text())
    return 0


def make_address(dsn: str | None, store: str) -> str:
    """Return the address of an empty vault."""
    if dsn is None:
        from tests.postgres.server import make_location

        return make_location()
    return name_database(dsn, f"answers_{store.replace('-', '_')}_{os.getpid()}")


if __name__ == "__main__":
    raise SystemExit(main())
