"""Language models of an Ollama server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from muisti.models.language.registry import LanguageModelSpec
from muisti.models.language.remote import MAX_TOKENS, RemoteLanguageModel, Request, build_messages

_WINDOW = 12_288
"""Tokens of request and response. With Ollama's small default it would silently cut requests."""


class OllamaLanguageModel(RemoteLanguageModel):
    """Uses `/api/chat` of the Ollama server at `url`, such as http://localhost:11434."""

    def _make_url(self, url: str) -> str:
        return f"{url.removesuffix('/chat').removesuffix('/api')}/api/chat"

    def _make_requests(self, system: str, question: str) -> Sequence[Request]:
        """Return the request with and without `think`, which some models reject."""
        plain: dict[str, object] = {
            "model": self._model,
            "messages": build_messages(system, question),
            "stream": False,
            "format": "json",
            "options": {"temperature": 0, "num_predict": MAX_TOKENS, "num_ctx": _WINDOW},
        }
        return plain | {"think": False}, plain

    def _find_text(self, response: Mapping[str, object]) -> object:
        message = response["message"]
        return message["content"] if isinstance(message, dict) else None


SPEC = LanguageModelSpec(OllamaLanguageModel, "http://localhost:11434")
