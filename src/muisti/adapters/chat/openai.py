"""Models served by OpenAI, or by anything that speaks its language."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from urllib.parse import urlsplit

from muisti.adapters.chat.remote import LARGEST_ANSWER, MOST_TOKENS, Form, RemoteChat, joined, messages
from muisti.adapters.http.post import JsonPost
from muisti.adapters.http.purpose import EXTRACTOR


class OpenAIChat(RemoteChat):
    """Asks `/chat/completions` below `url`, below its `/v1` if it is a bare host. The key is never shown."""

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
        base = url.strip().rstrip("/").removesuffix("/chat/completions")
        base = base if urlsplit(base).path else f"{base}/v1"
        post = JsonPost(f"{base}/chat/completions", EXTRACTOR, key=key, timeout=timeout, largest=largest, clock=clock)
        super().__init__(post, model)

    def _forms(self, system: str, question: str) -> Sequence[Form]:
        """LM Studio takes no `json_object`; models of OpenAI that reason take neither a temperature nor `max_tokens`."""
        plain: dict[str, object] = {"model": self._model, "messages": messages(system, question), "stream": False}
        as_json = {"response_format": {"type": "json_object"}}
        steady = {"temperature": 0, "max_tokens": MOST_TOKENS}
        return plain | steady | as_json, plain | steady, plain | as_json | {"max_completion_tokens": MOST_TOKENS}

    def _text(self, answer: Mapping[str, object]) -> object:
        choices = answer["choices"]
        if not isinstance(choices, list):
            raise TypeError("choices")
        return joined(choices[0]["message"]["content"])
