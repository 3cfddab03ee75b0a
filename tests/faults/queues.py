"""What the tests of the queue under faults share."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from muisti import Muisti, bootstrap
from muisti.model import Exchange
from muisti.ports import Clock
from muisti.remember.identity import make_id

AT = datetime(2026, 3, 10, 12, 0, tzinfo=UTC)
MOVED, DECIDED, TEA = (
    "I moved to Turku last month.",
    "We decided to use PostgreSQL for the shop.",
    "I prefer tea with lemon.",
)
AGAIN = 0.721
"""The importance of the first of them, 0.69, once it is said again."""


def note(n: int) -> str:
    return f"Remember that subject{n} is stored in cabinet {n}."


def learnt(n: int) -> str:
    return f"Subject{n} is stored in cabinet {n}."


def exchange(n: int, text: str = "") -> Exchange:
    return Exchange(id=make_id(AT), at=AT, session_id="left", user=text or note(n), assistant="")


def events(vault: Path, name: str = "extracted") -> list[dict[str, Any]]:
    lines = [
        json.loads(line)
        for path in sorted((vault / "journal").glob("*.jsonl"))
        for line in path.read_bytes().splitlines()
    ]
    return [line for line in lines if line["event"] == name]


def queue_files(vault: Path) -> list[str]:
    return sorted(path.name for path in (vault / ".queue").glob("*") if path.name != ".gitignore")


def finish(vault: Path, clock: Clock | None = None) -> Muisti:
    """Open the vault as somebody does after a crash, and let it do what is left."""
    memory = bootstrap.open(vault, clock=clock)
    memory.resume_extraction()
    memory.flush()
    return memory


def check_once(vault: Path) -> None:
    """No exchange was dealt with twice, and none is left."""
    dealt = Counter(one["exchange"] for one in events(vault))
    assert set(dealt.values()) <= {1}, dealt
    assert queue_files(vault) == []
