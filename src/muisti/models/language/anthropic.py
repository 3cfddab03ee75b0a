"""Language models of Anthropic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from muisti.models.language.registry import LanguageModelSpec
from muisti.models.language.remote import MAX_TOKENS, RemoteLanguageModel, Request, join_messages

_VERSION = "2023-06-01"


class AnthropicLanguageModel(RemoteLanguageModel):
    """Uses `/v1/messages`; `url` may end before it, in `/v1` or in `/v1/messages`."""

    key_header = "x-api-key"
    headers: Mapping[str, str] = {"anthropic-version": _VERSION}

    def _make_url(self, url: str) -> str:
        return f"{url.removesuffix('/messages').removesuffix('/v1')}/v1/messages"

    def _make_requests(self, system: str, question: str) -> Sequence[Request]:
        """Return the request with and without a temperature, which later models reject."""
        plain: dict[str, object] = {
            "model": self._model,
            "max_tokens": MAX_TOKENS,
            "system": system,
            "messages": [{"role": "user", "content": question}],
        }
        return plain | {"temperature": 0}, plain

    def _find_text(self, response: Mapping[str, object]) -> object:
        content = response["content"]
        return join_messages(content) if isinstance(content, list) else None


SPEC = LanguageModelSpec(AnthropicLanguageModel, "https://api.anthropic.com")
