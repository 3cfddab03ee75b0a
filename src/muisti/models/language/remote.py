"""What language models on a server have in common: forms of a question, and a text that has to be in the answer."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence

from muisti.errors import ExtractorMisbehaved
from muisti.models.http.json_client import JsonClient
from muisti.models.http.purpose import EXTRACTOR, ExtractorRefused

MOST_TOKENS = 4096
"""Of an answer. Twenty memories need a quarter of it; some models think aloud before them."""
LARGEST_ANSWER = 2 * 1024 * 1024
"""Bytes that are read of an answer."""

Form = Mapping[str, object]


class RemoteLanguageModel(ABC):
    """Asks a server. Subclasses say what the question looks like and where in the answer the text is."""

    key_header = "authorization"
    headers: Mapping[str, str] = {}

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
        self._post = JsonClient(
            self._address(url.strip().rstrip("/")),
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
    def _address(self, url: str) -> str:
        """Where to ask, below the address that somebody set."""

    @abstractmethod
    def _forms(self, system: str, question: str) -> Sequence[Form]:
        """The question in the forms that servers take, the best first: each model refuses another detail."""

    @abstractmethod
    def _text(self, answer: Mapping[str, object]) -> object:
        """May raise LookupError or TypeError for an answer that is not what it should be."""

    def complete(self, system: str, question: str) -> str:
        """The text that the model answers with. A form that was taken is used from then on. Raises ExtractorProblem."""
        forms = self._forms(system, question)
        for number in range(self._form, len(forms)):
            try:
                answer = self._post(forms[number])
            except ExtractorRefused:
                if number + 1 == len(forms):
                    raise
                continue
            self._form = number
            return self._said(answer)
        raise AssertionError("the last form either returns or raises")

    def close(self) -> None:
        """Close the connections."""
        self._post.close()

    def _said(self, answer: object) -> str:
        try:
            text = self._text(answer) if isinstance(answer, dict) else None
        except (LookupError, TypeError):
            text = None
        if not isinstance(text, str):
            raise ExtractorMisbehaved(
                f"{self._post.shown} answered without a text; is it the right kind of extractor?"
            )
        if not text.strip():
            raise ExtractorMisbehaved(
                f"{self._post.shown} answered with an empty text; try another model"
            )
        return text


def build_messages(system: str, question: str) -> list[dict[str, str]]:
    """The two as OpenAI and Ollama take them."""
    return [{"role": "system", "content": system}, {"role": "user", "content": question}]


def join_messages(content: object) -> object:
    """The text of an answer that comes in parts, without what the model thought; other contents as they are."""
    if not isinstance(content, list):
        return content
    return "".join(part["text"] for part in content if part["type"] == "text")
