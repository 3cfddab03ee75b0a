"""The journal: events that are appended, and found by the memories that they mention."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from muisti.model import Event
from muisti.ports.lookups import ID
from muisti.storage.postgres.connect import Connection, fetch
from muisti.storage.row_values import to_int, to_time

COLUMNS = "at, name, memory_ids, session_id, data"


class Source(NamedTuple):
    """The line that an event was pushed from."""

    path: str
    place: int
    raw: bytes | None


def append_events(
    db: Connection, events: Sequence[Event], sources: Sequence[Source] | None = None
) -> None:
    """Append events. Sources: the line of each, if they are pushed."""
    sql = f"""WITH e AS (
                  INSERT INTO events ({COLUMNS}, path, place, raw)
                  VALUES (%s, %s, %s, %s, %s, %s, %s, %s) RETURNING n
              )
              INSERT INTO mentions (memory_id, n) SELECT id, n FROM e, unnest(%s::text[]) id"""
    for at, event in enumerate(events):
        source = sources[at] if sources else (None, None, None)
        db.execute(sql.encode(), (*_encode(event), *source, _find_mentioned(event)))


def rebuild_mentions(db: Connection) -> None:
    """Find again which memories the events mention."""
    db.execute("DELETE FROM mentions")
    after = -1
    sql = f"SELECT n, {COLUMNS} FROM events WHERE n > %s ORDER BY n LIMIT 1000"
    while rows := fetch(db, sql, (after,)):
        events = [(n, decode_event(row)) for n, *row in rows]
        mentions = [(id_, n) for n, event in events for id_ in _find_mentioned(event)]
        db.execute(
            "INSERT INTO mentions (memory_id, n) SELECT * FROM unnest(%s::text[], %s::bigint[])",
            ([id_ for id_, _ in mentions], [n for _, n in mentions]),
        )
        after = rows[-1][0]


def _find_mentioned(event: Event) -> list[str]:
    named = [value for value in event.data.values() if isinstance(value, str)]
    return list(dict.fromkeys((*event.memory_ids, *filter(ID.fullmatch, named))))


def read_events(db: Connection, memory_id: str | None = None) -> list[Event]:
    """Return the events that mention a memory, or all, in order."""
    if memory_id is None:
        rows = fetch(db, f"SELECT {COLUMNS} FROM events ORDER BY n")
    else:
        sql = f"""SELECT {COLUMNS} FROM mentions JOIN events USING (n)
                  WHERE memory_id = %s ORDER BY n"""
        rows = fetch(db, sql, (memory_id,))
    return [decode_event(row) for row in rows]


def rewrite_events(db: Connection, change: Callable[[Event], Event | None]) -> list[Event]:
    """Change or delete events, and return those that are left, in order. None deletes one."""
    left = []
    for n, *row in fetch(db, f"SELECT n, {COLUMNS} FROM events ORDER BY n"):
        event = decode_event(row)
        changed = change(event)
        if changed is not None:
            left.append(changed)
        if changed is None:
            db.execute("DELETE FROM events WHERE n = %s", (n,))
            db.execute("DELETE FROM mentions WHERE n = %s", (n,))
        elif changed != event:
            db.execute(
                """UPDATE events SET at = %s, name = %s, memory_ids = %s, session_id = %s,
                       data = %s, raw = NULL WHERE n = %s""",
                (*_encode(changed), n),
            )
            gone = list(set(event.memory_ids) - set(changed.memory_ids))
            db.execute("DELETE FROM mentions WHERE n = %s AND memory_id = ANY(%s)", (n, gone))
    return left


def _encode(event: Event) -> tuple[Any, ...]:
    data = json.dumps(dict(event.data), ensure_ascii=False).replace("\0", "\\u0000")
    return to_int(event.at), str(event.name), list(event.memory_ids), event.session_id, data


def decode_event(row: Sequence[Any]) -> Event:
    """Return the event of a row."""
    at, name, memory_ids, session_id, data = row
    return Event(name, to_time(at), tuple(memory_ids), session_id, json.loads(data))
