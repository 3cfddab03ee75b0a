"""Rows: what an index stores. `muisti.remember.index_rows` creates them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from datetime import datetime

    from muisti.model import DocumentSource, Memory, Session, SessionUse, Usage


class Words(NamedTuple):
    """The index words of a text, separated by spaces, in three fields of different weight."""

    title: str = ""
    labels: str = ""
    body: str = ""


class MemoryRow(NamedTuple):
    """A memory with everything that the index derives from it."""

    memory: Memory
    words: Words
    labels: tuple[tuple[str, str], ...]
    """Keywords and files for filters, names and wikilinks for links, all case-folded:
    ("keyword", "auth")."""
    bands: tuple[int, ...]
    """Parts of the simhash, by which near-duplicates are found."""
    source_hash: str
    """Identifies the text that is embedded: vectors stay valid while it is unchanged."""


class MessageLine(NamedTuple):
    """One line of a conversation's file."""

    place: int
    """The line's position in its file; ascending."""
    id: str
    at: datetime
    role: str
    content: str
    type: str | None
    meta: Mapping[str, object]


class MessagePlace(NamedTuple):
    """Where a message stands in its conversation."""

    conversation: str
    place: int
    """The position in the file: messages are ordered by path, then by place."""
    message_id: str
    at: int
    """Microseconds since 1970."""
    role: str
    type: str | None
    meta: str
    """JSON, or empty."""


class TextRow(NamedTuple):
    """A message or a section of a document. A tuple: there may be hundreds of thousands."""

    origin: str
    """message or document."""
    id: str
    project: str
    session_id: str | None
    """The conversation of a message; None for a session break and for a section."""
    created_at: int
    """Microseconds since 1970; ascending within a file: sorting by it keeps the line order."""
    updated_at: int
    source: str
    path: str
    title: str
    content: str
    trusted: bool
    content_hash: str
    source_hash: str
    words: Words
    message: MessagePlace | None = None
    user: str = ""


class JournalChanges(NamedTuple):
    """What new journal events change: usage, sessions and document sources."""

    restart: bool = False
    """Delete what earlier events produced first: the journal was replaced."""
    usage: Mapping[str, Usage] = MappingProxyType({})
    """New usage by memory ID; replaces the stored usage."""
    sessions: Sequence[Session] = ()
    """New or changed sessions."""
    uses: Sequence[SessionUse] = ()
    """Appended to the stored ones."""
    sources: Mapping[str, DocumentSource | None] = MappingProxyType({})
    """Document sources by path; None removes one."""
    assignments: Mapping[str, tuple[str, str]] = MappingProxyType({})
    """Project and user by conversation, for messages that have neither themselves."""
    decayed_at: datetime | None = None
    """The time up to which decay was recorded; None: unchanged."""


class IndexChanges(NamedTuple):
    """One transaction of the index."""

    memories: Sequence[MemoryRow] = ()
    """Each replaces the row with its ID, and keeps its vectors if `source_hash` is unchanged."""
    removed: Sequence[str] = ()
    """IDs of memories to remove, with their words, links and vectors."""
    texts: Sequence[TextRow] = ()
    emptied: Sequence[tuple[str, str]] = ()
    """Origins and paths whose texts are removed before `texts` are written."""
    journal: JournalChanges | None = None
