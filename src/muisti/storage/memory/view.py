"""One state of the index at one moment: memories as readers see them, and what a filter lets through."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from muisti.model import Filter, Kind, Link, LinkType, Memory, Sector, Usage
from muisti.model.fields import Field, Match
from muisti.model.memory import FIELDS
from muisti.model.salience import compute_salience, make_trace
from muisti.storage.memory.apply import to_time
from muisti.storage.memory.tables import Entry, Tables

_DAY = timedelta(days=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NEVER_USED = Usage()


@dataclass(frozen=True, slots=True)
class View:
    """A state of the tables, and the moment for which salience is worked out."""

    tables: Tables
    clock_time: datetime
    kinds: Mapping[str, Kind]
    rates: Mapping[Sector, float]

    # -- Which entries there are

    def memories(self) -> Iterator[Entry]:
        """Yield the memories, deleted ones included, in the order in which they came."""
        return iter(
            sorted((one for one in self.tables.entries.values() if one.is_memory), key=_by_number)
        )

    def alive(self, memory_id: str) -> bool:
        """Return whether there is a memory with this id that is not deleted."""
        entry = self.tables.entries.get(memory_id)
        return entry is not None and entry.is_memory and entry.memory.deleted_at is None

    # -- A memory as readers see it

    def memory(self, entry: Entry) -> Memory:
        """Return a text with its usage, its salience now, and what is known of its vectors."""
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
        """Return the present moment. Decay that was once recorded is not taken back by a clock that is set back."""
        recorded = self.recorded()
        return self.clock_time if recorded is None else max(self.clock_time, recorded)

    def recorded(self) -> datetime | None:
        """Return up to when decay was recorded. More than a day ahead, a clock was wrong: that does not count."""
        recorded = self.tables.decayed_at
        return recorded if recorded is not None and recorded < self.clock_time + _DAY else None

    def salience(self, entry: Entry) -> float:
        """Return the salience now."""
        return self._salience(entry, self.now())

    def salience_recorded(self, entry: Entry) -> float:
        """Return the salience when decay was last recorded."""
        return self._salience(entry, self.recorded() or _EPOCH)

    def _salience(self, entry: Entry, at: datetime) -> float:
        written = replace(entry.memory, created_at=to_time(entry.created_at))
        usage = self.tables.usage.get(written.id, _NEVER_USED)
        kind = self.kinds.get(written.kind)
        trace = make_trace(written, usage, kind.decay_per_day if kind else None)
        return compute_salience(replace(trace, rate=self.rates[written.sector]), at)

    def superseding(self, memory_id: str) -> list[Link]:
        """Return the confirmed links by which other memories took its place, whether those are deleted or not."""
        return [
            link
            for (source, type_), link in self.tables.links_to[memory_id].items()
            if type_ is LinkType.SUPERSEDES
            and source != memory_id
            and not link.proposed
            and link.valid_until is None
        ]

    def valid_until(self, entry: Entry) -> datetime | None:
        """Return what the memory says, or else when one that supersedes it began."""
        if entry.memory.valid_until is not None:
            return entry.memory.valid_until
        begins = [
            _since(link) for link in self.superseding(entry.memory.id) if self.alive(link.source)
        ]
        return min(begins, default=None)

    # -- Filters

    def allows(self, where: Filter, entry: Entry) -> bool:
        """Return whether a filter lets a text through."""
        memory = entry.memory
        if where.only_deleted:
            if memory.deleted_at is None:
                return False
        elif not where.include_deleted and memory.deleted_at is not None:
            return False
        return (
            _is_visible(where, memory)
            and (where.session is None or memory.session_id == where.session)
            and (not where.ids or memory.id in where.ids)
            and all(_matches(field, getattr(where, field.filter_name), entry) for field in _MATCHED)
            and (not where.origins or memory.origin in where.origins)
            and (
                not where.documents
                or memory.origin != "document"
                or memory.source in where.documents
            )
            and self._is_of_time(where, entry)
            and (where.min_salience <= 0 or self.salience(entry) >= where.min_salience)
        )

    def _is_of_time(self, where: Filter, entry: Entry) -> bool:
        memory = entry.memory
        made = to_time(entry.created_at)
        if where.since is not None and memory.created_at < where.since:
            return False
        if where.until is not None and memory.created_at >= where.until:
            return False
        if where.known_at is not None:
            saved = self.tables.usage.get(memory.id, _NEVER_USED).saved_at
            if (saved or made) > where.known_at:
                return False
        if where.as_of is None:
            return True
        if (memory.valid_from or made) > where.as_of:
            return False
        end = self.valid_until(entry)
        if end is None or end > where.as_of:
            return True
        return where.known_at is not None and self._was_unknown(entry, where.known_at)

    def _was_unknown(self, entry: Entry, known_at: datetime) -> bool:
        """Whether the end was given by a link that was made later. Any other end was known all along."""
        memory = entry.memory
        for link in self.superseding(memory.id):
            since = _since(link)
            given = memory.valid_until is None or memory.valid_until == max(
                since, memory.valid_from or since
            )
            if link.created_at > known_at and given:
                return True
        return False


_MATCHED = tuple(field for field in FIELDS if field.match is not None)


def _matches(field: Field, wanted: Any, entry: Entry) -> bool:
    """Whether a filter on one field lets a text through. Wanted: its value or values; None or nothing: all texts."""
    value = getattr(entry.memory, field.name)
    match field.match:
        case Match.ANY_OF:
            return not wanted or value in wanted
        case Match.ALL_OF:
            label = field.name.removesuffix("s")
            return all((label, one.casefold()) in entry.labels for one in wanted)
        case Match.EXACT:
            return wanted is None or value == wanted
        case _:
            return wanted is None or value in (wanted, "")


def _is_visible(where: Filter, memory: Memory) -> bool:
    """Tier `project` of the project, `session` of the asking session only, `global` of everybody (contract A3)."""
    if where.project is not None:
        is_unfiled = where.unfiled and memory.project == ""
        if memory.project != where.project and memory.tier != "global" and not is_unfiled:
            return False
    if memory.tier != "session":
        return True
    if where.session_id is not None:
        return memory.session_id == where.session_id
    return where.all_sessions or where.session is not None


def _since(link: Link) -> datetime:
    return link.valid_from or link.created_at


def _by_number(entry: Entry) -> int:
    return entry.number


def by_time(entry: Entry) -> tuple[int, str]:
    """Sort key: the order of time."""
    return entry.created_at, entry.memory.id
