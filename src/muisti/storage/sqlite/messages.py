"""Reads conversations and document sources."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import apsw

from muisti.errors import IndexCorrupt
from muisti.storage.row_values import decode_conversation, to_time
from muisti.storage.sqlite.rows import fetch
from muisti.storage.sqlite.vector_spaces import to_json

if TYPE_CHECKING:
    from muisti.model import Conversation, DocumentSource, IndexedDocument, Message
    from muisti.storage.sqlite.connect import Database


class SqliteMessages:
    """Implements the port MessageReader."""

    _db: Database

    def window(self, conversation: str, limit: int, *, whole: bool = False) -> list[Message]:
        """Return the latest messages since the last session break, or of all."""
        with self._db.read_transaction() as db:
            rows = fetch(db, _WHOLE if whole else _WINDOW, (conversation, limit))
        return [_decode_message(row) for row in reversed(rows)]

    def list_conversations(self) -> list[Conversation]:
        """Return all conversations, the latest first."""
        with self._db.read_transaction() as db:
            rows = fetch(db, _CONVERSATIONS)
        return [decode_conversation(row) for row in rows]

    def conversation(self, name: str) -> Conversation | None:
        """Return one conversation, or None."""
        with self._db.read_transaction() as db:
            rows = fetch(db, _CONVERSATION, (name,))
        return decode_conversation(rows[0]) if rows else None

    def messages(self, ids: Sequence[str]) -> dict[str, Message]:
        """Return messages by the IDs that searches return."""
        sql = f"""SELECT {_MESSAGE}, e.id FROM json_each(?) j
                  JOIN entries e ON e.id = j.value JOIN messages m USING (n)"""
        with self._db.read_transaction() as db:
            rows = fetch(db, sql, (to_json(ids),))
        return {row[-1]: _decode_message(row) for row in rows}

    def find_messages(self, conversation: str, message_ids: Sequence[str]) -> dict[str, Message]:
        """Return the messages of a conversation that have these message IDs."""
        sql = f"""SELECT {_MESSAGE} FROM json_each(?) j
                  JOIN messages m ON m.message_id = j.value AND m.chat = ?
                  JOIN entries e USING (n) ORDER BY m.file DESC, m.place DESC"""
        with self._db.read_transaction() as db:
            rows = fetch(db, sql, (to_json(message_ids), conversation))
        found = map(_decode_message, rows)
        return {message.id: message for message in found}

    def document_sources(self) -> list[str]:
        """Return the source names of indexed documents."""
        with self._db.read_transaction() as db:
            rows = fetch(
                db, "SELECT DISTINCT source FROM entries WHERE origin = 'document' ORDER BY source"
            )
        return [source for (source,) in rows]

    def sources(self) -> list[DocumentSource]:
        """Return the indexed files and folders."""
        with self._db.read_transaction() as db:
            return read_sources(db)

    def list_documents(self, paths: Sequence[str] | None = None) -> list[IndexedDocument]:
        """Return the indexed documents, or those with these paths, sorted by path."""
        from muisti.model.documents import VERSION_LENGTH, IndexedDocument

        with self._db.read_transaction() as db:
            if paths is None:
                rows = fetch(db, _ALL_DOCUMENTS)
            else:
                rows = fetch(db, _DOCUMENTS_BY_PATH, (to_json(paths),))
        return [
            IndexedDocument(path, sha[:VERSION_LENGTH], source, project, user)
            for path, sha, source, project, user in rows
        ]


def read_sources(db: apsw.Connection) -> list[DocumentSource]:
    """Return the document sources with the number of their documents."""
    from muisti.model import DocumentSource

    return [
        DocumentSource(path, source, project, bool(trusted), count, user)
        for path, source, project, trusted, count, user in fetch(db, _SOURCES)
    ]


_DOCUMENTS = """
SELECT d.path, d.sha, d.shelf, coalesce(s.project, ''), coalesce(s.user, '')
FROM {0} LEFT JOIN shelves s ON s.path = d.shelf ORDER BY d.path
"""
_ALL_DOCUMENTS = _DOCUMENTS.format("documents d")
_DOCUMENTS_BY_PATH = _DOCUMENTS.format("json_each(?) j JOIN documents d ON d.path = j.value")
_SOURCES = """
SELECT path, source, project, trusted, (SELECT count(*) FROM documents d WHERE d.shelf = s.path),
    user
FROM shelves s ORDER BY path
"""
_MESSAGE = "m.message_id, m.chat, m.role, e.content, m.at, m.type, m.meta, e.project, e.user"
_BREAK = """FROM messages b WHERE b.chat = {0} AND b.type = 'session_break'
    ORDER BY b.file DESC, b.place DESC LIMIT 1"""
_SINCE = f"""(m.file, m.place) >
    (coalesce((SELECT b.file {_BREAK}), ''), coalesce((SELECT b.place {_BREAK}), -1))"""
# The same message in a copy of its file, as programs that sync folders create it.
_COPY = """EXISTS (SELECT 1 FROM messages o JOIN entries p USING (n)
    WHERE o.message_id = m.message_id AND o.chat = m.chat AND o.file < m.file
    AND o.at = m.at AND o.role = m.role AND p.content = e.content)"""
_LATEST = f"""
SELECT {_MESSAGE} FROM messages m JOIN entries e USING (n)
WHERE m.chat = ?1 AND {{since}} AND NOT {_COPY}
ORDER BY m.file DESC, m.place DESC LIMIT ?2
"""
_WINDOW, _WHOLE = _LATEST.format(since=_SINCE.format("?1")), _LATEST.format(since="1")
_MODEL = """CASE WHEN m.meta LIKE '%"model"%' AND json_valid(m.meta)
    AND json_type(m.meta, '$.model') = 'text' THEN json_extract(m.meta, '$.model') END"""
_FIGURES = f"""
SELECT c.chat, c.count, c.first, c.last,
    (SELECT count(*) FROM messages m WHERE m.chat = c.chat AND {_SINCE.format("c.chat")}),
    e.project, e.user,
    (SELECT {_MODEL} FROM messages m WHERE m.chat = c.chat AND m.role = 'assistant'
        AND {_MODEL} NOT NULL ORDER BY m.file DESC, m.place DESC LIMIT 1),
    (SELECT m.message_id FROM messages m WHERE m.chat = c.chat AND {_SINCE.format("c.chat")}
        ORDER BY m.file, m.place LIMIT 1)
FROM (SELECT chat, sum(type IS NOT 'session_break') AS count, min(at) AS first, max(at) AS last
    FROM messages {{where}} GROUP BY chat) c
JOIN entries e ON e.n = (SELECT m.n FROM messages m WHERE m.chat = c.chat
    ORDER BY m.file DESC, m.place DESC LIMIT 1)
ORDER BY c.last DESC, c.chat
"""
_CONVERSATIONS = _FIGURES.format(where="")
_CONVERSATION = _FIGURES.format(where="WHERE chat = ?")


def _decode_message(row: Sequence[Any]) -> Message:
    from muisti.model import Message

    id_, chat, role, content, at, type_, meta, project, user, *_ = row
    try:
        known = json.loads(meta) if meta else {}
    except ValueError as error:
        raise IndexCorrupt(
            f"the index has an invalid message ({error}); `muisti reindex` rebuilds it"
        ) from error
    return Message(
        id=id_,
        conversation=chat,
        role=role,
        content=content,
        at=to_time(at),
        type=type_,
        meta=known,
        project=project,
        user=user,
    )
