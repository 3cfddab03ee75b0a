"""Embedding models of an Ollama server."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from muisti.models.embedders.registry import EmbedderSpec
from muisti.models.embedders.remote import RemoteEmbedder
from muisti.models.http.json_client import JsonClient
from muisti.models.http.purpose import EMBEDDER

_URL = "http://localhost:11434"
_MODEL = "nomic-embed-text"


class OllamaEmbedder(RemoteEmbedder):
    """Uses `/api/embed` of the Ollama server at `url`, such as http://localhost:11434."""

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
        base = url.rstrip("/").removesuffix("/api")
        client = JsonClient(f"{base}/api/embed", EMBEDDER, timeout=timeout, clock=clock)
        super().__init__(client, model, dimensions=dimensions, batch=batch, max_tokens=max_tokens)

    def _find_vectors(self, response: Mapping[str, object]) -> object:
        return response["embeddings"]


SPEC = EmbedderSpec(
    lambda options: OllamaEmbedder(
        options.url or _URL,
        options.model or _MODEL,
        dimensions=options.dimensions or None,
        timeout=options.timeout,
    ),
    name_model=lambda name: name or _MODEL,
)
