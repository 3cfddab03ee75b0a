"""Reads memories and sessions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any

from muisti.model import EntryType, Filter, Memory, Session, SessionAction, SessionUse, Usage
from muisti.ports.lookups import check_id
from muisti.ports.search import Candidate, Order
from muisti.storage.postgres.connect import Database, fetch
from muisti.storage.postgres.rows import (
    FROM_ENTRIES,
    IS_MEMORY,
    SAID_AT,
    SESSION,
    decode_memory,
    decode_session,
    decode_text,
)
from muisti.storage.row_values import time_or_none, to_int, to_time

if TYPE_CHECKING:
    from muisti.storage.postgres.filters import Condition

_ORDERS: dict[Order, str] = {
    "created_at": "m.created_at, m.id",
    "created_at_desc": "m.created_at DESC, m.id DESC",
    "salience": "salience DESC, created DESC, id",
    "salience_asc": "salience, created, id",
    "last_accessed": "coalesce(u.last_accessed, m.created_at) DESC, m.id DESC",
    "last_accessed_asc": "coalesce(u.last_accessed, m.created_at), m.id",
    "deleted_at": "m.deleted_at DESC NULLS LAST, m.id DESC",
}


class PostgresReader:
    """Implements the port MemoryReader."""

    _db: Database
    _columns: str

    def make_condition(self, where: Filter) -> Condition:
        """Return the condition for a filter. Call within a transaction."""
        raise NotImplementedError

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Within the context, all reads of this thread see the same state."""
        with self._db.hold():
            yield

    @contextmanager
    def release(self) -> Iterator[None]:
        """Within the context, this thread holds no connection."""
        with self._db.release():
            yield

    def get(
        self, memory_id: str, *, include_deleted: bool = False, any_origin: bool = False
    ) -> Memory | None:
        """Return the memory with this ID, or None."""
        check_id(memory_id)
        found = self.get_many([memory_id], include_deleted=include_deleted, any_origin=any_origin)
        return found[0] if found else None

    def get_many(
        self, ids: Sequence[str], *, include_deleted: bool = False, any_origin: bool = False
    ) -> list[Memory]:
        """Return the memories with these IDs, in the given order."""
        known = self._db.transaction.rows if self._db.transaction is not None else {}
        if include_deleted and any_origin and all(id_ in known for id_ in ids):
            return [decode_memory(known[id_]) for id_ in ids]
        sql = "m.id = ANY(%s)"
        sql += "" if any_origin else f" AND {IS_MEMORY}"
        sql += "" if include_deleted else " AND m.deleted_at IS NULL"
        found = {memory.id: memory for memory in self._read_memories(sql, [list(ids)])}
        return [found[memory_id] for memory_id in ids if memory_id in found]

    def select(
        self, where: Filter, *, order: Order, limit: int | None, offset: int = 0
    ) -> list[Memory]:
        """Return one page of the memories that match the filter."""
        with self._db.read_transaction():
            sql, values = self.make_condition(where)
            sql = f"{IS_MEMORY} AND {sql}"
            if order in ("salience", "salience_asc"):
                return self._select_by_salience(sql, [*values, limit, offset], order)
            return self._read_memories(
                f"{sql} ORDER BY {_ORDERS[order]} LIMIT %s OFFSET %s", [*values, limit, offset]
            )

    def _select_by_salience(self, sql: str, values: Sequence[Any], order: Order) -> list[Memory]:
        """Compute the salience of all, sort by it, and read the memories of one page."""
        ranked = f"""SELECT m.n, {self._db.salience} AS salience, m.created_at AS created, m.id
            FROM entries m LEFT JOIN usage u ON u.id = m.id WHERE {sql}
            ORDER BY {_ORDERS[order]} LIMIT %s OFFSET %s"""
        with self._db.read_transaction() as db:
            ids = [id_ for _, _, _, id_ in fetch(db, ranked, values)]
        return self.get_many(ids, include_deleted=True)

    def find_by_keywords(
        self, keywords: Sequence[str], *, match_all: bool, where: Filter, limit: int
    ) -> list[Memory]:
        """Return memories with any, or all, of these keywords, those with the most first."""
        wanted = list(dict.fromkeys(keyword.casefold() for keyword in keywords))
        hits = """(SELECT n, count(*) AS hits FROM labels
            WHERE field = 'keyword' AND value = ANY(%s) GROUP BY n HAVING count(*) >= %s) k"""
        with self._db.read_transaction():
            sql, values = self.make_condition(where)
            return self._read_memories(
                f"""{IS_MEMORY} AND {sql} ORDER BY k.hits DESC, m.created_at DESC, m.id DESC
                    LIMIT %s""",
                [wanted, len(wanted) if match_all else 1, *values, limit],
                f"{hits} JOIN {FROM_ENTRIES.replace('entries m', 'entries m ON m.n = k.n', 1)}",
            )

    def get_neighbours(
        self, memory: Memory, before: int, after: int, where: Filter
    ) -> list[Memory]:
        """Return the memories before and after this one in time, itself included."""
        base = f"""{IS_MEMORY} AND m.project = %s AND m.deleted_at IS NULL
            AND (m.tier <> 'session' OR m.session_id IS NOT DISTINCT FROM %s)"""
        values: list[Any] = [memory.project, memory.session_id]
        if where.user is None:
            base += " AND m.user IN (%s, '')"
            values.append(memory.user)
        if memory.origin is not EntryType.MEMORY:
            base = """m.origin = %s AND m.session_id IS NOT DISTINCT FROM %s
                AND (m.session_id IS NOT NULL OR m.path = %s)"""
            values = [memory.origin.value, memory.session_id, memory.file_path]
        with self._db.read_transaction() as db:
            condition, further = self.make_condition(where)
            # The row's created_at, not the memory's: it orders messages of the same time.
            row = fetch(db, "SELECT created_at FROM entries WHERE id = %s", (memory.id,))
            at = row[0][0] if row else to_int(memory.created_at)
            values += [*further, at, memory.id]
            sql = f"{base} AND {condition} AND (m.created_at, m.id) "
            order = "ORDER BY m.created_at DESC, m.id DESC LIMIT %s"
            earlier = self._read_memories(f"{sql} < (%s, %s) {order}", [*values, before])
            order = "ORDER BY m.created_at, m.id LIMIT %s"
            later = self._read_memories(f"{sql} > (%s, %s) {order}", [*values, after])
        return [*reversed(earlier), memory, *later]

    def candidates(self, ids: Sequence[str], where: Filter) -> dict[str, Candidate]:
        """Return these texts and their neighbours in their sessions, by ID."""
        with self._db.read_transaction() as db:
            sides = {id_: (before, after) for id_, before, after in fetch(db, _SIDES, (list(ids),))}
            beside = {one for pair in sides.values() for side in pair for one in side} - {*sides}
            if beside:
                rows = fetch(db, _SIDES, (list(beside),))
                sides |= {id_: (before, after) for id_, before, after in rows}
            sql, values = self.make_condition(where)
            query = _CANDIDATES.format(condition=sql, salience=self._db.salience)
            rows = fetch(db, query, (*values, [*ids, *beside]))
        found = {}
        for row in rows:
            id_, created, valid_from, valid_until, importance, salience, opening, *cells = row
            before, after = sides.get(id_, ((), ()))
            found[id_] = Candidate._make(
                (
                    id_,
                    created / 1_000_000,
                    None if valid_from is None else valid_from / 1_000_000,
                    None if valid_until is None else valid_until / 1_000_000,
                    importance,
                    salience,
                    decode_text(opening),
                    *cells[:-1],
                    tuple(before),
                    tuple(after),
                    cells[-1],
                )
            )
        return found

    def find_ids(self, part: str, limit: int) -> list[str]:
        """Return IDs that begin or end with a text, those of memories first."""
        sql = """SELECT id FROM entries
                 WHERE lower(left(id, length(%(lower)s))) = %(lower)s
                 OR lower(right(id, length(%(lower)s))) = %(lower)s
                 OR left(id, length(%(part)s)) = %(part)s OR right(id, length(%(part)s)) = %(part)s
                 ORDER BY origin <> 'memory', id LIMIT %(limit)s"""
        with self._db.read_transaction() as db:
            found = fetch(db, sql, {"part": part, "lower": part.lower(), "limit": limit})
        return [id_ for (id_,) in found]

    def session(self, session_id: str) -> Session | None:
        """Return one session, or None."""
        with self._db.read_transaction() as db:
            rows = fetch(db, f"SELECT {SESSION} FROM sessions WHERE id = %s", (session_id,))
        return decode_session(rows[0]) if rows else None

    def sessions(self, project: str | None, limit: int, user: str | None = None) -> list[Session]:
        """Return the sessions of a project and a user, or of all, the latest first."""
        sql = f"{_SESSIONS} ORDER BY started_at DESC, id DESC LIMIT %s"
        with self._db.read_transaction() as db:
            rows = fetch(db, sql, (project, project, user, user, limit))
        return [decode_session(row) for row in rows]

    def active_sessions(self, project: str | None = None, user: str | None = None) -> list[Session]:
        """Return the active sessions of a project and a user, the oldest first."""
        sql = f"{_SESSIONS} AND status = 'active' ORDER BY started_at, id"
        with self._db.read_transaction() as db:
            return [decode_session(row) for row in fetch(db, sql, (project, project, user, user))]

    def find_session_scopes(self, session_id: str) -> list[tuple[str, str]]:
        """Return project and user of the texts that name this session, the earliest first.

        Texts that belong to nobody come last: they may be older than the session's owner.
        """
        sql = """SELECT m.project, m.user FROM entries m WHERE m.session_id = %s GROUP BY 1, 2
                 ORDER BY m.project = '' AND m.user = '', min(m.created_at), 1, 2"""
        with self._db.read_transaction() as db:
            return [(project, user) for project, user in fetch(db, sql, (session_id,))]

    def find_scope_names(self) -> tuple[list[str], list[str]]:
        """Return the names of all projects and of all users."""
        sql = """SELECT m.{0} FROM entries m WHERE m.{0} <> ''
                 UNION SELECT s.{0} FROM sessions s WHERE s.{0} <> '' ORDER BY 1"""
        with self._db.read_transaction() as db:
            projects = [name for (name,) in fetch(db, sql.format("project"))]
            users = [name for (name,) in fetch(db, sql.format("user"))]
        return projects, users

    def session_uses(
        self, *, session_id: str | None = None, memory_id: str | None = None
    ) -> list[SessionUse]:
        """Return what sessions did with memories, oldest first. `created` comes from the memory."""
        with self._db.read_transaction() as db:
            rows = fetch(db, _USES, {"session": session_id, "memory": memory_id})
        return [
            SessionUse(session, memory, SessionAction(what), to_time(at))
            for session, memory, what, at, *_ in rows
        ]

    def usage(self, ids: Sequence[str]) -> dict[str, Usage]:
        """Return the usage of these memories by ID."""
        with self._db.read_transaction() as db:
            rows = fetch(db, _USAGE, (list(ids),))
        found = {}
        for id_, salience, touched, count, accessed, edited, idle, first, saved in rows:
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

    def decayed_at(self) -> datetime | None:
        """Return the time up to which decay was recorded, or None."""
        with self._db.read_transaction() as db:
            rows = fetch(db, "SELECT decayed_at FROM totals")
        return time_or_none(rows[0][0]) if rows else None

    def _read_memories(
        self, sql: str, values: Sequence[Any], among: str = FROM_ENTRIES
    ) -> list[Memory]:
        with self._db.read_transaction() as db:
            rows = fetch(db, f"SELECT {self._columns} FROM {among} WHERE {sql}", values)
        return [decode_memory(row) for row in rows]


_SESSIONS = f"""SELECT {SESSION} FROM sessions s
WHERE (%s::text IS NULL OR s.project = %s) AND (%s::text IS NULL OR s.user = %s)"""
_USAGE = """
SELECT id, salience, touched_at, access_count, last_accessed, edited_at, idle_days, first_used,
    saved_at
FROM usage WHERE id = ANY(%s)
"""
_USES = """
SELECT session_id, memory_id, what, at, 0, n, '' FROM uses
WHERE (%(session)s::text IS NULL OR session_id = %(session)s)
AND (%(memory)s::text IS NULL OR memory_id = %(memory)s)
UNION ALL SELECT session_id, id, 'created', created_at, 1, 0, id FROM entries
WHERE origin = 'memory' AND session_id IS NOT NULL
AND (%(session)s::text IS NULL OR session_id = %(session)s)
AND (%(memory)s::text IS NULL OR id = %(memory)s)
ORDER BY 4, 5, 6, 7
"""
_BESIDE = """ARRAY(SELECT p.id FROM entries p
    WHERE p.session_id = m.session_id AND p.origin = m.origin AND p.deleted_at IS NULL
    AND (p.created_at, p.id) {side} (m.created_at, m.id)
    ORDER BY p.created_at {order}, p.id {order} LIMIT 2)"""
_SIDES = f"""
SELECT m.id, {_BESIDE.format(side="<", order="DESC")}, {_BESIDE.format(side=">", order="ASC")}
FROM entries m WHERE m.id = ANY(%s) AND m.session_id IS NOT NULL
"""
_CANDIDATES = """
SELECT m.id, {said_at}, m.valid_from, m.ends_at, m.importance, {salience},
    left(m.content, 80), m.content_hash, m.session_id, m.origin, m.user, ({condition})
FROM entries m LEFT JOIN usage u ON u.id = m.id WHERE m.id = ANY(%s)
""".replace("{said_at}", SAID_AT)
