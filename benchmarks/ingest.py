"""How fast memories are taken in: `python -m benchmarks.ingest [--texts 2500] [--old CHECKOUT]`.

Real turns of conversations, no embedding. Everything is durable: each memory is a file that was
synced, with its duplicates looked for, its journal line and its rows in the index. Next to each
figure is what it costs without muisti, in the same run: synced files and one SQLite transaction.
With `--old`, another checkout of muisti runs in turn with this one, on the same texts.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks import bare
from benchmarks.datasets import DEFAULT_FOLDER, locomo, longmemeval, missing
from benchmarks.texts import Text

BATCH = 500
SINGLE = 200
_FILES = ("locomo_dev.json", "longmemeval_dev.json")


@dataclass(frozen=True)
class Cost:
    """What one memory takes, in milliseconds."""

    cpu: float
    wall: float


def load_texts(count: int, folder: Path = DEFAULT_FOLDER) -> list[str]:
    """Return turns of conversations, each once."""
    stores = [*locomo(folder), longmemeval(folder)]
    texts = dict.fromkeys(document.text for store in stores for document in store.documents)
    return list(texts)[:count]


def measure(action: Callable[[], object], count: int) -> Cost:
    """Run an action once and return its cost for each of so many memories."""
    cpu, wall = time.process_time(), time.perf_counter()
    action()
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    return Cost(cpu / count * 1000, wall / count * 1000)


def run_muisti(texts: Sequence[str], folder: Path) -> dict[str, Cost]:
    """Save all texts but some in batches, those one by one, and rebuild the index."""
    from muisti import Muisti  # of the checkout on the path

    many, few = texts[:-SINGLE], texts[-SINGLE:]
    with Muisti.open(folder / "vault", embedder="none") as memory:
        memory.save("The first memory loads what is loaded on first use")
        parts = [many[at : at + BATCH] for at in range(0, len(many), BATCH)]
        batch = measure(lambda: [memory.save_batch(part) for part in parts], len(many))
        single = measure(lambda: [memory.save(text) for text in few], len(few))
        reindex = measure(memory.reindex, len(texts))
    return {"batch": batch, "single": single, "reindex": reindex}


def run_bare(texts: Sequence[str], folder: Path) -> dict[str, Cost]:
    """Write the same number of files of about the same size, and insert the texts into FTS5."""
    rows = [Text(text[:40], text) for text in texts]
    files = [(f"{number}.md", f"{text}{' ' * 300}".encode()) for number, text in enumerate(texts)]
    index = bare.BareIndex(folder / "bare.db")
    many, few = range(len(texts) - SINGLE), range(len(texts) - SINGLE, len(texts))

    def write_batches() -> None:
        for start in range(0, len(many), BATCH):
            part = slice(start, min(start + BATCH, len(many)))
            bare.durable_writes(folder, files[part])
            index.insert(*rows[part])

    def write_singly() -> None:
        for number in few:
            name, data = files[number]
            bare.durable_write(folder / name, data)
            index.insert(rows[number])

    found = {"batch": measure(write_batches, len(many)), "single": measure(write_singly, len(few))}
    index.close()
    return found


def run_apart(source: Path | None, what: str, count: int) -> dict[str, Cost]:
    """Run one of the two in a process of its own, with the muisti of a checkout."""
    environment = dict(os.environ)
    if source is not None:
        environment["PYTHONPATH"] = str(source / "src")
    command = [sys.executable, "-m", "benchmarks.ingest", "--only", what, "--texts", str(count)]
    done = subprocess.run(
        command, check=True, capture_output=True, text=True, env=environment, cwd=_ROOT
    )
    return {name: Cost(**cost) for name, cost in json.loads(done.stdout).items()}


_ROOT = Path(__file__).parents[1]


def describe(found: dict[str, dict[str, Cost]]) -> str:
    """Return a line for each figure, with its ratios to the references."""
    lines = ["| | CPU ms | wall ms | per CPU second | to files + SQLite | old / new |"]
    lines.append("|---|---|---|---|---|---|")
    for name, cost in found["new"].items():
        reference = found["bare"].get(name)
        old = found.get("old", {}).get(name)
        beside = earlier = "–"
        if reference is not None:
            beside = f"{cost.cpu / reference.cpu:.2f}× CPU, {cost.wall / reference.wall:.2f}× wall"
        if old is not None:
            earlier = f"{old.cpu / cost.cpu:.2f}×"
        lines.append(
            f"| {name} | {cost.cpu:.3f} | {cost.wall:.3f} | {1000 / cost.cpu:,.0f} "
            f"| {beside} | {earlier} |"
        )
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.ingest", description=__doc__)
    parser.add_argument("--texts", type=int, default=2500, help="how many memories")
    parser.add_argument("--old", type=Path, help="another checkout to compare with")
    parser.add_argument("--only", choices=("muisti", "bare"), help="print one of the two as JSON")
    options = parser.parse_args(arguments)
    if lacking := missing(DEFAULT_FOLDER, _FILES):
        print("\n".join(lacking), file=sys.stderr)
        return 1
    if options.only:
        texts = load_texts(options.texts)
        with tempfile.TemporaryDirectory(prefix="muisti-ingest-") as folder:
            run = run_muisti if options.only == "muisti" else run_bare
            costs = run(texts, Path(folder))
        print(json.dumps({name: asdict(cost) for name, cost in costs.items()}))
        return 0
    found = {"new": run_apart(None, "muisti", options.texts)}
    if options.old:
        found["old"] = run_apart(options.old.resolve(), "muisti", options.texts)
    found["bare"] = run_apart(None, "bare", options.texts)
    load = os.getloadavg()[0]
    print(f"{options.texts} texts, load {load:.1f} on {os.cpu_count()} cores\n\n{describe(found)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
