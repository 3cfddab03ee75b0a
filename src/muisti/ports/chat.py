"""A language model that answers one question."""

from __future__ import annotations

from typing import Protocol


class Chat(Protocol):
    """Asks a language model. Each question stands alone: nothing of it is remembered for the next."""

    def ask(self, system: str, question: str) -> str:
        """What the model says, as it says it. Raises ExtractorProblem; never answers with nothing."""
        ...

    def close(self) -> None:
        """Let go of connections; the next question opens new ones."""
        ...
