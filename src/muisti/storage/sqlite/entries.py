"""Writes messages and sections of documents: texts that are searched like memories."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import apsw

from muisti.storage.sqlite.rows import Cell, fetch
from muisti.storage.sqlite.vector_spaces import delete_vectors, mark_all_unembedded, to_json

if TYPE_CHECKING:
    from muisti.ports.rows import TextRow

Counts = Counter[str] | None
"""The change in the number of texts with each word. None: the builder counts at the end."""
Earlier = dict[str, tuple[int, str]]
"""Row number and source hash, by ID, of texts that are replaced: they keep their vectors."""

_INSERT = """
INSERT INTO entries (n, origin, kind, sector, id, project, tier, session_id, created_at, updated_at,
    source, path, title, content_hash, content, source_hash, trusted, user)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_SECTORS = {"message": "episodic", "document": "semantic"}
_OF_PATH = {
    # There is an SQL index on chat and file.
    "message": "messages m JOIN entries e USING (n) WHERE m.chat = ?2 AND m.file = ?1",
    "document": "entries e WHERE e.origin = 'document' AND e.path = ?1 AND ?2 <> ''",
}


def insert_texts(
    db: apsw.Connection, texts: Sequence[TextRow], earlier: Earlier, counts: Counts
) -> None:
    """Write rows. Rows in `earlier` keep their number and, if unchanged, their vectors."""
    from muisti.remember.index_rows import get_tier  # slow to import

    (last,) = db.execute("SELECT coalesce(max(n), 0) FROM entries").fetchone() or (0,)
    next_n = max([last, *(n for n, _ in earlier.values())]) + 1
    rows: list[tuple[Cell, ...]] = []
    words: list[tuple[Cell, ...]] = []
    messages: list[tuple[Cell, ...]] = []
    unembedded: list[int] = []
    for text in texts:
        n, source_hash = earlier.pop(text.id, (0, "")) if earlier else (0, "")
        if not n:
            n, next_n = next_n, next_n + 1
        tier = get_tier(text).value
        rows.append(
            (n, text.origin, text.origin, _SECTORS[text.origin], text.id, text.project, tier,
             text.session_id, text.created_at, text.updated_at, text.source, text.path, text.title,
             text.content_hash, text.content, text.source_hash, text.trusted, text.user)
        )  # fmt: skip
        if any(text.words):
            words.append((n, *text.words))
            if counts is not None:
                counts.update(set(" ".join(text.words).split()))
        if text.message is not None:
            messages.append((n, text.message.conversation, text.path, *text.message[1:]))
        if source_hash != text.source_hash and text.content:
            unembedded.append(n)
    db.executemany(_INSERT, rows)
    insert_words(db, words)
    db.executemany("INSERT INTO messages VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", messages)
    delete_vectors(db, [n for n, _ in earlier.values()])
    mark_all_unembedded(db, unembedded)


def insert_words(db: apsw.Connection, words: Sequence[Sequence[Cell]]) -> None:
    """Insert the words of texts, many with each statement.

    FTS5 writes a segment at the end of each statement that fires a trigger. One for each text
    would have to be merged again and again.
    """
    for start in range(0, len(words), _WORDS_AT_ONCE):
        part = words[start : start + _WORDS_AT_ONCE]
        rows = ", ".join(["(?, ?, ?, ?)"] * len(part))
        db.execute(f"INSERT INTO words VALUES {rows}", [cell for row in part for cell in row])


_WORDS_AT_ONCE = 500


def remove_texts(db: apsw.Connection, places: Sequence[tuple[str, str]], counts: Counts) -> Earlier:
    """Remove all texts of these origins and paths, but not their vectors. Return the old rows."""
    removed: Earlier = {}
    for origin, path in places:
        conversation = path.split("/")[1] if origin == "message" else path
        sql = f"SELECT e.n, e.id, e.source_hash FROM {_OF_PATH[origin]}"
        found = fetch(db, sql, (path, conversation))
        numbers = to_json([n for n, _, _ in found])
        if counts is not None:
            for row in fetch(db, _WORDS, (numbers,)):
                counts.subtract(set(" ".join(row).split()))
        for table in ("words", "messages", "entries"):
            db.execute(
                f"DELETE FROM {table} WHERE n IN (SELECT value FROM json_each(?))", (numbers,)
            )
        removed |= {id_: (n, source_hash) for n, id_, source_hash in found}
    return removed


_WORDS = "SELECT title, labels, body FROM words WHERE n IN (SELECT value FROM json_each(?))"


def assign_scopes(db: apsw.Connection, conversations: Sequence[str]) -> None:
    """Give messages without a project and a user those that their conversation was assigned."""
    db.execute(_ASSIGN, (to_json(conversations),))


_OWN = "iif(json_type(m.meta, '$.{0}') IS 'text', json_extract(m.meta, '$.{0}'), '')"
_ASSIGN = f"""
UPDATE entries SET project = s.project, user = s.user
FROM (
    SELECT m.n, coalesce(a.project, '') AS project, coalesce(a.user, '') AS user
    FROM messages m LEFT JOIN assignments a ON a.chat = m.chat
    WHERE m.chat IN (SELECT value FROM json_each(?))
    AND (m.meta = '' OR ({_OWN.format("project")} = '' AND {_OWN.format("user")} = ''))
) s
WHERE entries.n = s.n AND (entries.project, entries.user) <> (s.project, s.user)
"""
