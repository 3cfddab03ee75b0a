"""Models served by Ollama."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

from muisti.models.embedders.registry import EmbedderOptions, EmbedderSpec
from muisti.models.embedders.remote import RemoteEmbedder
from muisti.models.http.json_client import JsonClient
from muisti.models.http.purpose import EMBEDDER

_URL = "http://localhost:11434"
_MODEL = "nomic-embed-text"


class OllamaEmbedder(RemoteEmbedder):
    """Asks `/api/embed` of an Ollama server, `url` being its address such as http://localhost:11434."""

    def __init__(
        self,
        url: str,
        model: str,
        *,
        dimensions: int | None = None,
        timeout: float = 30.0,
        batch: int = 32,
        max_tokens: int = 512,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        post = JsonClient(
            f"{url.rstrip('/').removesuffix('/api')}/api/embed",
            EMBEDDER,
            timeout=timeout,
            clock=clock,
        )
        super().__init__(post, model, dimensions=dimensions, batch=batch, max_tokens=max_tokens)

    def _question(self, texts: Sequence[str]) -> Mapping[str, object]:
        return {"model": self._model, "input": list(texts)}

    def _vectors(self, answer: Mapping[str, object]) -> object:
        return answer["embeddings"]


def _make(options: EmbedderOptions) -> OllamaEmbedder:
    return OllamaEmbedder(
        options.url or _URL,
        options.model or _MODEL,
        dimensions=options.dimensions or None,
        timeout=options.timeout,
    )


SPEC = EmbedderSpec(_make)
