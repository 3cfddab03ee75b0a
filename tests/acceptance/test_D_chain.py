"""D3, D5, D6 · A chain of embedders, as in spec 2: Ollama serves if ONNX cannot be loaded."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from muisti import Muisti
from muisti.errors import EmbedderProblem, SettingsError
from muisti.models.embedders.chain import split_chain
from muisti.settings import SETTINGS_FILE, Settings, load_settings
from tests.acceptance.test_D_embeddings import TEXTS, lengths, spaces, until
from tests.conftest import Opener
from tests.embed_server import DIMENSIONS, EmbedServer, saying, serving, slow
from tests.surfaces.cli.test_cli import Cli

MISSING = "onnx:arctic-s"
"""A model of the catalogue that is not installed here."""
OLLAMA = "ollama:all-minilm:l6-v2"
DOWN = saying("gone", 503)


@pytest.fixture
def server() -> Iterator[EmbedServer]:
    with serving() as running:
        yield running


@pytest.fixture
def closed_port() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{probe.getsockname()[1]}"


def chained(opened: Opener, *chain: str, url: str = "", **options: Any) -> Muisti:
    wanted = {"embedder_timeout": 5.0, "embedder_retry": 0.2, **options}
    return opened(embedder=list(chain), embedder_url=url, **wanted)


def test_D3_ollama_serves_if_onnx_cannot_be_loaded(opened: Opener, server: EmbedServer) -> None:
    memory = chained(opened, MISSING, OLLAMA, url=server.url)
    saved = memory.save_batch(TEXTS)
    assert {one.embedding_model for one in saved} == {"all-minilm:l6-v2"}
    assert {request["model"] for request in server.requests} == {"all-minilm:l6-v2"}
    assert spaces(memory) == [("all-minilm:l6-v2", DIMENSIONS, True)]
    found = memory.search("walrus", mode="vector")
    assert (found[0].memory.content, found.mode) == (TEXTS[0], "vector")
    assert "arctic-s is not installed" in found.degraded
    assert "ollama takes its place" in found.degraded
    stats = memory.get_stats()
    assert (stats.embedding_model, stats.embedder) == ("all-minilm:l6-v2", "ollama")


def test_D3_the_first_serves_if_it_can_be_loaded(opened: Opener, server: EmbedServer) -> None:
    memory = chained(opened, "onnx:minilm", OLLAMA, url=server.url)
    memory.save_batch(TEXTS)
    assert spaces(memory) == [("minilm", 384, True)]
    assert server.requests == []
    assert memory.search("feline").degraded == ""
    assert memory.get_stats().embedder == "onnx"


def test_D3_a_server_that_is_down_is_skipped(opened: Opener, closed_port: str) -> None:
    memory = chained(opened, OLLAMA, "onnx:minilm", url=closed_port)
    memory.save_batch(TEXTS)
    assert spaces(memory) == [("minilm", 384, True)]
    found = memory.search("feline")
    assert (found[0].memory.content, found.mode) == (TEXTS[3], "hybrid")
    assert "onnx takes its place" in found.degraded


def test_D5_a_server_that_is_only_slow_at_first_keeps_its_place(
    opened: Opener, server: EmbedServer
) -> None:
    server.script = [slow]
    memory = chained(opened, OLLAMA, "onnx:minilm", url=server.url, embedder_query_timeout=0.2)
    saved = memory.save(TEXTS[0])
    assert saved.embedding_model is None  # `save` did not wait, and onnx did not take over
    assert until(lambda: memory.get_stats().embedder == "ollama")
    assert until(lambda: memory.get_stats().waiting_count == 0)
    assert spaces(memory) == [("all-minilm:l6-v2", DIMENSIONS, True)]
    assert memory.search("walrus").degraded == ""


def test_D5_a_server_that_never_replies_is_replaced_after_a_while(
    opened: Opener, server: EmbedServer
) -> None:
    server.script = [slow] * 1000
    memory = chained(
        opened,
        OLLAMA,
        "onnx:minilm",
        url=server.url,
        embedder_timeout=0.5,
        embedder_query_timeout=0.2,
    )
    memory.save(TEXTS[0])
    assert until(lambda: memory.get_stats().embedder == "onnx")


def test_D5_if_none_can_be_loaded_all_waits_and_each_is_named(
    opened: Opener, server: EmbedServer
) -> None:
    server.script = [DOWN] * 1000
    memory = chained(opened, MISSING, OLLAMA, url=server.url)
    saved = memory.save(TEXTS[0])
    assert saved.embedding_model is None
    found = memory.search("walrus")
    assert (found[0].memory.id, found.mode) == (saved.id, "keyword")
    assert "onnx cannot be used" in found.degraded
    assert "ollama cannot be used" in found.degraded
    with pytest.raises(EmbedderProblem):
        memory.reindex_missing()
    with server.lock:
        server.script.clear()
    assert until(lambda: memory.get_stats().embedding_model == "all-minilm:l6-v2")
    assert "ollama takes its place" in memory.search("walrus").degraded


@pytest.mark.needs_files("opens the vault again")
def test_D6_when_the_first_is_back_its_vectors_replace_the_others(
    opened: Opener, server: EmbedServer
) -> None:
    with chained(opened, MISSING, OLLAMA, url=server.url) as memory:
        memory.save_batch(TEXTS)
    memory = chained(opened, "onnx:minilm", OLLAMA, url=server.url, embed_on_save=False)
    assert memory.get_stats().embedder == "ollama", "the old vectors serve until then"
    assert memory.reindex_missing() == len(TEXTS)
    assert spaces(memory) == [("minilm", 384, True)]
    assert lengths(memory) == {("minilm", 384)}
    found = memory.search("feline")
    assert (found[0].memory.content, found.degraded) == (TEXTS[3], "")
    assert memory.verify(deep=True).ok


@pytest.mark.needs_files("opens the vault again")
def test_D6_the_vectors_of_two_embedders_of_a_chain_never_mix(
    opened: Opener, server: EmbedServer
) -> None:
    with chained(opened, OLLAMA, "onnx:minilm", url=server.url) as memory:
        memory.save_batch(TEXTS)
        assert spaces(memory) == [("all-minilm:l6-v2", DIMENSIONS, True)]
    server.script = [DOWN] * 1000
    memory = chained(
        opened, OLLAMA, "onnx:minilm", url=server.url, embed_on_save=False, embedder_retry=60.0
    )
    first = memory.search(
        "feline"
    )  # the vectors of the server cannot be used, and never with those of onnx
    assert first.mode in ("keyword", "hybrid")  # those of onnx may be complete already
    assert first.degraded
    assert memory.reindex_missing() in (0, len(TEXTS))
    assert lengths(memory) == {("minilm", 384)}
    found = memory.search("feline")
    assert (found[0].memory.content, found.mode) == (TEXTS[3], "hybrid")


FORMS: list[Any] = [["onnx", "ollama"], ("onnx", "ollama"), "onnx,ollama", "onnx, ollama"]


@pytest.mark.parametrize("value", FORMS)
def test_D3_a_chain_is_a_list_or_names_with_commas(value: Any) -> None:
    chain = split_chain(load_settings(environ={}, arguments={"embedder": value}))
    assert [(one.embedder, one.model) for one in chain] == [("onnx", ""), ("ollama", "")]


def test_D3_a_chain_in_the_file_and_in_the_environment(tmp_path: Path) -> None:
    (tmp_path / SETTINGS_FILE).write_text('embedder = ["hashing", "ollama"]\n', "utf-8")
    settings = load_settings(tmp_path, environ={})
    assert [one.embedder for one in split_chain(settings)] == ["hashing", "ollama"]
    environ = {"MUISTI_EMBEDDER": "onnx,ollama"}
    settings = load_settings(tmp_path, environ=environ)
    assert [one.embedder for one in split_chain(settings)] == ["onnx", "ollama"]
    foreign = load_settings(tmp_path, environ=environ, foreign=True)
    assert split_chain(foreign) == []


def test_D3_which_setting_is_for_which_embedder() -> None:
    settings = Settings(
        embedder="onnx,openai:text-embedding-3-small,ollama:all-minilm:l6-v2",
        model="minilm",
        embedder_url="https://api.openai.com/v1",
        embedder_key_variable="MUISTI_OWN_KEY",
    )
    onnx, openai, ollama = split_chain(settings)
    assert (onnx.model, onnx.embedder_url) == ("minilm", "")
    assert (openai.model, openai.embedder_url) == (
        "text-embedding-3-small",
        "https://api.openai.com/v1",
    )
    assert openai.embedder_key_variable == "MUISTI_OWN_KEY"
    assert (ollama.model, ollama.embedder_url) == ("all-minilm:l6-v2", "")
    assert onnx.embedder_key_variable == ollama.embedder_key_variable == ""


def test_D4_the_key_of_a_provider_stays_with_its_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    own = Settings(embedder="onnx,openai:m", embedder_url="https://api.openai.com/v1")
    assert [one.embedder_key for one in split_chain(own)] == [None, "sk-test"]
    other = Settings(embedder="onnx,openai:m", embedder_url="https://example.com/v1")
    assert [one.embedder_key for one in split_chain(other)] == [None, None]


BAD: list[tuple[dict[str, Any], str]] = [
    ({"embedder": ["onnx", "olama"]}, "one of onnx, .*ollama.*'olama'"),
    ({"embedder": "onnx,"}, "one of onnx, .*''"),
    ({"embedder": []}, "embedder = \\[\\] must be a list of names"),
    ({"embedder": ["onnx", 3]}, "embedder = .* must be a list of names"),
    ({"embedder": ["onnx", "onnx"]}, "'onnx' twice"),
    ({"embedder": ["onnx:bge-small", "onnx"]}, "'onnx' twice"),
    ({"embedder": ["onnx", "ollama", "ollama:nomic-embed-text"]}, "twice"),
    ({"embedder": ["onnx", "none"]}, "none cannot be part of a chain"),
    ({"embedder": ["onnx:minilm", "ollama"], "model": "minilm"}, "embedder = .* and model = "),
    ({"embedder": ["onnx:minlm", "ollama"]}, "model must be one of"),
    ({"embedder": ["onnx", "openai"]}, "embedder_url and model"),
    (
        {"embedder": ["ollama", "openai:m"], "embedder_url": "http://localhost:1"},
        "first server of a chain, ollama",
    ),
    ({"search_limit": ["3"]}, "search_limit"),
    ({"project": ["a", "b"]}, "project .* must be a quoted string"),
]


@pytest.mark.parametrize(("options", "reason"), BAD)
def test_D3_a_chain_that_cannot_work_is_an_error_that_names_why(
    opened: Opener, options: dict[str, Any], reason: str
) -> None:
    with pytest.raises(SettingsError, match=reason):
        opened(**options)


def test_J2_doctor_and_model_list_know_the_chain(vault: Path, tmp_path: Path) -> None:
    with Muisti.open(vault, embedder="hashing") as memory:
        memory.save_batch(TEXTS)
    (vault / SETTINGS_FILE).write_text(
        'embedder = ["onnx:arctic-s", "hashing", "ollama"]\n', "utf-8"
    )
    cli = Cli(vault, tmp_path)
    findings = json.loads(cli.run("doctor", "--json").stdout)["findings"]
    text = "\n".join(one["what"] for one in findings)
    assert "1. the model arctic-s is not installed: hashing is tried next" in text
    assert "2. hashing" in text
    assert "3. ollama (not contacted)" in text
    assert "embeddings in use: hashing" in text
    assert "in use, not installed" in cli.run("model", "list").stdout
    assert "is a chain" in cli.run("model", "use", "minilm", code=1).stderr
    assert 'embedder = ["onnx:arctic-s"' in (vault / SETTINGS_FILE).read_text("utf-8")
