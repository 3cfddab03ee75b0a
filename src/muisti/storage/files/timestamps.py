"""Times as the files write them."""

from __future__ import annotations

import os
from datetime import UTC, datetime

from muisti.storage.files.frontmatter import BadFrontMatter
from muisti.storage.sync_state import FileStat

_LATEST_NS = 2**63 - 1
"""What the index can hold; it is the year 2262."""


def make_file_stat(status: os.stat_result) -> FileStat:
    """What the file system says of a file; times that make no sense are cut to what can be kept."""
    return FileStat(
        status.st_size, min(max(status.st_mtime_ns, -_LATEST_NS), _LATEST_NS), status.st_ino
    )


def read_mtime(status: os.stat_result) -> datetime:
    """When a file was last changed; 1970 if that makes no sense."""
    try:
        return datetime.fromtimestamp(status.st_mtime, UTC)
    except (OverflowError, ValueError, OSError):
        return datetime.fromtimestamp(0, UTC)


def format_time(at: datetime) -> str:
    """A time as the files write it."""
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")


def parse_time(key: str, text: str) -> datetime:
    """A time as people and files write it: a date, or a date and a time; without a zone it is UTC."""
    try:
        at = datetime.fromisoformat(text.strip())
        return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except (
        ValueError,
        OverflowError,
    ):  # the latter: a zone that leads before year 1 or beyond 9999
        raise BadFrontMatter(
            f"{key}: {text!r} is no time: write it like 2026-01-31T12:00:00Z"
        ) from None
