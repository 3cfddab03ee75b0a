"""A process among many that talk in one chat. Run by its path: `talkers.py ROLE VAULT NUMBER
COUNT`, as `workers.py` is.
"""

from __future__ import annotations

import sys
from pathlib import Path

from muisti import bootstrap
from muisti.engine import Muisti

CHAT = "telegram_1"


def talk(memory: Muisti, number: int, count: int) -> None:
    """Write lines of many sizes; each is said twice, as a client does that got no answer."""
    for n in range(count):
        said = {
            "conversation": CHAT,
            "role": "user",
            "content": f"writer{number} line{n} " + "x" * (n * 37 % 5000),
            "id": f"{number}-{n}",
        }
        for _ in range(1 + (n % 10 == 0)):
            memory.append_message(**said, meta={"writer": number, "n": n})  # type: ignore[arg-type]


def reindex(memory: Muisti, number: int, count: int) -> None:
    """Rebuild again and again."""
    for _ in range(count):
        memory.reindex()


def main() -> None:
    role, vault, number, count = sys.argv[1:]
    with bootstrap.open(Path(vault)) as memory:
        print("ready", flush=True)
        sys.stdin.readline()
        {"talk": talk, "reindex": reindex}[role](memory, int(number), int(count))
        print("{}", flush=True)


if __name__ == "__main__":
    main()
