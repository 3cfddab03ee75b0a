"""What keeps a configuration from being changed. The file is then left as it is."""

from __future__ import annotations

from pathlib import Path

from muisti.errors import MuistiError


class ConfigurationProblem(MuistiError):
    """An agent's configuration cannot be changed safely; nothing of it was touched."""

    status = 409
    title = "The configuration cannot be changed"

    def __init__(self, path: Path, reason: str, *, place: tuple[int, int] | None = None) -> None:
        where = str(path) if place is None else f"{path}:{place[0]}:{place[1]}"
        super().__init__(f"{where}: {reason}")
        self.path = path
        self.reason = reason
        self.place = place


class Malformed(ValueError):
    """A text that is not what its format asks for, at one of its characters."""

    def __init__(self, position: int, reason: str) -> None:
        super().__init__(reason)
        self.position = position
        self.reason = reason


def locate(text: str, position: int) -> tuple[int, int]:
    """Line and column of a character, both from 1, as editors count them."""
    return text.count("\n", 0, position) + 1, position - text.rfind("\n", 0, position)
