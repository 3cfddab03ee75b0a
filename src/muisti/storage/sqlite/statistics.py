"""Counts and weighs memories."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import apsw

from muisti.model import Problem, Stats
from muisti.ports.search import Footprint
from muisti.storage.sqlite.rows import FROM, fetch, to_time
from muisti.storage.sqlite.vector_spaces import count_embeddable, read_spaces, to_json

if TYPE_CHECKING:
    from muisti.storage.sqlite.connect import Database
    from muisti.storage.sqlite.filters import Condition


class SqliteStatistics:
    """All in numbers."""

    _db: Database
    _salience_recorded: str
    """The SQL expression for the salience at the time up to which decay was recorded."""

    def stats(self) -> Stats:
        """The vault in numbers."""
        with self._db.read_transaction() as db:
            return _stats(db, self._db.size(), self._db.salience)

    def count_decayed(self, least: float) -> int:
        """How many have lost at least so much since fading was last noted."""
        sql = f"SELECT count(*) FROM {_USED} WHERE m.deleted_at IS NULL AND {self._salience_recorded} - {self._db.salience} >= ?"
        with self._db.read_transaction() as db:
            return int(fetch(db, sql, (least,))[0][0])

    def problems(self) -> list[Problem]:
        """Return files that cannot be used, and why."""
        with self._db.read_transaction() as db:
            return read_problems(db)

    def decayed_at(self) -> datetime | None:
        """Return up to when decay was recorded."""
        with self._db.read_transaction() as db:
            return read_decayed_at(db)

    def live_bytes(self) -> int:
        """Files and vectors of memories that are not deleted."""
        with self._db.read_transaction() as db:
            return sum(
                fetch(
                    db, f"SELECT coalesce(sum({_SIZE}), 0) FROM {_SEEN} WHERE m.deleted_at IS NULL"
                )[0]
            )

    def longest_unused(
        self, protected: Sequence[str], among: Sequence[str] | None = None
    ) -> list[Footprint]:
        """By the last use, then by age."""
        free, values = _free(protected, among)
        sql = f"""SELECT m.id, {_SIZE} FROM {_SEEN} LEFT JOIN usage u ON u.id = m.id WHERE {free}
                  ORDER BY coalesce(u.last_accessed, m.created_at), m.created_at, m.id"""
        with self._db.read_transaction() as db:
            return [Footprint(id_, size) for id_, size in fetch(db, sql, values)]

    def weakest(
        self, below: float, protected: Sequence[str], among: Sequence[str] | None = None
    ) -> list[str]:
        """The weakest first."""
        free, values = _free(protected, among)
        sql = f"""SELECT m.id, {self._db.salience} AS strength FROM {_USED} WHERE {free} AND strength < ?
                  ORDER BY strength, m.created_at, m.id"""
        with self._db.read_transaction() as db:
            return [id_ for id_, _ in fetch(db, sql, [*values, below])]


def read_problems(db: apsw.Connection) -> list[Problem]:
    """Return files that cannot be used, and why."""
    return [
        Problem(path, reason)
        for path, reason in db.execute("SELECT path, reason FROM problems ORDER BY path")
    ]


def read_decayed_at(db: apsw.Connection) -> datetime | None:
    """Return up to when decay was recorded."""
    row = db.execute("SELECT value FROM totals WHERE name = 'decayed_at'").fetchone()
    return None if row is None else to_time(row[0])


_USED = "memories m LEFT JOIN usage u ON u.id = m.id"
_SEEN = "memories m LEFT JOIN seen f ON f.path = m.path"
# Of a memory that has no file, its text counts.
_SIZE = (
    "(coalesce(f.size, length(CAST(m.content AS BLOB))) + "
    "coalesce((SELECT sum(length(v.codes) + length(v.rest)) FROM vectors v WHERE v.n = m.n), 0))"
)


def _free(protected: Sequence[str], among: Sequence[str] | None) -> Condition:
    """What upkeep may move."""
    sql = (
        "m.deleted_at IS NULL AND NOT m.pinned AND m.kind NOT IN (SELECT value FROM json_each(?)) AND NOT EXISTS "
        "(SELECT 1 FROM sessions s WHERE s.id = m.session_id AND s.status = 'active')"
    )
    if among is None:
        return sql, [to_json(protected)]
    return f"{sql} AND m.id IN (SELECT value FROM json_each(?))", [
        to_json(protected),
        to_json(among),
    ]


def _stats(db: apsw.Connection, size: int, strength: str) -> Stats:
    def counted(column: str) -> dict[str, int]:
        sql = f"SELECT {column}, count(*) FROM memories WHERE deleted_at IS NULL GROUP BY 1 ORDER BY 2 DESC, 1"
        return {str(name): int(count) for name, count in db.execute(sql)}

    row = db.execute(
        f"""SELECT count(*), coalesce(sum(length(m.content)), 0), avg({strength}),
            min(m.created_at), max(m.created_at) FROM {FROM} WHERE m.deleted_at IS NULL"""
    ).fetchone()
    total, chars, salience, oldest, newest = row if row else (0, 0, None, None, None)
    (deleted,) = db.execute(
        "SELECT count(*) FROM memories WHERE deleted_at IS NOT NULL"
    ).fetchone() or (0,)
    (sessions,) = db.execute("SELECT count(*) FROM sessions").fetchone() or (0,)
    spaces = read_spaces(db)
    return Stats(
        total_count=total,
        by_kind=counted("kind"),
        by_sector=counted("sector"),
        by_project=counted("project"),
        total_tokens=chars // 4,
        avg_salience=salience or 0.0,
        oldest_memory=None if oldest is None else to_time(oldest),
        newest_memory=None if newest is None else to_time(newest),
        deleted_count=deleted,
        session_count=sessions,
        index_size_bytes=size,
        embedding_model=spaces[0].identity.model if spaces else None,
        waiting_count=spaces[-1].missing if spaces else count_embeddable(db),
        problems=tuple(read_problems(db)),
    )
