"""Embedders on a server: what they ask, what they forgive, and what they refuse."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from muisti.errors import EmbedderMisbehaved, EmbedderProblem, EmbedderUnavailable, SettingsError
from muisti.models.embedders.ollama import OllamaEmbedder
from muisti.models.embedders.openai import OpenAIEmbedder
from muisti.models.embedders.remote import RemoteEmbedder, choose_prefixes
from muisti.models.http.json_client import JsonClient
from muisti.models.http.purpose import EMBEDDER
from tests.embed_server import (
    DIMENSIONS,
    EmbedServer,
    Script,
    broken_off,
    changed,
    dripping,
    endless,
    saying,
    serving,
    slow,
)

KEY = "sk-very-secret-0123456789"
Maker = Callable[..., RemoteEmbedder]


@pytest.fixture
def server() -> Iterator[EmbedServer]:
    with serving() as running:
        yield running


@pytest.fixture(params=["ollama", "openai"])
def make(request: pytest.FixtureRequest, server: EmbedServer) -> Iterator[Maker]:
    made: list[RemoteEmbedder] = []

    def maker(**options: object) -> RemoteEmbedder:
        options = {"timeout": 20.0, **options}
        if request.param == "ollama":
            made.append(OllamaEmbedder(server.url, "m", **options))
        else:
            made.append(OpenAIEmbedder(server.url, "m", KEY, **options))
        return made[-1]

    yield maker
    for embedder in made:
        embedder.close()


@pytest.mark.parametrize(
    "step",
    [
        broken_off,
        saying("busy", 500),
        saying("busy", 503),
        saying("slow down", 429, Retry_After="0"),
        saying("", 429),
    ],
    ids=["broken off", "500", "503", "429 with a time", "429 without"],
)
def test_what_passes_by_itself_is_tried_again(
    make: Maker, server: EmbedServer, step: Script
) -> None:
    embedder = make()
    server.script = [step]
    assert embedder.embed_documents(["hello"]).shape == (1, DIMENSIONS)
    assert len(server.requests) == 2
    assert embedder.is_ready()


@pytest.mark.exhaustive(keep=8)
@pytest.mark.parametrize(
    ("step", "error"),
    [
        (saying(f"invalid key {KEY}", 401), EmbedderUnavailable),
        (saying("no such model", 404), EmbedderUnavailable),
        (saying("too long", 400), EmbedderUnavailable),
        (saying("", 307, Location="http://127.0.0.1:1/"), EmbedderUnavailable),
        (saying("{not json"), EmbedderMisbehaved),
        (saying("<html>Bad gateway</html>"), EmbedderMisbehaved),
        (saying("[" * 100_000), EmbedderMisbehaved),
        (saying("null"), EmbedderMisbehaved),
        (saying("{}"), EmbedderMisbehaved),
        (saying('{"embeddings": 5, "data": 5}'), EmbedderMisbehaved),
        (
            saying('{"embeddings": [["x"]], "data": [{"index": 0, "embedding": ["x"]}]}'),
            EmbedderMisbehaved,
        ),
        (
            saying('{"embeddings": [[]], "data": [{"index": 0, "embedding": []}]}'),
            EmbedderMisbehaved,
        ),
        (changed(lambda rows: [row[:-1] for row in rows]), EmbedderMisbehaved),
        (changed(lambda rows: [[float("nan"), *row[1:]] for row in rows]), EmbedderMisbehaved),
        (changed(lambda rows: [[None, *row[1:]] for row in rows]), EmbedderMisbehaved),
        (changed(lambda rows: [[float("inf"), *row[1:]] for row in rows]), EmbedderMisbehaved),
        (changed(lambda rows: [[0.0] * len(row) for row in rows]), EmbedderMisbehaved),
        (changed(lambda rows: rows[:-1]), EmbedderMisbehaved),
        (changed(lambda rows: [*rows, rows[0]]), EmbedderMisbehaved),
        (changed(lambda rows: [rows[0], rows[1][:3]]), EmbedderMisbehaved),
    ],
    ids=range(20),
)
def test_what_does_not_pass_is_asked_once_and_told(
    make: Maker, server: EmbedServer, step: Script, error: type[EmbedderProblem]
) -> None:
    embedder = make(dimensions=DIMENSIONS)
    server.script = [step]
    with pytest.raises(error) as caught:
        embedder.embed_documents(["one", "two"])
    assert len(server.requests) == 1
    assert KEY not in str(caught.value)
    assert not embedder.is_ready()
    assert embedder.embed_documents(["one", "two"]).shape == (2, DIMENSIONS)
    assert embedder.is_ready()


@pytest.mark.parametrize("step", [slow, dripping], ids=["silent", "dripping"])
def test_time_runs_out(make: Maker, server: EmbedServer, step: Script) -> None:
    server.script = [step] * 9
    with pytest.raises(EmbedderUnavailable, match="within 0.2 s"):
        make(timeout=0.2).embed_query("hello")


def test_a_server_that_stays_broken(make: Maker, server: EmbedServer) -> None:
    server.script = [saying("oh\n no", 500)] * 9
    with pytest.raises(EmbedderUnavailable, match=r"returned 500 \(oh no\)"):
        make().embed_query("hello")
    assert len(server.requests) == 3


def test_an_endless_answer(server: EmbedServer) -> None:
    post = JsonClient(f"{server.url}/api/embed", EMBEDDER, largest=1_000_000)
    server.script = [endless]
    with pytest.raises(EmbedderMisbehaved, match="more than 1000000 bytes"):
        post({"input": []})
    post.close()


def test_nobody_listens() -> None:
    with serving() as gone:
        url = gone.url
    embedder = OllamaEmbedder(url, "m", timeout=5)
    with pytest.raises(EmbedderUnavailable, match="is it running"):
        embedder.identity()
    embedder.close()


def test_dimensions_are_learned_once(make: Maker, server: EmbedServer) -> None:
    embedder = make()
    assert [embedder.identity().dimensions for _ in range(3)] == [DIMENSIONS] * 3
    assert len(server.requests) == 1


def test_batches(make: Maker, server: EmbedServer) -> None:
    texts = [f"text number {n}" for n in range(7)]
    rows = make(batch=3).embed_documents(texts)
    assert [len(request["input"]) for request in server.requests] == [3, 3, 1]
    assert np.allclose(rows, server.hasher.embed_documents(texts), atol=1e-6)


def test_the_key_goes_in_the_header_and_nowhere_else(
    server: EmbedServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    embedder = OpenAIEmbedder(server.url.replace("http://", f"http://user:{KEY}2@"), "m", KEY)
    server.script = [saying("", 500), saying(f"{KEY}", 401)]
    with pytest.raises(EmbedderUnavailable) as caught:
        embedder.embed_query("hello")
    embedder.close()
    assert KEY not in str(caught.value)
    assert KEY not in repr(embedder)
    assert not [record for record in caplog.records if KEY in record.getMessage()]
    assert all(KEY not in str(request) for request in server.requests)


@pytest.mark.parametrize("ending", ["", "/", "/v1", "/v1/", "/v1/embeddings"])
def test_where_openai_is_asked(server: EmbedServer, ending: str) -> None:
    embedder = OpenAIEmbedder(server.url + ending, "m", KEY)
    embedder.embed_query("hello")
    embedder.close()
    assert server.paths == ["/v1/embeddings"]
    assert {name.lower(): value for name, value in server.headers[0].items()}[
        "authorization"
    ] == f"Bearer {KEY}"


@pytest.mark.parametrize(
    "url",
    [
        "",
        "localhost:11434",
        "ftp://x",
        "http://",
        "http://[",
        "file:///etc/passwd",
        "http://x:99999999",
    ],
)
def test_no_address(url: str) -> None:
    with pytest.raises(SettingsError):
        JsonClient(url, EMBEDDER)


@pytest.mark.parametrize(
    ("model", "document", "query"),
    [
        ("nomic-embed-text", "search_document: ", "search_query: "),
        ("library/Nomic-Embed-Text:v1.5", "search_document: ", "search_query: "),
        ("snowflake-arctic-embed2:latest", "", "query: "),
        ("all-minilm", "", ""),
        ("bge-m3", "", ""),
    ],
)
def test_prefixes(model: str, document: str, query: str) -> None:
    assert choose_prefixes(model) == (document, query)


def test_texts_are_cut_to_the_window(make: Maker, server: EmbedServer) -> None:
    embedder = make(max_tokens=50)
    embedder.embed_documents(["word " * 1000, "记忆" * 1000, "mixed 记忆 " * 500])
    for text in list(server.requests[0]["input"]):  # type: ignore[call-overload]
        assert 30 <= embedder.count_tokens(text) <= 50


@pytest.mark.parametrize(
    ("text", "tokens"), [("", 0), ("abc", 1), ("abcd", 2), ("记忆", 2), ("ab记", 2)]
)
def test_tokens_are_estimated(make: Maker, text: str, tokens: int) -> None:
    assert make().count_tokens(text) == tokens
