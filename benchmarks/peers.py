"""muisti next to other memory systems, in one run: `make bench-peers`, or `python -m
benchmarks.peers [--sizes 10000 100000] [--markdown]`.

The others live in an environment of their own, `.venv-peers`. Each system, muisti too, is a process
of that environment with one thread for the model, the same texts and the same embedder; the systems
take turns, batch by batch and question by question.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import datasets, peer_tables
from benchmarks.chart import SPEED_CHART, draw_speed
from benchmarks.scale_vaults import make_questions
from benchmarks.search_scale import CACHE
from benchmarks.tables import PAGE, rewrite
from benchmarks.timing import machine
from benchmarks.workers import ROOT, Answer, Failed, Spent, Worker

RESULTS = Path(__file__).parent / "results" / "peers.json"
PYTHON = ROOT / ".venv-peers" / "bin" / "python"
REQUIREMENTS = ROOT / "requirements" / "peers.txt"
NAMES = ("muisti", "chromadb", "lancedb", "memsearch", "mem0")
BATCH = 1000
OFFLINE = {
    "HF_HUB_OFFLINE": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "ANONYMIZED_TELEMETRY": "False",
    "MEM0_TELEMETRY": "False",
}
Found = dict[str, Any]

AS_INSTALLED = {
    "muisti": """
import sys
from muisti import Muisti
with Muisti.open(sys.argv[1]) as memory:
    memory.save("a text")
    assert memory.search("text").mode == "hybrid", "by keyword only" """,
    "chromadb": """
import chromadb, sys
chromadb.PersistentClient(sys.argv[1]).create_collection("memories").add(ids=["a"], documents=["a text"])""",
    "lancedb": """
import lancedb, sys
from lancedb.embeddings import get_registry
get_registry().get("sentence-transformers").create().compute_query_embeddings("a text")""",
    "memsearch": """
import asyncio, sys
from pathlib import Path
from memsearch import MemSearch
Path(sys.argv[1], "a.md").write_text("a text")
asyncio.run(MemSearch([sys.argv[1]], milvus_uri=sys.argv[1] + "/milvus.db").index())""",
    "mem0": """
import os, sys
os.environ["MEM0_DIR"] = sys.argv[1]
from mem0 import Memory
Memory().add("a text", user_id="u", infer=False)""",
}
"""The first lines of each one's guide: does a plain install remember a text without a network and a
key?
"""


@dataclass(frozen=True)
class Plan:
    """How much is measured."""

    names: Sequence[str]
    sizes: Sequence[int]
    cache: Path
    folder: Path
    questions: int = 150
    added: int = 2000
    """Texts whose ingest is measured, once a store has its size."""
    embedded: int = 200
    """Texts that are added with the model."""
    first: int = 3
    conversations: Sequence[int] = range(5)
    patience: float = 600.0
    """Seconds of the processor after which filling a store is given up."""

    python: Path = PYTHON

    def start(self, name: str) -> Worker:
        """Start the process of a system."""
        return Worker("peer_stores", name, self.cache, python=self.python, environment=OFFLINE)


def run(plan: Plan) -> Found:
    """Everything, as one dictionary of plain values."""
    found: Found = {"machine": machine(), "versions": _versions(plan.names), "added": plan.added}
    found["sizes"] = {str(size): measure_size(plan, size) for size in plan.sizes}
    _say("with the model")
    found["embedded"] = {name: _embed_and_add(plan, name) for name in plan.names}
    found["quality"] = {}
    has_data = not datasets.missing(datasets.DEFAULT_FOLDER, ["locomo_dev.json"])
    if has_data and plan.conversations:
        for name in plan.names:
            _say(f"{name}: LoCoMo")
            found["quality"][name] = _measure_quality(plan, name)
    found["as_installed"] = {name: as_installed(plan, name) for name in plan.names}
    found["load_after"] = os.getloadavg()[0]
    return found


def measure_size(plan: Plan, size: int) -> Found:
    """Fill all systems, then add, search and ask in turn. One that fails is left out from then on."""
    found: Found = {name: {} for name in plan.names}
    folders = {name: plan.folder / f"{name}-{size}" for name in plan.names}
    with ExitStack() as stack:
        workers = {name: stack.enter_context(plan.start(name)) for name in plan.names}
        turns = Turns(workers, found)
        for name in plan.names:
            _say(f"{name}: {size:,} texts")
            try:
                found[name] |= _fill(plan, workers[name], folders[name], size)
            except Failed as error:
                turns.drop(name, error)
        _say("adding and searching in turn")
        turns.ask("make_texts", start=size, end=size + plan.added)
        step = max(1, plan.added // 4)
        added = [
            turns.ask("add", start=start, end=min(plan.added, start + step))
            for start in range(0, plan.added, step)
        ]
        asked = _search_in_turn(plan, turns)
        memory = turns.ask("measure_memory")
        turns.ask("close")
        for name in list(workers):
            adding = [answers[name] for answers in added]
            found[name]["ingest"] = {
                "per_cpu_second": plan.added / sum(answer.cpu for answer in adding),
                "per_second": plan.added / sum(answer.wall for answer in adding),
            }
            for what, answers in asked.items():
                found[name][what] = Spent.of([answer[name] for answer in answers]).summary()
            found[name]["memory"] = memory[name].result
            disk = workers[name].ask("measure_disk", folder=str(folders[name])).result
            found[name]["bytes_each"] = disk / (size + plan.added)
    _say("first search of a process")
    question = make_questions(1)[0][0]
    for _ in range(plan.first):
        for name in list(workers):
            given = {"folder": str(folders[name]), "size": size, "question": question}
            try:
                with plan.start(name) as worker:
                    cpu = worker.ask("first_search", **given).result
                    taken = {"wall": time.perf_counter() - worker.started, "cpu": cpu}
                    worker.ask("close")
            except Failed as error:
                turns.drop(name, error)
                continue
            best = found[name].setdefault("first", taken)
            found[name]["first"] = {key: min(best[key], taken[key]) for key in taken}
    for folder in folders.values():
        shutil.rmtree(folder, ignore_errors=True)
    return found


class Turns:
    """Asks all systems in turn. Which begins changes from command to command."""

    def __init__(self, workers: dict[str, Worker], found: Found) -> None:
        self._workers = workers
        self._found = found
        self._number = 0

    def ask(self, command: str, **arguments: Any) -> dict[str, Answer]:
        """Return the answers by name. A system that fails is dropped."""
        names = list(self._workers)
        self._number += 1
        first = self._number % max(1, len(names))
        answers = {}
        for name in names[first:] + names[:first]:
            try:
                answers[name] = self._workers[name].ask(command, **arguments)
            except Failed as error:
                self.drop(name, error)
        return answers

    def drop(self, name: str, error: Failed) -> None:
        """Ask a system no more, and note why."""
        self._found[name]["error"] = str(error)
        del self._workers[name]


def _fill(plan: Plan, worker: Worker, folder: Path, size: int) -> Found:
    """Add texts until the store has its size. Raises Failed, also if that takes too long."""
    is_copied = worker.ask("copy", folder=str(folder), size=size).result
    worker.ask("open", folder=str(folder), size=size)
    if is_copied:
        return {"fill": None}
    worker.ask("make_texts", start=0, end=size)
    cpu = wall = 0.0
    for start in range(0, size, BATCH):
        answer = worker.ask("add", start=start, end=min(size, start + BATCH))
        cpu, wall = cpu + answer.cpu, wall + answer.wall
        if cpu > plan.patience:
            raise Failed(f"{start + BATCH:,} texts took {cpu:,.0f} s of the processor: given up")
    return {"fill": {"per_cpu_second": size / cpu, "per_second": size / wall}}


def _search_in_turn(plan: Plan, turns: Turns) -> dict[str, list[dict[str, Answer]]]:
    """Search next to the bare embedding of other questions that are about as long."""
    questions, warm_up, bare = make_questions(plan.questions)
    for question in warm_up[:10]:
        turns.ask("search", question=question)
        turns.ask("embed", question=question)
    taken: dict[str, list[dict[str, Answer]]] = {"search": [], "embedding": []}
    for question, other in zip(questions, bare, strict=True):
        taken["search"].append(turns.ask("search", question=question))
        taken["embedding"].append(turns.ask("embed", question=other))
    return taken


def _embed_and_add(plan: Plan, name: str) -> Found:
    """Add texts that the model embeds meanwhile."""
    try:
        with plan.start(name) as worker:
            folder = str(plan.folder / f"{name}-embedded")
            worker.ask("open", folder=folder, size=plan.embedded, real=True)
            worker.ask("make_texts", start=0, end=2 * plan.embedded)
            worker.ask("add", start=0, end=plan.embedded // 4)  # loads the model
            answer = worker.ask("add", start=plan.embedded, end=2 * plan.embedded)
            worker.ask("close")
        return {"per_cpu_second": plan.embedded / answer.cpu} | {
            "per_second": plan.embedded / answer.wall
        }
    except Failed as error:
        return {"error": str(error)}


def _measure_quality(plan: Plan, name: str) -> Found:
    parts = []
    try:
        for conversation in plan.conversations:
            with plan.start(name) as worker:
                folder = str(plan.folder / f"{name}-locomo-{conversation}")
                asked = {"folder": folder, "conversation": conversation}
                parts.append(worker.ask("measure_quality", **asked).result)
                worker.ask("close")
    except Failed as error:
        return {"error": str(error)}
    questions = sum(part["questions"] for part in parts)
    right = sum(part["questions"] * part["recall@10"] for part in parts)
    return {"questions": questions, "recall@10": right / questions}


def as_installed(plan: Plan, name: str) -> str:
    """Whether a plain install remembers a text offline; if not, its error."""
    home = plan.folder / f"{name}-plain"
    home.mkdir()
    environment = {key: v for key, v in os.environ.items() if not key.startswith("MUISTI_")}
    environment |= {**OFFLINE, "HOME": str(home), "PYTHONPATH": str(ROOT / "src")}
    environment.pop("OPENAI_API_KEY", None)
    command = [str(plan.python), "-c", AS_INSTALLED[name], str(home)]
    try:
        done = subprocess.run(
            command,
            check=False,
            capture_output=True,
            text=True,
            env=environment,
            cwd=home,
            timeout=120,
        )
    except subprocess.TimeoutExpired:
        return "does not run offline: no answer within two minutes"
    last = (done.stderr.strip().splitlines() or ["no message"])[-1][:200]
    return "runs" if done.returncode == 0 else f"does not run offline: {last}"


def _versions(names: Sequence[str]) -> dict[str, str]:
    pinned = dict(
        line.split(" ")[0].split("==")
        for line in REQUIREMENTS.read_text("utf-8").splitlines()
        if "==" in line
    )
    versions = {name: pinned.get(name) or pinned.get(f"{name}ai", "") for name in names}
    return versions | {"muisti": importlib.metadata.version("muisti")}


def _say(what: str) -> None:
    print(f"… {what}", file=sys.stderr, flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="benchmarks.peers", description=__doc__.splitlines()[0] if __doc__ else ""
    )
    parser.add_argument("--systems", nargs="*", default=NAMES, choices=NAMES, help="only these")
    parser.add_argument("--sizes", type=int, nargs="*", default=[10_000, 100_000])
    parser.add_argument("--questions", type=int, default=150, help="how many are asked")
    parser.add_argument("--added", type=int, default=2000, help="texts whose ingest is measured")
    parser.add_argument("--embedded", type=int, default=200, help="texts that the model embeds")
    parser.add_argument("--first", type=int, default=3, help="processes for the first search")
    parser.add_argument("--conversations", type=int, nargs="*", default=range(5), help="of LoCoMo")
    parser.add_argument("--patience", type=float, default=600.0, help="CPU seconds to fill a store")
    parser.add_argument("--python", type=Path, default=PYTHON, help="of the peers' environment")
    parser.add_argument("--cache", type=Path, default=CACHE, help="where vaults are kept")
    parser.add_argument("--json", type=Path, default=RESULTS, help="where the figures go")
    parser.add_argument(
        "--markdown", action="store_true", help=f"rewrite the tables in {PAGE.name} and the chart"
    )
    options = parser.parse_args(arguments)
    if not options.python.is_file():
        print(f"{options.python} is missing: `make bench-peers` creates it", file=sys.stderr)
        return 1
    options.cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="peers-", dir=options.cache) as folder:
        plan = Plan(
            options.systems,
            options.sizes,
            options.cache.resolve(),
            Path(folder),
            questions=options.questions,
            added=options.added,
            embedded=options.embedded,
            first=options.first,
            conversations=options.conversations,
            patience=options.patience,
            python=options.python,
        )
        found = run(plan)
    tables = peer_tables.of_peers(found)
    print("\n\n".join(table.text() for table in tables))
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(found, indent=2), "utf-8")
    if options.markdown:
        rewrite(PAGE, {"peers": "\n\n".join(table.markdown() for table in tables)})
        SPEED_CHART.write_text(draw_speed(found), "utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
