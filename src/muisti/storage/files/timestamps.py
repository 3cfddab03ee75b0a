"""Times in files and of files."""

from __future__ import annotations

import os
from datetime import UTC, datetime

from muisti.storage.files.errors import BadFrontMatter
from muisti.storage.sync_state import FileStat

_LATEST_NS = 2**63 - 1
"""The largest integer that the index can store; as a time, the year 2262."""


def make_file_stat(status: os.stat_result) -> FileStat:
    """Return size, time and inode of a file; the time is clamped to what the index can store."""
    mtime_ns = status.st_mtime_ns
    if not -_LATEST_NS <= mtime_ns <= _LATEST_NS:
        mtime_ns = _LATEST_NS if mtime_ns > 0 else -_LATEST_NS
    return FileStat(status.st_size, mtime_ns, status.st_ino)


def read_mtime(status: os.stat_result) -> datetime:
    """Return when a file was last changed; 1970 if the time is out of range."""
    try:
        return datetime.fromtimestamp(status.st_mtime, UTC)
    except (OverflowError, ValueError, OSError):
        return datetime.fromtimestamp(0, UTC)


def format_time(at: datetime) -> str:
    """Return a time as it is written to files."""
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")


def parse_time(key: str, text: str) -> datetime:
    """Parse a date, or a date and a time; UTC if it has no zone. Raises BadFrontMatter."""
    try:
        at = datetime.fromisoformat(text.strip())
        return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except (ValueError, OverflowError):  # the latter: the zone leads out of the years 1 to 9999
        raise BadFrontMatter(
            f"{key} must be a time such as 2026-01-31T12:00:00Z (got {text!r})"
        ) from None
