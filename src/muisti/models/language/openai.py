"""Models served by OpenAI, or by anything that speaks its language."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from muisti.models.language.registry import LanguageModelSpec
from muisti.models.language.remote import (
    MOST_TOKENS,
    Form,
    RemoteLanguageModel,
    build_messages,
    join_messages,
)


class OpenAILanguageModel(RemoteLanguageModel):
    """Asks `/chat/completions` below `url`, below its `/v1` if it is a bare host. The key is never shown."""

    def _address(self, url: str) -> str:
        base = url.removesuffix("/chat/completions")
        return f"{base if urlsplit(base).path else f'{base}/v1'}/chat/completions"

    def _forms(self, system: str, question: str) -> Sequence[Form]:
        """LM Studio takes no `json_object`; models of OpenAI that reason take neither a temperature nor `max_tokens`."""
        plain: dict[str, object] = {
            "model": self._model,
            "messages": build_messages(system, question),
            "stream": False,
        }
        as_json = {"response_format": {"type": "json_object"}}
        steady = {"temperature": 0, "max_tokens": MOST_TOKENS}
        return (
            plain | steady | as_json,
            plain | steady,
            plain | as_json | {"max_completion_tokens": MOST_TOKENS},
        )

    def _text(self, answer: Mapping[str, object]) -> object:
        choices = answer["choices"]
        if not isinstance(choices, list):
            raise TypeError("choices")
        return join_messages(choices[0]["message"]["content"])


SPEC = LanguageModelSpec(OpenAILanguageModel)
