"""Documents in the index: the sections of Markdown files that stay where they are."""

from __future__ import annotations

from collections.abc import Iterable

import apsw

from muisti.model import Event, Shelf
from muisti.ports import Document, Known, Stamp
from muisti.storage.sqlite.entries import Counts, Text, put, take_out
from muisti.storage.sqlite.rows import fetch, to_int


def take_in_documents(db: apsw.Connection, documents: Iterable[Document], gone: Iterable[str], counts: Counts) -> None:
    """Write the sections of documents that are new or changed; forget those of documents that are gone."""
    for path in gone:
        take_out(db, _OF_DOCUMENT, (path,), counts)
        db.execute("DELETE FROM documents WHERE path = ?", (path,))
        db.execute("DELETE FROM problems WHERE path = ?", (path,))
    for document in documents:
        earlier = take_out(db, _OF_DOCUMENT, (document.path,), counts, keep=True)
        put(db, "document", _texts(document), earlier, counts)
        known, stamp = document.known, document.known.stamp
        cells = (document.path, document.shelf.path, stamp.size, stamp.mtime_ns, stamp.inode, known.seen_ns, known.sha)
        db.execute("INSERT OR REPLACE INTO documents VALUES (?, ?, ?, ?, ?, ?, ?)", cells)
        db.execute("DELETE FROM problems WHERE path = ?", (document.path,))
        if document.problem:
            db.execute("INSERT INTO problems VALUES (?, ?)", (document.path, document.problem))


_OF_DOCUMENT = "entries e WHERE e.origin = 'document' AND e.path = ?"


def _texts(document: Document) -> list[Text]:
    at = to_int(document.changed_at) or 0
    shelf = document.shelf
    return [
        Text(
            id=_id(document.path, section.anchor),
            project=shelf.project,
            session_id=None,
            created_at=at + place,  # so that the order of time is the order of sections
            updated_at=at,
            source=document.source,
            path=document.path,
            title=section.heading or document.source,
            content=section.content,
            trusted=shelf.trusted,
            own_title=section.heading,
        )
        for place, section in enumerate(document.sections)
    ]


def _id(path: str, anchor: str) -> str:
    """The path, which no other sort of entry can have for its id."""
    plain = f"./{path}" if path.startswith("message:") or "." not in path else path
    return f"{plain}#{anchor}" if anchor else plain


def documents_of(db: apsw.Connection) -> dict[str, tuple[str, Known]]:
    """Every document that was read, with the path of its shelf."""
    rows = fetch(db, "SELECT path, shelf, size, mtime_ns, inode, seen_ns, sha FROM documents")
    return {
        path: (shelf, Known(Stamp(size, mtime, inode), seen, sha, None)) for path, shelf, size, mtime, inode, seen, sha in rows
    }


def shelves_of(db: apsw.Connection) -> list[Shelf]:
    """What the journal says is searched beside the memories."""
    sql = """SELECT path, source, project, trusted, (SELECT count(*) FROM documents d WHERE d.shelf = s.path)
             FROM shelves s ORDER BY path"""
    return [Shelf(path, source, project, bool(trusted), count) for path, source, project, trusted, count in fetch(db, sql)]


def note_shelf(db: apsw.Connection, event: Event) -> None:
    """What an event says of a shelf."""
    path = event.data.get("path")
    if not isinstance(path, str):
        return
    if event.name == "documents_added":
        source, project = (str(event.data.get(key) or "") for key in ("source", "project"))
        db.execute("UPDATE documents SET size = -1 WHERE shelf = ?", (path,))  # what they are called may be another now
        db.execute("INSERT OR REPLACE INTO shelves VALUES (?, ?, ?, ?)", (path, source, project, bool(event.data.get("trusted"))))
    elif event.name == "documents_dropped":
        db.execute("DELETE FROM shelves WHERE path = ?", (path,))
