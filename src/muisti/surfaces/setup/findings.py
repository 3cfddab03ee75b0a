"""What a check-up finds."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum

log = logging.getLogger("muisti")


class Level(StrEnum):
    """How bad it is."""

    OK = "ok"
    NOTE = "note"
    """Worth knowing; things work."""
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    area: str
    level: Level
    what: str
    cure: str = ""
    """What to do about it."""


def count_noun(number: int, one: str, more: str) -> str:
    """`1 memory`, `2 memories`."""
    return f"{number} {one if number == 1 else more}"


def run_check(area: str, check: Callable[[], Iterator[Finding]]) -> list[Finding]:
    """What a check finds. Whatever goes wrong within it is a finding too: the rest must still be looked at."""
    found: list[Finding] = []
    try:
        found += check()
    except Exception as error:
        log.debug("the check of %s failed", area, exc_info=True)
        said = str(error).split("\n", maxsplit=1)[0]
        found.append(
            Finding(
                area,
                Level.PROBLEM,
                f"cannot be checked: {said or type(error).__name__} ({type(error).__name__})",
            )
        )
    return found
