"""Values in rows of a database, as both SQLite and PostgreSQL have them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from muisti.errors import IndexCorrupt
from muisti.model import Link, LinkSource, LinkType

if TYPE_CHECKING:
    from muisti.model import Conversation

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def to_int(at: datetime | None) -> int | None:
    """Return a time in microseconds since 1970."""
    return None if at is None else (at - _EPOCH) // _MICROSECOND


def to_time(value: int) -> datetime:
    """Return the time for microseconds since 1970. Raises IndexCorrupt."""
    try:
        return _EPOCH + timedelta(microseconds=value)
    except (OverflowError, TypeError) as error:
        raise IndexCorrupt(
            f"the index has an invalid time ({value!r}); `muisti reindex` rebuilds it"
        ) from error


def time_or_none(value: int | None) -> datetime | None:
    """Return the time for microseconds since 1970, or None. Raises IndexCorrupt."""
    return None if value is None else to_time(value)


def encode_link(link: Link) -> tuple[Any, ...]:
    """Return a link as the row that `decode_link` reads."""
    times = (to_int(link.created_at), to_int(link.valid_from), to_int(link.valid_until))
    return (
        link.source,
        link.type.value,
        link.target,
        link.confidence,
        link.extracted_by.value,
        *times,
    )


def decode_link(row: Sequence[Any]) -> Link:
    """Return the link in a row."""
    source, type_, target, confidence, by, created, valid_from, valid_until = row
    return Link(
        source=source,
        type=LinkType(type_),
        target=target,
        created_at=to_time(created),
        confidence=confidence,
        extracted_by=LinkSource(by),
        valid_from=time_or_none(valid_from),
        valid_until=time_or_none(valid_until),
    )


def decode_conversation(row: Sequence[Any]) -> Conversation:
    """Return the conversation in a row: its figures, its last project, user, model and message."""
    from muisti.model import Conversation  # a search needs none

    name, count, first, last, since_break, project, user, model, start = row
    return Conversation(
        name,
        count,
        to_time(first),
        to_time(last),
        since_break,
        project,
        user,
        model or "",
        start or "",
    )
