"""Encodes values as rows of the index, and decodes them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import apsw

from muisti.errors import IndexCorrupt
from muisti.model import Link, Memory
from muisti.model.fields import Field, ValueType
from muisti.model.memory import FIELDS
from muisti.storage.row_values import decode_link, encode_link, time_or_none, to_int, to_time
from muisti.storage.sqlite.validity import VALID_UNTIL

if TYPE_CHECKING:
    from muisti.model import Session


Cell = str | int | float | None

SAID_AT = "iif(m.origin = 'message', m.updated_at, m.created_at)"
"""When a memory was created or a message was sent. A message's created_at is its order."""
_COLUMN_NAMES = {"file_path": "path"}
"""Fields whose column has another name."""
STORED = {_COLUMN_NAMES.get(field.name, field.name): field for field in FIELDS if field.stored}
"""The columns with fields of a memory."""
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
"""SQL for fields that are not read from their column alone."""
_READ = tuple(field for field in FIELDS if field.stored or field.name in _EXPRESSIONS)
_COLUMNS = ", ".join(
    _EXPRESSIONS.get(field.name, f"m.{_COLUMN_NAMES.get(field.name, field.name)}")
    for field in _READ
)
_BESIDE = """LEFT JOIN usage u ON u.id = m.id
    LEFT JOIN embedded e ON e.n = m.n AND e.space = (SELECT space FROM spaces WHERE serving)"""
FROM = f"memories m {_BESIDE}"
FROM_ENTRIES = f"entries m {_BESIDE}"
"""Memories, messages and sections of documents."""


def make_columns(salience: str) -> str:
    """Return the columns that `decode_memory` reads, with the SQL for the salience."""
    return _COLUMNS.format(salience=salience)


def fetch(db: apsw.Connection, sql: str, values: Sequence[Cell] = ()) -> list[tuple[Any, ...]]:
    """Return all rows. The schema ensures the types of the cells."""
    return db.execute(sql, values).fetchall()


def quote_word(word: str) -> str:
    """Quote a word for an FTS5 expression, so that it is never syntax."""
    return '"' + word.replace('"', '""').replace("\0", " ") + '"'  # a NUL would end the expression


def encode_list(values: Sequence[str]) -> str:
    """Return a list as one cell."""
    return json.dumps(values, ensure_ascii=False) if values else ""


def _decode_list(cell: str) -> tuple[str, ...]:
    if cell[:2] == '["' and cell[3:][-2:] == '"]' and "\\" not in cell:
        return tuple(cell[2:-2].split('", "'))  # as `encode_list` writes it, nothing is escaped
    return tuple(json.loads(cell)) if cell else ()


def decode_memory(row: Sequence[Any]) -> Memory:
    """Return the memory in a row of `make_columns`. Raises IndexCorrupt."""
    try:
        values = list(row[: len(_NAMES)])  # the query may select more columns
        for place, decode in _DECODERS:
            values[place] = decode(values[place])
        for place in _TIMES_OR_NONE:
            if values[place] is not None:
                values[place] = to_time(values[place])
        links = json.loads(values[_LINKS]) if values[_LINKS] else ()
        values[_LINKS] = tuple([decode_link([values[_ID], *link]) for link in links])
        # What `Memory(...)` does, in half the time: no dictionary, no look-up of each field.
        memory = object.__new__(Memory)
        for set_field, value in zip(_SETTERS, (*values, *_REST), strict=True):
            set_field(memory, value)
        return memory
    except (KeyError, ValueError, TypeError, OverflowError) as error:
        raise IndexCorrupt(
            f"the index has an invalid row ({error!r}); `muisti reindex` rebuilds it"
        ) from error


def encode_memory(memory: Memory) -> list[Cell]:
    """Return a memory's values as the columns of STORED have them."""
    cells = list(_read_stored(memory))
    for at, encode in _STORED_ENCODERS:
        cells[at] = encode(cells[at])
    return cells


def encode_links(links: Sequence[Link]) -> str:
    """Return the links of a memory as one cell."""
    return json.dumps([list(encode_link(link)[1:]) for link in links]) if links else ""


_ENCODERS: Mapping[ValueType, Callable[[Any], Cell]] = {
    ValueType.WORD: str,
    ValueType.TIME: to_int,
    ValueType.LIST: encode_list,
    ValueType.LINKS: encode_links,
}


_read_stored = attrgetter(*(field.name for field in STORED.values()))
_STORED_ENCODERS = tuple(
    (at, _ENCODERS[field.value_type])
    for at, field in enumerate(STORED.values())
    if field.value_type in _ENCODERS
)


def _find_decoder(field: Field) -> Callable[[Any], Any] | None:
    """Return the function that decodes a field's cell, or None if the cell is the value.

    Also None for links, which need the ID of their memory, and for times that may be missing: most
    are.
    """
    if field.choices is not None:
        return {word.value: word for word in field.choices}.__getitem__
    if field.value_type is ValueType.TIME:
        return None if field.nullable else to_time
    if field.value_type is ValueType.LIST:
        return _decode_list
    return bool if field.value_type is ValueType.FLAG else None


_NAMES = tuple(field.name for field in _READ)
PLACES = {name: place for place, name in enumerate(_NAMES)}
"""Where each field is in a row of `make_columns`."""
_DEFAULTS = {field.name: field.default for field in fields(Memory) if field.name not in PLACES}
_SETTERS = tuple(getattr(Memory, name).__set__ for name in (*_NAMES, *_DEFAULTS))
_REST = tuple(_DEFAULTS.values())
"""The values of fields that no row has."""
_DECODERS = tuple(
    (PLACES[field.name], decode) for field in _READ if (decode := _find_decoder(field)) is not None
)
_TIMES_OR_NONE = tuple(
    PLACES[field.name] for field in _READ if field.value_type is ValueType.TIME and field.nullable
)
_ID, _LINKS = PLACES["id"], PLACES["links"]


def decode_session(row: Sequence[Any]) -> Session:
    """Return the session in a row of the table sessions."""
    from muisti.model import Session

    id_, project, status, started_at, ended_at, summary, tool_calls, user, last_used = row
    return Session(
        id=str(id_),
        project=str(project),
        user=str(user),
        status=str(status),
        started_at=to_time(started_at),
        ended_at=time_or_none(ended_at),
        summary=str(summary),
        tool_calls=int(tool_calls),
        last_used=time_or_none(last_used),
    )
