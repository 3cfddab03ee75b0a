"""Reads memories and sessions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import datetime

from muisti.model import EntryType, Filter, Memory, Session, SessionAction, SessionUse, Usage
from muisti.ports.lookups import check_id
from muisti.ports.search import Candidate, Order
from muisti.storage.checked_values import check_text
from muisti.storage.memory.tables import Database, Entry
from muisti.storage.memory.view import View, by_time

OPENING = 80
"""Characters of a text that ranking uses."""
NEIGHBOURS = 2
"""Neighbours on each side, in its session, that ranking uses."""


class MemoryReading:
    """Implements the port MemoryReader."""

    database: Database
    view: Callable[[], View]

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Within the context, all reads of this thread see the same state."""
        with self.database.snapshot():
            yield

    def release(self) -> AbstractContextManager[None]:
        """Do nothing: nothing is held."""
        return nullcontext()

    def get(
        self, memory_id: str, *, include_deleted: bool = False, any_origin: bool = False
    ) -> Memory | None:
        """Return the memory with this ID, or None."""
        check_id(memory_id)
        found = self.get_many([memory_id], include_deleted=include_deleted, any_origin=any_origin)
        return found[0] if found else None

    def get_many(
        self, ids: Sequence[str], *, include_deleted: bool = False, any_origin: bool = False
    ) -> list[Memory]:
        """Return the memories with these IDs, in the given order."""
        check_text(*ids)
        view = self.view()
        found = []
        for id_ in ids:
            entry = view.tables.entries.get(id_)
            if entry is None or not (any_origin or entry.is_memory):
                continue
            if include_deleted or entry.memory.deleted_at is None:
                found.append(view.memory(entry))
        return found

    def select(
        self, where: Filter, *, order: Order, limit: int | None, offset: int = 0
    ) -> list[Memory]:
        """Return one page of the memories that match the filter."""
        view = self.view()
        entries = [entry for entry in view.memories() if view.allows(where, entry)]
        _sort(entries, order, view)
        page = entries[offset : None if limit is None else offset + limit]
        return [view.memory(entry) for entry in page]

    def find_by_keywords(
        self, keywords: Sequence[str], *, match_all: bool, where: Filter, limit: int
    ) -> list[Memory]:
        """Return memories with any, or all, of these keywords, those with the most first."""
        wanted = {("keyword", keyword.casefold()) for keyword in keywords}
        least = len(wanted) if match_all else 1
        view = self.view()
        hits = {entry: len(wanted & entry.labels) for entry in view.memories()}
        found = [
            entry for entry, count in hits.items() if count >= least and view.allows(where, entry)
        ]
        found.sort(key=lambda entry: (hits[entry], *by_time(entry)), reverse=True)
        return [view.memory(entry) for entry in found[:limit]]

    def get_neighbours(
        self, memory: Memory, before: int, after: int, where: Filter
    ) -> list[Memory]:
        """Return the memories before and after this one in time, itself included."""
        view = self.view()
        anchor = view.tables.entries.get(memory.id)
        if anchor is None:
            return [memory]
        entries = [
            entry
            for entry in view.tables.entries.values()
            if _is_neighbour(entry, memory, where) and view.allows(where, entry)
        ]
        entries.sort(key=by_time)
        earlier = [entry for entry in entries if by_time(entry) < by_time(anchor)]
        later = [entry for entry in entries if by_time(entry) > by_time(anchor)]
        nearest = earlier[max(0, len(earlier) - before) :]
        return [*map(view.memory, nearest), memory, *map(view.memory, later[:after])]

    def candidates(self, ids: Sequence[str], where: Filter) -> dict[str, Candidate]:
        """Return these texts and their neighbours in their sessions, by ID."""
        view = self.view()
        entries = view.tables.entries
        sides = {}
        for id_ in ids:
            if id_ in entries:
                sides[id_] = _find_sides(view, entries[id_])
        for before, after in list(sides.values()):
            for id_ in (*before, *after):
                if id_ not in sides:
                    sides[id_] = _find_sides(view, entries[id_])
        found = {}
        for id_, (before, after) in sides.items():
            entry = entries[id_]
            memory = entry.memory
            found[id_] = Candidate(
                memory_id=memory.id,
                created_at=memory.created_at.timestamp(),
                valid_from=_to_seconds(memory.valid_from),
                valid_until=_to_seconds(view.valid_until(entry)),
                importance=memory.importance,
                salience=view.salience(entry),
                opening=memory.content[:OPENING],
                content_hash=memory.content_hash,
                session_id=memory.session_id,
                before=before,
                after=after,
                origin=memory.origin.value,
                allowed=view.allows(where, entry),
                user=memory.user,
            )
        return found

    def find_ids(self, part: str, limit: int) -> list[str]:
        """Return IDs that begin or end with a text, those of memories first."""
        check_text(part)
        entries = list(self.view().tables.entries.values())
        entries.sort(key=lambda entry: (not entry.is_memory, entry.memory.id))
        lowered = part.lower()
        found = []
        for entry in entries:
            id_, lower_id = entry.memory.id, entry.memory.id.lower()
            is_prefix = id_.startswith(part) or lower_id.startswith(lowered)
            if is_prefix or id_.endswith(part) or lower_id.endswith(lowered):
                found.append(id_)
        return found[:limit]

    def session(self, session_id: str) -> Session | None:
        """Return one session, or None."""
        check_text(session_id)
        return self.view().tables.sessions.get(session_id)

    def sessions(self, project: str | None, limit: int, user: str | None = None) -> list[Session]:
        """Return the sessions of a project and a user, or of all, the latest first."""
        known = self.view().tables.sessions.values()
        found = [
            session
            for session in known
            if project in (None, session.project) and user in (None, session.user)
        ]
        found.sort(key=lambda session: (session.started_at, session.id), reverse=True)
        return found[:limit]

    def active_sessions(self, project: str | None = None, user: str | None = None) -> list[Session]:
        """Return the active sessions of a project and a user, the oldest first."""
        found = [
            session
            for session in self.view().tables.sessions.values()
            if session.status == "active"
            and project in (None, session.project)
            and user in (None, session.user)
        ]
        return sorted(found, key=lambda session: (session.started_at, session.id))

    def find_session_scopes(self, session_id: str) -> list[tuple[str, str]]:
        """Return project and user of the texts that name this session, the earliest first.

        Texts that belong to nobody come last: they may be older than the session's owner.
        """
        entries = self.view().tables.entries.values()
        found = [entry for entry in entries if entry.memory.session_id == session_id]
        found.sort(key=lambda entry: (entry.created_at, entry.memory.project, entry.memory.user))
        scopes = dict.fromkeys((entry.memory.project, entry.memory.user) for entry in found)
        return sorted(scopes, key=lambda scope: scope == ("", ""))

    def find_scope_names(self) -> tuple[list[str], list[str]]:
        """Return the names of all projects and of all users."""
        tables = self.view().tables
        scopes = {(session.project, session.user) for session in tables.sessions.values()}
        for entry in tables.entries.values():
            scopes.add((entry.memory.project, entry.memory.user))
        projects = {project for project, _ in scopes if project}
        users = {user for _, user in scopes if user}
        return sorted(projects), sorted(users)

    def session_uses(
        self, *, session_id: str | None = None, memory_id: str | None = None
    ) -> list[SessionUse]:
        """Return what sessions did with memories, oldest first. `created` comes from the memory."""
        view = self.view()
        uses = list(view.tables.uses)
        for entry in sorted(view.memories(), key=by_time):
            memory = entry.memory
            if memory.session_id is not None:
                created = SessionAction.CREATED
                uses.append(SessionUse(memory.session_id, memory.id, created, memory.created_at))
        found = [
            use
            for use in uses
            if session_id in (None, use.session_id) and memory_id in (None, use.memory_id)
        ]
        return sorted(found, key=lambda use: use.at)

    def usage(self, ids: Sequence[str]) -> dict[str, Usage]:
        """Return the usage of these memories by ID."""
        known = self.view().tables.usage
        return {id_: known[id_] for id_ in ids if id_ in known}


def _sort(entries: list[Entry], order: Order, view: View) -> None:
    """Sort in place. Ties are broken by time and ID, as in SQLite."""

    def last_used(entry: Entry) -> datetime:
        usage = view.tables.usage.get(entry.memory.id)
        used = usage.last_accessed if usage else None
        return used or entry.memory.created_at

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


def _is_neighbour(entry: Entry, memory: Memory, where: Filter) -> bool:
    """Return whether an entry is in the same project, conversation or document as a memory."""
    other = entry.memory
    if memory.origin is EntryType.MEMORY:
        if not entry.is_memory or other.project != memory.project or other.deleted_at is not None:
            return False
        if where.user is None and other.user not in (memory.user, ""):
            return False
        return other.tier != "session" or other.session_id == memory.session_id
    if other.origin is not memory.origin or other.session_id != memory.session_id:
        return False
    return memory.session_id is not None or other.file_path == memory.file_path


_Sides = tuple[tuple[str, ...], tuple[str, ...]]


def _find_sides(view: View, entry: Entry) -> _Sides:
    """Return the IDs of up to two texts before and after one in its session, nearest first."""
    memory = entry.memory
    if memory.session_id is None:
        return (), ()
    entries = view.tables.entries
    others = [entries[id_] for id_ in view.tables.by_session[memory.session_id, memory.origin]]
    alive = sorted((other for other in others if other.memory.deleted_at is None), key=by_time)
    before = [other.memory.id for other in alive if by_time(other) < by_time(entry)]
    after = [other.memory.id for other in alive if by_time(other) > by_time(entry)]
    return tuple(before[::-1][:NEIGHBOURS]), tuple(after[:NEIGHBOURS])


def _to_seconds(at: datetime | None) -> float | None:
    return None if at is None else at.timestamp()
