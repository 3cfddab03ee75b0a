"""Whether PostgreSQL gives the same answers as a folder: `python -m benchmarks.stores [--every 5]
[--embedder onnx] [--dsn postgresql://…]`.

The development questions of LoCoMo are asked of two vaults with the same memories, one in a folder
and one in PostgreSQL; without `--dsn` the server of the tests is used. Lists are compared as in
`benchmarks.same_answers`. Times are wall time beside each other in one run: only ratios count.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from itertools import islice

from benchmarks import datasets
from benchmarks.same_answers import LIMIT, MODES, AskingClock, Compared, Hit, compare
from muisti import Muisti, bootstrap

BATCH = 500
NAMES = ("folder", "PostgreSQL")


def fill(memory: Muisti, documents: Sequence[datasets.Document]) -> float:
    """Save all documents and embed them. Return the seconds that saving took."""
    rest = iter(documents)
    seconds = 0.0
    while batch := list(islice(rest, BATCH)):
        drafts = [{"content": d.text, "created_at": d.at, "session_id": d.group} for d in batch]
        start = time.perf_counter()
        memory.save_batch(drafts)
        seconds += time.perf_counter() - start
    memory.reindex_missing()
    return seconds


def ask(memory: Muisti, question: datasets.Question, mode: str) -> tuple[list[Hit], float]:
    """Return the results of a question, by their content, and how long it took."""
    start = time.perf_counter()
    found = memory.search(question.text, limit=LIMIT, mode=mode, asked_at=question.at, record=False)
    seconds = time.perf_counter() - start
    return [Hit(hit.memory.content, hit.score, "") for hit in found], seconds


def main(arguments: Sequence[str] | None = None) -> int:
    """Fill both vaults of each conversation, ask, and print a table."""
    parser = argparse.ArgumentParser(prog="benchmarks.stores", description=__doc__)
    parser.add_argument("--every", type=int, default=5, help="ask every n-th question")
    parser.add_argument("--embedder", default="onnx", help="onnx, hashing or none")
    parser.add_argument("--dsn", help="an empty database; tenants from 101 on are used")
    options = parser.parse_args(arguments)
    results: dict[str, list[Compared]] = {mode: [] for mode in MODES}
    times: dict[tuple[str, str], list[float]] = {(m, n): [] for m in MODES for n in NAMES}
    saving = dict.fromkeys(NAMES, 0.0)
    count = 0
    for number, store in enumerate(datasets.locomo(datasets.DEFAULT_FOLDER)):
        count += len(store.documents)
        clock = AskingClock(max(document.at for document in store.documents))
        with tempfile.TemporaryDirectory() as folder, ExitStack() as closing:
            places = f"{folder}/vault", make_address(options.dsn, 101 + number)
            vaults: list[Muisti] = []
            for name, place in zip(NAMES, places, strict=True):
                settings: dict[str, str | bool] = {
                    "embedder": options.embedder,
                    "record_recall": False,
                }
                memory = bootstrap.open(place, clock=clock, settings=settings)
                vaults.append(closing.enter_context(memory))
                saving[name] += fill(memory, store.documents)
            for question in store.questions[:: options.every]:
                for mode in MODES:
                    lists = []
                    for name, memory in zip(NAMES, vaults, strict=True):
                        hits, seconds = ask(memory, question, mode)
                        lists.append(hits)
                        times[mode, name].append(seconds)
                    results[mode].append(compare(*lists))
    print(
        "| mode | questions | same ten | same order | largest difference | p50 folder | p50 PostgreSQL |"
    )
    print("|---|---|---|---|---|---|---|")
    for mode, found in results.items():
        shares = [
            sum(getattr(one, name) for one in found) / len(found)
            for name in ("same_set", "same_order")
        ]
        p50 = [1000 * statistics.median(times[mode, name]) for name in NAMES]
        print(
            f"| {mode} | {len(found)} | {shares[0]:.3f} | {shares[1]:.3f} | "
            f"{max(one.difference for one in found):.6f} | {p50[0]:.1f} ms | {p50[1]:.1f} ms |"
        )
    each = ", ".join(f"{name} {1000 * saving[name] / count:.1f} ms" for name in NAMES)
    print(f"\nSaving {count} memories in batches, each: {each}")
    return 0


def make_address(dsn: str | None, tenant: int) -> str:
    """Return the address of an empty vault."""
    if dsn is None:
        from tests.postgres.server import make_location

        return make_location()
    return f"{dsn}{'&' if '?' in dsn else '?'}options=-c%20muisti.tenant%3D{tenant}"


if __name__ == "__main__":
    raise SystemExit(main())
