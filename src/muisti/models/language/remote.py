"""The common part of remote language models: forms of a request, and reading the response."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence

from muisti.errors import ExtractorMisbehaved
from muisti.models.http.json_client import JsonClient
from muisti.models.http.purpose import EXTRACTOR, ExtractorRefused

MAX_TOKENS = 4096
"""Tokens of a response. Twenty memories need a quarter; some models reason first."""
LARGEST_RESPONSE = 2 * 1024 * 1024
"""Bytes of a response."""

Request = Mapping[str, object]


class RemoteLanguageModel(ABC):
    """Sends requests to a server. Subclasses define the request and read the response."""

    key_header = "authorization"
    headers: Mapping[str, str] = {}

    def __init__(
        self,
        url: str,
        model: str,
        key: str | None = None,
        *,
        timeout: float = 60.0,
        largest: int = LARGEST_RESPONSE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client = JsonClient(
            self._make_url(url.strip().rstrip("/")),
            EXTRACTOR,
            key=key,
            key_header=self.key_header,
            headers=self.headers,
            timeout=timeout,
            largest=largest,
            clock=clock,
        )
        self._model = model
        self._form = 0

    @abstractmethod
    def _make_url(self, url: str) -> str:
        """Return the URL of the requests, from the URL in the settings."""

    @abstractmethod
    def _make_requests(self, system: str, question: str) -> Sequence[Request]:
        """Return the request in several forms, best first: models reject different details."""

    @abstractmethod
    def _find_text(self, response: Mapping[str, object]) -> object:
        """May raise LookupError or TypeError for an unexpected response."""

    def complete(self, system: str, question: str) -> str:
        """Return the model's text. Raises ExtractorProblem.

        The first form that the server accepts is used from then on.
        """
        requests = self._make_requests(system, question)
        for number in range(self._form, len(requests)):
            try:
                response = self._client(requests[number])
            except ExtractorRefused:
                if number + 1 == len(requests):
                    raise
                continue
            self._form = number
            break
        try:
            text = self._find_text(response) if isinstance(response, dict) else None
        except (LookupError, TypeError):
            text = None
        if not isinstance(text, str):
            raise ExtractorMisbehaved(
                f"{self._client.shown} returned no text; check the setting extractor"
            )
        if not text.strip():
            raise ExtractorMisbehaved(
                f"{self._client.shown} returned an empty text; try another model"
            )
        return text

    def close(self) -> None:
        """Close the connections."""
        self._client.close()


def build_messages(system: str, question: str) -> list[dict[str, str]]:
    """Return the messages of a request to OpenAI or Ollama."""
    return [{"role": "system", "content": system}, {"role": "user", "content": question}]


def join_messages(content: object) -> object:
    """Return the text of a content in parts, without reasoning; other contents unchanged."""
    if not isinstance(content, list):
        return content
    return "".join(part["text"] for part in content if part["type"] == "text")
