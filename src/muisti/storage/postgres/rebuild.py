"""Builds the index again from the rows of the store."""

from __future__ import annotations

from muisti.ports.rows import IndexChanges
from muisti.storage.postgres.apply import apply_changes
from muisti.storage.postgres.connect import Connection, fetch
from muisti.storage.postgres.journal import rebuild_mentions
from muisti.storage.postgres.vector_rows import repair_vectors

_DERIVED = ("words", "postings", "lexicon", "lexicon_parts", "totals", "labels", "bands", "links")


def rebuild(db: Connection, changes: IndexChanges) -> None:
    """Replace the whole index with these rows. Texts keep their numbers, and so their vectors."""
    for table in _DERIVED:
        db.execute(f"DELETE FROM {table}".encode())
    written = {row.memory.id for row in changes.memories}
    known = fetch(db, "SELECT id FROM entries WHERE origin = 'memory'")
    paths = fetch(db, "SELECT DISTINCT origin, path FROM entries WHERE origin <> 'memory'")
    apply_changes(
        db,
        changes._replace(
            removed=[id_ for (id_,) in known if id_ not in written],
            emptied=[(origin, path) for origin, path in paths],
        ),
    )
    rebuild_mentions(db)
    repair_vectors(db)
