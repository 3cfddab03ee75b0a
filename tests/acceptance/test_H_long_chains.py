"""H4, E4 · A memory that is replaced every day: reading stays fast and the current one first."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import apsw
import pytest

from muisti import Memory, Muisti
from tests.conftest import FakeClock, Opener
from tests.tiers import amount

STEP = 10
"""Steps of SQLite's virtual machine between two calls of a progress handler."""


class Work:
    """Counts the steps of SQLite's virtual machine over all connections."""

    def __init__(self) -> None:
        self.count = 0

    def add(self) -> bool:
        self.count += STEP
        return False

    def measure(self, call: Callable[[], object]) -> int:
        call()  # the first call opens connections and fills caches
        before = self.count
        call()
        return self.count - before


@pytest.fixture
def work() -> Iterator[Work]:
    work = Work()

    def watch(db: apsw.Connection) -> None:
        db.set_progress_handler(work.add, STEP)

    apsw.connection_hooks.append(watch)
    yield work
    apsw.connection_hooks.remove(watch)


def extend_chain(memory: Muisti, clock: FakeClock, last: Memory, count: int) -> Memory:
    for number in range(count):
        clock.forward(days=1)
        text = f"The deploy status is {last.id[-6:]}{number}: release {number * 7919} is live"
        last = memory.save(text, replaces=last.id)
    return last


@pytest.mark.needs_files("counts the work of SQLite")
def test_H4_the_work_of_every_read_grows_at_most_linearly_with_a_chain(
    work: Work, opened: Opener, clock: FakeClock
) -> None:
    memory = opened(embedder="none")
    first = memory.save("The deploy status is unknown")
    short = amount(quick=30, all=50, long=250)
    last = extend_chain(memory, clock, first, short)
    now = clock.now()
    reads: dict[str, Callable[[], object]] = {
        "search": lambda: memory.search("deploy status", record=False),
        "search, oldest": lambda: memory.search("unknown", record=False),
        "search as_of": lambda: memory.search("deploy status", as_of=now, record=False),
        "search known_at": lambda: memory.search(
            "deploy status", as_of=now, known_at=now, record=False
        ),
        "list": lambda: memory.list(limit=None),
        "list as_of": lambda: memory.list(as_of=now),
        "context": lambda: memory.context("deploy status"),
        "timeline": lambda: memory.timeline(first.id),
        "get": lambda: memory.get(first.id),
        "find_outdated": lambda: memory.find_outdated([first.id, last.id]),
        "related": lambda: memory.related(first.id),
        "graph": lambda: memory.graph(first.id),
        "get_stats": memory.get_stats,
        "cleanup": lambda: memory.cleanup(0.001, dry_run=True),
        "export": memory.export_memories,
    }
    before = {name: work.measure(read) for name, read in reads.items()}
    assert before["search"] > 0
    extend_chain(memory, clock, last, 3 * short)
    after = {name: work.measure(read) for name, read in reads.items()}
    grown = {name: round(after[name] / max(before[name], STEP), 1) for name in reads}
    assert all(factor < 6 for factor in grown.values()), f"a chain of four times: {grown}"


def test_E4_the_current_memory_of_a_long_chain_stands_first(
    opened: Opener, clock: FakeClock
) -> None:
    memory = opened(embedder="none")
    first = memory.save("The rollout has the codename Zephyr")
    memory.save("Zephyr is also a wind from the west")
    last = extend_chain(memory, clock, first, 50)
    for query in ("Zephyr", "codename Zephyr", "deploy status release"):
        found = [result.memory.id for result in memory.search(query, limit=60, record=False)]
        assert found[0] == last.id
        assert (first.id in found) == ("Zephyr" in query)
