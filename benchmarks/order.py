"""What a memory that keeps itself in order costs: `python -m benchmarks.order [--sizes
1000,10000,100000] [--keep FOLDER]`.

A save that looks for duplicates, fading, links, the archive and the history, each in turn with what
it is compared to. The vault of the largest size takes minutes to fill: with --keep it stays for the
next run.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import wraps
from pathlib import Path
from typing import Any

from benchmarks import bare, pairs
from benchmarks.order_fade import fading
from benchmarks.order_tables import broken, tables
from benchmarks.order_vaults import (
    COMMON,
    RESULTS,
    Found,
    Plan,
    Spent,
    copy_vault,
    fill,
    in_turn,
    opened,
    vault_path,
    write_recalls,
)
from benchmarks.speed_tables import about
from benchmarks.tables import PAGE, rewrite
from benchmarks.texts import Writer, vocabulary
from benchmarks.timing import machine
from muisti import Muisti
from muisti.remember import dedup, pipeline
from muisti.storage.files.journal import FileJournal
from muisti.storage.files.vault import FileVault
from muisti.storage.files.versions import FileVersions
from muisti.storage.sqlite.index import SqliteIndex


def run(plan: Plan) -> Found:
    """Every figure, as one dictionary of plain values."""
    source, words = vocabulary()
    found: Found = {"machine": machine(), "words": source, "sizes": plan.sizes}
    small, large = min(plan.sizes), max(plan.sizes)
    for size in sorted(set(plan.sizes)):
        _say(f"a vault of {size:,} memories")
        fill(plan, size, words, keep=size == large)
    _say("saving")
    with opened(plan, small) as first, opened(plan, large) as second:
        found["save"], found["shares"] = _saving(plan, {small: first, large: second}, words)
    _say("fading")
    found["fade"] = fading(plan, large)
    _say("links and searching")
    found["search"] = _searching(plan, words)
    _say("the archive")
    found["evict"] = _evicting(plan)
    _say("the history")
    found["history"] = _telling(plan, small, words)
    return found


# Saving -------------------------------------------------------------------------------------------


def _saving(plan: Plan, vaults: Mapping[int, Muisti], words: Sequence[str]) -> tuple[Found, Found]:
    seed = (
        1_000_000 + vaults[max(vaults)].get_stats().total_count
    )  # a kept vault has the texts of the last run
    known = [text.content for text in Writer(words).texts(min(plan.sizes))]
    chance = random.Random(seed)
    near = [
        change(text, chance)
        for text in chance.sample(known, len(known))
        for change in (_with_typo, _reordered)
    ]
    kinds = {
        "new": [text.content for text in Writer(words, seed=seed).texts(plan.saves + plan.shared)],
        "the same again": chance.sample(known, min(len(known), plan.saves + plan.shared)),
        "nearly the same": [text for text in near if text is not None][: plan.saves + plan.shared],
        "common words": [
            text.content
            for text in Writer(words[:COMMON], seed=seed).texts(plan.saves + plan.shared)
        ],
    }
    actions = {str(size): memory.save for size, memory in vaults.items()}
    in_turn(
        actions, [text.content for text in Writer(words, seed=seed + 1).texts(20)]
    )  # warm the caches of both
    found, shares = {}, {}
    for kind, texts in kinds.items():
        before = {size: memory.get_stats().total_count for size, memory in vaults.items()}
        taken = in_turn(actions, texts[: plan.saves])
        found[kind] = {size: spent.summary() for size, spent in taken.items()} | _grown(taken)
        for size, memory in vaults.items():
            found[kind][str(size)]["kept"] = memory.get_stats().total_count - before[size]
        shares[kind] = {
            str(size): _shared(memory, texts[plan.saves :]) for size, memory in vaults.items()
        }
    return found, shares


def _grown(taken: Mapping[str, Spent]) -> Found:
    small, large = taken.values()
    return {
        "ratio": large.wall.p50 / small.wall.p50,
        "ratio_p95": large.wall.p95 / small.wall.p95,
        "ratio_cpu": large.processor.p50 / small.processor.p50,
    }


def _with_typo(text: str, chance: random.Random) -> str | None:
    return pairs.typo(text, chance)


def _reordered(text: str, _chance: random.Random) -> str | None:
    first, *rest = text.split(". ")
    return f"{'. '.join(rest).removesuffix('.')}. {first}." if rest else None


STEPS: tuple[tuple[str, object, str], ...] = (
    ("privacy", pipeline, "redact_fields"),
    *(
        ("kind, concepts, fingerprint", pipeline, name)
        for name in ("classify_kind", "classify_sector", "derive_values")
    ),
    *(
        ("looking for duplicates", SqliteIndex, name)
        for name in (
            "find_known_content",
            "find_same_content",
            "find_near_simhashes",
            "find_with_words",
            "find_with_any_word",
            "get_contents",
            "filter_current",
        )
    ),
    *(("comparing", dedup._load_rules(), name) for name in ("compare", "find_contradiction")),
    ("merging", FileVersions, "keep_merged"),
    *(("merging", FileVault, name) for name in ("read", "rewrite")),
    ("file", FileVault, "create"),
    ("journal and index", FileJournal, "append"),
    ("journal and index", FileJournal, "read"),
    ("journal and index", SqliteIndex, "write"),
    ("reading it back", SqliteIndex, "get_many"),
)


@contextmanager
def _watched(taken: dict[str, float]) -> Iterator[None]:
    """The steps of a save, each with a stop watch around it. A step inside another counts as the
    outer one.
    """
    inside: list[str] = []

    def timed(step: str, action: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(action)
        def measured(*args: Any, **kwargs: Any) -> Any:
            if inside:
                return action(*args, **kwargs)
            inside.append(step)
            start = time.perf_counter()
            try:
                return action(*args, **kwargs)
            finally:
                taken[step] += time.perf_counter() - start
                inside.clear()

        return measured

    kept = [(owner, name, getattr(owner, name)) for _, owner, name in STEPS]
    for step, owner, name in STEPS:
        setattr(owner, name, timed(step, getattr(owner, name)))
    try:
        yield
    finally:
        for owner, name, action in kept:
            setattr(owner, name, action)


def _shared(memory: Muisti, texts: Sequence[str]) -> Found:
    """The share of each step in the whole of these saves."""
    taken: dict[str, float] = defaultdict(float)
    start = time.perf_counter()
    with _watched(taken):
        for text in texts:
            memory.save(text)
    whole = time.perf_counter() - start
    shares = {step: taken[step] / whole for step, _, _ in STEPS}
    return {**shares, "the rest": 1 - sum(shares.values()), "ms": 1000 * whole / max(1, len(texts))}


# Links and searching ------------------------------------------------------------------------------


def _searching(plan: Plan, words: Sequence[str]) -> Found:
    """A vault where a tenth is superseded and as many are linked, next to the same without."""
    size = plan.middle
    copy_vault(plan, size, "-linked")
    writer = Writer(words)
    questions = writer.questions(writer.texts(size), plan.questions)
    with opened(plan, size) as plain, opened(plan, size, "-linked") as linked:
        ids = random.Random(2).sample(
            [one.id for one in linked.list(limit=None)], int(size * plan.tenth) * 4
        )
        for at in range(0, len(ids), 4):
            linked.supersede(ids[at], ids[at + 1])
            linked.link(ids[at + 2], ids[at + 3])
        actions: dict[str, Callable[[str], object]] = {
            "plain": lambda question: plain.search(question, mode="keyword"),
            "links and superseded": lambda question: linked.search(question, mode="keyword"),
            "min_salience": lambda question: plain.search(
                question, mode="keyword", min_salience=0.6
            ),
        }
        in_turn(actions, questions[: len(questions) // 4])  # warm the caches of all alike
        taken = in_turn(actions, questions)
    base = taken["plain"]
    figures: Found = {"memories": size, "superseded": len(ids) // 4}
    for name, spent in taken.items():
        ratios = {
            "ratio": spent.wall.p50 / base.wall.p50,
            "ratio_cpu": spent.processor.p50 / base.processor.p50,
        }
        figures[name] = {**spent.summary(), **ratios}
    return figures


# The archive --------------------------------------------------------------------------------------


def _evicting(plan: Plan) -> Found:
    """Five times three in a hundred, in turn with bare renames of as many files."""
    size = plan.middle
    for copy in ("-evicted", "-renamed"):
        copy_vault(plan, size, copy)
    files = sorted(vault_path(plan, size, "-renamed").rglob("*.md"))
    number = size * 3 // 100
    moved: list[int] = []
    with opened(plan, size, "-evicted") as memory:
        live = memory.upkeep(dry_run=True).live_bytes

        def evict(turn: int) -> None:
            moved.append(len(memory.evict(int(live * (0.97 - 0.03 * turn)), to=1.0)))

        def rename(turn: int) -> None:
            _renamed(
                files[turn * number : (turn + 1) * number],
                vault_path(plan, size, "-renamed") / "archive",
            )

        taken = in_turn({"evict": evict, "rename": rename}, range(5))
    ours, theirs = (
        sum(taken["evict"].wall.seconds) / sum(moved),
        sum(taken["rename"].wall.seconds) / (5 * number),
    )
    figures = {
        "evict_per_second": 1 / ours,
        "rename_per_second": 1 / theirs,
        "ratio": ours / theirs,
    }
    return {
        "memories": size,
        "moved": sum(moved),
        "cpu_ms": 1000 * sum(taken["evict"].processor.seconds) / sum(moved),
        **figures,
    }


def _renamed(files: Sequence[Path], target: Path) -> None:
    target.mkdir(exist_ok=True)
    for at in range(0, len(files), 100):
        for path in files[at : at + 100]:
            os.rename(path, target / path.name)
        bare._sync(target)


# The history --------------------------------------------------------------------------------------


def _telling(plan: Plan, size: int, words: Sequence[str]) -> Found:
    """In a vault with a long journal: what became of a memory, and a merge that is taken apart."""
    copy_vault(plan, size, "-told")
    vault = vault_path(plan, size, "-told")
    with opened(plan, size, "-told") as memory:
        ids = [one.id for one in memory.list(limit=None)]
    chance = random.Random(3)
    groups = ([chance.choice(ids) for _ in range(3)] for _ in range(plan.lines))
    write_recalls(
        vault, groups, datetime.now(UTC) - timedelta(days=30), f"{datetime.now(UTC):%Y-%m}"
    )
    merged = []
    with opened(plan, size, "-told") as memory:
        for text in Writer(words).texts(size):
            again = memory.save(str(_reordered(text.content, chance)))
            merged += [again.id] if again.created_at < datetime.now(UTC) - timedelta(days=1) else []
            if len(merged) == plan.merges:
                break
        actions: dict[str, Callable[[str], object]] = {
            "history": memory.history,
            "unmerge": memory.unmerge,
            "read": lambda _: [
                path.read_bytes() for path in sorted((vault / "journal").glob("*.jsonl"))
            ],
        }
        taken = in_turn(actions, merged)
    read = taken["read"].wall.p50
    size_ = sum(path.stat().st_size for path in (vault / "journal").glob("*.jsonl"))
    figures = {
        name: {**spent.summary(), "ratio": spent.wall.p50 / read} for name, spent in taken.items()
    }
    return {"lines": plan.lines, "bytes": size_, **figures}


def _say(what: str) -> None:
    print(f"… {what}", file=sys.stderr, flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="benchmarks.order", description=__doc__.splitlines()[0] if __doc__ else ""
    )
    parser.add_argument(
        "--sizes", default="1000,10000,100000", help="memories in the vaults, separated by commas"
    )
    parser.add_argument(
        "--keep", type=Path, help="a folder where the largest vault stays for the next run"
    )
    parser.add_argument("--json", type=Path, default=RESULTS, help="where the figures go")
    parser.add_argument("--quick", action="store_true", help="few repetitions: to see that it runs")
    parser.add_argument(
        "--markdown", action="store_true", help=f"rewrite the tables in {PAGE.name}"
    )
    options = parser.parse_args(arguments)
    sizes = [int(size) for size in options.sizes.split(",")]
    with tempfile.TemporaryDirectory(prefix="muisti-order-") as folder:
        kept = Path(folder) if options.keep is None else options.keep
        kept.mkdir(parents=True, exist_ok=True)
        found = run((Plan.quick if options.quick else Plan)(sizes, kept))
    made = tables(found)
    print("\n\n".join([about(found), *(table.markdown() for table in made)]))
    options.json.write_text(json.dumps(found, indent=2) + "\n", "utf-8")
    if options.markdown:
        rewrite(
            PAGE,
            {"order-machine": about(found), **{table.name: table.markdown() for table in made}},
        )
    outside = broken(found)
    for line in outside:
        print(f"outside of what is demanded: {line}", file=sys.stderr)
    return 1 if outside else 0


if __name__ == "__main__":
    raise SystemExit(main())
