"""Models served by Anthropic."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

from muisti.adapters.chat.remote import LARGEST_ANSWER, MOST_TOKENS, Form, RemoteChat, joined
from muisti.adapters.http.post import JsonPost
from muisti.adapters.http.purpose import EXTRACTOR

_VERSION = "2023-06-01"


class AnthropicChat(RemoteChat):
    """Asks `/v1/messages`; `url` may end in `/v1`, in `/v1/messages`, or before both. The key is never shown."""

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
        base = url.strip().rstrip("/").removesuffix("/messages").removesuffix("/v1")
        post = JsonPost(
            f"{base}/v1/messages",
            EXTRACTOR,
            key=key,
            key_header="x-api-key",
            headers={"anthropic-version": _VERSION},
            timeout=timeout,
            largest=largest,
            clock=clock,
        )
        super().__init__(post, model)

    def _forms(self, system: str, question: str) -> Sequence[Form]:
        """Later models take no temperature."""
        plain: dict[str, object] = {
            "model": self._model,
            "max_tokens": MOST_TOKENS,
            "system": system,
            "messages": [{"role": "user", "content": question}],
        }
        return plain | {"temperature": 0}, plain

    def _text(self, answer: Mapping[str, object]) -> object:
        content = answer["content"]
        return joined(content) if isinstance(content, list) else None
