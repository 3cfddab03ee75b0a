"""Language models of OpenAI, or of a server with the same API."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from muisti.models.language.registry import LanguageModelSpec
from muisti.models.language.remote import (
    MAX_TOKENS,
    RemoteLanguageModel,
    Request,
    build_messages,
    join_messages,
)


class OpenAILanguageModel(RemoteLanguageModel):
    """Uses `/chat/completions` below `url`, or below `/v1` if `url` is a bare host."""

    def _make_url(self, url: str) -> str:
        base = url.removesuffix("/chat/completions")
        if not urlsplit(base).path:
            base += "/v1"
        return f"{base}/chat/completions"

    def _make_requests(self, system: str, question: str) -> Sequence[Request]:
        """Return the request in three forms.

        LM Studio rejects `json_object`. Reasoning models of OpenAI reject a temperature and
        `max_tokens`.
        """
        plain: dict[str, object] = {
            "model": self._model,
            "messages": build_messages(system, question),
            "stream": False,
        }
        as_json = {"response_format": {"type": "json_object"}}
        steady = {"temperature": 0, "max_tokens": MAX_TOKENS}
        return (
            plain | steady | as_json,
            plain | steady,
            plain | as_json | {"max_completion_tokens": MAX_TOKENS},
        )

    def _find_text(self, response: Mapping[str, object]) -> object:
        choices = response["choices"]
        if not isinstance(choices, list):
            raise TypeError("choices")
        return join_messages(choices[0]["message"]["content"])


SPEC = LanguageModelSpec(OpenAILanguageModel)
