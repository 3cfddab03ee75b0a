"""Decide from stats whether files may have changed. Pure."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from muisti.model import Problem
from muisti.model.problems import MISSING

if TYPE_CHECKING:
    from muisti.storage.sync_state import FileStat, SeenFile

TICK_NS = 10_000_000
"""File times have a resolution of a few milliseconds: a change within one may not be visible."""
MIN_VANISHED = 3
"""Fewer missing files than this need no confirmation, however small the vault."""
DUPLICATE = "has the same ID as "
"""The start of the reason for a file that is a copy of another."""
NO_MEMORY = "none"
"""Stored as the hash of a file that is not a memory. The hash of a broken file is empty."""


def may_have_changed(known: FileStat, seen_ns: int, now: FileStat) -> bool:
    """Return whether a stat differs, or was taken too soon after the file was written."""
    return known != now or seen_ns - now.mtime_ns < TICK_NS


def is_changed(known: SeenFile | None, now: FileStat) -> bool:
    """Return whether a file is new or may have changed."""
    return known is None or may_have_changed(known.stat, known.seen_ns, now)


def too_many_vanished(gone: int, known: int, share: float) -> bool:
    """Return whether so many files are gone that forgetting them needs confirmation."""
    return gone >= MIN_VANISHED and gone > known * share


def describe_missing(gone: Sequence[str], known: int) -> Problem:
    """Return the problem of missing files, with the folder that all of them were in."""
    folder = os.path.commonpath([os.path.dirname(path) for path in gone]) or "."
    return Problem(
        folder,
        f"{len(gone)} of {known} {MISSING}, and searched as they were last:"
        " restore them, or run `muisti sync --confirm` to forget them",
    )


def precedence(path: str) -> tuple[bool, int, str]:
    """Return the sort key of files with the same ID: live before trash, short names before long.

    A copy usually has a longer name than its original.
    """
    return path.startswith("."), len(path), path
