"""Reads links."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from muisti.model.chains import find_chains, find_successors
from muisti.storage.row_values import decode_link
from muisti.storage.sqlite.rows import fetch
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

    def find_labelled(self, label: str, values: Sequence[str] | None) -> list[str]:
        """Return the IDs of memories with any of these values of a label, or with any value."""
        chosen = "" if values is None else "AND value IN (SELECT value FROM json_each(?))"
        sql = f"""SELECT id FROM memories WHERE n IN (SELECT n FROM labels WHERE field = ? {chosen})
            AND deleted_at IS NULL ORDER BY created_at DESC, id DESC"""
        with self._db.read_transaction() as db:
            rows = fetch(db, sql, [label] if values is None else [label, to_json(values)])
        return [id_ for (id_,) in rows]

    def successors(self, ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """Return the IDs of the memories that supersede each of these, the latest last."""
        with self._db.read_transaction():
            find_replacing = self._db.held.chains.find_replacing
            found = {id_: find_successors(id_, find_replacing) for id_ in ids}
        return {old: news for old, news in found.items() if news}

    def chains(self, ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """Return the successors of these memories, and of their successors in turn."""
        with self._db.read_transaction() as db:
            # Few memories are replaced: one query finds them.
            replaced = {target for (target,) in fetch(db, _REPLACED, (to_json(ids),))}
            old = [id_ for id_ in ids if id_ in replaced]
            return find_chains(old, self._db.held.chains.find_replacing) if old else {}


_REPLACED = f"""SELECT DISTINCT l.target FROM json_each(?) j JOIN links l ON l.target = j.value
WHERE {COUNTS}"""
_ALIVE = """JOIN memories s ON s.id = l.source AND s.deleted_at IS NULL
    JOIN memories t ON t.id = l.target AND t.deleted_at IS NULL"""
_LINKS = f"""
SELECT l.source, l.type, l.target, l.confidence, l.extracted_by, l.created_at,
    nullif(l.valid_from, l.created_at), l.valid_until
FROM (SELECT l.* FROM json_each(?1) j JOIN links l ON l.source = j.value
    UNION SELECT l.* FROM json_each(?1) j JOIN links l ON l.target = j.value) l {_ALIVE}
ORDER BY l.created_at, l.source, l.type, l.target
"""
