"""The index at one time: memories as readers see them, and filters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from muisti.model import EntryType, Filter, Kind, Link, Memory, Sector, Usage
from muisti.model.chains import ChainEnds, Replacement
from muisti.model.fields import Field, Match
from muisti.model.memory import FIELDS
from muisti.model.salience import compute_salience, make_trace
from muisti.model.validity import is_end_of_link
from muisti.storage.memory.apply import to_time
from muisti.storage.memory.tables import Entry, Tables

_DAY = timedelta(days=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NEVER_USED = Usage()


@dataclass(frozen=True, slots=True)
class View:
    """The tables, and the time for which salience is computed."""

    tables: Tables
    clock_time: datetime
    kinds: Mapping[str, Kind]
    rates: Mapping[Sector, float]
    grace_days: float
    chain_ends: dict[datetime | None, ChainEnds[datetime]] = field(default_factory=dict)
    """When memories were replaced, by `known_at`."""

    # -- Entries

    def memories(self) -> Iterator[Entry]:
        """Yield the memories, deleted ones included, in the order of insertion."""
        entries = [entry for entry in self.tables.entries.values() if entry.is_memory]
        return iter(sorted(entries, key=lambda entry: entry.number))

    def alive(self, memory_id: str) -> bool:
        """Return whether a memory with this ID exists and is not deleted."""
        entry = self.tables.entries.get(memory_id)
        return entry is not None and entry.is_memory and entry.memory.deleted_at is None

    # -- Memories as readers see them

    def memory(self, entry: Entry) -> Memory:
        """Return an entry with its usage, its current salience and its number of vectors."""
        written = entry.memory
        usage = self.tables.usage.get(written.id, _NEVER_USED)
        serving = self.tables.serving
        embedded = serving.vectors.get(written.id) if serving else None
        edited_at = usage.edited_at or written.updated_at
        return replace(
            written,
            salience=self.salience(entry),
            access_count=usage.access_count,
            updated_at=max(written.updated_at, edited_at),
            last_accessed=usage.last_accessed,
            valid_until=self.valid_until(entry),
            chunk_count=len(embedded[0]) if embedded else 0,
            embedding_model=serving.identity.model if serving and embedded is not None else None,
            index_pending=False,
        )

    def now(self) -> datetime:
        """Return the current time, but at least the time up to which decay was recorded.

        So recorded decay is not undone if the clock is set back.
        """
        recorded = self.recorded()
        return self.clock_time if recorded is None else max(self.clock_time, recorded)

    def recorded(self) -> datetime | None:
        """Return the time up to which decay was recorded, unless it is a day in the future."""
        recorded = self.tables.decayed_at
        return recorded if recorded is not None and recorded < self.clock_time + _DAY else None

    def salience(self, entry: Entry) -> float:
        """Return the current salience."""
        return self._salience_at(entry, self.now())

    def salience_recorded(self, entry: Entry) -> float:
        """Return the salience when decay was last recorded."""
        return self._salience_at(entry, self.recorded() or _EPOCH)

    def _salience_at(self, entry: Entry, at: datetime) -> float:
        written = replace(entry.memory, created_at=to_time(entry.created_at))
        usage = self.tables.usage.get(written.id, _NEVER_USED)
        kind = self.kinds.get(written.kind)
        trace = make_trace(written, usage, kind.decay_per_day if kind else None)
        rate = self.rates[written.sector]
        return compute_salience(trace._replace(rate=rate, grace_days=self.grace_days), at)

    def superseding(self, memory_id: str) -> list[Link]:
        """Return the confirmed links by which memories supersede this one, also deleted ones."""
        return [
            link
            for (source, _), link in self.tables.links_to[memory_id].items()
            if link.supersedes and source != memory_id
        ]

    def superseding_by_user(self, memory_id: str) -> list[Link]:
        """Return those links whose source is there and of the same user (contract C3)."""
        entries = self.tables.entries
        target = entries.get(memory_id)
        if target is None:
            return []
        return [
            link
            for link in self.superseding(memory_id)
            if (source := entries.get(link.source)) is not None
            and source.is_memory
            and source.memory.user == target.memory.user
        ]

    def own_end(self, memory: Memory) -> datetime | None:
        """Return the end that was given for a memory, not set by a link.

        An end that a SUPERSEDES link set is only for readers of the file.
        """
        is_set_by_link = any(is_end_of_link(memory, link) for link in self.superseding(memory.id))
        return None if is_set_by_link else memory.valid_until

    def valid_until(self, entry: Entry, known_at: datetime | None = None) -> datetime | None:
        """Return the end of a memory's validity, as `storage.sqlite.validity` computes it.

        Known at: later links and memories that were saved later do not count.
        """
        memory = entry.memory
        if not self.superseding(memory.id):
            return memory.valid_until
        ends = self.chain_ends.get(known_at)
        if ends is None:
            ends = ChainEnds(lambda id_: self.find_replacing(id_, known_at))
            self.chain_ends[known_at] = ends
        own, end = self.own_end(memory), ends.find_end(memory.id)
        if end is not None:
            end = max(end, memory.valid_from or end)
        return min((at for at in (own, end) if at is not None), default=None)

    def find_replacing(
        self, memory_id: str, known_at: datetime | None = None
    ) -> Iterator[Replacement[datetime]]:
        """Yield the memories that replaced one directly."""
        for link in self.superseding_by_user(memory_id):
            source = self.tables.entries[link.source]
            is_known = known_at is None or (
                link.created_at <= known_at and self._saved_at(source) <= known_at
            )
            if is_known:
                is_alive = source.memory.deleted_at is None
                start = _get_start(source) if is_alive else None
                yield Replacement(link.source, start, link.created_at)

    def _saved_at(self, entry: Entry) -> datetime:
        saved = self.tables.usage.get(entry.memory.id, _NEVER_USED).saved_at
        return saved or to_time(entry.created_at)

    # -- Filters

    def allows(self, where: Filter, entry: Entry) -> bool:
        """Return whether an entry matches a filter."""
        memory = entry.memory
        if where.only_deleted and memory.deleted_at is None:
            return False
        if not (where.only_deleted or where.include_deleted) and memory.deleted_at is not None:
            return False
        if not _is_visible(where, memory):
            return False
        if where.session is not None and memory.session_id != where.session:
            return False
        if where.conversation is not None and memory.conversation != where.conversation:
            return False
        if where.ids and memory.id not in where.ids:
            return False
        if where.origins and memory.origin not in where.origins:
            return False
        is_document = memory.origin is EntryType.DOCUMENT
        if where.documents and is_document and memory.source not in where.documents:
            return False
        for matched in _MATCHED:
            if not _matches(matched, getattr(where, matched.filter_name), entry):
                return False
        if not self._matches_times(where, entry):
            return False
        return where.min_salience <= 0 or self.salience(entry) >= where.min_salience

    def _matches_times(self, where: Filter, entry: Entry) -> bool:
        memory = entry.memory
        if where.since is not None and memory.created_at < where.since:
            return False
        if where.until is not None and memory.created_at >= where.until:
            return False
        if where.known_at is not None and self._saved_at(entry) > where.known_at:
            return False
        if where.as_of is None:
            return True
        if _get_start(entry) > where.as_of:
            return False
        end = self.valid_until(entry, where.known_at)
        return end is None or end > where.as_of


_MATCHED = tuple(field for field in FIELDS if field.match is not None)


def _matches(field: Field, wanted: Any, entry: Entry) -> bool:
    """Return whether an entry matches a filter on one field. None or empty matches all."""
    value = getattr(entry.memory, field.name)
    match field.match:
        case Match.ANY_OF:
            return not wanted or value in wanted
        case Match.ALL_OF:
            label = field.name.removesuffix("s")
            return all((label, value.casefold()) in entry.labels for value in wanted)
        case Match.EXACT:
            return wanted is None or value == wanted
        case _:
            return wanted is None or value in (wanted, "")


def _is_visible(where: Filter, memory: Memory) -> bool:
    """Return whether a memory's tier makes it visible (contract A3)."""
    if where.project is not None:
        is_unfiled = where.unfiled and memory.project == ""
        if memory.project != where.project and memory.tier != "global" and not is_unfiled:
            return False
    is_unowned = memory.origin is EntryType.MESSAGE and not memory.project and not memory.user
    if where.is_scoped and is_unowned:
        own = memory.session_id
        return own is not None and own in (where.session_id, where.session)
    if memory.tier != "session":
        return True
    if where.session_id is not None:
        return memory.session_id == where.session_id
    return where.all_sessions or where.session is not None


def _get_start(entry: Entry) -> datetime:
    """Return when a memory becomes valid."""
    return entry.memory.valid_from or to_time(entry.created_at)


def by_time(entry: Entry) -> tuple[int, str]:
    """Return the sort key for time order."""
    return entry.created_at, entry.memory.id
