"""The findings of `muisti doctor`."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum

log = logging.getLogger("muisti")


class Level(StrEnum):
    """The severity of a finding."""

    OK = "ok"
    NOTE = "note"
    """Worth knowing; everything works."""
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check."""

    area: str
    level: Level
    what: str
    fix: str = ""
    """What to do about it."""


def count_noun(number: int, one: str, more: str) -> str:
    """Return `1 memory` or `2 memories`."""
    return f"{number} {one if number == 1 else more}"


def run_check(area: str, check: Callable[[], Iterator[Finding]]) -> list[Finding]:
    """Return the findings of a check. A failure is a finding too: other checks still run."""
    found: list[Finding] = []
    try:
        found += check()
    except Exception as error:
        log.debug("the check of %s failed", area, exc_info=True)
        message = str(error).split("\n", maxsplit=1)[0] or "no message"
        what = f"cannot be checked: {message} ({type(error).__name__})"
        found.append(Finding(area, Level.PROBLEM, what))
    return found
