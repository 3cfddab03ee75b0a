"""Writes one transaction of the index. Only SQL and codecs: `index_rows` creates the rows."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from muisti.ports.rows import IndexChanges, JournalChanges, MemoryRow, TextRow, Words
from muisti.remember.index_rows import get_tier
from muisti.storage.postgres.connect import Connection, fetch
from muisti.storage.postgres.rows import STORED, encode_memory, encode_text, round_share
from muisti.storage.postgres.validity import update_ends
from muisti.storage.postgres.vector_spaces import (
    delete_vectors,
    mark_unembedded,
    promote_complete_space,
)
from muisti.storage.postgres.word_rows import replace_words
from muisti.storage.row_values import encode_link, to_int
from muisti.text.simhash import compute_bands

_SECTORS = {"message": "episodic", "document": "semantic"}


class _Row(NamedTuple):
    """A replaced row. The new row keeps its number, and so its vectors."""

    n: int
    source_hash: str
    simhash: str = ""


def apply_changes(db: Connection, changes: IndexChanges) -> None:
    """Write one transaction."""
    arriving = {row.memory.id: row for row in changes.memories}
    ids = [*dict.fromkeys((*changes.removed, *arriving))]
    known: dict[str, _Row] = {}
    if ids:
        known = {id_: _Row(*row) for id_, *row in fetch(db, _KNOWN, (ids,))}
    gone = [row.n for id_, row in known.items() if id_ not in arriving]
    released = _remove_beside(db, known)
    if gone:
        replace_words(db, gone, {})
        delete_vectors(db, gone)
        db.execute("DELETE FROM entries WHERE n = ANY(%s)", (gone,))
    if arriving:
        _insert_memories(db, list(arriving.values()), known)
    if known or arriving:
        update_ends(db, {*known, *arriving, *released})

    if changes.emptied or changes.texts:
        _replace_texts(db, changes)
    conversations = {text.message.conversation for text in changes.texts if text.message}
    if changes.journal is not None:
        conversations |= _apply_journal(db, changes.journal)
    if conversations:
        db.execute(_ASSIGN.encode(), (sorted(conversations),))
    if gone or changes.emptied:
        # A removed text may have been the last one missing in another model's space.
        promote_complete_space(db)


_KNOWN = "SELECT id, n, source_hash, simhash FROM entries WHERE id = ANY(%s) AND origin = 'memory'"


def _remove_beside(db: Connection, known: Mapping[str, _Row]) -> list[str]:
    """Delete labels, bands and links of memories. Return what the links led to."""
    if not known:
        return []
    numbers = [row.n for row in known.values()]
    bands = list({band for row in known.values() for band in compute_bands(row.simhash)})
    db.execute("DELETE FROM bands WHERE band = ANY(%s) AND n = ANY(%s)", (bands, numbers))
    db.execute("DELETE FROM labels WHERE n = ANY(%s)", (numbers,))
    sql = "DELETE FROM links WHERE source = ANY(%s) RETURNING target"
    return [target for (target,) in fetch(db, sql, (list(known),))]


# -- Memories

_NAMES = ("n", "source_hash", "own_end", "ends_at", *STORED)
_COLUMNS = ", ".join(f'"{column}"' for column in _NAMES)
# One statement, as triggers run for each.
_INSERT = f"""
INSERT INTO entries ({_COLUMNS})
SELECT {_COLUMNS} FROM json_populate_recordset(NULL::muisti.entries, %s)
ON CONFLICT (tenant, id) DO UPDATE SET source_hash = excluded.source_hash,
    own_end = excluded.own_end, ends_at = excluded.ends_at,
    {", ".join(f'"{column}" = excluded."{column}"' for column in STORED if column != "id")}
"""


def _insert_memories(db: Connection, rows: Sequence[MemoryRow], known: Mapping[str, _Row]) -> None:
    numbers = _choose_numbers(db, [row.memory.id for row in rows], known)
    entries: list[dict[str, Any]] = []
    labels: list[tuple[str, str, int]] = []
    bands: list[tuple[int, int, str]] = []
    links: list[Sequence[Any]] = []
    changed: list[int] = []
    for row in rows:
        memory = row.memory
        n = numbers[memory.id]
        end = to_int(memory.valid_until)
        values = (n, row.source_hash, end, end, *encode_memory(memory))
        entries.append(dict(zip(_NAMES, values, strict=True)))
        labels += [(field, value, n) for field, value in row.labels]
        bands += [(band, n, memory.simhash) for band in row.bands]
        for link in memory.links:
            *ends, created, since, until = encode_link(link)
            begins = created if since is None else since
            links.append((*ends, link.proposed, created, begins, until))
        before = known.get(memory.id)
        if before is None or before.source_hash != row.source_hash:
            changed.append(n)
    db.execute(_INSERT.encode(), (json.dumps(entries, ensure_ascii=False),))
    if links:
        with db.cursor() as cursor:
            cursor.executemany(_LINK, links)
    _insert_columns(db, "labels (field, value, n)", "text text bigint", labels)
    _insert_columns(db, "bands (band, n, simhash)", "integer bigint text", bands)
    before_rows = [known[row.memory.id].n for row in rows if row.memory.id in known]
    replace_words(db, before_rows, {numbers[row.memory.id]: row.words for row in rows})
    delete_vectors(db, sorted(set(changed).intersection(before_rows)))
    mark_unembedded(db, changed)


_LINK = """
INSERT INTO links (source, type, target, confidence, extracted_by, proposed, created_at, valid_from,
    valid_until)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s) ON CONFLICT DO NOTHING
"""


def _insert_columns(
    db: Connection, into: str, types: str, rows: Sequence[tuple[object, ...]]
) -> None:
    """Insert rows with one statement; those that exist already stay."""
    if rows:
        arrays = ", ".join(f"%s::{name}[]" for name in types.split())
        sql = f"INSERT INTO {into} SELECT * FROM unnest({arrays}) ON CONFLICT DO NOTHING"
        db.execute(sql.encode(), [list(column) for column in zip(*rows, strict=True)])


def _choose_numbers(
    db: Connection, ids: Sequence[str], known: Mapping[str, _Row]
) -> dict[str, int]:
    """Return the row number of each text: that of the row it replaces, or a new one."""
    numbers = {id_: known[id_].n for id_ in ids if id_ in known}
    fresh = [id_ for id_ in ids if id_ not in numbers]
    sql = """SELECT nextval(pg_get_serial_sequence('muisti.entries', 'n'))
             FROM generate_series(1, %s)"""
    new = [n for (n,) in fetch(db, sql, (len(fresh),))] if fresh else []
    return numbers | dict(zip(fresh, new, strict=True))


# -- Messages and sections of documents


def _replace_texts(db: Connection, changes: IndexChanges) -> None:
    """Remove the texts of the emptied paths, then write the new ones."""
    known: dict[str, _Row] = {}
    for origin, path in changes.emptied:
        found = fetch(db, _OF_PATH, (origin, path))
        known |= {id_: _Row(n, source_hash) for id_, n, source_hash in found}
    before = [row.n for row in known.values()]
    if before:
        for table in ("messages", "entries"):
            db.execute(f"DELETE FROM {table} WHERE n = ANY(%s)".encode(), (before,))
    numbers = _choose_numbers(db, [text.id for text in changes.texts], known)
    if changes.texts:
        with db.cursor() as cursor:
            rows = [_make_entry(text, numbers[text.id]) for text in changes.texts]
            cursor.executemany(_INSERT_TEXT, rows)
            messages = [
                (numbers[text.id], text.message.conversation, text.path, *text.message[1:])
                for text in changes.texts
                if text.message is not None
            ]
            if messages:
                cursor.executemany(_INSERT_MESSAGE, messages)
    words: dict[int, Words | None] = {
        numbers[text.id]: text.words if any(text.words) else None for text in changes.texts
    }
    replace_words(db, before, words)
    delete_vectors(db, [row.n for id_, row in known.items() if id_ not in numbers])
    changed = [
        numbers[text.id]
        for text in changes.texts
        if text.id not in known or known[text.id].source_hash != text.source_hash
    ]
    delete_vectors(db, sorted(set(changed).intersection(before)))
    mark_unembedded(db, changed)


_OF_PATH = "SELECT id, n, source_hash FROM entries WHERE origin = %s AND path = %s"
_INSERT_TEXT = """
INSERT INTO entries (n, origin, kind, sector, id, project, tier, session_id, created_at, updated_at,
    source, path, title, content_hash, content, source_hash, trusted, "user")
VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
"""
_INSERT_MESSAGE = """
INSERT INTO messages (n, chat, file, place, message_id, at, role, type, meta)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s)
"""


def _make_entry(text: TextRow, n: int) -> tuple[Any, ...]:
    return (
        n, text.origin, text.origin, _SECTORS[text.origin], text.id, text.project,
        get_tier(text).value, text.session_id, text.created_at, text.updated_at, text.source,
        text.path, text.title, text.content_hash, encode_text(text.content), text.source_hash,
        text.trusted, text.user,
    )  # fmt: skip


_OWN = "CASE WHEN m.meta <> '' AND jsonb_typeof({0}) = 'string' THEN {0} #>> '{{}}' ELSE '' END"
_META = "(nullif(m.meta, '')::json -> '{0}')::jsonb"
_ASSIGN = f"""
UPDATE entries e SET project = s.project, "user" = s.user
FROM (
    SELECT m.n, coalesce(a.project, '') AS project, coalesce(a.user, '') AS "user"
    FROM messages m LEFT JOIN assignments a ON a.chat = m.chat
    WHERE m.chat = ANY(%s)
    AND {_OWN.format(_META.format("project"))} = '' AND {_OWN.format(_META.format("user"))} = ''
) s
WHERE e.n = s.n AND (e.project, e.user) <> (s.project, s.user)
"""


# -- The journal


def _apply_journal(db: Connection, changes: JournalChanges) -> set[str]:
    """Write what events change. Return the conversations whose assignment may have changed."""
    assigned = set(changes.assignments)
    if changes.restart:
        assigned |= {chat for (chat,) in fetch(db, "SELECT chat FROM assignments")}
        for table in ("usage", "sessions", "uses", "sources", "assignments"):
            db.execute(f"DELETE FROM {table}".encode())
        db.execute("UPDATE totals SET decayed_at = NULL")
    usage = [
        (
            id_,
            round_share(used.salience),
            to_int(used.touched_at),
            used.access_count,
            to_int(used.last_accessed),
            to_int(used.edited_at),
            used.idle_days,
            to_int(used.first_used),
            to_int(used.saved_at),
        )
        for id_, used in changes.usage.items()
    ]
    sessions = [
        (
            session.id,
            session.project,
            session.user,
            session.status,
            to_int(session.started_at),
            to_int(session.ended_at),
            session.summary,
            session.tool_calls,
            to_int(session.last_used),
        )
        for session in changes.sessions
    ]
    _upsert(db, "usage", _USAGE, usage)
    _upsert(db, "sessions", _SESSION, sessions)
    uses = [(use.session_id, use.memory_id, use.use.value, to_int(use.at)) for use in changes.uses]
    _insert_columns(db, "uses (session_id, memory_id, what, at)", "text text text bigint", uses)
    dropped = [path for path, source in changes.sources.items() if source is None]
    if dropped:
        db.execute("DELETE FROM sources WHERE path = ANY(%s)", (dropped,))
    sources = [
        (path, source.source, source.project, source.user, source.trusted)
        for path, source in changes.sources.items()
        if source is not None
    ]
    _upsert(db, "sources", _SOURCE, sources)
    assignments = [(chat, *scope) for chat, scope in changes.assignments.items()]
    _upsert(db, "assignments", _ASSIGNMENT, assignments)
    if changes.decayed_at is not None:
        db.execute(
            """INSERT INTO totals (decayed_at) VALUES (%s)
               ON CONFLICT (tenant) DO UPDATE SET decayed_at = excluded.decayed_at""",
            (to_int(changes.decayed_at),),
        )
    return assigned


_USAGE = {
    "id": "text",
    "salience": "float8",
    "touched_at": "bigint",
    "access_count": "integer",
    "last_accessed": "bigint",
    "edited_at": "bigint",
    "idle_days": "float8",
    "first_used": "bigint",
    "saved_at": "bigint",
}
_SESSION = {
    "id": "text",
    "project": "text",
    "user": "text",
    "status": "text",
    "started_at": "bigint",
    "ended_at": "bigint",
    "summary": "text",
    "tool_calls": "integer",
    "last_used": "bigint",
}
_SOURCE = {
    "path": "text",
    "source": "text",
    "project": "text",
    "user": "text",
    "trusted": "boolean",
}
_ASSIGNMENT = {"chat": "text", "project": "text", "user": "text"}


def _upsert(
    db: Connection, table: str, types: Mapping[str, str], rows: Sequence[tuple[object, ...]]
) -> None:
    """Write rows with one statement. The first column is the key."""
    if not rows:
        return
    key, *others = (f'"{name}"' for name in types)
    arrays = ", ".join(f"%s::{name}[]" for name in types.values())
    sql = f"""INSERT INTO {table} ({", ".join([key, *others])}) SELECT * FROM unnest({arrays})
        ON CONFLICT (tenant, {key}) DO UPDATE SET
        {", ".join(f"{name} = excluded.{name}" for name in others)}"""
    db.execute(sql.encode(), [list(column) for column in zip(*rows, strict=True)])
