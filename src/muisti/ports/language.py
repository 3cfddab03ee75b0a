"""A language model that answers one question."""

from __future__ import annotations

from typing import Protocol


class LanguageModel(Protocol):
    """Asks a language model. Each request stands alone: nothing of it is kept for the next."""

    def complete(self, system: str, question: str) -> str:
        """Return the model's reply as it is. Raises ExtractorProblem; never returns an empty reply."""
        ...

    def close(self) -> None:
        """Close connections; the next request opens new ones."""
        ...
