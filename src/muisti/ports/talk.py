"""Conversations, and documents that live elsewhere: what is searched beside the memories."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from muisti.model import Chat, Exchange, Message, Problem, QueueStatus, Shelf
    from muisti.ports.files import Known, Mark, Stamp


class Line(NamedTuple):
    """A message as its line tells it. A tuple: there are many, and most are only put into the index."""

    place: int
    """Where in its file the line begins."""
    id: str
    at: datetime
    role: str
    content: str
    type: str | None
    meta: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class TalkFile:
    """How far a file of a conversation was read, and what it looked like then."""

    stamp: Stamp
    seen_ns: int
    mark: Mark


@dataclass(frozen=True, slots=True)
class TalkReading:
    """What is new in one file of a conversation."""

    chat: str
    path: str
    file: TalkFile
    lines: Sequence[Line]
    restarted: bool
    """True when the file is not the one that was read before: these are all its lines."""
    problems: tuple[Problem, ...] = ()


class Conversations(Protocol):
    """The files of conversations: one JSON object a line, only ever appended to. Paths are relative to the vault."""

    def append(self, chat: str, messages: Sequence[Message]) -> str:
        """Add lines, on the disk before this returns; answers to which file. Call under the vault's lock."""
        ...

    def files(self) -> Iterator[tuple[str, Stamp]]:
        """Every file of every conversation."""
        ...

    def read(self, path: str, known: TalkFile | None, *, mend: bool = False) -> TalkReading:
        """Whole lines after what is known. Mend: set a last line aside that a crash cut short; call under the vault's lock."""
        ...


class Messages(Protocol):
    """Reads conversations from the index."""

    def window(self, chat: str, limit: int, *, whole: bool = False) -> list[Message]:
        """The latest messages since the last session break, in their order. Whole: and before it, breaks included."""
        ...

    def chats(self) -> list[Chat]:
        """All conversations, the latest first."""
        ...

    def by_ids(self, ids: Sequence[str]) -> dict[str, Message]:
        """Messages by the ids that searches answer."""
        ...

    def known(self, chat: str, message_ids: Sequence[str]) -> dict[str, Message]:
        """Those of these that were said in a chat."""
        ...


class Waiting(Protocol):
    """Exchanges that wait to be made memories of. What was accepted outlives the process, and is given to one reader only."""

    def put(self, exchange: Exchange) -> None:
        """Accept one: on the disk before this returns."""
        ...

    def left_over(self) -> list[Exchange]:
        """Those that processes which have ended left behind; from now on they are ours."""
        ...

    def status(self) -> QueueStatus:
        """Return how much waits, accepted by whichever process. Never raises: what cannot be read is not counted."""
        ...

    def done(self, exchange_id: str) -> None:
        """It need not be kept any longer."""
        ...

    def close(self) -> None:
        """Leave what is still waiting to whoever comes next."""
        ...


class Section(NamedTuple):
    """A part of a document, from one heading to the next."""

    anchor: str
    """Unique in its document."""
    heading: str
    content: str


@dataclass(frozen=True, slots=True)
class Document:
    """A Markdown file that stays where it is, as it was when it was read."""

    path: str
    shelf: Shelf
    known: Known
    changed_at: datetime
    source: str
    """What it is called in answers."""
    sections: Sequence[Section]
    problem: str = ""
    """Why it cannot be read; then it has no sections."""


class Documents(Protocol):
    """Markdown files outside of the memories."""

    def workspace(self) -> list[Shelf]:
        """What is searched without being asked for: `MEMORY.md` and `memory/` of the workspace."""
        ...

    def shelf_path(self, path: str) -> str:
        """A path as shelves have it. Raises InvalidRequest if there is nothing to be read, or if these are memories already."""
        ...

    def is_there(self, shelf: Shelf) -> bool:
        """Whether the shelf itself can be found; its files are not looked at."""
        ...

    def scan(self, shelf: Shelf) -> list[tuple[str, Stamp]] | None:
        """Every Markdown file of a shelf; None if the shelf itself is not there."""
        ...

    def read(self, path: str, shelf: Shelf) -> Document | None:
        """One file by its sections, of which a memory has none; None if it is gone."""
        ...
