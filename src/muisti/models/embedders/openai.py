"""Embedding models of OpenAI, or of a server with the same API."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from muisti.errors import SettingsError
from muisti.models.embedders.registry import EmbedderOptions, EmbedderSpec
from muisti.models.embedders.remote import RemoteEmbedder
from muisti.models.http.json_client import JsonClient
from muisti.models.http.purpose import EMBEDDER

if TYPE_CHECKING:
    from muisti.settings import Settings


class OpenAIEmbedder(RemoteEmbedder):
    """Uses `/v1/embeddings`; `url` may end before it, in `/v1` or in `/v1/embeddings`."""

    extra_fields: Mapping[str, object] = {"encoding_format": "float"}

    def __init__(
        self,
        url: str,
        model: str,
        key: str | None = None,
        *,
        dimensions: int | None = None,
        timeout: float = 30.0,
        batch: int = 32,
        max_tokens: int = 512,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        base = url.rstrip("/").removesuffix("/embeddings")
        base = base if base.endswith("/v1") else f"{base}/v1"
        client = JsonClient(f"{base}/embeddings", EMBEDDER, key=key, timeout=timeout, clock=clock)
        super().__init__(client, model, dimensions=dimensions, batch=batch, max_tokens=max_tokens)

    def _find_vectors(self, response: Mapping[str, object]) -> object:
        rows = response["data"]
        if not isinstance(rows, list):
            raise TypeError("data")
        rows = sorted(rows, key=lambda row: int(row["index"]))  # the order is not guaranteed
        if [row["index"] for row in rows] != list(range(len(rows))):
            raise ValueError("index")
        return [row["embedding"] for row in rows]


def _make(options: EmbedderOptions) -> OpenAIEmbedder:
    if not options.url or not options.model:
        needed = "the embedder `openai` needs a url and a model"
        raise SettingsError(f"{needed}, such as https://api.openai.com/v1")
    return OpenAIEmbedder(
        options.url,
        options.model,
        options.key,
        dimensions=options.dimensions or None,
        timeout=options.timeout,
    )


def _check(settings: Settings) -> None:
    if not (settings.embedder_url and settings.model):
        needed = 'embedder = "openai" needs embedder_url and model too'
        raise SettingsError(f'{needed}, such as "https://api.openai.com/v1"')


SPEC = EmbedderSpec(_make, _check)
