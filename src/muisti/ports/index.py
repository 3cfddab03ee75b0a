"""The index as a file that follows the vault and can be thrown away."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from muisti.model import Problem, Shelf
    from muisti.ports.embedding import Embedded
    from muisti.ports.files import Known, Mark, Reading, StoredFile
    from muisti.ports.talk import Document, TalkFile, TalkReading


@dataclass(frozen=True, slots=True)
class Changes:
    """One transaction of the index."""

    files: Sequence[StoredFile] = ()
    removed: Sequence[str] = ()
    """Paths that no longer hold a memory."""
    seen: Mapping[str, Known] = field(default_factory=dict)
    """Files whose stamp moved on though their bytes did not, and files that are no memories."""
    problems: Mapping[str, str] = field(default_factory=dict)
    """Path → reason."""
    reading: Reading | None = None
    talk: Sequence[TalkReading] = ()
    """What is new in conversations."""
    talk_gone: Sequence[str] = ()
    """Files of conversations that are gone."""
    documents: Sequence[Document] = ()
    """Documents that are new or changed, or whose stamp moved on."""
    documents_gone: Sequence[str] = ()
    embedded: Sequence[Embedded] = ()
    """Vectors, kept if their memory still has the text that they were made from."""


class Index(Protocol):
    """The index as a file that follows the vault and can be thrown away."""

    behind: bool
    """True when something was written that the index does not have yet: a reconciliation is due."""

    def is_current(self) -> bool:
        """False when another process has swapped or removed the index file that is open here."""
        ...

    def open_complete(self) -> bool:
        """Open the current index if it is complete; False if it is not, or there is none. Needs no lock."""
        ...

    def open(self) -> bool:
        """Open the current index; True if it was just made and so is behind. Under the lock. Raises IndexTooNew."""
        ...

    def set_aside(self) -> None:
        """Put a damaged index out of the way; the next `open` makes a new one. Call under the vault's lock."""
        ...

    def apply(self, changes: Changes) -> None:
        """One transaction. Raises IndexBusy; then nothing was changed."""
        ...

    def known(self, paths: Collection[str] | None = None) -> dict[str, Known]:
        """Every file that the index has seen; or those of these."""
        ...

    def marks(self) -> dict[str, Mark]:
        """How far the journal was read."""
        ...

    def talk(self, path: str | None = None) -> dict[str, TalkFile]:
        """How far each file of a conversation, or one, was read."""
        ...

    def shelves(self) -> list[Shelf]:
        """What is searched beside the memories, as the journal tells."""
        ...

    def documents(self) -> dict[str, tuple[str, Known]]:
        """Every document that was read: the path of its shelf, and what was seen."""
        ...

    def problems(self) -> list[Problem]:
        """Files that cannot be used, and why."""
        ...

    def scrub(self) -> None:
        """Leave no byte of removed text in the index files."""
        ...

    def shadow(self) -> AbstractContextManager[Shadow]:
        """An empty index beside this one, removed again unless it is swapped in."""
        ...

    def check(self) -> list[str]:
        """What is wrong with the index file itself; empty when sound."""
        ...

    def fingerprint(self) -> dict[str, str]:
        """A digest for each part of the index; equal for equal contents, however they came about."""
        ...

    def close(self) -> None:
        """Let go of the file."""
        ...


class Shadow(Protocol):
    """A new index being built."""

    def apply(self, changes: Changes) -> None:
        """One transaction."""
        ...

    def known(self) -> dict[str, Known]:
        """Every file that it has seen."""
        ...

    def marks(self) -> dict[str, Mark]:
        """How far the journal was read."""
        ...

    def talk(self, path: str | None = None) -> dict[str, TalkFile]:
        """How far each file of a conversation, or one, was read."""
        ...

    def shelves(self) -> list[Shelf]:
        """What is searched beside the memories."""
        ...

    def documents(self) -> dict[str, tuple[str, Known]]:
        """Every document that was read."""
        ...

    def fingerprint(self) -> dict[str, str]:
        """A digest for each part."""
        ...

    def swap(self) -> None:
        """Make it the current one. Call under the vault's lock."""
        ...
