"""What happened."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum


class EventName(StrEnum):
    """What the journal records. A journal may hold other names too: those of later versions are skipped."""

    SAVED = "saved"
    UPDATED = "updated"
    EDITED = "edited"
    """A person changed the file."""
    VANISHED = "vanished"
    """A person removed the file."""
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
    """A session used a memory; `use` says how."""
    LINKED = "linked"
    UNLINKED = "unlinked"
    SUPERSEDED = "superseded"
    DECAYED = "decayed"
    """Decay was recorded up to this time."""
    IMPORTED = "imported"
    EXTRACTED = "extracted"
    """An exchange was dealt with."""
    SESSION_STARTED = "session_started"
    SESSION_ENDED = "session_ended"
    DOCUMENTS_ADDED = "documents_added"
    DOCUMENTS_DROPPED = "documents_dropped"


class SessionAction(StrEnum):
    """What a session did with a memory."""

    CREATED = "created"
    RECALLED = "recalled"
    UPDATED = "updated"
    REINFORCED = "reinforced"


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One stretch of work of an agent or a person."""

    id: str
    project: str = ""
    status: str = "active"
    started_at: datetime
    ended_at: datetime | None = None
    summary: str = ""
    tool_calls: int = 0


@dataclass(frozen=True, slots=True)
class SessionUse:
    """What a session did with one memory, and when."""

    session_id: str
    memory_id: str
    use: SessionAction
    at: datetime


@dataclass(frozen=True, slots=True)
class Event:
    """One line of the journal: something that happened and that no file's text tells."""

    name: str
    at: datetime
    memory_ids: tuple[str, ...] = ()
    session_id: str | None = None
    data: Mapping[str, str | int | float | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Usage:
    """What the journal says of one memory: how strong it is and how it was used."""

    salience: float | None = None
    """None until something touched it: then the value of its file counts."""
    touched_at: datetime | None = None
    access_count: int = 0
    last_accessed: datetime | None = None
    edited_at: datetime | None = None
    idle_days: float = 0.0
    """Days that it had lain idle for too long before it was last used."""
    first_used: datetime | None = None
    """Of one that was never weighed, because its file was written by hand."""
    saved_at: datetime | None = None
    """Since when it is known here; for an import that is later than it was made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryEntry:
    """One line of a memory's history."""

    at: datetime
    what: str
    """saved, updated, edited, merged, unmerged, recalled, reinforced, superseded, deleted …"""
    note: str = ""
    session_id: str | None = None
    other_id: str | None = None
    """The memory that was merged into it, or that it was linked with."""
    content: str | None = None
    """What it said until then, or what the merged text said; None where the text stayed as it was."""
