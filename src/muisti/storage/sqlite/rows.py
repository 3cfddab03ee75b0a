"""Rows of the index as values, and back."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import apsw

from muisti.errors import IndexCorrupt
from muisti.model import Link, LinkSource, LinkType, Memory, Session
from muisti.model.fields import Field, ValueType
from muisti.model.memory import FIELDS

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
_COLUMN_NAMES = {"file_path": "path"}
"""Of fields whose column is called otherwise."""
STORED = {_COLUMN_NAMES.get(field.name, field.name): field for field in FIELDS if field.stored}
"""The columns that hold fields of a memory."""
_EXPRESSIONS = {
    "salience": "{salience} AS salience",
    "created_at": SAID_AT,
    "updated_at": "max(m.updated_at, coalesce(u.edited_at, m.updated_at))",
    "access_count": "coalesce(u.access_count, 0)",
    "last_accessed": "u.last_accessed",
    "valid_until": VALID_UNTIL,
    "chunk_count": "coalesce(e.pieces, 0)",
    "embedding_model": "iif(e.pieces IS NULL, NULL, (SELECT model FROM spaces WHERE serving))",
}
"""How fields are read that are not, or not only, what their column says."""
_READ = tuple(field for field in FIELDS if field.stored or field.name in _EXPRESSIONS)
_COLUMNS = ", ".join(
    _EXPRESSIONS.get(field.name, f"m.{_COLUMN_NAMES.get(field.name, field.name)}")
    for field in _READ
)
_BESIDE = "LEFT JOIN usage u ON u.id = m.id LEFT JOIN embedded e ON e.n = m.n AND e.space = (SELECT space FROM spaces WHERE serving)"
FROM = f"memories m {_BESIDE}"
FROM_ENTRIES = f"entries m {_BESIDE}"
"""Memories; and messages and sections of documents as well."""


def make_columns(salience: str) -> str:
    """What `memory_of` reads, with the SQL expression for the salience."""
    return _COLUMNS.format(salience=salience)


def fetch(db: apsw.Connection, sql: str, values: Sequence[Cell] = ()) -> list[tuple[Any, ...]]:
    """All rows. The schema fixes the types of the cells, which the type checker cannot know."""
    return db.execute(sql, values).fetchall()


def quote_word(word: str) -> str:
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
        raise IndexCorrupt(
            f"the index has a time that is none ({value!r}); `muisti reindex` rebuilds it"
        ) from error


def time_or_none(value: int | None) -> datetime | None:
    """Microseconds as a time, if there are any."""
    return None if value is None else to_time(value)


def encode_list(values: Sequence[str]) -> str:
    """A list in one cell."""
    return json.dumps(values, ensure_ascii=False) if values else ""


def _decode_list(cell: str) -> tuple[str, ...]:
    return tuple(json.loads(cell)) if cell else ()


def decode_memory(row: Sequence[Any]) -> Memory:
    """A row of `columns` as a memory. Raises IndexCorrupt for one that no memory can have."""
    try:
        return _memory_of(row)
    except (KeyError, ValueError, TypeError, OverflowError) as error:
        raise IndexCorrupt(
            f"the index has a row that makes no sense ({error!r}); `muisti reindex` rebuilds it"
        ) from error


def _memory_of(row: Sequence[Any]) -> Memory:
    values = dict(zip(_NAMES, row, strict=False))  # a query may read more than a memory has
    for name, decode in _DECODERS:
        values[name] = decode(values[name])
    if values["links"]:
        cells = json.loads(values["links"])
        values["links"] = tuple(decode_link([values["id"], *link]) for link in cells)
    else:
        values["links"] = ()
    return Memory(**values)


def encode_value(field: Field, value: Any) -> Cell:
    """A field's value as its column holds it."""
    encode = _ENCODERS.get(field.value_type)
    return value if encode is None else encode(value)


def encode_links(links: Sequence[Link]) -> str:
    """The links that begin at a memory, in one cell."""
    return json.dumps([list(encode_link(link)[1:]) for link in links]) if links else ""


_ENCODERS: Mapping[ValueType, Callable[[Any], Cell]] = {
    ValueType.WORD: str,
    ValueType.TIME: to_int,
    ValueType.LIST: encode_list,
    ValueType.LINKS: encode_links,
}


def _decoder(field: Field) -> Callable[[Any], Any] | None:
    """How a cell becomes the field's value; None if it is that already, and for links, which need their memory's id."""
    if field.choices is not None:
        return {word.value: word for word in field.choices}.__getitem__
    if field.value_type is ValueType.TIME:
        return time_or_none if field.nullable else to_time
    if field.value_type is ValueType.LIST:
        return _decode_list
    return bool if field.value_type is ValueType.FLAG else None


_NAMES = tuple(field.name for field in _READ)
_DECODERS = tuple(
    (field.name, decode) for field in _READ if (decode := _decoder(field)) is not None
)


def encode_link(link: Link) -> tuple[Cell, ...]:
    """A link as the row that `link_of` reads."""
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
    """A row as a link."""
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


def decode_session(row: Sequence[Any]) -> Session:
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
