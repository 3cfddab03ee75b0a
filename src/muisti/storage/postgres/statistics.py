"""Counts memories and finds those that maintenance may move."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from muisti.model import Problem, Stats
from muisti.ports.search import Footprint
from muisti.storage.postgres.connect import Connection, Database, fetch
from muisti.storage.postgres.rows import IS_MEMORY
from muisti.storage.postgres.vector_spaces import count_embeddable, read_spaces
from muisti.storage.row_values import time_or_none


class PostgresStatistics:
    """Implements the port Statistics, but for `decayed_at`."""

    _db: Database

    def stats(self) -> Stats:
        """Return statistics of the whole vault."""
        sql = f"""SELECT count(*), coalesce(sum(length(m.content)), 0), avg({self._db.salience}),
                  min(m.created_at), max(m.created_at) FROM {_USED}
                  WHERE {IS_MEMORY} AND m.deleted_at IS NULL"""
        with self._db.read_transaction() as db:
            total, chars, salience, oldest, newest = fetch(db, sql)[0]
            deleted = f"SELECT count(*) FROM entries m WHERE {IS_MEMORY} AND deleted_at IS NOT NULL"
            size = "SELECT coalesce(sum(octet_length(content)), 0) FROM entries"
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
                index_size_bytes=int(fetch(db, size)[0][0]),
                embedding_model=spaces[0].identity.model if spaces else None,
                waiting_count=spaces[-1].missing if spaces else count_embeddable(db),
                problems=(),
                database=self._db.pools.status(db),
            )

    def find_long_sessions(self, length: int, among: Sequence[str] | None = None) -> list[str]:
        """Return the sessions whose memories may have this many characters together."""
        condition = "IS NOT NULL" if among is None else "= ANY(%s)"
        values = [] if among is None else 2 * [list(among)]
        sql = f"""SELECT s.session_id FROM (
                      SELECT session_id, id FROM entries m
                      WHERE {IS_MEMORY} AND session_id {condition}
                      UNION SELECT session_id, memory_id FROM uses
                      WHERE session_id {condition} AND what = 'reinforced'
                  ) s JOIN entries m USING (id) WHERE {IS_MEMORY} AND m.deleted_at IS NULL
                  GROUP BY 1 HAVING sum(length(m.content) + 2) >= %s ORDER BY 1"""
        with self._db.read_transaction() as db:
            return [session_id for (session_id,) in fetch(db, sql, (*values, length))]

    def count_decayed(self, least: float) -> int:
        """Return how many memories lost at least this much salience since decay was recorded."""
        lost = f"{self._db.salience_recorded} - {self._db.salience}"
        sql = f"""SELECT count(*) FROM {_USED}
                  WHERE {IS_MEMORY} AND m.deleted_at IS NULL AND {lost} >= %s"""
        with self._db.read_transaction() as db:
            return int(fetch(db, sql, (least,))[0][0])

    def problems(self) -> list[Problem]:
        """Return the documents that cannot be searched. Rows are not edited outside muisti."""
        sql = """SELECT path, problem FROM files WHERE source IS NOT NULL AND problem <> ''
                 ORDER BY path"""
        with self._db.read_transaction() as db:
            return [Problem(*row) for row in fetch(db, sql)]

    def live_bytes(self) -> int:
        """Return the size of the files and vectors of all memories that are not deleted."""
        with self._db.read_transaction() as db:
            size = _make_size(db)
            sql = f"""SELECT coalesce(sum({size}), 0) FROM entries m
                      WHERE {IS_MEMORY} AND m.deleted_at IS NULL"""
            return int(fetch(db, sql)[0][0])

    def longest_unused(
        self,
        protected: Sequence[str],
        in_use: Sequence[str] = (),
        among: Sequence[str] | None = None,
    ) -> list[Footprint]:
        """Return the memories that may be archived, the longest unused first."""
        movable, values = _make_movable(protected, in_use, among)
        with self._db.read_transaction() as db:
            sql = f"""SELECT m.id, {_make_size(db)} FROM {_USED} WHERE {movable}
                      ORDER BY coalesce(u.last_accessed, m.created_at), m.created_at, m.id"""
            return [Footprint(id_, int(size)) for id_, size in fetch(db, sql, values)]

    def weakest(
        self,
        below: float,
        protected: Sequence[str],
        in_use: Sequence[str] = (),
        among: Sequence[str] | None = None,
    ) -> list[str]:
        """Return the IDs of memories below a salience that may be trashed, weakest first."""
        movable, values = _make_movable(protected, in_use, among)
        sql = f"""SELECT id FROM (
                      SELECT m.id, m.created_at, {self._db.salience} AS strength FROM {_USED}
                      WHERE {movable}
                  ) w WHERE strength < %s ORDER BY strength, created_at, id"""
        with self._db.read_transaction() as db:
            return [id_ for (id_,) in fetch(db, sql, [*values, below])]


_USED = "entries m LEFT JOIN usage u ON u.id = m.id"


def _make_size(db: Connection) -> str:
    """Return the SQL for the bytes of a memory's file and of its vectors.

    A memory without a file has the size of its content.
    """
    sizes = [
        """coalesce((SELECT octet_length(f.file) FROM memories f
            WHERE f.id = m.id AND NOT f.archived), octet_length(m.content))"""
    ]
    sizes += [
        f"""coalesce((SELECT sum(octet_length(v.codes) + octet_length(v.rest))
            FROM vectors_{space:d} v WHERE v.n = m.n), 0)"""
        for (space,) in fetch(db, "SELECT space FROM spaces")
    ]
    return f"({' + '.join(sizes)})"


def _make_movable(
    protected: Sequence[str], in_use: Sequence[str], among: Sequence[str] | None
) -> tuple[str, list[Any]]:
    """Return the condition for memories that maintenance may move."""
    sql = f"""{IS_MEMORY} AND m.deleted_at IS NULL AND NOT m.pinned
        AND m.kind <> ALL(%s::text[]) AND coalesce(m.session_id, '') <> ALL(%s::text[])"""
    values = [list(protected), list(in_use)]
    if among is None:
        return sql, values
    return f"{sql} AND m.id = ANY(%s)", [*values, list(among)]


def _count_by(db: Connection, column: str) -> dict[str, int]:
    """Return how many memories have each value of a column, the most frequent first."""
    sql = f"""SELECT m.{column}, count(*) FROM entries m WHERE {IS_MEMORY} AND deleted_at IS NULL
              GROUP BY 1 ORDER BY 2 DESC, 1"""
    return dict(fetch(db, sql))
