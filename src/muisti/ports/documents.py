"""Documents of a store that has no folder: it keeps a copy of their text."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple, Protocol

from muisti.model import DocumentSource
from muisti.ports.rows import TextRow


class StoredDocument(NamedTuple):
    """A document as the store has it."""

    path: str
    data: bytes
    changed_at: datetime
    is_copy: bool = False
    """Whether it is a copy of a file outside the vault: redacted, without front matter."""
    version: str = ""
    """Of a copy: a digest of the file."""
    problem: str = ""
    """Of a copy: why the file cannot be searched; then there is no data."""


class DocumentFormat(Protocol):
    """Reads documents from the disk of this process, and makes rows of those that are stored."""

    def list_workspace_sources(self) -> list[DocumentSource]:
        """Return the sources that are indexed without being named."""
        ...

    def resolve_source(self, path: str) -> str:
        """Return the path of a source: of notes as it is, else absolute. Raises InvalidRequest."""
        ...

    def copy_source(self, source: DocumentSource) -> Iterator[StoredDocument]:
        """Yield a copy of each file of a source outside the vault."""
        ...

    def includes(self, source: DocumentSource, path: str) -> bool:
        """Return whether a file of the vault is a document of a source."""
        ...

    def project(
        self, document: StoredDocument, source: DocumentSource
    ) -> tuple[list[TextRow], str, str]:
        """Return the rows of a document's sections, its version, and why it has none, or ""."""
        ...
