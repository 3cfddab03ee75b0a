"""Query vectors are kept for a while, without the queries, and only for local models."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from muisti.errors import EmbedderUnavailable
from muisti.models.embedders.guarded import GuardedEmbedder
from muisti.models.embedders.hashing import HashingEmbedder
from muisti.models.embedders.ollama import OllamaEmbedder
from muisti.models.embedders.query_cache import QueryCache
from muisti.models.http.breaker import Breaker
from muisti.models.http.purpose import EMBEDDER
from muisti.ports import Vector
from tests.embed_server import saying, serving


class Counted(HashingEmbedder):
    """Counts the queries it embeds."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []
        self.fails = False

    def embed_query(self, text: str) -> Vector:
        self.asked.append(text)
        if self.fails:
            raise EmbedderUnavailable("out of order")
        return super().embed_query(text)


def guard(inner: Counted) -> GuardedEmbedder:
    return GuardedEmbedder(inner, Breaker(EMBEDDER, pause=60))


def test_a_query_is_embedded_once() -> None:
    inner = Counted()
    embedder = guard(inner)
    first = embedder.embed_query("where is the lamp")
    assert embedder.embed_query("where is the lamp") is first
    assert inner.asked == ["where is the lamp"]
    assert not np.array_equal(embedder.embed_query("where is the boat"), first)
    with pytest.raises(ValueError, match="read-only"):
        first[0] = 2.0


def test_forgotten_queries_are_embedded_again() -> None:
    inner = Counted()
    embedder = guard(inner)
    for forget in (embedder.forget_queries, embedder.close):
        inner.asked.clear()
        embedder.embed_query("lamp")
        forget()
        embedder.embed_query("lamp")
        assert inner.asked[-1] == "lamp"
        embedder.forget_queries()


def test_a_failure_is_not_kept() -> None:
    inner = Counted()
    embedder = guard(inner)
    inner.fails = True
    with pytest.raises(EmbedderUnavailable):
        embedder.embed_query("lamp")
    inner.fails = False
    assert embedder.embed_query("lamp").shape == (256,)


def test_a_server_is_always_asked() -> None:
    with serving() as server:
        inner = OllamaEmbedder(server.url, "m", timeout=20)
        embedder = GuardedEmbedder(inner, Breaker(EMBEDDER, pause=60))
        embedder.embed_query("lamp")
        server.script = [saying("out of order", 400)]
        with pytest.raises(Exception, match="400"):
            embedder.embed_query("lamp")
        embedder.close()


def test_the_cache_is_bounded_and_has_no_text() -> None:
    cache = QueryCache(most=3)
    for text in ("one", "two", "three"):
        cache.put(text, np.ones(4, np.float32))
    assert cache.get("one") is not None
    cache.put("four", np.ones(4, np.float32))
    assert (len(cache), cache.get("two")) == (3, None), "the one used longest ago went"
    assert cache.get("one") is not None
    kept = pickle.dumps([cache._vectors, cache._key])
    assert not any(text in kept for text in (b"one", b"three", b"four"))
    other = QueryCache()
    other.put("one", np.ones(4, np.float32))
    assert not set(other._vectors) & set(cache._vectors), "each has its own key"


def test_any_text_is_a_key() -> None:
    cache = QueryCache()
    for text in ("", "\0", "\ud800", "東京", "a" * 10_000):
        assert cache.get(text) is None
        cache.put(text, np.ones(4, np.float32))
        assert cache.get(text) is not None


def test_threads_may_share_it() -> None:
    inner = Counted()
    embedder = guard(inner)
    texts = [f"query {n % 7}" for n in range(400)]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(embedder.embed_query, texts))
    alone = HashingEmbedder()
    for text, vector in zip(texts, found, strict=True):
        assert np.allclose(vector, alone.embed_query(text))
