"""Moving a vault between a folder and a store: what each side offers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple, Protocol

from muisti.model import Event, Exchange, Problem
from muisti.ports.rows import MessageLine

Line = tuple[int, bytes]
"""A line with its end, and its offset in the file."""
Sections = Mapping[str, Mapping[str, str]]
"""The entries of core memory, by section and key."""


class Part(StrEnum):
    """What a file of a vault holds, as its path says."""

    MEMORY = "memory"
    ARCHIVED = "archived"
    VERSION = "version"
    CORE = "core"
    MESSAGES = "messages"
    EVENTS = "events"
    OTHER = "other"
    """Notes, and files that cannot be read: kept as they are."""


LINES = (Part.MESSAGES, Part.EVENTS)
"""Files that are moved line by line."""


class VaultFile(NamedTuple):
    """A whole file of a vault."""

    part: Part
    path: str
    data: bytes
    changed_at: datetime | None = None
    """When its bytes were last changed; None if unknown."""


class ListedFile(NamedTuple):
    """A file of a vault that is not read yet."""

    part: Part
    path: str
    size: int
    changed_ns: int
    """When it last changed, also its name: nanoseconds since 1970."""


class VaultLayout(Protocol):
    """The formats of a vault's files, for a store that has no folder."""

    def classify(self, path: str) -> Part | None:
        """Return what a file holds; None if it is not one of the vault's."""
        ...

    def find_memory_id(self, data: bytes) -> str | None:
        """Return the ID in the front matter of a file, or None."""
        ...

    def precedence(self, path: str) -> tuple[bool, int, str]:
        """Return the sort key of files with the same ID: the first one is the memory's."""
        ...

    def make_archive_path(self, path: str, memory_id: str) -> str:
        """Return the path of a file in the archive."""
        ...

    def parse_messages(self, path: str, lines: Sequence[Line]) -> list[MessageLine | None]:
        """Return the messages of lines, redacted; None for a line that is not a message."""
        ...

    def format_message(self, conversation: str, line: MessageLine) -> bytes:
        """Return the line of a message."""
        ...

    def parse_event(self, line: bytes) -> Event | None:
        """Return the event of a line, or None."""
        ...

    def format_event(self, event: Event) -> bytes:
        """Return the line of an event."""
        ...

    def find_owner(self, path: str) -> str | None:
        """Return the user of a file of core memory, "" for the vault's; None if unknown."""
        ...

    def make_core_path(self, owner: str) -> str:
        """Return the path of a user's core memory, or of the vault's."""
        ...

    def parse_core(self, path: str, data: bytes) -> Sections | None:
        """Return the entries of a file of core memory; None if it cannot be read."""
        ...

    def format_core(self, sections: Sections) -> bytes:
        """Return a file of core memory."""
        ...

    def format_exchange(self, exchange: Exchange) -> bytes:
        """Return the line of an exchange that waits for extraction."""
        ...


class VaultFolder(Protocol):
    """A vault in a folder, to be copied from or written to."""

    problems: list[Problem]
    """What could not be read or written."""

    def identify(self) -> str:
        """Return the ID of the vault, which is created if it has none."""
        ...

    def list_files(self) -> Iterator[ListedFile]:
        """Yield all files of the vault. Other files in the folder are left out."""
        ...

    def read(self, file: ListedFile) -> VaultFile | None:
        """Return a file; None if it is gone, is not one of the vault's or cannot be read."""
        ...

    def read_lines(self, file: ListedFile) -> Iterator[Sequence[Line]]:
        """Yield the complete lines of a file that it had when it was listed, in batches."""
        ...

    def exists(self, path: str) -> bool:
        """Return whether there is a file."""
        ...

    def read_queue(self) -> list[Exchange]:
        """Return the exchanges that wait for extraction."""
        ...

    def begin(self, vault_id: str) -> bool:
        """Begin to write a vault, and return whether an earlier attempt is continued.

        Raises VaultUnusable if there is anything else in the folder.
        """
        ...

    def write(self, files: Sequence[VaultFile]) -> None:
        """Write files. Those that have these bytes already stay."""
        ...

    def write_lines(self, path: str, lines: Iterator[bytes]) -> None:
        """Write a file of lines."""
        ...

    def remove_others(self, known: Callable[[str], bool]) -> None:
        """Remove files of the vault that are not known."""
        ...

    def write_queue(self, exchanges: Sequence[Exchange]) -> None:
        """Write exchanges that wait for extraction."""
        ...

    def finish(self, vault_id: str) -> None:
        """Make the folder a vault."""
        ...


class PushState(NamedTuple):
    """What a store holds."""

    vault_id: str
    is_empty: bool
    is_partial: bool
    """Whether a push has begun and is not complete."""


class VaultStore(Protocol):
    """A vault in a store, to be copied from or written to."""

    def read_state(self) -> PushState:
        """Return what the store holds."""
        ...

    def begin(self, vault_id: str) -> None:
        """Begin to write a vault.

        Raises Conflict, as all that write do, if another one is being written at the same time.
        """
        ...

    def write(self, files: Sequence[VaultFile], exists: Callable[[str], bool]) -> int:
        """Write files in one transaction, and return how many were not there yet.

        Exists: whether there is still a file at a path, to tell copies from renamed files.
        """
        ...

    def write_lines(self, file: ListedFile, lines: Sequence[Line]) -> int:
        """Append lines in one transaction, and return how many were not there yet.

        Raises Conflict if the store has other lines at their place.
        """
        ...

    def check_end(self, file: ListedFile, end: int) -> None:
        """Raise Conflict if the store has lines of a file beyond its end."""
        ...

    def find_missing(self, files: Sequence[ListedFile]) -> list[ListedFile]:
        """Return the files that the store does not have."""
        ...

    def remove_missing(self, exists: Callable[[str], bool]) -> int:
        """Remove the files that are gone, and return how many.

        Raises Conflict if one of the journal is gone.
        """
        ...

    def index_documents(self) -> None:
        """Index the notes and documents among the files. Called when all are written."""
        ...

    def write_queue(self, exchanges: Sequence[Exchange]) -> None:
        """Write exchanges that wait for extraction, in place of those of an earlier attempt."""
        ...

    def finish(self) -> None:
        """Note that the store is complete."""
        ...

    def hold(self) -> AbstractContextManager[object]:
        """Let all reads in the block see one state of the store."""
        ...

    def count_files(self) -> int:
        """Return how many files `read_files` and `read_line_files` yield."""
        ...

    def read_files(self) -> Iterator[Sequence[VaultFile]]:
        """Yield all whole files, in batches."""
        ...

    def read_line_files(self) -> Iterator[tuple[str, Iterator[bytes]]]:
        """Yield the path and the lines of each file of lines."""
        ...

    def read_queue(self) -> list[Exchange]:
        """Return the exchanges that wait for extraction."""
        ...
