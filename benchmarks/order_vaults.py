"""Vaults for the benchmarks of keeping order, and how long things take in turn."""

from __future__ import annotations

import gc
import json
import random
import shutil
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

from benchmarks.texts import Writer
from benchmarks.timing import Times
from muisti import Muisti, bootstrap

RESULTS = Path(__file__).parent / "results" / "order.json"
MOST_GROWTH = 1.5
"""A save in the largest vault, to one in the smallest."""
MOST_FADING = 3.0
"""Fading of all memories, to plain numpy."""
MOST_DIFFERENCE = 1e-9
COMMON = 150
"""Words that stand in memories by the thousand."""
BATCH = 1000
Found = dict[str, Any]
Item = TypeVar("Item")


@dataclass
class Plan:
    """How much is measured."""

    sizes: list[int]
    folder: Path
    saves: int = 200
    shared: int = 100
    fadings: int = 9
    questions: int = 200
    tenth: float = 0.1
    lines: int = 100_000
    merges: int = 15

    @classmethod
    def quick(cls, sizes: list[int], folder: Path) -> Plan:
        return cls(sizes, folder, saves=6, shared=4, fadings=2, questions=5, lines=500, merges=2)

    @property
    def middle(self) -> int:
        """Search and the archive are measured at the size in the middle."""
        return sorted(self.sizes)[len(self.sizes) // 2]


@dataclass(frozen=True)
class Spent:
    """What one thing took, many times: by the clock on the wall, and of the processor."""

    wall: Times
    processor: Times

    def summary(self) -> Found:
        return {**self.wall.summary(), "cpu_ms": self.processor.p50 * 1000}


@dataclass(frozen=True)
class Past:
    """A clock that runs some days behind."""

    days: float

    def now(self) -> datetime:
        return datetime.now(UTC) - timedelta(days=self.days)


def in_turn(
    actions: Mapping[str, Callable[[Item], object]], items: Iterable[Item]
) -> dict[str, Spent]:
    """As `timing.interleaved`, with the processor's time beside: other work on the machine does not
    count in that.
    """
    names = list(actions)
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in names}
    gc.collect()
    gc.disable()
    for turn, item in enumerate(items):
        for place in range(len(names)):
            name = names[(turn + place) % len(names)]
            wall, processor = time.perf_counter(), time.process_time()
            actions[name](item)
            taken[name].append((time.perf_counter() - wall, time.process_time() - processor))
        if turn % 50 == 49:
            gc.collect()
    gc.enable()
    return {
        name: Spent(*(Times(tuple(column)) for column in zip(*rows, strict=True)))
        for name, rows in taken.items()
    }


# Vaults -------------------------------------------------------------------------------------------


def vault_path(plan: Plan, size: int, copy: str = "") -> Path:
    return plan.folder / f"vault-{size}{copy}"


def opened(plan: Plan, size: int, copy: str = "") -> Muisti:
    return Muisti.open(vault_path(plan, size, copy), embedder="none", record_recall=False)


def copy_vault(plan: Plan, size: int, copy: str) -> None:
    shutil.rmtree(vault_path(plan, size, copy), ignore_errors=True)
    shutil.copytree(vault_path(plan, size), vault_path(plan, size, copy))


def fill(plan: Plan, size: int, words: Sequence[str], *, keep: bool) -> None:
    """Memories of three months ago, of which some were used since. The texts of a small vault are
    the first of a large one.
    """
    vault, mark = vault_path(plan, size), plan.folder / f"filled-{size}"
    if keep and mark.exists():
        return
    shutil.rmtree(vault, ignore_errors=True)
    writer, chance, ids = Writer(words), random.Random(5), []
    off: dict[str, str | bool] = {
        "embedder": "none",
        "merge_duplicates": False,
        "propose_links": False,
    }
    with bootstrap.open(vault, clock=Past(90), settings=off) as memory:
        for at in range(0, size, BATCH):
            texts = writer.texts(min(BATCH, size - at))
            saved = memory.save_batch(
                {"content": one.content, "importance": round(chance.random(), 2)} for one in texts
            )
            ids += [one.id for one in saved]
    write_recalls(
        vault, [ids[:: each + 2] for each in range(6)], datetime.now(UTC) - timedelta(days=60)
    )
    mark.touch()


def write_recalls(
    vault: Path, groups: Iterable[Sequence[str]], at: datetime, month: str | None = None
) -> None:
    """Lines as searches leave them. A month: the file to add them to, which is to be the latest."""
    with (vault / "journal" / f"{month or f'{at:%Y-%m}'}.jsonl").open(
        "a", encoding="utf-8"
    ) as file:
        for ids in groups:
            file.write(
                json.dumps(
                    {"at": f"{at:%Y-%m-%dT%H:%M:%S}.000000Z", "event": "recalled", "memories": ids}
                )
                + "\n"
            )
