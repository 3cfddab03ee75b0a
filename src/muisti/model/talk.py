"""What was said, and what of it is worth keeping."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Utterance:
    """One message of a talk."""

    text: str
    speaker: str = "User"
    """The name to put for "I"."""
    role: str = "user"
    """user or assistant."""
    at: datetime | None = None
    """When it was said; without it "yesterday" stays."""
    addressee: str = ""
    """The name to put for "you", if known."""


@dataclass(frozen=True, slots=True)
class Extracted:
    """A memory that somebody found in a talk: one or two sentences that can be understood alone."""

    content: str
    kind: str
    importance: float
    source_text: str
    """The sentences that it came from."""
    about: datetime | None = None
    """The time that it speaks of, if one is named."""
