"""Documents: Markdown files that are indexed where they are, or in a database as a copy."""

from __future__ import annotations

from dataclasses import dataclass

VERSION_LENGTH = 16
"""Characters of a document's version, of the 64 of a SHA-256."""


@dataclass(frozen=True, slots=True)
class IndexedDocument:
    """A Markdown file that is indexed where it is."""

    path: str
    """Relative to the vault if it is inside, else absolute."""
    version: str
    """A digest of the file as it was indexed: it changes with the content."""
    source: str
    """The path of its document source."""
    project: str = ""
    user: str = ""
