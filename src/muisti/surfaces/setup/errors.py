"""Reasons why a configuration cannot be changed. The file is then left unchanged."""

from __future__ import annotations

from pathlib import Path

from muisti.errors import MuistiError


class ConfigurationProblem(MuistiError):
    """An agent's configuration cannot be changed safely; it was left unchanged."""

    status = 409
    title = "The configuration cannot be changed"

    def __init__(self, path: Path, reason: str, *, place: tuple[int, int] | None = None) -> None:
        where = str(path) if place is None else f"{path}:{place[0]}:{place[1]}"
        super().__init__(f"{where}: {reason}")
        self.path = path
        self.reason = reason
        self.place = place


class Malformed(ValueError):
    """A text is not valid in its format, at one position."""

    def __init__(self, position: int, reason: str) -> None:
        super().__init__(reason)
        self.position = position
        self.reason = reason


def locate(text: str, position: int) -> tuple[int, int]:
    """Return line and column of a position, both from 1."""
    return text.count("\n", 0, position) + 1, position - text.rfind("\n", 0, position)
