"""Finds unconfirmed memories and suggested links."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from muisti.model import Filter
from muisti.ports.review import ReviewOrder, Unconfirmed
from muisti.storage.postgres.connect import Database, fetch
from muisti.storage.postgres.rows import IS_MEMORY
from muisti.storage.postgres.validity import SUPERSEDES
from muisti.storage.row_values import decode_link

if TYPE_CHECKING:
    from muisti.storage.postgres.filters import Condition

_ORDERS: dict[ReviewOrder, str] = {
    "created_at": "at DESC, id DESC, type NULLS FIRST, target",
    "importance": "importance DESC, at DESC, id DESC, type NULLS FIRST, target",
}


class PostgresReview:
    """Implements the port ReviewReader."""

    _db: Database

    def make_condition(self, where: Filter) -> Condition:
        """Return the condition for a filter. Call within a transaction."""
        raise NotImplementedError

    def unconfirmed(
        self, where: Filter, target: Filter, *, order: ReviewOrder, limit: int | None, offset: int
    ) -> list[Unconfirmed]:
        """Return one page of the queue."""
        with self._db.read_transaction() as db:
            memories, links, values = self._build(where, target)
            rows = fetch(
                db,
                f"""SELECT * FROM (
                    SELECT m.id AS memory, m.created_at AS at, m.importance AS importance,
                    m.id AS id, NULL AS type, NULL AS target, 0::float8, '', 0::bigint,
                    NULL::bigint, NULL::bigint FROM {memories}
                    UNION ALL SELECT m.id, m.created_at, m.importance, l.source, l.type, l.target,
                    l.confidence, l.extracted_by, l.created_at,
                    nullif(l.valid_from, l.created_at), l.valid_until FROM {links}
                    ) q ORDER BY {_ORDERS[order]} LIMIT %s OFFSET %s""",
                [*values, limit, offset],
            )
        return [
            Unconfirmed(id_, None if link[1] is None else decode_link(link))
            for id_, _, _, *link in rows
        ]

    def count_unconfirmed(self, where: Filter, target: Filter) -> tuple[int, int]:
        """Return how many memories and how many links are in the queue."""
        with self._db.read_transaction() as db:
            memories, links, values = self._build(where, target)
            sql = f"SELECT (SELECT count(*) FROM {memories}), (SELECT count(*) FROM {links})"
            found, suggested = fetch(db, sql, values)[0]
        return int(found), int(suggested)

    def _build(self, where: Filter, target: Filter) -> tuple[str, str, list[Any]]:
        """Return the tables and conditions for memories and for links, and their values."""
        unconfirmed, its_values = self.make_condition(replace(where, trusted=False))
        source, source_values = self.make_condition(where)
        other, other_values = self.make_condition(target)
        memories = f"{_MEMORIES} WHERE {IS_MEMORY} AND {unconfirmed} AND {_CURRENT}"
        links = f"""links l JOIN {_MEMORIES.replace("entries m", "entries m ON m.id = l.source")}
            WHERE l.proposed AND {IS_MEMORY} AND {source} AND {_CURRENT}
            AND EXISTS (SELECT 1 FROM {_MEMORIES}
                WHERE m.id = l.target AND {IS_MEMORY} AND {other} AND {_CURRENT})"""
        return memories, links, [*its_values, *source_values, *other_values]


_MEMORIES = "entries m LEFT JOIN usage u ON u.id = m.id"
_CURRENT = f"""NOT EXISTS (SELECT 1 FROM links l JOIN entries s
    ON s.id = l.source AND s.origin = 'memory' AND s.deleted_at IS NULL WHERE {SUPERSEDES})"""
