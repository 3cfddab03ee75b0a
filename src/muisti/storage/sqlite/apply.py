"""Changes of the index, each a part of one transaction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

import apsw

from muisti.model import Event, Link, Memory, Usage, Use
from muisti.model.salience import counted, folded
from muisti.ports import Changes, Known, Reading, StoredFile
from muisti.remember.complete import derived_title
from muisti.remember.embed import source_hash
from muisti.storage.sqlite.documents import note_shelf, take_in_documents
from muisti.storage.sqlite.messages import take_in_talk
from muisti.storage.sqlite.rows import Cell, link_cells, time_or_none, to_int, to_links, to_list, to_time
from muisti.storage.sqlite.vector_spaces import await_vectors, forget_vectors, take_over
from muisti.text.simhash import bands
from muisti.text.tokens import tokenize

if TYPE_CHECKING:
    from muisti.storage.sqlite.entries import Counts

MANY = 100
"""Memories at once that are worth tidying up for."""


def apply_changes(db: apsw.Connection, changes: Changes, *, count: bool = True) -> None:
    """Everything that one transaction changes. Count off: the counts of words are made later, from all texts at once."""
    counts: Counts = Counter() if count else None
    gone = list(changes.removed)
    arriving = {file.memory.id: file for file in changes.files}
    removed = _remove(db, gone, list(arriving), counts)
    forget_vectors(db, [known.n for id_, known in removed.items() if id_ not in arriving])
    # Those that keep their number first: SQLite gives a new row the next one after the highest, which may be theirs.
    _insert(db, sorted(arriving.values(), key=lambda file: file.memory.id not in removed), removed, counts)
    if changes.talk or changes.talk_gone:
        take_in_talk(db, changes.talk, changes.talk_gone, counts)
    if changes.documents or changes.documents_gone:
        take_in_documents(db, changes.documents, changes.documents_gone, counts)
    if counts is not None:
        _count_words(db, counts)
    if count and len(arriving) >= MANY:
        # A negative number of pages: work towards one segment, which is what queries are fastest on.
        db.execute("INSERT INTO word_index (word_index, rank) VALUES ('merge', ?)", (-max(500, len(arriving)),))
    _note_seen(db, changes)
    _note_problems(db, gone, changes)
    if changes.reading is not None:
        _read_journal(db, changes.reading)
    if changes.embedded:
        from muisti.storage.sqlite.vector_rows import store_vectors  # numpy, which most changes do without

        store_vectors(db, changes.embedded)
    if removed.keys() - arriving.keys() or changes.talk_gone or changes.documents_gone:
        take_over(db)  # what was removed may have been the last that another model's space waited for


class _Row(NamedTuple):
    """What stays of a memory's row when it is written anew: its number, so that its vectors stay its own."""

    n: int
    source_hash: str
    simhash: str


def _remove(db: apsw.Connection, paths: Sequence[str], ids: Sequence[str], counts: Counts) -> dict[str, _Row]:
    """Take memories out, by the path that is gone or the id that is about to be written anew."""
    found: dict[str, _Row] = {}
    for column, values in (("path", paths), ("id", ids)):
        for value in values:
            for id_, n, source, simhash in db.execute(_KNOWN.format(column=column), (value,)):
                found[str(id_)] = _Row(n, source, simhash)
    for id_, known in found.items():
        db.execute("DELETE FROM links WHERE source = ?", (id_,))
        db.executemany("DELETE FROM bands WHERE band = ? AND n = ?", [(band, known.n) for band in bands(known.simhash)])
        if counts is not None:
            for row in db.execute("SELECT title, labels, body FROM words WHERE n = ?", (known.n,)):
                counts.subtract(set(" ".join(row).split()))
        for table in ("words", "labels", "entries"):
            db.execute(f"DELETE FROM {table} WHERE n = ?", (known.n,))
    db.executemany("DELETE FROM seen WHERE path = ?", [(path,) for path in paths])
    return found


_KNOWN = "SELECT id, n, source_hash, simhash FROM memories WHERE {column} = ?"
_INSERT = """
INSERT INTO entries (n, source_hash, id, project, tier, session_id, kind, sector, deleted_at, valid_from, valid_until,
    created_at, updated_at, importance, salience, source, path, title, summary, keywords, concepts, files,
    content_hash, simhash, content, pinned, trusted, links)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""


def _insert(db: apsw.Connection, files: Sequence[StoredFile], earlier: Mapping[str, _Row], counts: Counts) -> None:
    for file in files:
        memory = file.memory
        known = earlier.get(memory.id)
        source = source_hash(memory)
        db.execute(_INSERT, (known.n if known else None, source, *_cells(memory)))
        n = db.last_insert_rowid()
        columns = _word_columns(memory)
        db.execute("INSERT INTO words VALUES (?, ?, ?, ?)", (n, *columns))
        if counts is not None:
            counts.update(set(" ".join(columns).split()))
        labels = [("keyword", k.casefold(), n) for k in memory.keywords] + [("file", f.casefold(), n) for f in memory.files]
        if labels:
            db.executemany("INSERT OR IGNORE INTO labels VALUES (?, ?, ?)", labels)
        db.executemany(_BAND, [(band, n, memory.simhash) for band in bands(memory.simhash)])
        db.executemany(_LINK, [_link_row(link) for link in memory.links])
        if known is None or known.source_hash != source:
            forget_vectors(db, [n])
            await_vectors(db, n)


_BAND = "INSERT OR IGNORE INTO bands VALUES (?, ?, ?)"
_LINK = "INSERT OR IGNORE INTO links VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"


def _link_row(link: Link) -> tuple[Cell, ...]:
    *who, created, since, until = link_cells(link)
    return *who, link.proposed, created, created if since is None else since, until


def _cells(memory: Memory) -> tuple[str | int | float | None, ...]:
    return (
        memory.id, memory.project, memory.tier.value, memory.session_id, memory.kind, memory.sector.value,
        to_int(memory.deleted_at), to_int(memory.valid_from), to_int(memory.valid_until), to_int(memory.created_at),
        to_int(memory.updated_at), memory.importance, memory.salience, memory.source, memory.file_path, memory.title,
        memory.summary, to_list(memory.keywords), to_list(memory.concepts), to_list(memory.files),
        memory.content_hash, memory.simhash, memory.content, memory.pinned, memory.trusted, to_links(memory.links),
    )  # fmt: skip


def _word_columns(memory: Memory) -> tuple[str, str, str]:
    labels = " \n ".join((*memory.keywords, *memory.files, memory.summary))
    title = "" if _is_first_sentence(memory) else " ".join(tokenize(memory.title))
    return title, " ".join(tokenize(labels)), " ".join(tokenize(memory.content))


def _is_first_sentence(memory: Memory) -> bool:
    """Whether the title repeats how the text begins: counted twice, it would put first sentences above all others."""
    first = memory.title.split(maxsplit=1)[0] if memory.title.strip() else ""
    likely = first in memory.content[:200]  # cheap, and settles it for most titles that were given
    return likely and not memory.content.lstrip().startswith("#") and memory.title == derived_title(memory.content)


def _count_words(db: apsw.Connection, counts: Mapping[str, int]) -> None:
    """Keep the number of memories of each word; a word that stands nowhere any more leaves no trace."""
    changed = [(word, change) for word, change in counts.items() if change]
    if not changed:
        return
    db.executemany(
        "INSERT INTO lexicon (word, memories) VALUES (?, ?) "
        "ON CONFLICT (word) DO UPDATE SET memories = memories + excluded.memories",
        changed,
    )
    lost = [(word,) for word, change in changed if change < 0]
    if lost:
        db.executemany("DELETE FROM lexicon WHERE word = ? AND memories <= 0", lost)


def _note_seen(db: apsw.Connection, changes: Changes) -> None:
    rows: list[tuple[str, Known]] = [
        (str(file.memory.file_path), Known(file.stamp, file.seen_ns, file.sha, file.memory.id)) for file in changes.files
    ]
    rows += changes.seen.items()
    db.executemany(
        "INSERT OR REPLACE INTO seen VALUES (?, ?, ?, ?, ?, ?, ?)",
        [
            (path, known.stamp.size, known.stamp.mtime_ns, known.stamp.inode, known.seen_ns, known.sha, known.memory_id)
            for path, known in rows
        ],
    )


def _note_problems(db: apsw.Connection, gone: Iterable[str], changes: Changes) -> None:
    looked_at = [*gone, *(str(file.memory.file_path) for file in changes.files), *changes.seen, *changes.problems]
    db.executemany("DELETE FROM problems WHERE path = ?", [(path,) for path in looked_at])
    db.executemany("INSERT INTO problems VALUES (?, ?)", list(changes.problems.items()))


# -- The journal


def _read_journal(db: apsw.Connection, reading: Reading) -> None:
    if reading.restarted:
        for table in ("usage", "sessions", "uses", "marks", "shelves"):
            db.execute(f"DELETE FROM {table}")
        db.execute("DELETE FROM problems WHERE path LIKE 'journal/%'")
        db.execute("DELETE FROM totals WHERE name = 'decayed_at'")
    usage: dict[str, Usage] = {}
    noted = _noted(db)
    for event in reading.events:
        counted_from = _not_before(event, noted)
        for memory_id in event.memory_ids:
            before = usage[memory_id] if memory_id in usage else read_usage(db, memory_id)
            usage[memory_id] = folded(before, counted_from)
        _note_session(db, event)
        note_shelf(db, event)
        if event.name == "decayed":
            db.execute(_DECAYED, (to_int(event.at),))
            noted = _noted(db)
    changed = [(id_, *_usage_cells(one)) for id_, one in usage.items() if one != Usage()]
    db.executemany("INSERT OR REPLACE INTO usage VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", changed)
    for problem in reading.problems:
        db.execute("INSERT INTO problems VALUES (?, ?)", (problem.path, problem.reason))
    db.executemany(
        "INSERT OR REPLACE INTO marks VALUES (?, ?, ?)",
        [(name, mark.offset, mark.tail_sha) for name, mark in reading.marks.items()],
    )


# A note of more than a day later was made by a clock that was wrong: the new one counts.
_DECAYED = """
INSERT INTO totals VALUES ('decayed_at', ?) ON CONFLICT (name) DO UPDATE
SET value = CASE WHEN value > excluded.value + 86400000000 THEN excluded.value ELSE max(value, excluded.value) END
"""


def _noted(db: apsw.Connection) -> datetime | None:
    row = db.execute("SELECT value FROM totals WHERE name = 'decayed_at'").fetchone()
    return None if row is None else to_time(row[0])


def _not_before(event: Event, noted: datetime | None) -> Event:
    """The event at the time up to which fading was noted, if a clock that was set back put it before that."""
    return replace(event, at=noted) if noted is not None and event.at < noted < event.at + timedelta(days=1) else event


def read_usage(db: apsw.Connection, memory_id: str) -> Usage:
    """What the journal has said of a memory so far."""
    row = db.execute(_USAGE, (memory_id,)).fetchone()
    if row is None:
        return Usage()
    salience, touched, count, accessed, edited, idle, first, saved = row
    times = [time_or_none(at) for at in (touched, accessed, edited, first, saved)]
    return Usage(salience, times[0], count, times[1], times[2], idle, times[3], times[4])


def _usage_cells(usage: Usage) -> tuple[Cell, ...]:
    times = to_int(usage.touched_at), to_int(usage.last_accessed), to_int(usage.edited_at)
    return (
        usage.salience,
        times[0],
        usage.access_count,
        *times[1:],
        usage.idle_days,
        to_int(usage.first_used),
        to_int(usage.saved_at),
    )


_USAGE = (
    "SELECT salience, touched_at, access_count, last_accessed, edited_at, idle_days, first_used, saved_at FROM usage WHERE id = ?"
)
_USES = {"recalled": Use.RECALLED, "reinforced": Use.REINFORCED, "merged": Use.REINFORCED, "updated": Use.UPDATED}


def _note_session(db: apsw.Connection, event: Event) -> None:
    if event.session_id is None:
        return
    at = to_int(event.at)
    if event.name == "session_started":
        db.execute(
            "INSERT INTO sessions VALUES (?, ?, 'active', ?, NULL, '', 0) "
            "ON CONFLICT (id) DO UPDATE SET status = 'active', ended_at = NULL",
            (event.session_id, str(event.data.get("project") or ""), at),
        )
    elif event.name == "session_ended":
        db.execute(
            "UPDATE sessions SET status = 'completed', ended_at = ?, summary = ?, tool_calls = ? WHERE id = ?",
            (at, str(event.data.get("summary") or ""), counted(event.data.get("tool_calls")), event.session_id),
        )
    use = _USES.get(event.name) or (event.name == "used" and event.data.get("use"))
    if use in tuple(Use):
        db.executemany("INSERT INTO uses VALUES (?, ?, ?, ?)", [(event.session_id, m, str(use), at) for m in event.memory_ids])
