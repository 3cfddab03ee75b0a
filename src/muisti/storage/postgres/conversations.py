"""The lines of conversations: the source of the messages in the index."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from muisti.model import Message
from muisti.ports.rows import MessageLine, TextRow
from muisti.remember.index_rows import (
    LONG_AGO,
    get_own_scope,
    make_message_ids,
    project_messages,
)
from muisti.storage.postgres.connect import Connection, fetch
from muisti.storage.postgres.rows import decode_text, encode_text
from muisti.storage.row_values import to_int, to_time

COLUMNS = "place, message_id, at, role, content, type, meta"


def append_lines(db: Connection, conversation: str, lines: Sequence[MessageLine]) -> list[TextRow]:
    """Add lines to the latest day of a conversation. Return their rows for the index."""
    [(latest,)] = fetch(
        db,
        "SELECT coalesce(max(path), '') FROM lines WHERE conversation = %s AND NOT trashed",
        (conversation,),
    )
    day = f"conversations/{conversation}/{lines[0].at.date().isoformat()}.jsonl"
    path = max(day, latest)
    [(count,)] = fetch(
        db,
        "SELECT coalesce(max(place) + 1, 0) FROM lines WHERE path = %s AND NOT trashed",
        (path,),
    )
    placed = [line._replace(place=count + number) for number, line in enumerate(lines)]
    return add_lines(db, conversation, path, placed)


def add_lines(
    db: Connection,
    conversation: str,
    path: str,
    placed: Sequence[MessageLine],
    raw: Mapping[int, bytes] | None = None,
) -> list[TextRow]:
    """Add lines after those that a day has. Return their rows for the index.

    Raw: lines that are kept as they are, by place.
    """
    taken = {
        id_: (role, decode_text(content))
        for id_, role, content in fetch(db, _TAKEN, (make_message_ids(path, placed),))
    }
    [(last,)] = fetch(db, _LATEST, (conversation, path))
    insert_lines(db, conversation, path, placed, raw=raw)
    return project_messages(conversation, path, placed, taken, LONG_AGO if last is None else last)


_TAKEN = """SELECT e.id, m.role, e.content FROM entries e JOIN messages m USING (n)
WHERE e.id = ANY(%s)"""
_LATEST = """SELECT max(e.created_at) FROM entries e JOIN messages m USING (n)
WHERE m.chat = %s AND m.file = %s"""


def insert_lines(
    db: Connection,
    conversation: str,
    path: str,
    lines: Sequence[MessageLine],
    *,
    trashed: bool = False,
    raw: Mapping[int, bytes] | None = None,
) -> None:
    """Insert lines with their places, some as they are written in a file."""
    rows = [
        (
            conversation,
            path,
            trashed,
            line.place,
            line.id,
            to_int(line.at),
            line.role,
            encode_text(line.content),
            line.type,
            json.dumps(line.meta, ensure_ascii=False).replace("\0", "\\u0000"),
            (raw or {}).get(line.place),
        )
        for line in lines
    ]
    with db.cursor() as cursor:
        cursor.executemany(
            f"""INSERT INTO lines (conversation, path, trashed, {COLUMNS}, raw)
                VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)""".encode(),
            rows,
        )


def read_lines(db: Connection, path: str, *, trashed: bool = False) -> list[MessageLine]:
    """Return the lines of a path, in order."""
    sql = f"SELECT {COLUMNS} FROM lines WHERE path = %s AND trashed = %s ORDER BY place"
    return [decode_line(row) for row in fetch(db, sql, (path, trashed))]


def list_paths(
    db: Connection, conversation: str | None = None, *, trashed: bool = False
) -> list[tuple[str, str]]:
    """Return conversation and path of each day that has lines."""
    return [
        (name, path)
        for name, path in fetch(
            db,
            """SELECT DISTINCT conversation, path FROM lines
               WHERE trashed = %s AND (%s::text IS NULL OR conversation = %s) ORDER BY 2""",
            (trashed, conversation, conversation),
        )
    ]


def replace_day(
    db: Connection, conversation: str, path: str, lines: Sequence[MessageLine]
) -> list[TextRow]:
    """Replace the lines of a day, numbered again. Return their rows for the index."""
    db.execute("DELETE FROM lines WHERE path = %s AND NOT trashed", (path,))
    placed = [line._replace(place=place) for place, line in enumerate(lines)]
    insert_lines(db, conversation, path, placed)
    return project_messages(conversation, path, placed, {})


def trash_lines(db: Connection, conversation: str, path: str, lines: Sequence[MessageLine]) -> None:
    """Add lines to the trash."""
    if lines:
        sql = "SELECT coalesce(max(place) + 1, 0) FROM lines WHERE path = %s AND trashed"
        [(count,)] = fetch(db, sql, (path,))
        placed = [line._replace(place=count + number) for number, line in enumerate(lines)]
        insert_lines(db, conversation, path, placed, trashed=True)


def empty_trash(db: Connection, conversation: str, ids: Sequence[str] | None) -> int:
    """Delete messages of a conversation from the trash: these, or all. Return how many."""
    sql = """DELETE FROM lines WHERE conversation = %s AND trashed
             AND (%s::text[] IS NULL OR message_id = ANY(%s::text[])) RETURNING 1"""
    return len(fetch(db, sql, (conversation, *2 * [None if ids is None else list(ids)])))


def delete_other_lines(db: Connection, conversation: str) -> None:
    """Delete what was pushed with a conversation and is not a message."""
    folders = [f"conversations/{conversation}/", f".trash/conversations/{conversation}/"]
    for table in ("other_lines", "files"):
        db.execute(f"DELETE FROM {table} WHERE path ^@ ANY(%s)".encode(), (folders,))


def read_trash(db: Connection) -> list[Message]:
    """Return the messages in the trash, with the scope that they have themselves."""
    found = []
    for conversation, path in list_paths(db, trashed=True):
        for line in read_lines(db, path, trashed=True):
            project, user = get_own_scope(line.meta)
            message = Message(
                id=line.id,
                conversation=conversation,
                role=line.role,
                content=line.content,
                at=line.at,
                project=project,
                user=user,
            )
            found.append(message)
    return found


def project_conversations(db: Connection) -> list[TextRow]:
    """Return the rows of all messages."""
    rows: list[TextRow] = []
    for conversation, path in list_paths(db):
        rows += project_messages(conversation, path, read_lines(db, path), {})
    return rows


def decode_line(row: Sequence[Any]) -> MessageLine:
    """Return the line of a row."""
    place, id_, at, role, content, type_, meta = row
    return MessageLine(place, id_, to_time(at), role, decode_text(content), type_, json.loads(meta))
