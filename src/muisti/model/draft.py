"""A memory that is not saved yet. Commands that only read do not import it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from muisti.model.memory import Link


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A memory to save, before it is validated and completed. None: muisti infers it."""

    content: str
    title: str | None = None
    aliases: tuple[str, ...] = ()
    kind: str | None = None
    sector: str | None = None
    tier: str | None = None
    project: str | None = None
    user: str | None = None
    agent: str | None = None
    session_id: str | None = None
    conversation: str = ""
    from_message: str = ""
    to_message: str = ""
    source: str = "user"
    summary: str = ""
    keywords: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    importance: float | None = None
    salience: float | None = None
    created_at: datetime | None = None
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    pinned: bool = False
    trusted: bool = True
    links: tuple[Link, ...] = ()
    id: str | None = None
    """Only for imports, which keep the ID that a memory already has."""
