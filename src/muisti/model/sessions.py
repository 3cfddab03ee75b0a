"""Sessions: periods of work of an agent or a person."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum


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
        """Return whether it is active and was used within this many hours.

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
