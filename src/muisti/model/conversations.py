"""Conversations, and what extraction takes from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from muisti.deprecation import renamed_field

ROLES = ("user", "assistant", "system", "tool")
SESSION_BREAK = "session_break"
"""The type of a message that starts a new window in its conversation."""


@renamed_field("chat", "conversation")
@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One line of a conversation's file."""

    id: str
    conversation: str
    """The name of its conversation: channel and ID, such as `telegram_123456`."""
    role: str
    content: str
    at: datetime
    type: str | None = None
    """None for an ordinary message; else `session_break` or `subagent_result`."""
    meta: Mapping[str, object] = field(default_factory=dict)
    """Other data: `model`, `tokens_in`, `tool` …"""
    project: str = ""
    """The project it belongs to: its own, or that of its conversation."""
    user: str = ""
    """The user it belongs to: its own, or that of its conversation."""
    index_pending: bool = False
    """True if the line is on disk but not indexed yet: it becomes searchable later."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation: its size, times and owner."""

    name: str
    messages: int
    first_at: datetime
    last_at: datetime
    since_break: int
    """How many messages came after the last session break."""
    project: str = ""
    user: str = ""
    model: str = ""
    """The `model` in the meta of the latest assistant message that has one; empty if none has."""
    segment_start: str = ""
    """The ID of the first message after the last session break; empty if there is none yet."""


@dataclass(frozen=True, slots=True)
class Utterance:
    """One message of a conversation, as input for extraction."""

    text: str
    speaker: str = "User"
    """The name that replaces "I"."""
    role: str = "user"
    """user or assistant."""
    at: datetime | None = None
    """When it was said; None leaves "yesterday" as it is."""
    addressee: str = ""
    """The name that replaces "you", if known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One user message and its reply, waiting for extraction."""

    id: str
    at: datetime
    session_id: str
    user: str
    assistant: str
    mode: str = "default"
    speaker: str = "User"
    """The name that replaces the user's "I"."""
    project: str | None = None
    """None: the session's project, or else the vault's."""
    owner: str | None = None
    """The user that the memories belong to. None: the session's user."""
    preferences: str = ""
    """`everywhere`: save preferences for all projects."""


@dataclass(frozen=True, slots=True)
class Extracted:
    """A memory found in a conversation: one or two sentences that make sense on their own."""

    content: str
    kind: str
    importance: float
    source_text: str
    """The sentences it was extracted from."""
    about: datetime | None = None
    """The time it is about, if the text names one."""
    corrects: bool = False
    """Whether the user corrected a statement that is not in the extracted conversation."""
