"""Events of the journal, and what is derived from them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from muisti.model.sessions import Session

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


class Event(NamedTuple):
    """One line of the journal: what happened, as far as no file records it.

    A tuple, as `Usage`: there are many, and a search records one.
    """

    name: str
    at: datetime
    memory_ids: tuple[str, ...] = ()
    session_id: str | None = None
    data: Mapping[str, str | int | float | None] = {}


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


class Usage(NamedTuple):
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
