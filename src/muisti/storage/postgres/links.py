"""Reads links."""

from __future__ import annotations

from collections.abc import Sequence

from muisti.model import Link
from muisti.model.chains import find_chains, find_successors
from muisti.storage.postgres.connect import Database, fetch
from muisti.storage.postgres.validity import Chains
from muisti.storage.row_values import decode_link


class PostgresLinks:
    """Implements the port LinkReader."""

    _db: Database

    def get_links(self, ids: Sequence[str]) -> list[Link]:
        """Return the links that begin or end at any of these memories, oldest first."""
        with self._db.read_transaction() as db:
            return [decode_link(row) for row in fetch(db, _LINKS, (list(ids), list(ids)))]

    def find_labelled(self, label: str, values: Sequence[str] | None) -> list[str]:
        """Return the IDs of memories with any of these values of a label, or with any value."""
        chosen = "" if values is None else "AND value = ANY(%s)"
        sql = f"""SELECT id FROM entries
            WHERE n IN (SELECT n FROM labels WHERE field = %s {chosen})
            AND origin = 'memory' AND deleted_at IS NULL ORDER BY created_at DESC, id DESC"""
        with self._db.read_transaction() as db:
            rows = fetch(db, sql, [label] if values is None else [label, list(values)])
        return [id_ for (id_,) in rows]

    def successors(self, ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """Return the IDs of the memories that supersede each of these, the latest last."""
        with self._db.read_transaction() as db:
            chains = Chains(db)
            chains.load(ids)
            found = {id_: find_successors(id_, chains.find_replacing) for id_ in ids}
        return {old: news for old, news in found.items() if news}

    def chains(self, ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """Return the successors of these memories, and of their successors in turn."""
        with self._db.read_transaction() as db:
            chains = Chains(db)
            chains.load(ids)
            return find_chains(ids, chains.find_replacing)


_LINKS = """
SELECT l.source, l.type, l.target, l.confidence, l.extracted_by, l.created_at,
    nullif(l.valid_from, l.created_at), l.valid_until
FROM (SELECT * FROM links WHERE source = ANY(%s) UNION SELECT * FROM links WHERE target = ANY(%s)) l
JOIN entries s ON s.id = l.source AND s.origin = 'memory' AND s.deleted_at IS NULL
JOIN entries t ON t.id = l.target AND t.origin = 'memory' AND t.deleted_at IS NULL
ORDER BY l.created_at, l.source, l.type, l.target
"""
