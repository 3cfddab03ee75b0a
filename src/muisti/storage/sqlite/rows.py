"""Rows of the index as values, and back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import apsw

from muisti.errors import IndexCorrupt
from muisti.model import Finder, Link, LinkType, Memory, Origin, Sector, Session, Tier

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)

Cell = str | int | float | None

SUPERSEDES = "l.target = m.id AND l.source <> m.id AND l.type = 'SUPERSEDES' AND NOT l.proposed AND l.valid_until IS NULL"
"""A link `l` by which another memory took the place of `m`."""
# What the file says, or else when a memory that supersedes it began: so there is one current version even if a crash came
# between the two files of a supersede.
VALID_UNTIL = (
    "coalesce(m.valid_until, (SELECT min(l.valid_from) FROM links l JOIN memories s ON s.id = l.source "
    f"AND s.deleted_at IS NULL WHERE {SUPERSEDES}))"
)
SAID_AT = "iif(m.origin = 'message', m.updated_at, m.created_at)"
"""When a memory was made; of a message, whose time of creation is its place in the order, when it was said."""
_COLUMNS = (
    "m.id, m.content, m.title, m.kind, m.sector, m.tier, m.project, m.session_id, m.source, m.summary, "
    "m.keywords, m.concepts, m.files, m.importance, {salience}, coalesce(u.access_count, 0), "
    f"{SAID_AT}, max(m.updated_at, coalesce(u.edited_at, m.updated_at)), u.last_accessed, m.valid_from, {{valid_until}}, "
    "m.pinned, m.trusted, m.links, m.deleted_at, m.content_hash, m.simhash, m.path, e.pieces, "
    "(SELECT model FROM spaces WHERE serving), m.origin"
)
_BESIDE = (
    "LEFT JOIN usage u ON u.id = m.id LEFT JOIN embedded e ON e.n = m.n AND e.space = (SELECT space FROM spaces WHERE serving)"
)
FROM = f"memories m {_BESIDE}"
FROM_ENTRIES = f"entries m {_BESIDE}"
"""Memories; and messages and sections of documents as well."""


def columns(salience: str) -> str:
    """What `memory_of` reads, with the SQL expression for the salience."""
    return _COLUMNS.format(salience=salience, valid_until=VALID_UNTIL)


def fetch(db: apsw.Connection, sql: str, values: Sequence[Cell] = ()) -> list[tuple[Any, ...]]:
    """All rows. The schema fixes the types of the cells, which the type checker cannot know."""
    return db.execute(sql, values).fetchall()


def quoted(word: str) -> str:
    """A word in an FTS5 expression: whatever it is, it is no syntax."""
    return '"' + word.replace('"', '""').replace("\0", " ") + '"'  # a NUL would end the expression


def to_int(at: datetime | None) -> int | None:
    """A time as microseconds."""
    return None if at is None else (at - _EPOCH) // _MICROSECOND


def to_time(value: int) -> datetime:
    """Microseconds as a time. Raises IndexCorrupt for what is none."""
    try:
        return _EPOCH + timedelta(microseconds=value)
    except (OverflowError, TypeError) as error:
        raise IndexCorrupt(f"the index has a time that is none ({value!r}); `muisti reindex` rebuilds it") from error


def time_or_none(value: int | None) -> datetime | None:
    """Microseconds as a time, if there are any."""
    return None if value is None else to_time(value)


def to_list(values: Sequence[str]) -> str:
    """A list in one cell."""
    return json.dumps(values, ensure_ascii=False) if values else ""


def _from_list(cell: str) -> tuple[str, ...]:
    return tuple(json.loads(cell)) if cell else ()


def memory_of(row: Sequence[Any]) -> Memory:
    """A row of `columns` as a memory. Raises IndexCorrupt for one that no memory can have."""
    try:
        return _memory_of(row)
    except (KeyError, ValueError, TypeError, OverflowError) as error:
        raise IndexCorrupt(f"the index has a row that makes no sense ({error!r}); `muisti reindex` rebuilds it") from error


def _memory_of(row: Sequence[Any]) -> Memory:
    (
        id_, content, title, kind, sector, tier, project, session_id, source, summary,
        keywords, concepts, files, importance, salience, access_count,
        created_at, updated_at, last_accessed, valid_from, valid_until,
        pinned, trusted, links, deleted_at, content_hash, simhash, path, pieces, model, origin, *_,
    ) = row  # fmt: skip
    return Memory(
        id=id_,
        content=content,
        title=title,
        kind=kind,
        sector=_SECTORS[sector],
        tier=_TIERS[tier],
        project=project,
        session_id=session_id,
        source=source,
        summary=summary,
        keywords=_from_list(keywords),
        concepts=_from_list(concepts),
        files=_from_list(files),
        importance=importance,
        salience=salience,
        access_count=access_count,
        created_at=to_time(created_at),
        updated_at=to_time(updated_at),
        last_accessed=time_or_none(last_accessed),
        valid_from=time_or_none(valid_from),
        valid_until=time_or_none(valid_until),
        pinned=bool(pinned),
        trusted=bool(trusted),
        links=tuple(link_of([id_, *cells]) for cells in json.loads(links)) if links else (),
        deleted_at=time_or_none(deleted_at),
        content_hash=content_hash,
        simhash=simhash,
        chunk_count=pieces or 0,
        embedding_model=None if pieces is None else model,
        file_path=path,
        origin=_ORIGINS[origin],
    )


_ORIGINS = {origin.value: origin for origin in Origin}
_SECTORS = {sector.value: sector for sector in Sector}
_TIERS = {tier.value: tier for tier in Tier}


def to_links(links: Sequence[Link]) -> str:
    """The links that begin at a memory, in one cell."""
    return json.dumps([list(link_cells(link)[1:]) for link in links]) if links else ""


def link_cells(link: Link) -> tuple[Cell, ...]:
    """A link as the row that `link_of` reads."""
    times = (to_int(link.created_at), to_int(link.valid_from), to_int(link.valid_until))
    return link.source, link.type.value, link.target, link.confidence, link.extracted_by.value, *times


def link_of(row: Sequence[Any]) -> Link:
    """A row as a link."""
    source, type_, target, confidence, by, created, valid_from, valid_until = row
    return Link(
        source=source,
        type=LinkType(type_),
        target=target,
        created_at=to_time(created),
        confidence=confidence,
        extracted_by=Finder(by),
        valid_from=time_or_none(valid_from),
        valid_until=time_or_none(valid_until),
    )


def session_of(row: Sequence[Any]) -> Session:
    """A row of the table sessions as a session."""
    id_, project, status, started_at, ended_at, summary, tool_calls = row
    return Session(
        id=str(id_),
        project=str(project),
        status=str(status),
        started_at=to_time(started_at),
        ended_at=time_or_none(ended_at),
        summary=str(summary),
        tool_calls=int(tool_calls),
    )
