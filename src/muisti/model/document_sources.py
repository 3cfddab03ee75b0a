"""What documents are indexed. Every command that looks for edited files imports this."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DocumentSource:
    """A Markdown file, or a folder of them, that is indexed where it is."""

    path: str
    """Relative to the vault if it is inside, else absolute."""
    source: str
    """The source of its search results; empty: the name of each file."""
    project: str = ""
    trusted: bool = False
    documents: int = 0
    """How many files were found in it."""
    user: str = ""
    """The user who sees it; empty: all."""
