"""A language model that completes a prompt."""

from __future__ import annotations

from typing import Protocol


class LanguageModel(Protocol):
    """Sends requests to a language model. Requests are independent of each other."""

    def complete(self, system: str, question: str) -> str:
        """Return the model's reply, which is never empty. Raises ExtractorProblem."""
        ...

    def close(self) -> None:
        """Close all connections. The next request opens new ones."""
        ...
