"""The vault's files and its journal: the truth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import NamedTuple, Protocol

from muisti.model import CoreMemory, Draft, Event, Link, Memory, Problem, Usage


class Clock(Protocol):
    """Where "now" comes from; tests bring their own."""

    def now(self) -> datetime:
        """The present moment, timezone-aware UTC."""
        ...


class Stamp(NamedTuple):
    """What the file system says of a file without reading it. A tuple: there are many, and they are made often."""

    size: int
    mtime_ns: int
    inode: int


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A memory together with the state of its file at the moment it was read or written."""

    memory: Memory
    stamp: Stamp
    sha: str
    """SHA-256 of the file's bytes."""
    seen_ns: int
    """When it was looked at; a file changed in the same tick is read again."""


class Known(NamedTuple):
    """What the index remembers of a file."""

    stamp: Stamp
    seen_ns: int
    sha: str
    memory_id: str | None
    """None for a file that has a problem, or is no memory."""


class Vault(Protocol):
    """The files: the truth. Paths are relative to the vault, with forward slashes."""

    def lock(self) -> AbstractContextManager[None]:
        """Hold the vault for writing, across processes and threads. Raises VaultBusy."""
        ...

    def create(self, memories: Sequence[Memory]) -> list[StoredFile]:
        """Write new files, all or none, durably. Names are chosen here and never overwrite anything."""
        ...

    def rewrite(self, memory: Memory, expected_sha: str) -> StoredFile:
        """Replace a file's known fields and body, keep all else in it. Raises Conflict if the file is not that one."""
        ...

    def trash(self, path: str, at: datetime) -> str:
        """Move a file to the trash; answers its new path."""
        ...

    def restore(self, path: str) -> str:
        """Move a file out of the trash; answers its new path."""
        ...

    def erase(self, path: str) -> None:
        """Remove a file for good."""
        ...

    def read(self, path: str, *, adopt: bool = False) -> StoredFile | None:
        """Read one file; None if it is no memory. Adopt: write an id into it if it lacks one. Raises BrokenFile."""
        ...

    def looked_at(self, path: str) -> tuple[str, Stamp, int]:
        """The hash of a file's bytes, its stamp, and when this was seen, without reading what it says. Raises BrokenFile."""
        ...

    def is_home(self, path: str) -> bool:
        """Whether a path is where every Markdown file is a memory."""
        ...

    def scan(self) -> Iterator[tuple[str, Stamp]]:
        """Every Markdown file that may be a memory, trash included."""
        ...

    def follow_move(self, file: StoredFile, old_path: str) -> StoredFile:
        """A person moved a file to another kind's or project's folder: let its front matter say so too."""
        ...

    def leftovers(self) -> bool:
        """Whether a process died, or is at work, in the middle of a write."""
        ...

    def recover(self) -> None:
        """Finish or undo what a crashed process left half done. Call under the lock."""
        ...


@dataclass(frozen=True, slots=True)
class Kept:
    """A text that is no longer, or never was, a memory of its own."""

    path: str
    at: datetime
    memory: Memory
    merged: bool
    """Whether it was merged into the memory that it is kept for; else it is what that memory said before."""


class Attic(Protocol):
    """What is out of the way but not gone: earlier versions, merged texts, archived memories."""

    def keep_version(self, path: str, memory_id: str, at: datetime) -> str:
        """Keep a copy of a memory's file as it is now; answers where."""
        ...

    def keep_merged(self, memory: Memory, into: str, at: datetime) -> None:
        """Keep a text that is merged into another memory, whole."""
        ...

    def kept(self, memory_id: str) -> list[Kept]:
        """All that is kept for a memory, oldest first."""
        ...

    def forget(self, memory_id: str) -> None:
        """Remove all that is kept for a memory."""
        ...

    def drop(self, path: str) -> None:
        """Remove one kept text."""
        ...

    def archive(self, files: Mapping[str, str]) -> None:
        """Move memories' files to the archive: path → id."""
        ...

    def is_archived(self, path: str, memory_id: str) -> bool:
        """Whether the archive has the memory that was at this path."""
        ...

    def archived(self, limit: int | None = None, offset: int = 0) -> list[Memory]:
        """A page of the archive, the latest memories first; other files are not read. What cannot be read is left out."""
        ...

    def archived_memory(self, memory_id: str) -> Memory | None:
        """One memory of the archive. Raises BrokenFile."""
        ...

    def archived_ids(self) -> list[str]:
        """The ids of everything in the archive; no file is read."""
        ...

    def archived_path(self, memory_id: str) -> str | None:
        """Where in the archive a memory is."""
        ...

    def unarchive(self, path: str, memory_id: str) -> str:
        """Move a file back out of the archive; answers its new path."""
        ...


class Core(Protocol):
    """The file of the core memory."""

    def read(self) -> CoreMemory:
        """What it says; both sections are empty if there is none yet. Raises BrokenFile."""
        ...

    def write(self, section: str, changes: Mapping[str, str | None]) -> None:
        """Set or (None) remove entries; all else stays, and the file before it is kept. Call under the vault's lock."""
        ...

    def first_text(self) -> str | None:
        """What `USER.md` says, as long as there is no core memory yet. Raises BrokenFile."""
        ...


@dataclass(frozen=True, slots=True)
class Mark:
    """How far a journal file has been read, and what its last bytes were then."""

    offset: int
    tail_sha: str


@dataclass(frozen=True, slots=True)
class Reading:
    """New events of the journal, and where to go on next time."""

    events: Sequence[Event]
    marks: Mapping[str, Mark]
    restarted: bool
    """True when the journal was rewritten (git, a restore): the events are all of them, from the start."""
    problems: tuple[Problem, ...] = ()


class Journal(Protocol):
    """The append-only log of what files do not tell: sessions, use, audit."""

    def append(self, events: Sequence[Event], *, durable: bool) -> None:
        """Add lines. Durable: on the disk before this returns. Call under the vault's lock."""
        ...

    def read(self, marks: Mapping[str, Mark]) -> Reading:
        """All whole lines after these marks."""
        ...

    def about(self, memory_id: str) -> list[Event]:
        """All events that name a memory, in their order."""
        ...


@dataclass(frozen=True, slots=True)
class ImportedMemory:
    """A memory from elsewhere, with the use it had there."""

    draft: Draft
    usage: Usage = field(default_factory=Usage)


class ImportExport(Protocol):
    """Memories as text for other programs, and back."""

    def dump(self, memories: Sequence[Memory], form: str) -> str:
        """Return memories as `markdown` or `json`. Raises InvalidRequest for another format."""
        ...

    def load(self, source: Path) -> list[ImportedMemory]:
        """Return what a file or folder holds. Raises ImportFailed."""
        ...


class MemoryCodec(Protocol):
    """How the vault's files write a memory, a link and a time. All raise ImportFailed."""

    def parse_memory(self, path: str, text: str, modified: datetime) -> Memory:
        """Return the memory in a file's text. Path and time fill in what the text does not say."""
        ...

    def format_memory(self, memory: Memory) -> str:
        """Return a memory as the text of a file."""
        ...

    def parse_link(self, line: str) -> Link:
        """Return the link that a line of front matter stands for."""
        ...

    def parse_time(self, field: str, text: str) -> datetime:
        """Return the time that a text stands for. The error names the field."""
        ...
