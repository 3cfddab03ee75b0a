"""Output that is not on a terminal. Without Rich, which takes as long to import as a search takes.

The result is the same, byte for byte. What is not certain here is left to Rich.
"""

from __future__ import annotations

import os
import sys

DEFAULT_WIDTH = 80
_FORCED = ("FORCE_COLOR", "TTY_COMPATIBLE")
"""Variables by which a user tells Rich what the output understands."""
_NARROW = "…–—‘’“”·"
"""Marks outside the Latin blocks that are one column wide, and frequent."""


def get_width() -> int | None:
    """Return how wide lines are in output that is not on a terminal; None if Rich has to draw."""
    if sys.stdout.isatty() or any(name in os.environ for name in _FORCED):
        return None
    columns = os.environ.get("COLUMNS", "")
    if columns.isdigit():
        return int(columns) or None
    for descriptor in range(3):  # another stream may be on a terminal
        try:
            return os.get_terminal_size(descriptor).columns or DEFAULT_WIDTH
        except OSError:
            continue
    return DEFAULT_WIDTH


def is_narrow(text: str) -> bool:
    """Return whether every character of a text is surely one column wide."""
    if not text.isprintable():
        return False
    return text.isascii() or all(char < "\u0300" or char in _NARROW for char in text)


def wrap_narrow(text: str, width: int) -> list[str] | None:
    """Return the lines of a narrow text with single spaces; None if a word is too long for one."""
    lines: list[str] = []
    line = ""
    for word in text.split(" "):
        if len(word) > width:
            return None
        if line and len(line) + 1 + len(word) > width:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}" if line else word
    return [*lines, line] if line else lines
