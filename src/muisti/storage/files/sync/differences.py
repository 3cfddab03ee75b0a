"""Whether a file may have changed, by what the file system says of it. Pure."""

from __future__ import annotations

from muisti.storage.sync_state import FileStat, SeenFile

TICK_NS = 10_000_000
"""File systems keep times in ticks of a few milliseconds: a file looked at within one may change unseen."""
FEW = 3
"""Fewer files than this may vanish without a question, however small the vault."""
NO_MEMORY = "none"
"""Stands for the hash of a file that is somebody's, but no memory. One that is broken has an empty one."""


def may_have_changed(known: FileStat, seen_ns: int, now: FileStat) -> bool:
    """Return whether a file may have changed: its stat says so, or it was looked at too soon after it was written."""
    return known != now or seen_ns - now.mtime_ns < TICK_NS


def is_changed(known: SeenFile | None, now: FileStat) -> bool:
    """Return whether a file is new or may have changed."""
    return known is None or may_have_changed(known.stat, known.seen_ns, now)


def too_many_vanished(gone: int, known: int, share: float) -> bool:
    """Return whether so many files vanished at once that somebody should be asked."""
    return gone >= FEW and gone > known * share


def precedence(path: str) -> tuple[bool, int, str]:
    """Order files with one id: the live, the shorter-named, the first wins; copies have longer names."""
    return path.startswith("."), len(path), path
