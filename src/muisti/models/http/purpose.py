"""What a server is asked for: its errors carry that name, and their messages point at the right settings."""

from __future__ import annotations

from dataclasses import dataclass

from muisti.errors import (
    EmbedderMisbehaved,
    EmbedderProblem,
    EmbedderUnavailable,
    ExtractorMisbehaved,
    ExtractorProblem,
    ExtractorUnavailable,
    MuistiError,
)


class ExtractorRefused(ExtractorUnavailable):
    """The server takes no question of this form: a client may ask in another. To everybody else it is unavailable."""

    title = "The extractor refused the request"


@dataclass(frozen=True, slots=True, kw_only=True)
class Purpose:
    """A name as the settings have it, and the errors that belong to it."""

    name: str
    problem: type[MuistiError]
    """Both of the next are such."""
    unavailable: type[MuistiError]
    misbehaved: type[MuistiError]
    refused: type[MuistiError]
    """For a question that the server understands and does not take: 400 and 422."""


EMBEDDER = Purpose(
    name="embedder",
    problem=EmbedderProblem,
    unavailable=EmbedderUnavailable,
    misbehaved=EmbedderMisbehaved,
    refused=EmbedderUnavailable,
)
EXTRACTOR = Purpose(
    name="extractor",
    problem=ExtractorProblem,
    unavailable=ExtractorUnavailable,
    misbehaved=ExtractorMisbehaved,
    refused=ExtractorRefused,
)
