"""D · Embeddings, whole: D1 to D6."""

from __future__ import annotations

import logging
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import pytest

from muisti import Muisti
from muisti.bootstrap_models import list_models
from muisti.errors import EmbedderProblem, SettingsError
from muisti.model import SearchResults
from tests.conftest import Opener, file_store
from tests.embed_server import EmbedServer, Script, broken_off, changed, saying, serving, slow

TEXTS = [
    "The walrus eats clams on the shore",
    "The budget for the third quarter was approved",
    "Deploys happen with docker compose on Fridays",
    "Our cat sleeps on the sofa all day",
    "The bridge is closed for repairs until May",
]
DOWN = saying("out of order", 400)  # not tried again within one call


@pytest.fixture
def server() -> Iterator[EmbedServer]:
    with serving() as running:
        yield running


def remote(opened: Opener, url: str, **options: object) -> Muisti:
    wanted = {
        "embedder": "ollama",
        "model": "m",
        "embedder_timeout": 0.5,
        "embedder_retry": 0.2,
        **options,
    }
    return opened(embedder_url=url, **wanted)


def until(happened: Callable[[], object]) -> bool:
    """Whether it happens, within a time that only a broken program needs."""
    for _ in range(400):
        if happened():
            return True
        time.sleep(0.025)
    return False


def rows(memory: Muisti, sql: str) -> list[tuple[object, ...]]:
    """Straight from the index file."""
    db = apsw.Connection(str(file_store(memory).index._db.path), flags=apsw.SQLITE_OPEN_READONLY)  # type: ignore[attr-defined]
    try:
        return [tuple(row) for row in db.execute(sql)]
    finally:
        db.close()


def places(results: SearchResults) -> list[tuple[str, float]]:
    return [(result.memory.id, round(result.score, 9)) for result in results]


def spaces(memory: Muisti) -> list[tuple[object, ...]]:
    """Model, dimensions, and whether searches go by it."""
    return [
        (one.identity.model, one.identity.dimensions, one.serving)
        for one in memory._services.vectors.spaces()
    ]


def lengths(memory: Muisti) -> set[tuple[object, ...]]:
    """Which models' vectors there are, and of how many components."""
    return set(
        rows(memory, "SELECT s.model, length(v.codes) FROM vectors v JOIN spaces s USING (space)")
    )


# -- D1 to D4


@pytest.mark.needs_files("looks into the index file")
def test_D1_the_default_model_is_here_and_has_384_dimensions_offline(
    opened: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("somebody went to the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    memory = opened()
    saved = memory.save_batch(TEXTS)
    assert {one.embedding_model for one in saved} == {"bge-small"}
    assert spaces(memory) == [("bge-small", 384, 1)]
    assert lengths(memory) == {("bge-small", 384)}
    found = memory.search("feline")
    assert (found[0].memory.content, found.mode, found.degraded) == (TEXTS[3], "hybrid", "")


def test_D1_the_model_of_the_specs_is_in_the_catalogue(opened: Opener) -> None:
    memory = opened(embedder="onnx", model="minilm")
    memory.save_batch(TEXTS)
    assert spaces(memory) == [("minilm", 384, 1)]
    assert memory.search("feline", mode="vector")[0].memory.content == TEXTS[3]


PUBLISHED = [
    "all-MiniLM-L6-v2",
    "sentence-transformers/all-MiniLM-L6-v2",
    "Sentence-Transformers/ALL-minilm-l6-V2",
]


@pytest.mark.needs_files("opens the vault again")
@pytest.mark.parametrize("name", PUBLISHED)
def test_D1_a_model_has_the_name_of_its_authors_too(opened: Opener, name: str) -> None:
    first = opened(embedder="onnx", model="minilm")
    first.save_batch(TEXTS)
    first.close()
    memory = opened(embedder="onnx", model=name)
    assert memory.reindex_missing() == 0  # the same vectors
    assert spaces(memory) == [("minilm", 384, 1)]
    found = memory.search("feline", mode="vector")
    assert (found[0].memory.content, found.degraded) == (TEXTS[3], "")
    assert [one.name for one in list_models(memory.settings) if one.in_use] == ["minilm"]


def test_D1_an_unknown_model_is_an_error_with_both_names(opened: Opener) -> None:
    with pytest.raises(SettingsError, match=r"minilm \(all-MiniLM-L6-v2\).*got 'all-MiniLM'"):
        opened(embedder="onnx", model="all-MiniLM")


@pytest.mark.needs_files("looks into the index file")
def test_D1_a_vector_does_not_depend_on_what_is_saved_with_it(opened: Opener) -> None:
    memory = opened()
    alone = memory.save(TEXTS[0])
    (first,) = rows(memory, "SELECT scale, codes FROM vectors")
    memory.delete(alone.id, hard=True)
    memory.save_batch([TEXTS[1], TEXTS[0], "x " * 900])
    assert first in rows(memory, "SELECT scale, codes FROM vectors")


@pytest.mark.parametrize(
    "query", ["walrus", "budget approved", "repairs", "walrus budget", "submarine"]
)
def test_D2_with_hashing_a_hybrid_search_goes_by_keyword(opened: Opener, query: str) -> None:
    memory = opened(embedder="hashing")
    saved = memory.save_batch(TEXTS)
    assert {(one.embedding_model, one.chunk_count) for one in saved} == {("hashing", 1)}
    assert places(memory.search(query)) == places(memory.search(query, mode="keyword"))


def test_D2_hashing_finds_by_vector_too(opened: Opener) -> None:
    memory = opened(embedder="hashing")
    memory.save_batch(TEXTS)
    found = memory.search("closed bridge", mode="vector")
    assert (found[0].memory.content, found.mode, found.degraded) == (TEXTS[4], "vector", "")
    assert spaces(memory) == [("hashing", 256, 1)]


@pytest.mark.parametrize(
    ("embedder", "path"), [("ollama", "/api/embed"), ("openai", "/v1/embeddings")]
)
def test_D3_D4_a_server_makes_the_vectors(
    opened: Opener, server: EmbedServer, embedder: str, path: str
) -> None:
    memory = remote(opened, server.url, embedder=embedder, model="all-minilm", embedder_timeout=5.0)
    saved = memory.save_batch(TEXTS)
    assert {one.embedding_model for one in saved} == {"all-minilm"}
    assert spaces(memory) == [("all-minilm", 64, 1)]
    for mode in ("hybrid", "vector"):
        found = memory.search("docker compose deploys", mode=mode)  # type: ignore[arg-type]
        assert (found[0].memory.content, found.mode, found.degraded) == (TEXTS[2], mode, "")
        assert "vector" in [signal.name for signal in found[0].why]
    assert set(server.paths) == {path}
    assert {request["model"] for request in server.requests} == {"all-minilm"}


def test_D3_documents_and_questions_get_the_prefixes_of_the_model(
    opened: Opener, server: EmbedServer
) -> None:
    memory = remote(opened, server.url, model="nomic-embed-text", embedder_timeout=5.0)
    memory.save(TEXTS[0])
    memory.search("walrus")
    sent = [text for request in server.requests for text in request["input"]]  # type: ignore[attr-defined]
    assert f"search_document: {TEXTS[0]}" in sent
    assert "search_query: walrus" in sent


def test_D4_the_key_goes_to_the_server_and_nowhere_else(
    opened: Opener,
    server: EmbedServer,
    vault: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setenv("THE_KEY", "sk-very-secret")
    caplog.set_level(logging.DEBUG)
    memory = remote(
        opened, server.url, embedder="openai", embedder_key_variable="THE_KEY", embedder_timeout=5.0
    )
    memory.save(TEXTS[0])
    server.script = [DOWN] * 50
    degraded = memory.search("walrus").degraded
    memory.close()
    assert any("Bearer sk-very-secret" in headers.values() for headers in server.headers)
    assert "sk-very-secret" not in degraded + caplog.text
    assert not [
        path
        for path in vault.rglob("*")
        if path.is_file() and b"sk-very-secret" in path.read_bytes()
    ]


# -- D5


class At(EmbedServer):
    """A server that comes up at an address where there was none."""

    def __init__(self, port: int) -> None:
        self.wanted = port
        super().__init__()

    def server_bind(self) -> None:
        self.server_address = ("127.0.0.1", self.wanted)
        super().server_bind()


@pytest.mark.needs_files("looks into the index file")
def test_D5_a_server_that_is_not_there_and_comes_back(
    opened: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    memory = remote(opened, f"http://127.0.0.1:{port}")
    saved = [memory.save(text) for text in TEXTS]
    assert {(one.embedding_model, one.chunk_count) for one in saved} == {(None, 0)}
    for mode in ("hybrid", "vector"):
        found = memory.search("walrus", mode=mode)  # type: ignore[arg-type]
        assert [result.memory.id for result in found] == [saved[0].id]
        assert found.mode == "keyword"
        assert found.degraded
    assert memory.search("walrus", mode="keyword").degraded == ""
    with pytest.raises(EmbedderProblem):
        memory.reindex_missing()
    memory.close()
    monkeypatch.setattr("tests.embed_server.EmbedServer", lambda: At(port))
    with serving():
        again = remote(opened, f"http://127.0.0.1:{port}", embedder_timeout=5.0)
        assert again.reindex_missing() == len(TEXTS)
        assert again.reindex_missing() == 0
        found = again.search("walrus")
        assert (found[0].memory.id, found.mode, found.degraded) == (saved[0].id, "hybrid", "")
        assert again.get_stats().waiting_count == 0
        assert again.verify(deep=True).ok
        again.close()


def test_D5_a_server_that_breaks_down_later_is_missed_once_and_by_name(
    opened: Opener, server: EmbedServer, caplog: pytest.LogCaptureFixture
) -> None:
    memory = remote(opened, server.url, embedder_retry=60.0)
    memory.save_batch(TEXTS[:3])
    server.script = [DOWN] * 1000
    late = memory.save(TEXTS[3])
    assert late.embedding_model is None
    for _ in range(5):
        found = memory.search("cat sofa")
        assert found[0].memory.id == late.id
        assert found.mode == "keyword"
        assert "out of order" in found.degraded
    memory.save(TEXTS[4])
    assert memory.get_stats().waiting_count == 2
    warnings = [
        record
        for record in caplog.records
        if record.name.startswith("muisti") and record.levelno >= logging.WARNING
    ]
    assert len(warnings) == 1, [record.getMessage() for record in warnings]


def test_D5_a_break_down_costs_few_requests(opened: Opener, server: EmbedServer) -> None:
    memory = remote(opened, server.url, embedder_retry=60.0)
    memory.save(TEXTS[0])
    server.script = [DOWN] * 1000
    for _ in range(30):
        assert memory.search("walrus")
    asked = 1000 - len(server.script)
    assert 0 < asked <= 5, "after a few failures it is left alone"


@pytest.mark.needs_files("opens the vault again")
def test_D5_all_waits_while_the_embedder_has_never_answered(
    opened: Opener, server: EmbedServer
) -> None:
    server.script = [DOWN] * 1000
    memory = remote(opened, server.url, embedder_retry=60.0)
    assert memory.get_stats().waiting_count == 0
    memory.save_batch(TEXTS[:3])
    stats = memory.get_stats()
    assert (stats.embedding_model, stats.waiting_count) == (None, 3)
    memory.close()
    assert opened(embedder="none").get_stats().waiting_count == 0, (
        "nobody waits for what is switched off"
    )
    server.script.clear()
    again = remote(opened, server.url, embedder_timeout=5.0)
    assert again.get_stats().waiting_count == 3
    assert again.reindex_missing() == 3
    assert again.get_stats().waiting_count == 0


def test_D5_what_waits_is_tried_again_by_itself(opened: Opener, server: EmbedServer) -> None:
    server.script = [DOWN] * 1000
    memory = remote(opened, server.url)
    memory.save_batch(TEXTS)
    assert memory.search("walrus").degraded
    with server.lock:
        server.script.clear()
    assert until(
        lambda: memory.get_stats().waiting_count == 0 and memory.get_stats().embedding_model == "m"
    )
    assert until(lambda: memory.search("walrus").degraded == "")
    assert {one.embedding_model for one in memory.list()} == {"m"}


def test_D5_memories_that_wait_are_found_by_keyword(opened: Opener, server: EmbedServer) -> None:
    memory = remote(opened, server.url, embedder_retry=60.0)
    memory.save_batch(TEXTS[:2])
    server.script = [DOWN] * 1000
    late = memory.save(TEXTS[3])
    found = memory.search("cat")
    assert (found[0].memory.id, memory.get_stats().waiting_count) == (late.id, 1)
    assert found.degraded


MISBEHAVIOUR: dict[str, Script] = {
    "slow": slow,
    "broken off": broken_off,
    "NaN": changed(lambda found: [[float("nan")] * len(row) for row in found]),
    "infinite": changed(lambda found: [[float("inf")] * len(row) for row in found]),
    "zero": changed(lambda found: [[0.0] * len(row) for row in found]),
    "of another dimension": changed(lambda found: [row[:-1] for row in found]),
    "too few": changed(lambda found: found[:-1]),
    "too many": changed(lambda found: [*found, found[0]]),
    "texts": changed(lambda found: [["a"] * len(row) for row in found]),
    "nulls": changed(lambda found: [None for _ in found]),
    "empty": changed(lambda found: [[] for _ in found]),
    "no JSON": saying("<html>"),
    "an error": saying('{"error": "model not found"}', 404),
    "a list": saying("[1, 2]"),
}


@pytest.mark.needs_files("opens the vault again")
@pytest.mark.parametrize("name", MISBEHAVIOUR)
@pytest.mark.parametrize("when", ["from the start", "later"])
def test_D5_a_misbehaving_server_never_breaks_a_search(
    opened: Opener, server: EmbedServer, name: str, when: str
) -> None:
    memory = remote(opened, server.url, embedder_timeout=0.2, embedder_retry=60.0)
    if when == "later":
        memory.save(TEXTS[1])
    server.script = [MISBEHAVIOUR[name]] * 1000
    saved = memory.save(TEXTS[0])
    for mode in ("hybrid", "vector"):
        found = memory.search("walrus", mode=mode)  # type: ignore[arg-type]
        if found.mode == "keyword":
            assert found.degraded
        assert found[0].memory.id == saved.id
    assert memory.related(saved.id) is not None
    assert memory.explain("walrus", saved.id).recalled
    server.released.set()
    with server.lock:
        server.script.clear()
    memory.close()
    again = remote(opened, server.url, embedder_timeout=5.0)
    again.reindex_missing()
    assert again.search("walrus").degraded == ""
    assert again.get(saved.id).embedding_model == "m"  # type: ignore[union-attr]
    assert file_store(again).index.check() == []
    assert again.verify(deep=True).ok


def test_D5_a_query_that_cannot_be_embedded_is_answered_by_keyword(
    opened: Opener, server: EmbedServer
) -> None:
    memory = remote(opened, server.url, embedder_retry=60.0, embedder_timeout=5.0)
    memory.save_batch(TEXTS)
    server.script = [DOWN]
    found = memory.search("walrus")
    assert (found[0].memory.content, found.mode) == (TEXTS[0], "keyword")
    assert "out of order" in found.degraded
    assert memory.search("walrus").degraded == ""


def test_D5_a_missing_model_is_no_reason_not_to_save(opened: Opener) -> None:
    from muisti.models.embedders.catalog import find_model, locate

    if locate(find_model("arctic-s")) is not None:
        pytest.skip("needs a model of the catalogue that is not installed")
    memory = opened(embedder="onnx", model="arctic-s", embedder_retry=60.0)
    saved = memory.save(TEXTS[0])
    found = memory.search("walrus")
    assert (found[0].memory.id, found.mode) == (saved.id, "keyword")
    assert "arctic-s" in found.degraded


def test_D5_without_an_embedder_nothing_is_degraded(opened: Opener) -> None:
    memory = opened(embedder="none")
    memory.save_batch(TEXTS)
    found = memory.search("walrus")
    assert (found[0].memory.content, found.mode, found.degraded) == (TEXTS[0], "keyword", "")
    assert memory.reindex_missing() == 0
    assert memory.get_stats().embedding_model is None


# -- D6
