"""A process among many on one vault. Run by its path: `workers.py ROLE VAULT NUMBER COUNT`.

It opens the vault, says `ready`, waits for a line on its input, so that all begin at once, works,
and prints what was acknowledged to it as JSON.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from muisti import bootstrap
from muisti.engine import Muisti
from muisti.errors import MemoryNotFound

Report = dict[str, object]


def save(memory: Muisti, number: int, count: int) -> Report:
    """Save only; each text is its own."""
    ids = [memory.save(_text(number, n), kind="note", project=f"p{n % 3}").id for n in range(count)]
    return {"ids": ids}


def same(memory: Muisti, number: int, count: int) -> Report:
    """Save what all the others save too."""
    return {"ids": [memory.save(_text(0, n), kind="note").id for n in range(count)]}


def mixed(memory: Muisti, number: int, count: int) -> Report:
    """Everything at once, each process on its own memories, and reinforcing one that is
    everybody's.
    """
    chance = random.Random(number)
    mine: dict[str, str] = {}
    gone: list[str] = []
    reinforced = 0
    shared = next(m.id for m in memory.list(limit=None) if m.content == "The shared memory")
    for n in range(count):
        choice = chance.random()
        if choice < 0.4 or not mine:
            text = _text(number, n)
            mine[memory.save(text, kind="fact").id] = text
        elif choice < 0.6:
            one = chance.choice(sorted(mine))
            kind = chance.choice(["fact", "note"])
            mine[one] = memory.update(one, content=f"{_text(number, n)} changed", kind=kind).content
        elif choice < 0.75:
            one = chance.choice(sorted(mine))
            assert memory.delete(one, hard=chance.random() < 0.3)
            del mine[one]
            gone.append(one)
        elif choice < 0.9:
            memory.reinforce(shared)
            reinforced += 1
        else:
            one = chance.choice(sorted(mine))
            assert one in {hit.memory.id for hit in memory.search(mine[one], limit=50)}
    return {"mine": mine, "gone": gone, "reinforced": reinforced}


def reindex(memory: Muisti, number: int, count: int) -> Report:
    """Rebuild again and again."""
    for _ in range(count):
        memory.reindex()
    return {}


def read(memory: Muisti, number: int, count: int) -> Report:
    """Look for what has been there from the beginning: it must be found every time."""
    for _ in range(count):
        hits = memory.search("The shared memory", limit=5)
        assert "The shared memory" in [hit.memory.content for hit in hits], (
            "the shared memory was not found"
        )
        assert memory.get(hits[0].memory.id) is not None
    return {}


def verify(memory: Muisti, number: int, count: int) -> Report:
    """Others are at work meanwhile: that is no problem to report."""
    for _ in range(count):
        report = memory.verify(deep=True)
        assert report.ok, report.problems
    return {}


def evict(memory: Muisti, number: int, count: int) -> Report:
    """Archive what may be archived, some at each call."""
    ids = []
    for left in range(count, 0, -1):
        ids += [one.id for one in memory.evict(400 * 20 * (left - 1), to=1.0)]
        time.sleep(0.1)  # so that others get a turn on a busy machine, too
    return {"ids": ids}


def pin(memory: Muisti, number: int, count: int) -> Report:
    """Pin one after the other; what is in the archive already cannot be pinned."""
    pinned = []
    for one in memory.list(limit=None, order="desc")[:count]:
        with suppress(MemoryNotFound):
            pinned.append(memory.update(one.id, pinned=True).id)
    return {"pinned": pinned}


def _text(number: int, n: int) -> str:
    return f"Process {number} noted item {n} about subject{number}x{n}"


ROLES: dict[str, Callable[[Muisti, int, int], Report]] = {
    "save": save,
    "same": same,
    "mixed": mixed,
    "reindex": reindex,
    "read": read,
    "verify": verify,
    "evict": evict,
    "pin": pin,
}


def main() -> None:
    role, vault, number, count = sys.argv[1:]
    with bootstrap.open(Path(vault)) as memory:
        print("ready", flush=True)
        sys.stdin.readline()
        print(json.dumps(ROLES[role](memory, int(number), int(count))), flush=True)


if __name__ == "__main__":
    main()
