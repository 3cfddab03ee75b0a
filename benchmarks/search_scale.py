"""Search in vaults of ten thousand to a million memories, next to the bare query embedding:
`python -m benchmarks.search_scale [--sizes 10000 100000] [--against CHECKOUT] [--cache FOLDER]`.

`--against` measures another checkout beside this one: each has a process and a copy of the vault of
its own, and gets the same questions in turn. Ratios are of processor time, which other work on the
machine disturbs least; the clock's are printed beside them.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import platformdirs

from benchmarks.scale_vaults import make_questions
from benchmarks.tables import PAGE, Table, rewrite, times
from benchmarks.timing import machine
from benchmarks.workers import ROOT, Answer, Spent, Worker

RESULTS = Path(__file__).parent / "results" / "search_scale.json"
CACHE = Path(platformdirs.user_cache_path("muisti-bench", appauthor=False))
MODES = ("hybrid", "vector", "keyword")
WARM_UP = 20
BATCHES, DELETES = 4, 10
PEERS = ROOT / ".venv-peers" / "bin" / "python"
"""tantivy is measured if this environment is there: `make bench-peers` creates it."""
Found = dict[str, Any]


@dataclass(frozen=True)
class Plan:
    """What is measured: the source folders of the checkouts by name, and how often."""

    checkouts: dict[str, Path]
    cache: Path
    questions: int
    fresh: int
    saves: int = 40
    batch: int = 250
    opens: int = 3

    def start(self, name: str) -> Worker:
        """Start a process with the muisti of a checkout."""
        return Worker("scale_worker", self.cache, source=self.checkouts[name])


def run(plan: Plan, sizes: Sequence[int]) -> Found:
    """Everything, as one dictionary of plain values."""
    found: Found = {"machine": machine(), "batch": plan.batch, "sizes": {}, "checkouts": {}}
    for name, source in plan.checkouts.items():
        with plan.start(name) as worker:
            about = found["checkouts"][name] = worker.ask("about").result
        assert about["source"].startswith(str(source)), about
    oldest = min(plan.checkouts, key=lambda name: found["checkouts"][name]["schema"])
    for size in sizes:
        _say(f"a vault of {size:,} memories")
        vaults = {name: plan.cache / f"copy-{os.getpid()}-{name}-{size}" for name in plan.checkouts}
        try:
            with plan.start(oldest) as worker:
                kept = worker.ask("build", size=size).result
                for vault in vaults.values():
                    worker.ask("copy", source=kept, target=str(vault))
            found["sizes"][str(size)] = measure_size(plan, vaults, size)
        finally:
            for vault in vaults.values():
                shutil.rmtree(vault, ignore_errors=True)
    found["load_after"] = os.getloadavg()[0]
    return found


def measure_size(plan: Plan, vaults: dict[str, Path], size: int) -> Found:
    """Copies of one vault, one for each checkout."""
    found: Found = {name: {} for name in vaults}
    for name, vault in vaults.items():
        _say(f"{name}: opening and reindexing")
        with plan.start(name) as worker:
            worker.ask("open", vault=str(vault))
            rebuilt = worker.ask("reindex")
            spent = {"memories": rebuilt.result, "wall": rebuilt.wall, "cpu": rebuilt.cpu}
            found[name]["reindex"] = spent
            found[name]["disk"] = worker.ask("measure_disk", vault=str(vault)).result
            worker.ask("close")
    _say("searching")
    for name, searched in search_in_turn(plan, vaults, size).items():
        found[name] |= searched
    if PEERS.is_file():
        _say("tantivy")
        found["this"]["tantivy"] = search_with_tantivy(plan, size)
    _say("saving, opening, deleting")
    for name, written in write_in_turn(plan, vaults, size).items():
        found[name] |= written
    if plan.fresh:
        _say("first search of a process")
        for name, first in first_in_turn(plan, vaults).items():
            found[name]["first"] = first
    return found


def search_in_turn(plan: Plan, vaults: dict[str, Path], size: int) -> Found:
    """Every mode, the bare embedding and a bare scan, question by question, in turn."""
    by_meaning, by_vector, bare = make_questions(plan.questions)
    asked = {"hybrid": by_meaning, "vector": by_vector, "keyword": by_vector, "embedding": bare}
    asked["scan"] = bare
    workers = {name: plan.start(name) for name in vaults}
    answers: dict[str, dict[str, list[Answer]]] = {
        name: {action: [] for action in asked} for name in workers
    }
    for name, worker in workers.items():
        worker.ask("open", vault=str(vaults[name]))
        worker.ask("load_embedder")
        for place in range(WARM_UP):
            for mode in MODES:
                worker.ask("search", question=f"what of the {place}th thing?", mode=mode)
    memory = {name: worker.ask("measure_memory").result for name, worker in workers.items()}
    for worker in workers.values():
        worker.ask("make_codes", size=size)
    names, actions = list(workers), list(asked)
    for turn in range(len(bare)):
        for place in range(len(actions)):
            action = actions[(turn + place) % len(actions)]
            for offset in range(len(names)):
                name = names[(turn + offset) % len(names)]
                question = asked[action][turn]
                answers[name][action].append(_ask_question(workers[name], action, question))
    found = {}
    for name, worker in workers.items():
        found[name] = {"search": {act: Spent.of(a).summary() for act, a in answers[name].items()}}
        found[name]["memory"] = memory[name]
        worker.ask("close")
        worker.close()
    return found


def _ask_question(worker: Worker, action: str, question: str) -> Answer:
    if action == "scan":
        return worker.ask("scan")
    if action == "embedding":
        return worker.ask("embed", question=question)
    return worker.ask("search", question=question, mode=action)


def search_with_tantivy(plan: Plan, size: int) -> Found:
    """Keyword search of muisti's words by tantivy, for the same questions."""
    with tempfile.TemporaryDirectory(prefix="tantivy-", dir=plan.cache) as folder:
        index, words = Path(folder, "index"), plan.cache / f"words-{size}.txt"
        with plan.start("this") as ours, Worker("tantivy_worker", python=PEERS) as worker:
            if not words.is_file():
                ours.ask("write_words", size=size, path=str(words))
            built = worker.ask("build", words=str(words), folder=str(index))
            answers = []
            for question in ["warm up", *make_questions(plan.questions)[1]]:
                asked = ours.ask("split_words", question=question).result
                answers.append(worker.ask("search", words=asked))
            disk = worker.ask("measure_disk", folder=str(index)).result
            memory = worker.ask("measure_memory").result
    spent = Spent.of(answers[1:]).summary()
    return {"search": spent, "build_cpu": built.cpu, "disk": disk, "memory": memory}


def write_in_turn(plan: Plan, vaults: dict[str, Path], size: int) -> Found:
    """Single saves next to bare ones, batches, hard deletes, and opening next to a bare walk."""
    found: Found = {name: {} for name in vaults}
    with ExitStack() as stack:
        workers = {name: stack.enter_context(plan.start(name)) for name in vaults}
        taken: dict[str, dict[str, list[Answer]]] = {
            name: {what: [] for what in ("save", "bare", "batch", "delete", "open", "walk")}
            for name in vaults
        }
        for name, worker in workers.items():
            folder = stack.enter_context(tempfile.TemporaryDirectory(dir=plan.cache))
            worker.ask("open_drawn", vault=str(vaults[name]), size=size)
            worker.ask(
                "make_texts", start=size, count=BATCHES * plan.batch + plan.saves, folder=folder
            )
        for place in range(plan.saves):
            for name, worker in workers.items():
                taken[name]["save"].append(worker.ask("save", place=place))
                taken[name]["bare"].append(worker.ask("save_bare", place=place))
        for start in range(plan.saves, plan.saves + BATCHES * plan.batch, plan.batch):
            for name, worker in workers.items():
                batch = worker.ask("save_batch", start=start, end=start + plan.batch)
                taken[name]["batch"].append(batch)
        for place in range(min(DELETES, plan.saves)):
            for name, worker in workers.items():
                id_ = taken[name]["save"][place].result
                taken[name]["delete"].append(worker.ask("delete", memory_id=id_))
        for name, worker in workers.items():
            worker.ask("close")
            for _ in range(plan.opens):
                taken[name]["open"].append(worker.ask("open_close", vault=str(vaults[name])))
                taken[name]["walk"].append(worker.ask("walk", vault=str(vaults[name])))
            spent = {what: Spent.of(answers).summary() for what, answers in taken[name].items()}
            found[name]["writes"] = spent
    return found


def first_in_turn(plan: Plan, vaults: dict[str, Path]) -> Found:
    """The first search of a process: the least milliseconds of the processor since its start."""
    taken: Found = {name: {"hybrid": [], "keyword": []} for name in vaults}
    for question in make_questions(plan.fresh)[0]:
        for name, vault in vaults.items():
            for mode, values in taken[name].items():
                with plan.start(name) as worker:
                    asked = {"vault": str(vault), "question": question, "mode": mode}
                    values.append(worker.ask("first_search", **asked).result * 1000)
    return {
        name: {mode: min(values) for mode, values in modes.items()} for name, modes in taken.items()
    }


def make_search_table(found: Found) -> Table:
    """Ratios first."""
    rows: list[tuple[str, ...]] = []
    for size, checkouts in found["sizes"].items():
        for name, part in checkouts.items():
            base = part["search"]["embedding"]
            for mode in MODES:
                one = part["search"][mode]
                engine = one["cpu_p50_ms"] - (base["cpu_p50_ms"] if mode != "keyword" else 0)
                rows.append(
                    (
                        f"{int(size):,}, {mode}, {name}",
                        times(one["cpu_p50_ms"] / base["cpu_p50_ms"]),
                        times(one["cpu_p95_ms"] / base["cpu_p95_ms"]),
                        times(one["p50_ms"] / base["p50_ms"]),
                        times(one["p95_ms"] / base["p95_ms"]),
                        f"{one['cpu_p50_ms']:.2f} / {one['cpu_p95_ms']:.2f}",
                        f"{engine:.2f}",
                    )
                )
            for what in ("embedding", "scan"):
                one = part["search"][what]
                both = f"{one['cpu_p50_ms']:.2f} / {one['cpu_p95_ms']:.2f}"
                rows.append((f"{int(size):,}, bare {what}, {name}", "", "", "", "", both, ""))
    head = (
        "memories, search",
        "CPU p50",
        "CPU p95",
        "clock p50",
        "clock p95",
        "ms CPU p50 / p95",
        "engine ms",
    )
    load = f"load {found['machine']['load']:.1f} before, {found['load_after']:.1f} after"
    note = f"To the bare query embedding of the same process, in turn; {load}. Engine: without it."
    return Table("scale-search", "Search", head, tuple(rows), note)


def make_rest_table(found: Found) -> Table:
    """Memory, disk, rebuilding, fresh processes."""
    rows = []
    for size, checkouts in found["sizes"].items():
        for name, part in checkouts.items():
            rebuilt = part["reindex"]
            rows.append(
                (
                    f"{int(size):,}, {name}",
                    f"{part['memory']['private_mb']:.0f}",
                    f"{part['memory']['resident_mb']:.0f}",
                    f"{part['disk']['index'] / rebuilt['memories']:,.0f}",
                    f"{part['disk']['all'] / rebuilt['memories']:,.0f}",
                    f"{rebuilt['memories'] / rebuilt['cpu']:,.0f}",
                    *(f"{ms:.0f}" for ms in part.get("first", {"": 0.0, " ": 0.0}).values()),
                )
            )
    head = (
        "memories",
        "private MB",
        "resident MB",
        "index bytes each",
        "all bytes each",
        "reindexed / CPU s",
        "first hybrid, ms CPU",
        "first keyword, ms CPU",
    )
    note = "Memory after 60 searches, with the model. First: a whole fresh process, the best one."
    return Table("scale-rest", "Memory, disk, rebuilding", head, tuple(rows), note)


def make_writes_table(found: Found) -> Table:
    """Saving, deleting and opening, and keyword search next to tantivy."""
    rows: list[tuple[str, ...]] = []
    for size, checkouts in found["sizes"].items():
        tantivy = checkouts["this"].get("tantivy")
        for name, part in checkouts.items():
            one = {what: spent["cpu_p50_ms"] for what, spent in part["writes"].items()}
            keyword = part["search"]["keyword"]["cpu_p50_ms"]
            rows.append(
                (
                    f"{int(size):,}, {name}",
                    f"{one['save']:.2f}",
                    times(one["save"] / one["bare"]),
                    f"{found['batch'] / one['batch'] * 1000:,.0f}",
                    f"{one['delete']:.1f}",
                    f"{one['open']:.0f}",
                    times(one["open"] / one["walk"]),
                    times(keyword / tantivy["search"]["cpu_p50_ms"]) if tantivy else "",
                )
            )
    head = (
        "memories",
        "save, ms CPU",
        "to a file and a row",
        "batch, texts per CPU s",
        "hard delete, ms CPU",
        "open, ms CPU",
        "to a walk",
        "keyword to tantivy",
    )
    note = (
        "Medians of processor time. A file and a row: one synced file and one FTS5 transaction. "
        "Batch: with vectors, beside the model. tantivy: an OR of the same words."
    )
    return Table("scale-writes", "Saving, deleting, opening", head, tuple(rows), note)


def _say(what: str) -> None:
    print(f"… {what}", file=sys.stderr, flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="benchmarks.search_scale", description=__doc__.splitlines()[0] if __doc__ else ""
    )
    parser.add_argument("--sizes", type=int, nargs="*", default=[10_000, 100_000])
    parser.add_argument("--against", type=Path, help="another checkout, measured in turn with this")
    parser.add_argument("--cache", type=Path, default=CACHE, help="where vaults are kept")
    parser.add_argument("--questions", type=int, default=200, help="how many are asked, of each")
    parser.add_argument("--fresh", type=int, default=3, help="processes for the first search")
    parser.add_argument("--saves", type=int, default=40, help="single saves that are measured")
    parser.add_argument("--batch", type=int, default=250, help="texts of a batch")
    parser.add_argument("--json", type=Path, default=RESULTS, help="where the figures go")
    parser.add_argument(
        "--markdown", action="store_true", help=f"rewrite the tables in {PAGE.name}"
    )
    options = parser.parse_args(arguments)
    checkouts = {"this": ROOT / "src"}
    if options.against:
        checkouts["other"] = options.against.resolve() / "src"
    cache = options.cache.resolve()
    cache.mkdir(parents=True, exist_ok=True)
    plan = Plan(checkouts, cache, options.questions, options.fresh, options.saves, options.batch)
    found = run(plan, options.sizes)
    tables = [make(found) for make in (make_search_table, make_rest_table, make_writes_table)]
    print("\n\n".join(table.text() for table in tables))
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(found, indent=2), "utf-8")
    if options.markdown:
        rewrite(PAGE, {"scale": "\n\n".join(table.markdown() for table in tables)})
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
