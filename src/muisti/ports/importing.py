"""What an importer reads from the files of another program."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Protocol

from muisti.model import Draft, LinkType, Memory, Usage

ExtraValue = str | tuple[str, ...]
"""The value of a front-matter key that is none of muisti's fields."""


@dataclass(frozen=True, slots=True)
class ImportedLink:
    """A link to another item of the same source."""

    key: str
    """The key of the target."""
    type: LinkType = LinkType.RELATED_TO


@dataclass(frozen=True, slots=True)
class ImportedMemory:
    """A memory from another program, with its usage there."""

    draft: Draft
    usage: Usage = field(default_factory=Usage)
    key: str = ""
    """Identifies it in its program, the same in every export. Its ID is derived from this."""
    where: str = ""
    """Its place in the source, for messages."""
    extra: Mapping[str, ExtraValue] = field(default_factory=dict)
    """Fields that muisti does not have. They are kept in the front matter."""
    links: tuple[ImportedLink, ...] = ()
    unresolved: tuple[str, ...] = ()
    """Names that it links to, but that are not in the source."""


@dataclass(frozen=True, slots=True)
class ImportedMessage:
    """A message of an imported conversation."""

    id: str
    role: str
    content: str
    at: datetime | None = None
    """None: the time of the message before."""
    meta: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ImportedConversation:
    """A conversation from another program."""

    name: str
    """The channel and an ID that is the same in every export, such as `chatgpt_6f1c`."""
    messages: Sequence[ImportedMessage]
    where: str = ""
    project: str | None = None


@dataclass(frozen=True, slots=True)
class SkippedItem:
    """Something in the source that is not imported, and why."""

    where: str
    reason: str
    count: int = 1
    expected: bool = False
    """True for what is left out on purpose, such as empty messages: counted, not listed."""


ImportItem = ImportedMemory | ImportedConversation | SkippedItem


class LoadedItems(Protocol):
    """The items of a source, read while they are iterated over. Iterating raises ImportFailed."""

    @property
    def format(self) -> str:
        """The name of the format."""
        ...

    @property
    def share_read(self) -> float:
        """How much of the source has been read, from 0 to 1."""
        ...

    def __iter__(self) -> Iterator[ImportItem]:
        """Read the items."""
        ...


class ImportExport(Protocol):
    """Converts memories to and from the formats of other programs."""

    def dump(self, memories: Sequence[Memory], form: str) -> str:
        """Return memories as text in a format. Raises InvalidRequest if it cannot be written."""
        ...

    def dump_folder(self, memories: Sequence[Memory], form: str, target: Path) -> int:
        """Write memories to a new or empty folder. Return how many files. Raises InvalidRequest."""
        ...

    def load(self, source: Path, form: str | None = None) -> LoadedItems:
        """Return the items in a file, a folder or a zip archive. Raises ImportFailed.

        Form: the name of the format. None: it is detected. Raises InvalidRequest if it is unknown.
        """
        ...
