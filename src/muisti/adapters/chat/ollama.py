"""Models served by Ollama."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

from muisti.adapters.chat.remote import LARGEST_ANSWER, MOST_TOKENS, Form, RemoteChat, messages
from muisti.adapters.http.post import JsonPost
from muisti.adapters.http.purpose import EXTRACTOR

_WINDOW = 12_288
"""Tokens of question and answer together. Ollama's own default is so small that it would cut questions off unsaid."""


class OllamaChat(RemoteChat):
    """Asks `/api/chat` of an Ollama server, `url` being its address such as http://localhost:11434."""

    def __init__(
        self,
        url: str,
        model: str,
        key: str | None = None,
        *,
        timeout: float = 60.0,
        largest: int = LARGEST_ANSWER,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        base = url.strip().rstrip("/").removesuffix("/chat").removesuffix("/api")
        post = JsonPost(f"{base}/api/chat", EXTRACTOR, key=key, timeout=timeout, largest=largest, clock=clock)
        super().__init__(post, model)

    def _forms(self, system: str, question: str) -> Sequence[Form]:
        """Models that do not think may refuse to be told not to."""
        plain: dict[str, object] = {
            "model": self._model,
            "messages": messages(system, question),
            "stream": False,
            "format": "json",
            "options": {"temperature": 0, "num_predict": MOST_TOKENS, "num_ctx": _WINDOW},
        }
        return plain | {"think": False}, plain

    def _text(self, answer: Mapping[str, object]) -> object:
        message = answer["message"]
        return message["content"] if isinstance(message, dict) else None
