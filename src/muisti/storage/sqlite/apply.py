"""Writes one transaction of the index. Only SQL and codecs: `index_rows` creates the rows."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import apsw

from muisti.storage.row_values import encode_link, to_int
from muisti.storage.sqlite.entries import (
    Counts,
    assign_scopes,
    insert_texts,
    insert_words,
    remove_texts,
)
from muisti.storage.sqlite.rows import STORED, Cell, encode_memory, fetch
from muisti.storage.sqlite.vector_spaces import (
    delete_vectors,
    mark_unembedded,
    promote_complete_space,
    to_json,
)

if TYPE_CHECKING:
    from muisti.ports.rows import IndexChanges, JournalChanges, MemoryRow
    from muisti.storage.sync_state import StateChanges


def apply_changes(
    db: apsw.Connection, changes: IndexChanges, state: StateChanges, *, count: bool = True
) -> None:
    """Write one transaction. Without `count`, word counts are left to the builder."""
    counts: Counts = Counter() if count else None
    arriving = {row.memory.id: row for row in changes.memories}
    earlier = _remove(db, [*changes.removed, *arriving], counts)
    delete_vectors(db, [known.n for id_, known in earlier.items() if id_ not in arriving])
    _insert(db, list(arriving.values()), earlier, counts)
    kept = remove_texts(db, changes.emptied, counts) if changes.emptied else {}
    if changes.texts or kept:
        insert_texts(db, changes.texts, kept, counts)
    # In how many texts each word occurs; words that occur in none are deleted.
    changed = {word: change for word, change in (counts or {}).items() if change}
    if changed:
        db.execute(_COUNT_WORDS, (json.dumps(changed),))
    lost = [(word,) for word, change in changed.items() if change < 0]
    if lost:
        db.executemany("DELETE FROM lexicon WHERE word = ? AND memories <= 0", lost)
    conversations = {text.message.conversation for text in changes.texts if text.message}
    if changes.journal is not None:
        conversations |= _apply_journal(db, changes.journal)
    if conversations and db.execute("SELECT 1 FROM assignments LIMIT 1").fetchone():
        assign_scopes(db, sorted(conversations))
    _apply_state(db, state)
    if earlier.keys() - arriving.keys() or changes.emptied:
        # A removed text may have been the last one missing in another model's space.
        promote_complete_space(db)


_COUNT_WORDS = """
INSERT INTO lexicon (word, memories) SELECT key, value FROM json_each(?) WHERE true
ON CONFLICT (word) DO UPDATE SET memories = memories + excluded.memories
"""


class _Row(NamedTuple):
    """A replaced row. The new row keeps its number, and so its vectors."""

    n: int
    source_hash: str
    simhash: str


def _remove(db: apsw.Connection, ids: Sequence[str], counts: Counts) -> dict[str, _Row]:
    """Delete the rows of these memories, but not their vectors. Return the deleted rows by ID."""
    found = {id_: _Row(*row) for id_, *row in fetch(db, _KNOWN, (to_json(ids),))} if ids else {}
    if not found:
        return {}
    from muisti.text.simhash import compute_bands  # slow to import

    for id_, known in found.items():
        db.execute("DELETE FROM links WHERE source = ?", (id_,))
        own_bands = [(band, known.n) for band in compute_bands(known.simhash)]
        db.executemany("DELETE FROM bands WHERE band = ? AND n = ?", own_bands)
        if counts is not None:
            for row in db.execute("SELECT title, labels, body FROM words WHERE n = ?", (known.n,)):
                counts.subtract(set(" ".join(row).split()))
        for table in ("words", "labels", "entries"):
            db.execute(f"DELETE FROM {table} WHERE n = ?", (known.n,))
    return found


_KNOWN = """
SELECT m.id, m.n, m.source_hash, m.simhash
FROM json_each(?) j CROSS JOIN entries m ON m.id = j.value WHERE m.origin = 'memory'
"""
_INSERT = f"""
INSERT INTO entries (n, source_hash, {", ".join(STORED)})
VALUES ({", ".join("?" * (2 + len(STORED)))})
"""


def _insert(
    db: apsw.Connection, rows: Sequence[MemoryRow], earlier: Mapping[str, _Row], counts: Counts
) -> None:
    if not rows:
        return
    [(last,)] = fetch(db, "SELECT coalesce(max(n), 0) FROM entries")
    known_rows = [earlier[row.memory.id].n for row in rows if row.memory.id in earlier]
    next_n = max([last, *known_rows]) + 1
    entries: list[Sequence[Cell]] = []
    words: list[Sequence[Cell]] = []
    labels: list[Sequence[Cell]] = []
    bands: list[Sequence[Cell]] = []
    links: list[Sequence[Cell]] = []
    unembedded: list[int] = []
    changed: list[int] = []
    for row in rows:
        memory = row.memory
        known = earlier.get(memory.id)
        if known is not None:
            n = known.n
        else:
            n, next_n = next_n, next_n + 1
        entries.append((n, row.source_hash, *encode_memory(memory)))
        words.append((n, *row.words))
        if counts is not None:
            counts.update(set(" ".join(row.words).split()))
        labels += [(field, value, n) for field, value in row.labels]
        bands += [(band, n, memory.simhash) for band in row.bands]
        for link in memory.links:
            *ends, created, since, until = encode_link(link)
            begins = created if since is None else since
            links.append((*ends, link.proposed, created, begins, until))
        if known is None:
            unembedded.append(n)
        elif known.source_hash != row.source_hash:
            changed.append(n)
    db.executemany(_INSERT, entries)
    insert_words(db, words)
    if labels:
        db.executemany("INSERT OR IGNORE INTO labels VALUES (?, ?, ?)", labels)
    db.executemany(_BAND, bands)
    if links:
        db.executemany(_LINK, links)
    delete_vectors(db, changed)
    mark_unembedded(db, [*unembedded, *changed])


_BAND = "INSERT OR IGNORE INTO bands VALUES (?, ?, ?)"
_LINK = "INSERT OR IGNORE INTO links VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"


# -- The journal


def _apply_journal(db: apsw.Connection, changes: JournalChanges) -> set[str]:
    """Write what events change. Return the conversations whose assignment may have changed."""
    assigned = set(changes.assignments)
    if changes.restart:
        assigned |= {chat for (chat,) in fetch(db, "SELECT chat FROM assignments")}
        for table in ("usage", "sessions", "uses", "shelves", "assignments"):
            db.execute(f"DELETE FROM {table}")
        db.execute("DELETE FROM totals WHERE name = 'decayed_at'")
    db.executemany(
        "INSERT OR REPLACE INTO usage VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (
                id_,
                usage.salience,
                to_int(usage.touched_at),
                usage.access_count,
                to_int(usage.last_accessed),
                to_int(usage.edited_at),
                usage.idle_days,
                to_int(usage.first_used),
                to_int(usage.saved_at),
            )
            for id_, usage in changes.usage.items()
        ],
    )
    for session in changes.sessions:
        db.execute(
            "INSERT OR REPLACE INTO sessions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                session.id,
                session.project,
                session.status,
                to_int(session.started_at),
                to_int(session.ended_at),
                session.summary,
                session.tool_calls,
                session.user,
                to_int(session.last_used),
            ),
        )
    db.executemany(
        "INSERT INTO uses VALUES (?, ?, ?, ?)",
        [(use.session_id, use.memory_id, use.use.value, to_int(use.at)) for use in changes.uses],
    )
    for path, source in changes.sources.items():
        if source is None:
            db.execute("DELETE FROM shelves WHERE path = ?", (path,))
        else:
            cells = (path, source.source, source.project, source.trusted, source.user)
            db.execute("INSERT OR REPLACE INTO shelves VALUES (?, ?, ?, ?, ?)", cells)
    db.executemany(
        "INSERT OR REPLACE INTO assignments VALUES (?, ?, ?)",
        [(chat, *scope) for chat, scope in changes.assignments.items()],
    )
    if changes.decayed_at is not None:
        db.execute(
            "INSERT OR REPLACE INTO totals VALUES ('decayed_at', ?)", (to_int(changes.decayed_at),)
        )
    return assigned


# -- The state of files


def _apply_state(db: apsw.Connection, state: StateChanges) -> None:
    gone = [(path,) for path, seen in state.seen.items() if seen is None]
    if gone:
        db.executemany("DELETE FROM seen WHERE path = ?", gone)
    db.executemany(
        "INSERT OR REPLACE INTO seen VALUES (?, ?, ?, ?, ?, ?, ?)",
        [
            (path, *seen.stat, seen.seen_ns, seen.sha, seen.memory_id)
            for path, seen in state.seen.items()
            if seen is not None
        ],
    )
    if state.journal is not None:
        db.execute("DELETE FROM marks")
        db.executemany(
            "INSERT INTO marks VALUES (?, ?, ?)",
            [(name, read.offset, read.tail_sha) for name, read in state.journal.items()],
        )
    for path, offset in state.conversations.items():
        if offset is None:
            db.execute("DELETE FROM talk WHERE file = ?", (path,))
        else:
            read = offset.read
            db.execute(
                "INSERT OR REPLACE INTO talk VALUES (?, ?, ?, ?, ?, ?, ?)",
                (path, *offset.stat, offset.seen_ns, read.offset, read.tail_sha),
            )
    for path, document in state.documents.items():
        if document is None:
            db.execute("DELETE FROM documents WHERE path = ?", (path,))
        else:
            source, seen = document
            db.execute(
                "INSERT OR REPLACE INTO documents VALUES (?, ?, ?, ?, ?, ?, ?)",
                (path, source, *seen.stat, seen.seen_ns, seen.sha),
            )
    for source in state.reread:
        db.execute("UPDATE documents SET size = -1 WHERE shelf = ?", (source,))
    if state.problems and fetch(db, "SELECT 1 FROM problems LIMIT 1"):
        db.executemany("DELETE FROM problems WHERE path = ?", [(path,) for path in state.problems])
    db.executemany(
        "INSERT INTO problems VALUES (?, ?)",
        [(path, reason) for path, reasons in state.problems.items() for reason in reasons],
    )
