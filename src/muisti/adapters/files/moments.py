"""Times as the files write them."""

from __future__ import annotations

from datetime import UTC, datetime

from muisti.adapters.files.frontmatter import BadFrontMatter


def to_text(at: datetime) -> str:
    """A time as the files write it."""
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")


def from_text(key: str, text: str) -> datetime:
    """A time as people and files write it: a date, or a date and a time; without a zone it is UTC."""
    try:
        at = datetime.fromisoformat(text.strip())
        return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except (ValueError, OverflowError):  # the latter: a zone that leads before year 1 or beyond 9999
        raise BadFrontMatter(f"{key}: {text!r} is no time: write it like 2026-01-31T12:00:00Z") from None
