"""Models served by Ollama."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from muisti.models.language.registry import LanguageModelSpec
from muisti.models.language.remote import MOST_TOKENS, Form, RemoteLanguageModel, build_messages

_WINDOW = 12_288
"""Tokens of question and answer together. Ollama's own default is so small that it would cut questions off unsaid."""


class OllamaLanguageModel(RemoteLanguageModel):
    """Asks `/api/chat` of an Ollama server, `url` being its address such as http://localhost:11434."""

    def _address(self, url: str) -> str:
        return f"{url.removesuffix('/chat').removesuffix('/api')}/api/chat"

    def _forms(self, system: str, question: str) -> Sequence[Form]:
        """Models that do not think may refuse to be told not to."""
        plain: dict[str, object] = {
            "model": self._model,
            "messages": build_messages(system, question),
            "stream": False,
            "format": "json",
            "options": {"temperature": 0, "num_predict": MOST_TOKENS, "num_ctx": _WINDOW},
        }
        return plain | {"think": False}, plain

    def _text(self, answer: Mapping[str, object]) -> object:
        message = answer["message"]
        return message["content"] if isinstance(message, dict) else None


SPEC = LanguageModelSpec(OllamaLanguageModel, "http://localhost:11434")
