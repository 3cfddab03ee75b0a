"""A language model behind a circuit breaker."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from muisti.models.http.breaker import Breaker
    from muisti.ports.language import LanguageModel


class GuardedLanguageModel:
    """Passes calls to an inner model. Raises ExtractorUnavailable while the breaker is open."""

    def __init__(self, inner: LanguageModel, breaker: Breaker) -> None:
        self._inner = inner
        self._breaker = breaker

    def complete(self, system: str, question: str) -> str:
        """Return what the inner model returns. Raises ExtractorProblem."""
        with self._breaker.watch():
            return self._inner.complete(system, question)

    def close(self) -> None:
        """Close the inner model."""
        self._inner.close()
