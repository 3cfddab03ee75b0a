"""Reads links."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from muisti.storage.sqlite.rows import decode_link, fetch
from muisti.storage.sqlite.validity import COUNTS
from muisti.storage.sqlite.vector_spaces import to_json

if TYPE_CHECKING:
    from muisti.model import Link
    from muisti.storage.sqlite.connect import Database


class SqliteLinks:
    """Implements the port LinkReader."""

    _db: Database

    def get_links(self, ids: Sequence[str]) -> list[Link]:
        """Return the links that begin or end at any of these memories, oldest first."""
        with self._db.read_transaction() as db:
            return [decode_link(row) for row in fetch(db, _LINKS, (to_json(ids),))]

    def successors(self, ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """Return the IDs of the memories that supersede each of these, the latest last."""
        found: dict[str, list[str]] = {}
        with self._db.read_transaction() as db:
            for old, new in fetch(db, _SUCCESSORS, (to_json(ids),)):
                found.setdefault(old, []).append(new)
        return {old: tuple(news) for old, news in found.items()}

    def chains(self, ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """Return the successors of these memories, and of their successors in turn."""
        with self._db.read_transaction() as db:
            later = [id_ for (id_,) in fetch(db, _LATER, (to_json(ids),))]
            return self.successors(list(dict.fromkeys([*ids, *later])))


_ALIVE = """JOIN memories s ON s.id = l.source AND s.deleted_at IS NULL
    JOIN memories t ON t.id = l.target AND t.deleted_at IS NULL"""
_LINKS = f"""
SELECT l.source, l.type, l.target, l.confidence, l.extracted_by, l.created_at,
    nullif(l.valid_from, l.created_at), l.valid_until
FROM (SELECT l.* FROM json_each(?1) j JOIN links l ON l.source = j.value
    UNION SELECT l.* FROM json_each(?1) j JOIN links l ON l.target = j.value) l {_ALIVE}
ORDER BY l.created_at, l.source, l.type, l.target
"""
_NEXT = f"""links l CROSS JOIN memories s CROSS JOIN memories t
    WHERE s.id = l.source AND t.id = l.target AND s.user = t.user AND {COUNTS}"""
_LATER = f"""
WITH RECURSIVE later(id) AS (
    SELECT value FROM json_each(?)
    UNION SELECT l.source FROM later CROSS JOIN {_NEXT} AND l.target = later.id
)
SELECT m.id FROM later CROSS JOIN memories m WHERE m.id = later.id AND m.deleted_at IS NULL
"""
# Over deleted memories to the next one: the chain stays whole without them.
_SUCCESSORS = f"""
WITH RECURSIVE found(old, id, at) AS (
    SELECT j.value, l.source, l.created_at
    FROM json_each(?) j CROSS JOIN {_NEXT} AND l.target = j.value
    UNION SELECT old, l.source, l.created_at
    FROM found CROSS JOIN {_NEXT} AND l.target = found.id AND t.deleted_at NOT NULL
)
SELECT old, found.id FROM found CROSS JOIN memories m
WHERE m.id = found.id AND m.deleted_at IS NULL AND m.id <> old
GROUP BY old, m.id ORDER BY min(at), m.id
"""
