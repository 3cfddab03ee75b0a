"""Changes of the index in memory, each made on a copy of the tables."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from muisti.model import EntryType, Memory, Sector, Tier
from muisti.ports.search import IndexChanges, JournalChanges, MemoryRow, TextRow
from muisti.recall.matching import FIELD_WEIGHTS
from muisti.remember.index_rows import to_microseconds
from muisti.storage.memory.tables import Entry, Tables, check_text

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECTORS = {EntryType.MESSAGE: Sector.EPISODIC, EntryType.DOCUMENT: Sector.SEMANTIC}


def to_time(microseconds: int) -> datetime:
    """Return microseconds since 1970 as a time."""
    return _EPOCH + timedelta(microseconds=microseconds)


def apply_changes(tables: Tables, changes: IndexChanges) -> None:
    """Write one transaction. Raises InvalidRequest for what is no text."""
    arriving = {row.memory.id: row for row in changes.memories}
    before = {
        id_: tables.entries[id_] for id_ in [*changes.removed, *arriving] if id_ in tables.entries
    }
    for entry in before.values():
        if entry.is_memory:
            _remove(tables, entry)
    for row in arriving.values():
        _insert(tables, _memory_entry(row, _number(tables, before.get(row.memory.id))), before)
    gone = before.keys() - arriving.keys()

    emptied: dict[str, Entry] = {}
    for origin, path in changes.emptied:
        emptied |= {id_: tables.entries[id_] for id_ in tables.by_path[EntryType(origin), path]}
    for entry in emptied.values():
        _remove(tables, entry)
    for text in changes.texts:
        _insert(tables, _text_entry(text, _number(tables, emptied.get(text.id))), emptied)
    gone |= emptied.keys() - {text.id for text in changes.texts}

    for space in tables.spaces:
        for id_ in gone:
            space.forget(id_)
    if changes.journal is not None:
        _apply_journal(tables, changes.journal)
    if gone or changes.emptied:
        promote_complete_space(
            tables
        )  # what was removed may have been the last that another model's space waited for


def _number(tables: Tables, before: Entry | None) -> int:
    """A text that is written again keeps its number."""
    if before is not None:
        return before.number
    tables.last_number += 1
    return tables.last_number


def _memory_entry(row: MemoryRow, number: int) -> Entry:
    return Entry(
        number,
        row.memory,
        to_microseconds(row.memory.created_at),
        row.words,
        row.source_hash,
        frozenset(row.labels),
        row.bands,
    )


def _text_entry(row: TextRow, number: int) -> Entry:
    origin = EntryType(row.origin)
    memory = Memory(
        id=row.id,
        content=row.content,
        title=row.title,
        kind=row.origin,
        sector=_SECTORS[origin],
        # What readers are told is when a message was said; `Entry.created_at` is its place in the order.
        created_at=to_time(row.updated_at if origin is EntryType.MESSAGE else row.created_at),
        updated_at=to_time(row.updated_at),
        tier=Tier.PROJECT if row.project else Tier.GLOBAL,
        project=row.project,
        session_id=row.session_id,
        source=row.source,
        trusted=row.trusted,
        content_hash=row.content_hash,
        file_path=row.path,
        origin=origin,
    )
    return Entry(number, memory, row.created_at, row.words, row.source_hash, message=row.message)


def _insert(tables: Tables, entry: Entry, before: Mapping[str, Entry]) -> None:
    memory = entry.memory
    check_text(
        memory.id,
        memory.content,
        memory.title,
        memory.source,
        memory.project,
        memory.session_id,
        memory.summary,
    )
    check_text(*memory.keywords, *memory.concepts, *memory.files, *entry.words)
    tables.entries[memory.id] = entry
    if entry.is_indexed:
        tables.lengths[memory.id] = entry.length
        tables.total_length += entry.length
    for word, times in _occurrences(entry).items():
        tables.postings.put(word, memory.id, times)
    for band in entry.bands:
        tables.bands.put(band, memory.id, None)
    tables.by_hash.put(memory.content_hash, memory.id, None)
    tables.by_path.put((memory.origin, str(memory.file_path)), memory.id, None)
    if memory.session_id is not None:
        tables.by_session.put((memory.session_id, memory.origin), memory.id, None)
    if entry.message is not None:
        tables.by_conversation.put(entry.message.conversation, memory.id, None)
    for link in reversed(memory.links):  # of two that are the same the first counts
        tables.links_to.put(link.target, (memory.id, link.type), link)
    earlier = before.get(memory.id)
    if earlier is None or earlier.source_hash != entry.source_hash:
        for space in tables.spaces:
            space.forget(memory.id)
            if memory.content:
                space.waiting.add(memory.id)


def _remove(tables: Tables, entry: Entry) -> None:
    """Take a text out of everything but the vectors: it may come back with the same text."""
    memory = entry.memory
    del tables.entries[memory.id]
    tables.total_length -= tables.lengths.pop(memory.id, 0)
    for word in _occurrences(entry):
        tables.postings.remove(word, memory.id)
    for band in entry.bands:
        tables.bands.remove(band, memory.id)
    tables.by_hash.remove(memory.content_hash, memory.id)
    tables.by_path.remove((memory.origin, str(memory.file_path)), memory.id)
    if memory.session_id is not None:
        tables.by_session.remove((memory.session_id, memory.origin), memory.id)
    if entry.message is not None:
        tables.by_conversation.remove(entry.message.conversation, memory.id)
    for link in memory.links:
        tables.links_to.remove(link.target, (memory.id, link.type))


def _occurrences(entry: Entry) -> dict[str, float]:
    """How often each word occurs, weighted by its field."""
    counts: dict[str, float] = {}
    for words, weight in zip(entry.words, FIELD_WEIGHTS, strict=True):
        for word in words.split():
            counts[word] = counts.get(word, 0.0) + weight
    return counts


def promote_complete_space(tables: Tables) -> None:
    """Let a space that was filled beside the serving one take its place once nothing is missing in it."""
    ready = next(
        (space for space in tables.spaces if not space.serving and not space.waiting), None
    )
    if ready is not None:
        ready.serving = True
        tables.spaces = [space for space in tables.spaces if space is ready or not space.serving]


def _apply_journal(tables: Tables, changes: JournalChanges) -> None:
    if changes.restart:
        tables.usage, tables.sessions, tables.uses, tables.sources = {}, {}, [], {}
        tables.decayed_at = None
    tables.usage.update(changes.usage)
    for session in changes.sessions:
        check_text(session.id, session.project, session.summary)
        tables.sessions[session.id] = session
    tables.uses += changes.uses
    for path, source in changes.sources.items():
        if source is None:
            tables.sources.pop(path, None)
        else:
            tables.sources[path] = source
    if changes.decayed_at is not None:
        tables.decayed_at = changes.decayed_at
