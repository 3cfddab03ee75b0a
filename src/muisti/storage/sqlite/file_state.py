"""Reads the state of the files that were indexed, and digests of the whole index."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import apsw

from muisti.errors import IndexCorrupt
from muisti.storage.sqlite.rows import STORED, fetch
from muisti.storage.sqlite.vector_spaces import to_json
from muisti.storage.sync_state import ConversationOffset, FileStat, ReadOffset, SeenFile


def read_seen(db: apsw.Connection, paths: Collection[str] | None = None) -> dict[str, SeenFile]:
    """Return the known files of memories by path: all, or those with these paths."""
    sql = "SELECT path, size, mtime_ns, inode, seen_ns, sha, memory_id FROM seen"
    if paths is None:
        rows = fetch(db, sql)
    else:
        rows = fetch(db, f"{sql} WHERE path IN (SELECT value FROM json_each(?))", (to_json(paths),))
    if {(type(row[0]), type(row[4]), type(row[6])) for row in rows} - _VALID_TYPES:
        raise IndexCorrupt("the index has invalid rows; `muisti reindex` rebuilds it")
    return {
        path: SeenFile(FileStat(size, mtime, inode), seen_ns, sha, memory_id)
        for path, size, mtime, inode, seen_ns, sha, memory_id in rows
    }


def read_settled(
    db: apsw.Connection, tick_ns: int
) -> tuple[dict[str, tuple[int, int, int]], dict[str, SeenFile]]:
    """Return the stats of files that are surely as they were read, and all other known files.

    The former are most of them, so they get no objects.
    """
    is_settled = "memory_id IS NOT NULL AND seen_ns - mtime_ns >= ?1"
    sql = f"SELECT path, size, mtime_ns, inode FROM seen WHERE {is_settled}"
    rows = db.execute(sql, (tick_ns,))  # one at a time: a list of them takes a megabyte
    settled = {path: (size, mtime, inode) for path, size, mtime, inode in rows}
    [(total,)] = fetch(db, "SELECT count(*) FROM seen")
    if total == len(settled):
        return settled, {}
    others = fetch(db, f"SELECT path FROM seen WHERE ({is_settled}) IS NOT TRUE", (tick_ns,))
    return settled, read_seen(db, [path for (path,) in others])


_VALID_TYPES = {(str, int, str), (str, int, type(None))}


def read_journal_offsets(db: apsw.Connection) -> dict[str, ReadOffset]:
    """Return how far each file of the journal was read, by file name."""
    rows = fetch(db, "SELECT file, offset, tail_sha FROM marks")
    return {name: ReadOffset(offset, tail_sha) for name, offset, tail_sha in rows}


def read_conversation_offsets(
    db: apsw.Connection, path: str | None
) -> dict[str, ConversationOffset]:
    """Return how far each conversation file was read, by path: all, or this one."""
    sql = "SELECT file, size, mtime_ns, inode, seen_ns, offset, tail_sha FROM talk"
    rows = fetch(db, sql) if path is None else fetch(db, f"{sql} WHERE file = ?", (path,))
    return {
        file: ConversationOffset(FileStat(size, mtime, inode), seen_ns, ReadOffset(offset, tail))
        for file, size, mtime, inode, seen_ns, offset, tail in rows
    }


def read_documents(
    db: apsw.Connection, paths: Collection[str] | None = None
) -> dict[str, tuple[str, SeenFile]]:
    """Return the document source and the file, by path: all, or these paths."""
    sql = "SELECT path, shelf, size, mtime_ns, inode, seen_ns, sha FROM documents"
    if paths is None:
        rows = fetch(db, sql)
    else:
        rows = fetch(db, f"{sql} WHERE path IN (SELECT value FROM json_each(?))", (to_json(paths),))
    return {
        path: (source, SeenFile(FileStat(size, mtime, inode), seen_ns, sha, None))
        for path, source, size, mtime, inode, seen_ns, sha in rows
    }


def read_message_texts(db: apsw.Connection, ids: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Return role and content of indexed messages by ID."""
    sql = """SELECT e.id, m.role, e.content FROM json_each(?) j
             JOIN entries e ON e.id = j.value JOIN messages m USING (n)"""
    return {id_: (role, content) for id_, role, content in fetch(db, sql, (to_json(ids),))}


def read_last_message_at(db: apsw.Connection, conversation: str, path: str) -> int | None:
    """Return `created_at` of the last indexed line of a conversation's file, or None."""
    sql = """SELECT e.created_at FROM messages m JOIN entries e USING (n)
             WHERE m.chat = ? AND m.file = ? ORDER BY m.place DESC LIMIT 1"""
    row = db.execute(sql, (conversation, path)).fetchone()
    return None if row is None else int(row[0])


_PARTS = {
    # Two builds of the same vault differ only in row numbers, inodes and times of reading.
    "memories": f"SELECT {', '.join(STORED)} FROM memories ORDER BY id",
    "labels": """SELECT field, value, id FROM labels JOIN memories USING (n)
        ORDER BY field, value, id""",
    "links": "SELECT * FROM links ORDER BY source, type, target",
    "bands": "SELECT band, id, b.simhash FROM bands b JOIN memories USING (n) ORDER BY band, id",
    "usage": "SELECT * FROM usage ORDER BY id",
    "sessions": "SELECT * FROM sessions ORDER BY id",
    "uses": "SELECT * FROM uses ORDER BY at, session_id, memory_id, what",
    "seen": "SELECT path, size, sha, memory_id FROM seen ORDER BY path",
    "problems": "SELECT * FROM problems ORDER BY path, reason",
    "marks": "SELECT * FROM marks ORDER BY file",
    "words": "SELECT id, w.title, w.labels, w.body FROM words w JOIN entries USING (n) ORDER BY id",
    "lexicon": "SELECT word, memories FROM lexicon ORDER BY word",
    "texts": """SELECT id, origin, project, tier, session_id, created_at, updated_at, source, path,
        title, content_hash, source_hash, content, trusted, user
        FROM entries WHERE origin <> 'memory' ORDER BY id""",
    "messages": """SELECT id, chat, file, place, message_id, at, role, type, meta
        FROM messages JOIN entries USING (n) ORDER BY id""",
    "talk": "SELECT file, size, offset, tail_sha FROM talk ORDER BY file",
    "assignments": "SELECT * FROM assignments ORDER BY chat",
    "shelves": "SELECT * FROM shelves ORDER BY path",
    "documents": "SELECT path, shelf, size, sha FROM documents ORDER BY path",
    "totals": "SELECT * FROM totals WHERE name <> 'owner' ORDER BY name",
}


def read_fingerprint(db: apsw.Connection) -> dict[str, str]:
    """Return a digest of each part of the index."""
    import hashlib

    digests = {}
    for part, sql in _PARTS.items():
        digest = hashlib.sha256()
        for row in db.execute(sql):
            digest.update(repr(row).encode("utf-8", "surrogatepass"))
        digests[part] = digest.hexdigest()
    return digests
