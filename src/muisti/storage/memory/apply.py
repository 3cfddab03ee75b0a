"""Writes one transaction of the index in memory, on a copy of the tables."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from muisti.model import EntryType, Memory, Sector
from muisti.ports.rows import IndexChanges, JournalChanges, TextRow
from muisti.recall.bm25 import count_occurrences
from muisti.remember.index_rows import get_own_scope, get_tier, to_microseconds
from muisti.storage.checked_values import check_text
from muisti.storage.memory.tables import Entry, Tables

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECTORS = {EntryType.MESSAGE: Sector.EPISODIC, EntryType.DOCUMENT: Sector.SEMANTIC}


def to_time(microseconds: int) -> datetime:
    """Return the time for microseconds since 1970."""
    return _EPOCH + timedelta(microseconds=microseconds)


def apply_changes(tables: Tables, changes: IndexChanges) -> None:
    """Write one transaction. Raises InvalidRequest for text that is not valid Unicode."""
    arriving = {row.memory.id: row for row in changes.memories}
    before = {
        id_: tables.entries[id_] for id_ in [*changes.removed, *arriving] if id_ in tables.entries
    }
    for entry in before.values():
        if entry.is_memory:
            _remove(tables, entry)
    for row in arriving.values():
        entry = Entry(
            number=_choose_number(tables, before.get(row.memory.id)),
            memory=row.memory,
            created_at=to_microseconds(row.memory.created_at),
            words=row.words,
            source_hash=row.source_hash,
            labels=frozenset(row.labels),
            bands=row.bands,
        )
        _insert(tables, entry, before)
    gone = before.keys() - arriving.keys()

    emptied: dict[str, Entry] = {}
    for origin, path in changes.emptied:
        emptied |= {id_: tables.entries[id_] for id_ in tables.by_path[EntryType(origin), path]}
    for entry in emptied.values():
        _remove(tables, entry)
    for text in changes.texts:
        number = _choose_number(tables, emptied.get(text.id))
        _insert(tables, _make_text_entry(text, number), emptied)
    gone |= emptied.keys() - {text.id for text in changes.texts}

    for space in tables.spaces:
        for id_ in gone:
            space.forget(id_)
    conversations = {text.message.conversation for text in changes.texts if text.message}
    if changes.journal is not None:
        conversations |= tables.assignments.keys() | changes.journal.assignments.keys()
        _apply_journal(tables, changes.journal)
    for conversation in conversations:
        _assign_scope(tables, conversation)
    if gone or changes.emptied:
        # A removed text may have been the last one missing in another model's space.
        promote_complete_space(tables)


def _choose_number(tables: Tables, before: Entry | None) -> int:
    """Return the number of the replaced entry, or the next one."""
    if before is not None:
        return before.number
    tables.last_number += 1
    return tables.last_number


def _make_text_entry(row: TextRow, number: int) -> Entry:
    origin = EntryType(row.origin)
    memory = Memory(
        id=row.id,
        content=row.content,
        title=row.title,
        kind=row.origin,
        sector=_SECTORS[origin],
        # Readers see when a message was sent; `Entry.created_at` is its position.
        created_at=to_time(row.updated_at if origin is EntryType.MESSAGE else row.created_at),
        updated_at=to_time(row.updated_at),
        tier=get_tier(row),
        project=row.project,
        user=row.user,
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
    check_text(memory.id, memory.content, memory.title, memory.source, memory.project)
    check_text(memory.session_id, memory.summary)
    check_text(*memory.keywords, *memory.categories, *memory.concepts, *memory.files, *entry.words)
    check_text(*memory.aliases)
    tables.entries[memory.id] = entry
    if entry.is_indexed:
        tables.lengths[memory.id] = entry.length
        tables.total_length += entry.length
    for word, times in count_occurrences(entry.words).items():
        tables.postings.put(word, memory.id, times)
    for band in entry.bands:
        tables.bands.put(band, memory.id, None)
    tables.by_hash.put(memory.content_hash, memory.id, None)
    tables.by_path.put((memory.origin, str(memory.file_path)), memory.id, None)
    if memory.session_id is not None:
        tables.by_session.put((memory.session_id, memory.origin), memory.id, None)
    if entry.message is not None:
        tables.by_conversation.put(entry.message.conversation, memory.id, None)
    for link in reversed(memory.links):  # of two equal links, keep the first
        tables.links_to.put(link.target, (memory.id, link.type), link)
    earlier = before.get(memory.id)
    if earlier is None or earlier.source_hash != entry.source_hash:
        for space in tables.spaces:
            space.forget(memory.id)
            if memory.content:
                space.waiting.add(memory.id)


def _remove(tables: Tables, entry: Entry) -> None:
    """Remove an entry from all tables but the vectors: a replaced entry may keep them."""
    memory = entry.memory
    del tables.entries[memory.id]
    tables.total_length -= tables.lengths.pop(memory.id, 0)
    for word in count_occurrences(entry.words):
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


def promote_complete_space(tables: Tables) -> None:
    """Let a new space replace the serving one once nothing is missing in it."""
    complete = [space for space in tables.spaces if not space.serving and not space.waiting]
    if complete:
        ready = complete[0]
        ready.serving = True
        tables.spaces = [space for space in tables.spaces if space is ready or not space.serving]


def _apply_journal(tables: Tables, changes: JournalChanges) -> None:
    if changes.restart:
        tables.usage, tables.sessions, tables.uses, tables.sources = {}, {}, [], {}
        tables.assignments = {}
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
    tables.assignments |= changes.assignments
    if changes.decayed_at is not None:
        tables.decayed_at = changes.decayed_at


def _assign_scope(tables: Tables, conversation: str) -> None:
    """Give messages without a project and a user those that their conversation was assigned."""
    project, user = tables.assignments.get(conversation, ("", ""))
    for id_ in tables.by_conversation[conversation]:
        entry = tables.entries[id_]
        meta = json.loads(entry.message.meta) if entry.message and entry.message.meta else {}
        if not any(get_own_scope(meta)):
            memory = replace(entry.memory, project=project, user=user)
            tables.entries[id_] = replace(entry, memory=memory)
