"""Reads memories and sessions."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import lru_cache
from operator import itemgetter
from typing import TYPE_CHECKING

import apsw

from muisti.errors import IndexCorrupt
from muisti.model import EntryType, Usage
from muisti.ports.lookups import check_id
from muisti.ports.rows import Words
from muisti.ports.search import Candidate, Order
from muisti.storage.row_values import time_or_none, to_int, to_time
from muisti.storage.sqlite.rows import (
    FROM,
    FROM_ENTRIES,
    PLACES,
    SAID_AT,
    Cell,
    decode_memory,
    decode_session,
    fetch,
)
from muisti.storage.sqlite.validity import VALID_UNTIL
from muisti.storage.sqlite.vector_spaces import to_json

if TYPE_CHECKING:
    from muisti.model import Filter, Memory, Session, SessionUse
    from muisti.storage.sqlite.connect import Database

_ORDERS: dict[Order, str] = {
    "created_at": "m.created_at, m.id",
    "created_at_desc": "m.created_at DESC, m.id DESC",
    "salience": "salience DESC, m.created_at DESC, m.id",
    "salience_asc": "salience, m.created_at, m.id",
    "last_accessed": "coalesce(u.last_accessed, m.created_at) DESC, m.id DESC",
    "last_accessed_asc": "coalesce(u.last_accessed, m.created_at), m.id",
    "deleted_at": "m.deleted_at DESC, m.id DESC",
}
_MAX_VALUES = 1000
"""Values per statement: SQLite has a limit."""


class SqliteReader:
    """Implements the port MemoryReader."""

    _db: Database
    _columns: str

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Within the context, all reads of this thread see the same state."""
        with self._db.read_transaction():
            yield

    def release(self) -> AbstractContextManager[None]:
        """Do nothing: an open read transaction is in nobody's way."""
        return nullcontext()

    def get(
        self, memory_id: str, *, include_deleted: bool = False, any_origin: bool = False
    ) -> Memory | None:
        """Return the memory with this ID, or None."""
        check_id(memory_id)
        found = self._read_memories("m.id = ?", [memory_id], FROM_ENTRIES if any_origin else FROM)
        return found[0] if found and (include_deleted or found[0].deleted_at is None) else None

    def get_many(
        self, ids: Sequence[str], *, include_deleted: bool = False, any_origin: bool = False
    ) -> list[Memory]:
        """Return the memories with these IDs, in the given order."""
        read = self._db.held.rows if self._db.held.db is not None else {}
        if any_origin and include_deleted and all(memory_id in read for memory_id in ids):
            return [decode_memory(read[memory_id][0]) for memory_id in ids]
        among = FROM_ENTRIES if any_origin else FROM
        alive = "1" if include_deleted else "m.deleted_at IS NULL"
        found: dict[str, Memory] = {}
        for start in range(0, len(ids), _MAX_VALUES):
            some = ids[start : start + _MAX_VALUES]
            marks = ", ".join("?" * len(some))
            for memory in self._read_memories(f"m.id IN ({marks}) AND {alive}", some, among):
                found[memory.id] = memory
        return [found[memory_id] for memory_id in ids if memory_id in found]

    def select(
        self, where: Filter, *, order: Order, limit: int | None, offset: int = 0
    ) -> list[Memory]:
        """Return one page of the memories that match the filter."""
        sql, values = self._db.conditions(where)
        return self._read_memories(
            f"{sql} ORDER BY {_ORDERS[order]} LIMIT ? OFFSET ?",
            [*values, -1 if limit is None else limit, offset],
        )

    def find_by_keywords(
        self, keywords: Sequence[str], *, match_all: bool, where: Filter, limit: int
    ) -> list[Memory]:
        """Return memories with any, or all, of these keywords, those with the most first."""
        sql, values = self._db.conditions(where)
        wanted = list(dict.fromkeys(keyword.casefold() for keyword in keywords))
        marks = ", ".join("?" * len(wanted))
        matching = f"FROM labels WHERE field = 'keyword' AND value IN ({marks})"
        hits = f"(SELECT count(*) {matching} AND n = m.n)"
        by_hits = f"ORDER BY {hits} DESC, m.created_at DESC, m.id DESC"
        numbers = f"m.n IN (SELECT n {matching})"
        return self._read_memories(
            f"{sql} AND {numbers} AND {hits} >= ? {by_hits} LIMIT ?",
            [*values, *wanted, *wanted, len(wanted) if match_all else 1, *wanted, limit],
        )

    def get_neighbours(
        self, memory: Memory, before: int, after: int, where: Filter
    ) -> list[Memory]:
        """Return the memories before and after this one in time, itself included."""
        among = FROM if memory.origin is EntryType.MEMORY else FROM_ENTRIES
        base = (
            "m.project = ? AND m.deleted_at IS NULL AND (m.tier <> 'session' OR m.session_id IS ?)"
        )
        values: list[Cell] = [memory.project, memory.session_id]
        if where.user is None:
            base += " AND m.user IN (?, '')"
            values.append(memory.user)
        if memory.origin is not EntryType.MEMORY:
            base = "m.origin = ? AND m.session_id IS ? AND (m.session_id NOT NULL OR m.path = ?)"
            values = [memory.origin.value, memory.session_id, memory.file_path]
        condition, further = self._db.conditions(where)
        base = f"{base} AND {condition}"
        values += further
        # The row's created_at, not the memory's: it orders messages of the same time.
        position = "(coalesce((SELECT o.created_at FROM entries o WHERE o.id = ?), ?), ?)"
        at: list[Cell] = [memory.id, to_int(memory.created_at), memory.id]
        order = "ORDER BY m.created_at DESC, m.id DESC LIMIT ?"
        sql = f"{base} AND (m.created_at, m.id) < {position} {order}"
        earlier = self._read_memories(sql, [*values, *at, before], among)
        order = "ORDER BY m.created_at, m.id LIMIT ?"
        sql = f"{base} AND (m.created_at, m.id) > {position} {order}"
        later = self._read_memories(sql, [*values, *at, after], among)
        return [*reversed(earlier), memory, *later]

    def candidates(self, ids: Sequence[str], where: Filter) -> dict[str, Candidate]:
        """Return these texts and their neighbours in their sessions, by ID."""
        with self._db.read_transaction() as db:
            known = dict(fetch(db, _NUMBERS, (to_json(ids),)))
            numbers = [known[id_] for id_ in dict.fromkeys(ids) if id_ in known]
            sides = read_sides(db, numbers)
            beside = [n for side in sides.values() for n in (*side[0], *side[1])]
            beside = [n for n in dict.fromkeys(beside) if n not in sides]
            sides |= read_sides(db, beside)
            found = read_candidates(db, self._db, [*numbers, *beside], where)
            ids_of = {n: one.memory_id for n, one in found.items()}
            others = {n for side in sides.values() for n in (*side[0], *side[1])} - ids_of.keys()
            if others:
                ids_of |= fetch(db, _IDS, (to_json(others),))
        candidates = {}
        for n, one in found.items():
            earlier, later = sides.get(n, ((), ()))
            candidates[one.memory_id] = one._replace(
                before=tuple([ids_of[other] for other in earlier]),
                after=tuple([ids_of[other] for other in later]),
            )
        return candidates

    def read_shown(self, numbers: Sequence[int], where: Filter) -> dict[int, Candidate]:
        """Return candidates by their row numbers, without their neighbours. Raises IndexCorrupt.

        Within a transaction their memories and words are kept, so that they are read only once.
        """
        condition, values = self._db.conditions(where)
        sql = _format_shown(self._columns, condition)
        with self._db.read_transaction() as db:
            rows = fetch(db, sql, (*values, str(list(numbers))))  # numbers are written as in JSON
        found = {}
        kept = self._db.held.rows
        for row in rows:
            n, allowed, title, labels, body = row[-5:]
            id_, created, valid_from, valid_until, content, *cells = _get_cells(row)
            importance, salience, content_hash, session_id, origin, user = cells
            found[n] = Candidate(
                id_,
                _to_seconds(created),
                None if valid_from is None else _to_seconds(valid_from),
                None if valid_until is None else _to_seconds(valid_until),
                importance,
                salience,
                content[:80],
                content_hash,
                session_id,
                origin,
                user,
                (),
                (),
                bool(allowed),
            )
            kept[id_] = row, None if title is None else Words(title, labels, body)
        return found

    def session(self, session_id: str) -> Session | None:
        """Return one session, or None."""
        with self._db.read_transaction() as db:
            return read_session(db, session_id)

    def sessions(self, project: str | None, limit: int, user: str | None = None) -> list[Session]:
        """Return the sessions of a project and a user, or of all, the latest first."""
        sql = """SELECT * FROM sessions
                 WHERE (?1 IS NULL OR project = ?1) AND (?2 IS NULL OR user = ?2)
                 ORDER BY started_at DESC, id DESC LIMIT ?3"""
        with self._db.read_transaction() as db:
            rows = fetch(db, sql, (project, user, limit))
        return [decode_session(row) for row in rows]

    def active_sessions(self, project: str | None = None, user: str | None = None) -> list[Session]:
        """Return the active sessions of a project and a user, the oldest first."""
        sql = """SELECT * FROM sessions WHERE status = 'active'
                 AND (?1 IS NULL OR project = ?1) AND (?2 IS NULL OR user = ?2)
                 ORDER BY started_at, id"""
        with self._db.read_transaction() as db:
            return [decode_session(row) for row in fetch(db, sql, (project, user))]

    def find_session_scopes(self, session_id: str) -> list[tuple[str, str]]:
        """Return project and user of the texts that name this session, the earliest first.

        Texts that belong to nobody come last: they may be older than the session's owner.
        """
        sql = """SELECT project, user FROM entries WHERE session_id = ?
                 GROUP BY project, user
                 ORDER BY project = '' AND user = '', min(created_at), project, user"""
        with self._db.read_transaction() as db:
            return [(project, user) for project, user in fetch(db, sql, (session_id,))]

    def find_scope_names(self) -> tuple[list[str], list[str]]:
        """Return the names of all projects and of all users."""
        sql = """SELECT {0} FROM entries WHERE {0} <> '' UNION SELECT {0} FROM sessions
                 WHERE {0} <> '' ORDER BY 1"""
        with self._db.read_transaction() as db:
            projects = [name for (name,) in fetch(db, sql.format("project"))]
            users = [name for (name,) in fetch(db, sql.format("user"))]
        return projects, users

    def session_uses(
        self, *, session_id: str | None = None, memory_id: str | None = None
    ) -> list[SessionUse]:
        """Return what sessions did with memories, oldest first. `created` comes from the memory."""
        from muisti.model import SessionAction, SessionUse

        with self._db.read_transaction() as db:
            rows = fetch(
                db,
                """SELECT session_id, memory_id, what, at, 0, rowid FROM uses
                   WHERE (?1 IS NULL OR session_id = ?1) AND (?2 IS NULL OR memory_id = ?2)
                   UNION ALL SELECT session_id, id, 'created', created_at, 1, id FROM memories
                   WHERE session_id IS NOT NULL AND (?1 IS NULL OR session_id = ?1)
                   AND (?2 IS NULL OR id = ?2)
                   ORDER BY 4, 5, 6""",
                (session_id, memory_id),
            )
        return [
            SessionUse(session, memory, SessionAction(what), to_time(at))
            for session, memory, what, at, *_ in rows
        ]

    def usage(self, ids: Sequence[str]) -> dict[str, Usage]:
        """Return the usage of these memories by ID."""
        with self._db.read_transaction() as db:
            return read_usage(db, ids)

    def find_ids(self, part: str, limit: int) -> list[str]:
        """Return IDs that begin or end with a text, those of memories first."""
        sql = """SELECT id FROM entries
                 WHERE lower(substr(id, 1, length(?1))) = ?1 OR lower(substr(id, -length(?1))) = ?1
                 OR substr(id, 1, length(?3)) = ?3 OR substr(id, -length(?3)) = ?3
                 ORDER BY origin <> 'memory', id LIMIT ?2"""
        with self._db.read_transaction() as db:
            rows = fetch(db, sql, (part.lower(), limit, part))
        return [id_ for (id_,) in rows]

    def _read_memories(self, sql: str, values: Sequence[Cell], among: str = FROM) -> list[Memory]:
        with self._db.read_transaction() as db:
            rows = db.execute(f"SELECT {self._columns} FROM {among} WHERE {sql}", values)
            return [decode_memory(row) for row in rows]


def read_usage(db: apsw.Connection, ids: Sequence[str]) -> dict[str, Usage]:
    """Return the usage of these memories by ID. Memories without any are left out."""
    found = {}
    for id_, salience, touched, count, accessed, edited, idle, first, saved in fetch(
        db, _USAGE, (to_json(ids),)
    ):
        found[id_] = Usage(
            salience=salience,
            touched_at=time_or_none(touched),
            access_count=count,
            last_accessed=time_or_none(accessed),
            edited_at=time_or_none(edited),
            idle_days=idle,
            first_used=time_or_none(first),
            saved_at=time_or_none(saved),
        )
    return found


def read_session(db: apsw.Connection, session_id: str) -> Session | None:
    """Return one session, or None."""
    row = db.execute("SELECT * FROM sessions WHERE id = ?", (session_id,)).fetchone()
    return decode_session(row) if row else None


_USAGE = """
SELECT u.id, salience, touched_at, access_count, last_accessed, edited_at, idle_days, first_used,
    saved_at
FROM json_each(?) j JOIN usage u ON u.id = j.value
"""
_SHOWN = f"""
SELECT {{columns}}, m.n, ({{condition}}), w.title, w.labels, w.body
FROM json_each(?) j JOIN {FROM_ENTRIES.replace("entries m", "entries m ON m.n = j.value", 1)}
LEFT JOIN words w ON w.n = m.n
"""
_format_shown = lru_cache(maxsize=32)(
    lambda columns, condition: _SHOWN.format(columns=columns, condition=condition)
)
_get_cells = itemgetter(
    *map(
        PLACES.__getitem__,
        """id created_at valid_from valid_until content importance salience content_hash session_id
        origin user""".split(),
    )
)
"""The cells of a row that a candidate has."""
Sides = dict[int, tuple[Sequence[int], Sequence[int]]]
"""The rows of the texts right before and right after each row in its session, nearest first."""
_IDS = "SELECT n, id FROM entries WHERE n IN (SELECT value FROM json_each(?))"
_NUMBERS = "SELECT id, n FROM entries WHERE id IN (SELECT value FROM json_each(?))"
_BESIDE = """(SELECT json_group_array(n) FROM (SELECT p.n FROM entries p
    WHERE p.session_id = m.session_id AND p.origin = m.origin AND p.deleted_at IS NULL
    AND (p.created_at, p.id) {side} (m.created_at, m.id)
    ORDER BY p.created_at {order}, p.id {order} LIMIT 2))"""
_SIDES = f"""
SELECT m.n, {_BESIDE.format(side="<", order="DESC")}, {_BESIDE.format(side=">", order="ASC")}
FROM json_each(?) j JOIN entries m ON m.n = j.value WHERE m.session_id IS NOT NULL
"""
_CANDIDATES = """
SELECT m.n, m.id, {said_at}, m.valid_from, {valid_until}, m.importance, {salience},
    substr(m.content, 1, 80), m.content_hash, m.session_id, m.origin, m.user, ({condition})
FROM json_each(?) j JOIN entries m ON m.n = j.value LEFT JOIN usage u ON u.id = m.id
""".replace("{valid_until}", VALID_UNTIL).replace("{said_at}", SAID_AT)


def read_sides(db: apsw.Connection, numbers: Sequence[int]) -> Sides:
    """Return the rows of the two texts before and the two after each of these in its session.

    Texts without a session are left out.
    """
    rows = fetch(db, _SIDES, (to_json(numbers),)) if numbers else []
    return {n: (json.loads(before), json.loads(after)) for n, before, after in rows}


def read_candidates(
    db: apsw.Connection, database: Database, numbers: Sequence[int], where: Filter
) -> dict[int, Candidate]:
    """Return texts by their row numbers, without their neighbours. Raises IndexCorrupt."""
    condition, values = database.conditions(where)
    sql = _CANDIDATES.format(condition=condition, salience=database.salience)
    found = {}
    for n, id_, created, valid_from, valid_until, *cells, allowed in fetch(
        db, sql, (*values, to_json(numbers))
    ):
        times = (
            _to_seconds(created),
            None if valid_from is None else _to_seconds(valid_from),
            None if valid_until is None else _to_seconds(valid_until),
        )
        found[n] = Candidate._make((id_, *times, *cells, (), (), bool(allowed)))
    return found


def _to_seconds(at: int) -> float:
    """Return a time in seconds. Raises IndexCorrupt."""
    try:
        return at / 1_000_000
    except TypeError as error:
        raise IndexCorrupt(
            f"the index has an invalid time ({at!r}); `muisti reindex` rebuilds it"
        ) from error
