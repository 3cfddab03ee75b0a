"""Reads conversations and document sources."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from muisti.model import SESSION_BREAK, Conversation, DocumentSource, IndexedDocument, Message
from muisti.storage.postgres.connect import Database, fetch
from muisti.storage.postgres.rows import decode_text
from muisti.storage.row_values import decode_conversation, to_time


class PostgresMessages:
    """Implements the port MessageReader."""

    _db: Database

    def window(self, conversation: str, limit: int, *, whole: bool = False) -> list[Message]:
        """Return the latest messages since the last session break, or of all."""
        values = {"chat": conversation, "limit": limit}
        with self._db.read_transaction() as db:
            rows = fetch(db, _WHOLE if whole else _WINDOW, values)
        return [_decode_message(row) for row in reversed(rows)]

    def list_conversations(self) -> list[Conversation]:
        """Return all conversations, the latest first."""
        with self._db.read_transaction() as db:
            rows = fetch(db, _FIGURES.format(where=""))
        return [decode_conversation(row) for row in rows]

    def conversation(self, name: str) -> Conversation | None:
        """Return one conversation, or None."""
        with self._db.read_transaction() as db:
            rows = fetch(db, _FIGURES.format(where="WHERE chat = %s"), (name,))
        return decode_conversation(rows[0]) if rows else None

    def messages(self, ids: Sequence[str]) -> dict[str, Message]:
        """Return messages by the IDs that searches return."""
        sql = f"""SELECT {_MESSAGE}, e.id FROM entries e JOIN messages m USING (n)
                  WHERE e.id = ANY(%s)"""
        with self._db.read_transaction() as db:
            rows = fetch(db, sql, (list(ids),))
        return {row[-1]: _decode_message(row) for row in rows}

    def find_messages(self, conversation: str, message_ids: Sequence[str]) -> dict[str, Message]:
        """Return the messages of a conversation that have these message IDs."""
        sql = f"""SELECT {_MESSAGE} FROM messages m JOIN entries e USING (n)
                  WHERE m.chat = %s AND m.message_id = ANY(%s)
                  ORDER BY m.file DESC, m.place DESC"""
        with self._db.read_transaction() as db:
            rows = fetch(db, sql, (conversation, list(message_ids)))
        found = map(_decode_message, rows)
        return {message.id: message for message in found}

    def document_sources(self) -> list[str]:
        """Return the source names of indexed documents."""
        sql = "SELECT DISTINCT source FROM entries WHERE origin = 'document' ORDER BY source"
        with self._db.read_transaction() as db:
            return [source for (source,) in fetch(db, sql)]

    def sources(self) -> list[DocumentSource]:
        """Return the indexed files and folders."""
        sql = """SELECT path, source, project, trusted,
                 (SELECT count(*) FROM files f WHERE f.source = s.path), s.user
                 FROM sources s ORDER BY path"""
        with self._db.read_transaction() as db:
            return [DocumentSource(*row) for row in fetch(db, sql)]

    def list_documents(self, paths: Sequence[str] | None = None) -> list[IndexedDocument]:
        """Return the indexed documents, or those with these paths, sorted by path."""
        sql = """SELECT f.path, f.version, f.source, coalesce(s.project, ''), coalesce(s.user, '')
                 FROM files f LEFT JOIN sources s ON s.path = f.source
                 WHERE f.source IS NOT NULL
                 AND (%(paths)s::text[] IS NULL OR f.path = ANY(%(paths)s))
                 ORDER BY f.path"""
        values = {"paths": None if paths is None else list(paths)}
        with self._db.read_transaction() as db:
            return [IndexedDocument(*row) for row in fetch(db, sql, values)]


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
WHERE m.chat = %(chat)s AND {{since}} AND NOT {_COPY}
ORDER BY m.file DESC, m.place DESC LIMIT %(limit)s
"""
_WINDOW = _LATEST.format(since=_SINCE.format("%(chat)s"))
_WHOLE = _LATEST.format(since="true")
_MODEL = """CASE WHEN m.meta LIKE '%%"model"%%' AND json_typeof(m.meta::json -> 'model') = 'string'
    THEN m.meta::json ->> 'model' END"""
_FIGURES = f"""
SELECT c.chat, c.count, c.first, c.last,
    (SELECT count(*) FROM messages m WHERE m.chat = c.chat AND {_SINCE.format("c.chat")}),
    e.project, e.user,
    (SELECT {_MODEL} FROM messages m WHERE m.chat = c.chat AND m.role = 'assistant'
        AND {_MODEL} IS NOT NULL ORDER BY m.file DESC, m.place DESC LIMIT 1),
    (SELECT m.message_id FROM messages m WHERE m.chat = c.chat AND {_SINCE.format("c.chat")}
        ORDER BY m.file, m.place LIMIT 1)
FROM (SELECT chat, count(*) FILTER (WHERE type IS DISTINCT FROM '{SESSION_BREAK}') AS count,
    min(at) AS first, max(at) AS last FROM messages {{where}} GROUP BY chat) c
JOIN entries e ON e.n = (SELECT m.n FROM messages m WHERE m.chat = c.chat
    ORDER BY m.file DESC, m.place DESC LIMIT 1)
ORDER BY c.last DESC, c.chat
"""


def _decode_message(row: Sequence[Any]) -> Message:
    id_, chat, role, content, at, type_, meta, project, user, *_ = row
    return Message(
        id=id_,
        conversation=chat,
        role=role,
        content=decode_text(content),
        at=to_time(at),
        type=type_,
        meta=json.loads(meta) if meta else {},
        project=project,
        user=user,
    )
