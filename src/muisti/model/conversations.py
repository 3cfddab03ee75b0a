"""What was said and written elsewhere, and what of it is worth keeping."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from muisti.deprecation import renamed_field

ROLES = ("user", "assistant", "system", "tool")
SESSION_BREAK = "session_break"
"""The type of a message that says: what follows is a new talk."""


@renamed_field("chat", "conversation")
@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One line of a conversation's file."""

    id: str
    conversation: str
    """The name of its conversation: a channel and an id, such as `telegram_123456`."""
    role: str
    content: str
    at: datetime
    type: str | None = None
    """None for what was said; `session_break`, `subagent_result`."""
    meta: Mapping[str, object] = field(default_factory=dict)
    """What else is known of it: `model`, `tokens_in`, `tool` …"""
    index_pending: bool = False
    """True when the line is safe on disk but the index was busy: it becomes searchable a little later."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation in numbers."""

    name: str
    messages: int
    first_at: datetime
    last_at: datetime
    since_break: int
    """How many messages its present talk has."""


@dataclass(frozen=True, slots=True)
class DocumentSource:
    """A file or a folder with Markdown that lives elsewhere and is searched too."""

    path: str
    """Relative to the vault if it lies within, else absolute."""
    source: str
    """What hits from it are called; empty: each by its file."""
    project: str = ""
    trusted: bool = False
    documents: int = 0
    """How many files were found in it."""


@dataclass(frozen=True, slots=True)
class Utterance:
    """One message of a talk."""

    text: str
    speaker: str = "User"
    """The name to put for "I"."""
    role: str = "user"
    """user or assistant."""
    at: datetime | None = None
    """When it was said; without it "yesterday" stays."""
    addressee: str = ""
    """The name to put for "you", if known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """What a user said and what was answered, on its way to become memories."""

    id: str
    at: datetime
    session_id: str
    user: str
    assistant: str
    mode: str = "default"
    speaker: str = "User"
    """The name to put for the user's "I"."""
    project: str | None = None
    """None: the session's, or else the vault's."""


@dataclass(frozen=True, slots=True)
class Extracted:
    """A memory that somebody found in a talk: one or two sentences that can be understood alone."""

    content: str
    kind: str
    importance: float
    source_text: str
    """The sentences that it came from."""
    about: datetime | None = None
    """The time that it speaks of, if one is named."""
