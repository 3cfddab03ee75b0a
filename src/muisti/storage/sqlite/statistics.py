"""Counts memories and finds those that maintenance may move."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import apsw

from muisti.ports.search import Footprint
from muisti.storage.row_values import time_or_none, to_time
from muisti.storage.sqlite.rows import FROM, fetch
from muisti.storage.sqlite.vector_spaces import count_embeddable, read_spaces, to_json

if TYPE_CHECKING:
    from muisti.model import Problem, Stats
    from muisti.storage.sqlite.connect import Database
    from muisti.storage.sqlite.filters import Condition


class SqliteStatistics:
    """Implements the port Statistics."""

    _db: Database
    _salience_recorded: str
    """The SQL for the salience at the time up to which decay was recorded."""

    def stats(self) -> Stats:
        """Return statistics of the whole vault."""
        from muisti.model import Stats  # its module is large, and a search does not need it

        sql = f"""SELECT count(*), coalesce(sum(length(m.content)), 0), avg({self._db.salience}),
                  min(m.created_at), max(m.created_at) FROM {FROM} WHERE m.deleted_at IS NULL"""
        with self._db.read_transaction() as db:
            total, chars, salience, oldest, newest = fetch(db, sql)[0]
            deleted = "SELECT count(*) FROM memories WHERE deleted_at IS NOT NULL"
            spaces = read_spaces(db)
            return Stats(
                total_count=total,
                by_kind=_count_by(db, "kind"),
                by_sector=_count_by(db, "sector"),
                by_project=_count_by(db, "project"),
                total_tokens=chars // 4,
                avg_salience=salience or 0.0,
                oldest_memory=time_or_none(oldest),
                newest_memory=time_or_none(newest),
                deleted_count=fetch(db, deleted)[0][0],
                session_count=fetch(db, "SELECT count(*) FROM sessions")[0][0],
                index_size_bytes=self._db.size(),
                embedding_model=spaces[0].identity.model if spaces else None,
                waiting_count=spaces[-1].missing if spaces else count_embeddable(db),
                problems=tuple(read_problems(db)),
            )

    def find_long_sessions(self, length: int, among: Sequence[str] | None = None) -> list[str]:
        """Return the sessions whose memories may have this many characters together."""
        condition, values = "IS NOT NULL", []
        if among is not None:
            condition, values = "IN (SELECT value FROM json_each(?))", 2 * [to_json(among)]
        sql = f"""SELECT s.session_id FROM (
                      SELECT session_id, id FROM memories WHERE session_id {condition}
                      UNION SELECT session_id, memory_id FROM uses
                      WHERE session_id {condition} AND what = 'reinforced'
                  ) s JOIN memories m USING (id) WHERE m.deleted_at IS NULL
                  GROUP BY 1 HAVING sum(length(m.content) + 2) >= ? ORDER BY 1"""
        with self._db.read_transaction() as db:
            return [session_id for (session_id,) in fetch(db, sql, (*values, length))]

    def count_decayed(self, least: float) -> int:
        """Return how many memories lost at least this much salience since decay was recorded."""
        lost = f"{self._salience_recorded} - {self._db.salience}"
        sql = f"SELECT count(*) FROM {_USED} WHERE m.deleted_at IS NULL AND {lost} >= ?"
        with self._db.read_transaction() as db:
            return int(fetch(db, sql, (least,))[0][0])

    def problems(self) -> list[Problem]:
        """Return the files with problems, sorted by path."""
        with self._db.read_transaction() as db:
            return read_problems(db)

    def decayed_at(self) -> datetime | None:
        """Return the time up to which decay was recorded, or None."""
        with self._db.read_transaction() as db:
            return read_decayed_at(db)

    def live_bytes(self) -> int:
        """Return the size of the files and vectors of all memories that are not deleted."""
        sql = f"SELECT coalesce(sum({_SIZE}), 0) FROM {_SEEN} WHERE m.deleted_at IS NULL"
        with self._db.read_transaction() as db:
            return int(fetch(db, sql)[0][0])

    def longest_unused(
        self,
        protected: Sequence[str],
        in_use: Sequence[str] = (),
        among: Sequence[str] | None = None,
    ) -> list[Footprint]:
        """Return the memories that may be archived, the longest unused first."""
        movable, values = _make_movable(protected, in_use, among)
        sql = f"""SELECT m.id, {_SIZE} FROM {_SEEN} LEFT JOIN usage u ON u.id = m.id WHERE {movable}
                  ORDER BY coalesce(u.last_accessed, m.created_at), m.created_at, m.id"""
        with self._db.read_transaction() as db:
            return [Footprint(id_, size) for id_, size in fetch(db, sql, values)]

    def weakest(
        self,
        below: float,
        protected: Sequence[str],
        in_use: Sequence[str] = (),
        among: Sequence[str] | None = None,
    ) -> list[str]:
        """Return the IDs of memories below a salience that may be trashed, weakest first."""
        movable, values = _make_movable(protected, in_use, among)
        sql = f"""SELECT m.id, {self._db.salience} AS strength FROM {_USED}
                  WHERE {movable} AND strength < ? ORDER BY strength, m.created_at, m.id"""
        with self._db.read_transaction() as db:
            return [id_ for id_, _ in fetch(db, sql, [*values, below])]


def read_problems(db: apsw.Connection) -> list[Problem]:
    """Return the files with problems, sorted by path."""
    from muisti.model import Problem

    rows = fetch(db, "SELECT path, reason FROM problems ORDER BY path")
    return [Problem(path, reason) for path, reason in rows]


def read_decayed_at(db: apsw.Connection) -> datetime | None:
    """Return the time up to which decay was recorded, or None."""
    row = db.execute("SELECT value FROM totals WHERE name = 'decayed_at'").fetchone()
    return None if row is None else to_time(row[0])


_USED = "memories m LEFT JOIN usage u ON u.id = m.id"
_SEEN = "memories m LEFT JOIN seen f ON f.path = m.path"
# A memory without a file has the size of its content.
_SIZE = (
    "(coalesce(f.size, length(CAST(m.content AS BLOB))) + "
    "coalesce((SELECT sum(length(v.codes) + length(v.rest)) FROM vectors v WHERE v.n = m.n), 0))"
)


def _make_movable(
    protected: Sequence[str], in_use: Sequence[str], among: Sequence[str] | None
) -> Condition:
    """Return the condition for memories that maintenance may move."""
    sql = """m.deleted_at IS NULL AND NOT m.pinned
        AND m.kind NOT IN (SELECT value FROM json_each(?))
        AND coalesce(m.session_id, '') NOT IN (SELECT value FROM json_each(?))"""
    if among is None:
        return sql, [to_json(protected), to_json(in_use)]
    sql = f"{sql} AND m.id IN (SELECT value FROM json_each(?))"
    return sql, [to_json(protected), to_json(in_use), to_json(among)]


def _count_by(db: apsw.Connection, column: str) -> dict[str, int]:
    """Return how many memories have each value of a column, the most frequent first."""
    sql = f"""SELECT {column}, count(*) FROM memories WHERE deleted_at IS NULL
              GROUP BY 1 ORDER BY 2 DESC, 1"""
    return {str(name): int(count) for name, count in db.execute(sql)}
