"""Reads memories and sessions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime

from muisti.model import EntryType, Filter, Memory, Session, SessionAction, SessionUse, Usage
from muisti.ports.search import Candidate, Order
from muisti.storage.memory.tables import Database, Entry, check_text
from muisti.storage.memory.view import View, by_time

OPENING = 80
"""Characters of a text that ranking looks at."""
NEIGHBOURS = 2
"""Memories before and after one in its session that ranking looks at."""


class MemoryReading:
    """Reads the present state of the tables."""

    database: Database
    view: Callable[[], View]

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Everything that this thread reads within sees one state."""
        with self.database.snapshot():
            yield

    def get(
        self, memory_id: str, *, include_deleted: bool = False, any_origin: bool = False
    ) -> Memory | None:
        """One memory by its id."""
        found = self.get_many([memory_id], include_deleted=include_deleted, any_origin=any_origin)
        return found[0] if found else None

    def get_many(
        self, ids: Sequence[str], *, include_deleted: bool = False, any_origin: bool = False
    ) -> list[Memory]:
        """Those that exist, in the order asked."""
        check_text(*ids)
        view = self.view()
        found = [view.tables.entries[id_] for id_ in ids if id_ in view.tables.entries]
        return [
            view.memory(entry)
            for entry in found
            if (any_origin or entry.is_memory)
            and (include_deleted or entry.memory.deleted_at is None)
        ]

    def select(
        self, where: Filter, *, order: Order, limit: int | None, offset: int = 0
    ) -> list[Memory]:
        """A page of the memories that a filter lets through."""
        view = self.view()
        entries = [entry for entry in view.memories() if view.allows(where, entry)]
        _sort(entries, order, view)
        return [
            view.memory(entry)
            for entry in entries[offset : None if limit is None else offset + limit]
        ]

    def find_by_keywords(
        self, keywords: Sequence[str], *, match_all: bool, where: Filter, limit: int
    ) -> list[Memory]:
        """Memories with these keywords; those with most of them first, then the latest."""
        wanted = {("keyword", keyword.casefold()) for keyword in keywords}
        least = len(wanted) if match_all else 1
        view = self.view()
        hits = {entry: len(wanted & entry.labels) for entry in view.memories()}
        found = [
            entry for entry, count in hits.items() if count >= least and view.allows(where, entry)
        ]
        found.sort(key=lambda entry: (-hits[entry], -entry.created_at))
        return [view.memory(entry) for entry in found[:limit]]

    def get_neighbours(self, memory: Memory, before: int, after: int) -> list[Memory]:
        """Neighbours in time within the project; of a message: in its chat; of a section: in its document."""
        view = self.view()
        here = view.tables.entries.get(memory.id)
        if here is None:
            return [memory]
        beside = sorted(
            (one for one in view.tables.entries.values() if _is_beside(one, memory)), key=by_time
        )
        earlier = [one for one in beside if by_time(one) < by_time(here)]
        later = [one for one in beside if by_time(one) > by_time(here)]
        nearest = earlier[max(0, len(earlier) - before) :]
        return [*map(view.memory, nearest), memory, *map(view.memory, later[:after])]

    def candidates(self, ids: Sequence[str], where: Filter) -> dict[str, Candidate]:
        """These memories and their neighbours in their sessions, all of which know their own neighbours."""
        view = self.view()
        entries = view.tables.entries
        asked = [id_ for id_ in dict.fromkeys(ids) if id_ in entries]
        sides = {id_: _sides(view, entries[id_]) for id_ in asked}
        beside = [one for before, after in sides.values() for one in (*before, *after)]
        sides |= {id_: _sides(view, entries[id_]) for id_ in beside if id_ not in sides}
        return {id_: _candidate(view, entries[id_], where, both) for id_, both in sides.items()}

    def find_ids(self, part: str, limit: int) -> list[str]:
        """Ids that begin or end with a text, those of memories first."""
        check_text(part)
        entries = list(self.view().tables.entries.values())
        entries.sort(key=lambda one: (not one.is_memory, one.number))
        found = [one.memory.id for one in entries if _has_end(one.memory.id, part)]
        return found[:limit]

    def session(self, session_id: str) -> Session | None:
        """One session."""
        check_text(session_id)
        return self.view().tables.sessions.get(session_id)

    def sessions(self, project: str | None, limit: int) -> list[Session]:
        """The latest sessions first."""
        known = self.view().tables.sessions.values()
        found = [session for session in known if project is None or session.project == project]
        found.sort(key=lambda session: (session.started_at, session.id), reverse=True)
        return found[:limit]

    def session_uses(
        self, *, session_id: str | None = None, memory_id: str | None = None
    ) -> list[SessionUse]:
        """What sessions did with memories, in the order of time. That a memory was created, it tells itself."""
        view = self.view()
        made = [
            SessionUse(
                entry.memory.session_id,
                entry.memory.id,
                SessionAction.CREATED,
                entry.memory.created_at,
            )
            for entry in sorted(view.memories(), key=by_time)
            if entry.memory.session_id is not None
        ]
        found = [
            use
            for use in [*view.tables.uses, *made]
            if session_id in (None, use.session_id) and memory_id in (None, use.memory_id)
        ]
        return sorted(found, key=lambda use: use.at)

    def usage(self, ids: Sequence[str]) -> dict[str, Usage]:
        """What the journal said of these memories so far."""
        known = self.view().tables.usage
        return {id_: known[id_] for id_ in ids if id_ in known}


def _sort(entries: list[Entry], order: Order, view: View) -> None:
    """Sort as asked. Equal ones are in the order of time and id, some of them backwards."""

    def last_used(entry: Entry) -> datetime:
        usage = view.tables.usage.get(entry.memory.id)
        return (
            entry.memory.created_at
            if usage is None or usage.last_accessed is None
            else usage.last_accessed
        )

    if order == "created_at":
        entries.sort(key=by_time)
    elif order == "created_at_desc":
        entries.sort(key=by_time, reverse=True)
    elif order == "salience":
        entries.sort(key=lambda entry: entry.memory.id)
        entries.sort(key=lambda entry: (view.salience(entry), entry.created_at), reverse=True)
    elif order == "salience_asc":
        entries.sort(key=lambda entry: (view.salience(entry), *by_time(entry)))
    elif order == "last_accessed":
        entries.sort(key=lambda entry: (last_used(entry), entry.memory.id), reverse=True)
    elif order == "last_accessed_asc":
        entries.sort(key=lambda entry: (last_used(entry), entry.memory.id))
    else:
        never = datetime.min.replace(tzinfo=view.clock_time.tzinfo)
        entries.sort(
            key=lambda entry: (entry.memory.deleted_at or never, entry.memory.id), reverse=True
        )


def _is_beside(entry: Entry, memory: Memory) -> bool:
    one = entry.memory
    if memory.origin is EntryType.MEMORY:
        seen = one.tier != "session" or one.session_id == memory.session_id
        return entry.is_memory and one.project == memory.project and one.deleted_at is None and seen
    same_file = memory.session_id is not None or one.file_path == memory.file_path
    return one.origin is memory.origin and one.session_id == memory.session_id and same_file


_Sides = tuple[tuple[str, ...], tuple[str, ...]]


def _sides(view: View, entry: Entry) -> _Sides:
    """The two before a text in its session, the nearest first, and the two after it."""
    memory = entry.memory
    if memory.session_id is None:
        return (), ()
    entries = view.tables.entries
    others = [entries[id_] for id_ in view.tables.by_session[memory.session_id, memory.origin]]
    alive = sorted((one for one in others if one.memory.deleted_at is None), key=by_time)
    before = [one.memory.id for one in alive if by_time(one) < by_time(entry)]
    after = [one.memory.id for one in alive if by_time(one) > by_time(entry)]
    return tuple(before[::-1][:NEIGHBOURS]), tuple(after[:NEIGHBOURS])


def _candidate(view: View, entry: Entry, where: Filter, sides: _Sides) -> Candidate:
    memory = entry.memory
    before, after = sides
    return Candidate(
        memory_id=memory.id,
        created_at=memory.created_at,
        valid_from=memory.valid_from,
        valid_until=view.valid_until(entry),
        importance=memory.importance,
        salience=view.salience(entry),
        opening=memory.content[:OPENING],
        content_hash=memory.content_hash,
        session_id=memory.session_id,
        before=before,
        after=after,
        origin=memory.origin.value,
        allowed=view.allows(where, entry),
    )


def _has_end(id_: str, part: str) -> bool:
    """Whether an id begins or ends with a text, in any case."""
    as_given = id_.startswith(part) or id_.endswith(part)
    lowered = part.lower()
    return as_given or id_.lower().startswith(lowered) or id_.lower().endswith(lowered)
