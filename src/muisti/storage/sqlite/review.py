"""Finds unconfirmed memories and suggested links."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from muisti.ports.review import ReviewOrder, Unconfirmed
from muisti.storage.row_values import decode_link
from muisti.storage.sqlite.rows import Cell, fetch
from muisti.storage.sqlite.validity import SUPERSEDES

if TYPE_CHECKING:
    from muisti.model import Filter
    from muisti.storage.sqlite.connect import Database

_ORDERS: dict[ReviewOrder, str] = {
    "created_at": "at DESC, id DESC, type NULLS FIRST, target",
    "importance": "importance DESC, at DESC, id DESC, type NULLS FIRST, target",
}


class SqliteReview:
    """Implements the port ReviewReader."""

    _db: Database

    def unconfirmed(
        self, where: Filter, target: Filter, *, order: ReviewOrder, limit: int | None, offset: int
    ) -> list[Unconfirmed]:
        """Return one page of the queue."""
        with self._db.read_transaction() as db:
            memories, links, values = self._build(where, target)
            rows = fetch(
                db,
                f"""SELECT m.id, m.created_at AS at, m.importance AS importance, m.id AS id,
                    NULL AS type, NULL AS target, 0, '', 0, NULL, NULL FROM {memories}
                    UNION ALL SELECT m.id, m.created_at, m.importance, l.source, l.type, l.target,
                    l.confidence, l.extracted_by, l.created_at,
                    nullif(l.valid_from, l.created_at), l.valid_until FROM {links}
                    ORDER BY {_ORDERS[order]} LIMIT ? OFFSET ?""",
                [*values, -1 if limit is None else limit, offset],
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

    def _build(self, where: Filter, target: Filter) -> tuple[str, str, list[Cell]]:
        """Return the tables and conditions for memories and for links, and their values."""
        unconfirmed, its_values = self._db.conditions(replace(where, trusted=False))
        source, source_values = self._db.conditions(where)
        other, other_values = self._db.conditions(target)
        memories = f"{_MEMORIES} WHERE {unconfirmed} AND {_CURRENT}"
        links = f"""links l JOIN {_MEMORIES} WHERE l.proposed AND m.id = l.source
            AND {source} AND {_CURRENT}
            AND EXISTS (SELECT 1 FROM {_MEMORIES} WHERE m.id = l.target AND {other} AND {_CURRENT})
        """
        return memories, links, [*its_values, *source_values, *other_values]


_MEMORIES = "memories m LEFT JOIN usage u ON u.id = m.id"
_CURRENT = f"""NOT EXISTS (SELECT 1 FROM links l
    JOIN memories s ON s.id = l.source AND s.deleted_at IS NULL WHERE {SUPERSEDES})"""
