"""Encodes values as rows of the tables, and decodes them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from muisti.model import Memory, Session
from muisti.model.fields import Field, ValueType
from muisti.model.memory import FIELDS
from muisti.storage.row_values import decode_link, encode_link, time_or_none, to_int, to_time

SAID_AT = "CASE WHEN m.origin = 'message' THEN m.updated_at ELSE m.created_at END"
"""When a memory was created or a message was sent. A message's created_at is its order."""
_COLUMN_NAMES = {"file_path": "path"}
"""Fields whose column has another name."""
STORED = {_COLUMN_NAMES.get(field.name, field.name): field for field in FIELDS if field.stored}
"""The columns with fields of a memory."""
_EXPRESSIONS = {
    "salience": "{salience} AS salience",
    "created_at": SAID_AT,
    "updated_at": "GREATEST(m.updated_at, u.edited_at)",
    "access_count": "coalesce(u.access_count, 0)",
    "last_accessed": "u.last_accessed",
    "valid_until": "m.ends_at",
    "chunk_count": "coalesce(e.pieces, 0)",
    "embedding_model": """CASE WHEN e.pieces IS NOT NULL THEN
        (SELECT model FROM spaces JOIN models USING (space) WHERE serving) END""",
}
"""SQL for fields that are not read from their column alone."""
_READ = tuple(field for field in FIELDS if field.stored or field.name in _EXPRESSIONS)
_COLUMNS = ", ".join(
    _EXPRESSIONS.get(field.name, f"m.{_COLUMN_NAMES.get(field.name, field.name)}")
    for field in _READ
)
FROM_ENTRIES = """entries m LEFT JOIN usage u ON u.id = m.id
    LEFT JOIN embedded e ON e.n = m.n AND e.space = (SELECT space FROM spaces WHERE serving)"""
"""Memories, messages and sections of documents, as readers see them."""
IS_MEMORY = "m.origin = 'memory'"


def make_columns(salience: str) -> str:
    """Return the columns that `decode_memory` reads, with the SQL for the salience."""
    return _COLUMNS.format(salience=salience)


_ESCAPE = "\ufdd0"
"""A character that no text uses; followed by one of the two below."""
_ITSELF, _NUL = "\ufdd1", "\ufdd2"


def encode_text(text: str) -> str:
    """Return a text without NUL, which PostgreSQL cannot store. Messages may have one."""
    if "\0" not in text and _ESCAPE not in text:
        return text
    return text.replace(_ESCAPE, _ESCAPE + _ITSELF).replace("\0", _ESCAPE + _NUL)


def decode_text(text: str) -> str:
    """Return the text that was encoded."""
    if _ESCAPE not in text:
        return text
    return text.replace(_ESCAPE + _NUL, "\0").replace(_ESCAPE + _ITSELF, _ESCAPE)


def format_numbers(numbers: Iterable[float]) -> str:
    """Return an array as PostgreSQL writes it. psycopg takes a millisecond for a long list."""
    return f"{{{','.join(map(str, numbers))}}}"


def format_words(words: Iterable[str]) -> str:
    """Return an array of words, which have no spaces, as PostgreSQL writes it."""
    joined = " ".join(words).replace("\\", "\\\\").replace('"', '\\"').replace(" ", '","')
    return f'{{"{joined}"}}' if joined else "{}"


def round_share(value: float | None) -> float | None:
    """Return a number between 0 and 1 that PostgreSQL can multiply: it refuses results near 0."""
    return 0.0 if value is not None and value < 1e-200 else value


def encode_memory(memory: Memory) -> list[Any]:
    """Return a memory's values as the columns of STORED have them."""
    return [_encode(field, getattr(memory, field.name)) for field in STORED.values()]


def _encode(field: Field, value: Any) -> Any:
    match field.value_type:
        case ValueType.WORD:
            return str(value)
        case ValueType.TIME:
            return to_int(value)
        case ValueType.LIST:
            return list(value)
        case ValueType.SHARE if field.name == "salience":  # the only one that is multiplied
            return round_share(value)
        case ValueType.LINKS:
            return json.dumps([list(encode_link(link)[1:]) for link in value]) if value else ""
        case _:
            return value


def decode_memory(row: Sequence[Any]) -> Memory:
    """Return the memory in a row of `make_columns`. The query may select more columns."""
    values = dict(zip(READ_NAMES, row, strict=False))
    for name, decode in _DECODERS:
        values[name] = decode(values[name])
    links = json.loads(values["links"]) if values["links"] else ()
    values["links"] = tuple(decode_link([values["id"], *link]) for link in links)
    return Memory(**values)


def decode_written(row: Sequence[Any]) -> Memory:
    """Return the memory in a row of the columns of STORED, as it was written."""
    values = dict(zip(_WRITTEN_NAMES, row, strict=True))
    for name, decode in _DECODERS:
        if name in values:
            values[name] = decode(values[name])
    links = json.loads(values["links"]) if values["links"] else ()
    values["links"] = tuple(decode_link([values["id"], *link]) for link in links)
    return Memory(**values)


def _find_decoder(field: Field) -> Callable[[Any], Any] | None:
    """Return the function that decodes a field's cell, or None if the cell is the value.

    Also None for links, which need the ID of their memory.
    """
    if field.choices is not None:
        return {word.value: word for word in field.choices}.__getitem__
    if field.value_type is ValueType.TIME:
        return time_or_none if field.nullable else to_time
    if field.value_type is ValueType.BODY:
        return decode_text
    return tuple if field.value_type is ValueType.LIST else None


READ_NAMES = tuple(field.name for field in _READ)
"""The fields in the columns of `make_columns`."""
_WRITTEN_NAMES = tuple(field.name for field in STORED.values())
_DECODERS = tuple(
    (field.name, decode) for field in _READ if (decode := _find_decoder(field)) is not None
)


SESSION = 'id, project, "user", status, started_at, ended_at, summary, tool_calls, last_used'
"""The columns that `decode_session` reads."""


def decode_session(row: Sequence[Any]) -> Session:
    """Return the session in a row."""
    id_, project, user, status, started_at, ended_at, summary, tool_calls, last_used = row
    return Session(
        id=id_,
        project=project,
        user=user,
        status=status,
        started_at=to_time(started_at),
        ended_at=time_or_none(ended_at),
        summary=summary,
        tool_calls=tool_calls,
        last_used=time_or_none(last_used),
    )
