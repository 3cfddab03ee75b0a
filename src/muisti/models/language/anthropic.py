"""Models served by Anthropic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from muisti.models.language.registry import LanguageModelSpec
from muisti.models.language.remote import MOST_TOKENS, Form, RemoteLanguageModel, join_messages

_VERSION = "2023-06-01"


class AnthropicLanguageModel(RemoteLanguageModel):
    """Asks `/v1/messages`; `url` may end in `/v1`, in `/v1/messages`, or before both. The key is never shown."""

    key_header = "x-api-key"
    headers: Mapping[str, str] = {"anthropic-version": _VERSION}

    def _address(self, url: str) -> str:
        return f"{url.removesuffix('/messages').removesuffix('/v1')}/v1/messages"

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
        return join_messages(content) if isinstance(content, list) else None


SPEC = LanguageModelSpec(AnthropicLanguageModel, "https://api.anthropic.com")
