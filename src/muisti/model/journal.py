"""Events of the journal, and what is derived from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

USE_RESOLUTION = timedelta(minutes=1)
"""How exactly the journal says when a session was last used: a line for each write is too much."""


class EventName(StrEnum):
    """What the journal records. Unknown names, of later versions, are skipped."""

    SAVED = "saved"
    UPDATED = "updated"
    EDITED = "edited"
    """The file was edited outside muisti."""
    VANISHED = "vanished"
    """The file was removed outside muisti."""
    DELETED = "deleted"
    ERASED = "erased"
    RESTORED = "restored"
    ARCHIVED = "archived"
    MERGED = "merged"
    UNMERGED = "unmerged"
    REINFORCED = "reinforced"
    DEEMPHASIZED = "deemphasized"
    TOUCHED = "touched"
    RECALLED = "recalled"
    USED = "used"
    """A session used a memory; `use` says how. Without a memory: something was done in it."""
    LINKED = "linked"
    UNLINKED = "unlinked"
    SUPERSEDED = "superseded"
    DECAYED = "decayed"
    """Decay was recorded up to this time."""
    IMPORTED = "imported"
    EXTRACTED = "extracted"
    """An exchange was processed."""
    SESSION_STARTED = "session_started"
    SESSION_ENDED = "session_ended"
    DOCUMENTS_ADDED = "documents_added"
    DOCUMENTS_DROPPED = "documents_dropped"
    CONVERSATION_ASSIGNED = "conversation_assigned"
    """A conversation got a project and a user."""


class SessionAction(StrEnum):
    """What a session did with a memory."""

    CREATED = "created"
    RECALLED = "recalled"
    UPDATED = "updated"
    REINFORCED = "reinforced"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Session:
    """A period of work of an agent or a person."""

    id: str
    project: str = ""
    user: str = ""
    status: str = "active"
    started_at: datetime
    ended_at: datetime | None = None
    summary: str = ""
    tool_calls: int = 0
    last_used: datetime | None = None
    """When something was last done in it, to the minute; ending it does not count."""
    needs_summary: bool = False
    """Whether its memories have more tokens than `summarize_token_threshold`, and no summary."""

    def __repr__(self) -> str:
        """Return one line, without the summary."""
        project = f" in {self.project}" if self.project else ""
        user = f" of {self.user}" if self.user else ""
        return f"<Session {self.id} {self.status}{project}{user} {self.started_at:%Y-%m-%d %H:%M}>"

    def is_used(self, now: datetime, hours: float) -> bool:
        """Return whether it is active and was used within so many hours.

        A last use that is further ahead than that came from a wrong clock.
        """
        used = self.last_used or self.started_at
        return self.status == "active" and abs(now - used) <= timedelta(hours=hours)


@dataclass(frozen=True, slots=True)
class SessionUse:
    """What a session did with one memory, and when."""

    session_id: str
    memory_id: str
    use: SessionAction
    at: datetime


@dataclass(frozen=True, slots=True)
class Event:
    """One line of the journal: what happened, as far as no file records it."""

    name: str
    at: datetime
    memory_ids: tuple[str, ...] = ()
    session_id: str | None = None
    data: Mapping[str, str | int | float | None] = field(default_factory=dict)


def make_start_event(
    session_id: str, project: str, user: str, at: datetime, *, implicit: bool = False
) -> Event:
    """Return the event that starts a session.

    Implicit: a write named it, but nobody started it, and so nobody will end it. It counts as
    completed: an active session protects its memories from maintenance.
    """
    data: dict[str, str | int | float | None] = {"project": project}
    if user:
        data["user"] = user
    if implicit:
        data["implicit"] = 1
    return Event(EventName.SESSION_STARTED, at, (), session_id, data)


def make_use_events(session: Session | None, at: datetime) -> list[Event]:
    """Return the event that says that an active session is used, for a write that no event names.

    None if the session is not active, or was used in the same minute.
    """
    if session is None or session.status != "active":
        return []
    if session.last_used is not None and abs(at - session.last_used) < USE_RESOLUTION:
        return []
    return [Event(EventName.USED, at, (), session.id)]


@dataclass(frozen=True, slots=True)
class Usage:
    """What the journal says about one memory: its salience and how it was used."""

    salience: float | None = None
    """None until an event sets it; until then the file's value counts."""
    touched_at: datetime | None = None
    access_count: int = 0
    last_accessed: datetime | None = None
    edited_at: datetime | None = None
    idle_days: float = 0.0
    """Idle days beyond the grace period, before the last use."""
    first_used: datetime | None = None
    """The first use of a memory whose salience no event has set: a file created manually."""
    saved_at: datetime | None = None
    """When it was saved here; for an import that is later than `created_at`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryEntry:
    """One line of a memory's history."""

    at: datetime
    what: str
    """saved, updated, edited, merged, unmerged, recalled, reinforced, superseded, deleted …"""
    note: str = ""
    session_id: str | None = None
    other_id: str | None = None
    """The memory that was merged into it or linked with it."""
    content: str | None = None
    """The previous content, or the merged text; None if the content did not change."""
