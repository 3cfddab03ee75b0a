"""What a server is used for. Decides the errors, and the settings that their messages name."""

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
    """The server rejected the form of the request. The client may try another form."""

    title = "The extractor refused the request"


@dataclass(frozen=True, slots=True, kw_only=True)
class Purpose:
    """A name as in the settings, and its errors."""

    name: str
    problem: type[MuistiError]
    """The base class of the others."""
    unavailable: type[MuistiError]
    misbehaved: type[MuistiError]
    refused: type[MuistiError]
    """For the status codes 400 and 422."""


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
