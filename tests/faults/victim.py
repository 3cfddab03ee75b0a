"""A process that works and is killed by strace. Run by its path: `victim.py VAULT [STEPS]`.

It says after each operation that it is done. Without an end it does all of them.
"""

from __future__ import annotations

import sys
from pathlib import Path

from muisti import bootstrap
from muisti.engine import Muisti


def _id(memory: Muisti, beginning: str) -> str:
    return next(m.id for m in memory.list(include_deleted=True) if m.content.startswith(beginning))


OPERATIONS = [
    lambda m: m.save("First, a memory that is new"),
    lambda m: m.update(_id(m, "Victim"), content="Victim, changed"),
    lambda m: m.update(_id(m, "Victim"), kind="decision"),
    lambda m: m.delete(_id(m, "Victim")),
    lambda m: m.save_batch([f"Batch of strace, item {n}" for n in range(3)]),
    lambda m: m.delete(_id(m, "First"), hard=True),
    lambda m: m.reindex(),
]


def main() -> None:
    vault, *steps = sys.argv[1:]
    memory = bootstrap.open(Path(vault), settings={"sync_on_open": False})
    for number, operation in enumerate(OPERATIONS[: int(steps[0]) if steps else None]):
        operation(memory)
        sys.stdout.write(f"{number}\n")
        sys.stdout.flush()
    memory.close()


if __name__ == "__main__":
    main()
