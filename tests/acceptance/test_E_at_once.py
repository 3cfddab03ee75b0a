"""E11 · A search never waits for missing embeddings, and nothing waits for a server that hangs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from muisti import Draft, Muisti, bootstrap
from muisti.remember import embed as embedding
from muisti.remember.embedding_worker import BUDGET, SAVE_BUDGET
from muisti.surfaces import detached
from muisti.surfaces.cli import embedding_process
from tests.acceptance.background import NOTE, STUCK, waiting
from tests.acceptance.test_D_embeddings import remote, until
from tests.conftest import Opener, file_store
from tests.embed_server import EmbedServer, good, serving, slow
from tests.surfaces.cli.test_cli import Cli
from tests.unit.making import a_memory

SHORT = "The key to the boat house hangs behind the blue door"
MOST_SECONDS = 60
"""Only a broken program needs that long."""


def long_text(characters: int, topic: str = "harbour") -> str:
    lines = [f"Remark {n} on the {topic}: item {n * 7} was moved." for n in range(characters // 40)]
    return "\n\n".join(lines)


@pytest.fixture
def server() -> Iterator[EmbedServer]:
    with serving() as running:
        yield running


@pytest.fixture
def command(vault: Path) -> Iterator[Callable[[], Muisti]]:
    """Opens the vault as a command does: without a thread that embeds."""
    opened: list[Muisti] = []

    def open_it() -> Muisti:
        settings = {"embedder": "hashing"}
        opened.append(bootstrap.open(vault, role="cli", create=True, settings=settings))
        return opened[-1]

    yield open_it
    for memory in opened:
        memory.close()


def missing(memory: Muisti) -> int:
    return sum(space.missing for space in memory._services.vectors.spaces())


def returns(action: Callable[[], object]) -> bool:
    """Whether an action comes to an end."""
    thread = threading.Thread(target=action, daemon=True)
    thread.start()
    thread.join(MOST_SECONDS)
    return not thread.is_alive()


# -- A search


def test_E11_a_search_embeds_little_at_once(command: Callable[[], Muisti]) -> None:
    memory = command()
    memory.save_batch([f"Short remark number {n}" for n in range(20)])
    found = memory.search("remark", mode="vector")
    assert (found.degraded, missing(memory), memory.embedding_postponed) == ("", 0, False)


def test_E11_a_search_leaves_a_long_note_and_says_so(command: Callable[[], Muisti]) -> None:
    memory = command()
    note = memory.save(long_text(60_000))
    short = memory.save(SHORT)
    found = memory.search("item was moved", mode="vector")
    assert found.degraded == "1 memory is not embedded yet and found by keyword only"
    assert missing(memory) == 1
    assert memory.embedding_postponed
    assert memory._services.vectors.find_missing(memory._services.vectors.spaces()[0], 9) == [
        note.id
    ]
    assert short.id in [hit.memory.id for hit in found], "what fits is embedded all the same"
    assert memory.search("harbour", mode="keyword")[0].memory.id == note.id


@pytest.mark.parametrize(("number", "length"), [(65, 1), (30, BUDGET // 20)])
def test_E11_too_many_memories_are_left(
    command: Callable[[], Muisti], number: int, length: int
) -> None:
    memory = command()
    memory.save_batch([f"{'x' * length} {n}" for n in range(number)])
    found = memory.search("x", mode="vector")
    left = missing(memory)
    assert memory.embedding_postponed
    assert found.degraded == f"{left} memories are not embedded yet and found by keyword only"
    assert left == number if number == 65 else 0 < left < number


def test_E11_a_program_embeds_the_rest_in_its_thread(opened: Opener) -> None:
    memory = opened(embedder="hashing", embed_on_save=False)
    memory.save_batch([long_text(20_000, topic) for topic in ("harbour", "garden", "bridge")])
    memory.search("garden")
    assert until(lambda: missing(memory) == 0)
    assert memory.search("garden", mode="vector").degraded == ""
    assert all(one.chunk_count > 3 for one in memory.list())


def test_E11_the_thread_gives_way_to_a_search(
    opened: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("muisti.remember.embedding_worker.PAUSE", 3600.0)
    memory = opened(embedder="hashing")
    memory.save(SHORT)
    worker = memory._embedding_worker
    with worker.give_way():
        memory.save(long_text(SAVE_BUDGET + 1000))
        assert until(lambda: worker._busy)
        memory.search("harbour", mode="keyword")
        assert missing(memory) == 1
    assert until(lambda: missing(memory) == 0)


# -- Saving


def slow_then_good(handler: Any, texts: list[str]) -> None:
    slow(handler, texts)
    good(handler, texts)


def test_E11_saving_a_long_note_leaves_it_to_the_thread(
    opened: Opener, server: EmbedServer
) -> None:
    memory = remote(opened, server.url, embedder_timeout=60.0)
    assert memory.save(SHORT).embedding_model == "m"
    server.script = [slow_then_good] * 9  # the thread may ask before the script is emptied
    saved = memory.save(long_text(SAVE_BUDGET + 1000))
    assert saved.embedding_model is None, "it did not wait for the server"
    server.script = []
    server.released.set()
    assert until(lambda: missing(memory) == 0)


def test_E11_a_batch_is_embedded_before_it_returns(opened: Opener) -> None:
    memory = opened(embedder="hashing")
    seen: list[tuple[int, int]] = []
    texts = [long_text(30_000, topic) for topic in ("harbour", "garden", "bridge")]
    saved = memory.save_batch(texts, progress=lambda *at: seen.append(at))
    assert {one.embedding_model for one in saved} == {"hashing"}
    assert seen[-1] == (3, 3)
    assert seen == sorted(seen)


# -- The process that a command leaves behind


def test_E11_the_process_embeds_what_a_command_left(
    command: Callable[[], Muisti], vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MUISTI_EMBEDDER", "hashing")
    memory = command()
    memory.save(long_text(50_000))
    memory.search("harbour")
    with detached.hold_lock(vault / ".muisti" / embedding_process.LOCK) as is_only_one:
        assert is_only_one
        embedding_process.embed_all(vault)
        assert missing(memory) == 1, "another process does it already"
    embedding_process.embed_all(vault)
    assert missing(memory) == 0
    assert memory.search("harbour", mode="vector").degraded == ""
    assert memory.verify(deep=True).ok


def test_E11_the_command_line_answers_first_and_embeds_afterwards(
    vault: Path, tmp_path: Path
) -> None:
    cli = Cli(vault, tmp_path)
    cli.environment["MUISTI_EMBEDDER"] = "hashing"
    cli.run("save", SHORT)
    cli.run("search", "boat house", "--mode", "vector")
    with detached.hold_lock(vault / ".muisti" / embedding_process.LOCK):
        cli.run("save", "-", given=long_text(60_000))
        said = cli.run("search", "harbour", "--mode", "vector")
        assert "1 memory is not embedded yet and found by keyword only" in said.stderr
        assert "A background process creates the missing embeddings" in said.stderr
    cli.run("search", "harbour", "--mode", "vector")

    def is_complete() -> bool:
        stats = cli.json("stats")
        assert isinstance(stats, dict)
        return bool(stats["waiting_count"] == 0)

    assert until(is_complete)
    said = cli.run("search", "harbour", "--mode", "vector")
    assert "not embedded" not in said.stderr
    assert "in the background" not in said.stderr
    assert "Remark" in said.stdout


def test_E11_without_a_terminal_index_leaves_embedding_to_the_process(
    vault: Path, tmp_path: Path
) -> None:
    cli = Cli(vault, tmp_path)
    cli.environment["MUISTI_EMBEDDER"] = "hashing"
    documents = tmp_path / "documents"
    documents.mkdir()
    (documents / "harbour.md").write_text(f"# Harbour\n\n{long_text(60_000)}\n", encoding="utf-8")
    cli.run("index", str(documents))
    with bootstrap.open(vault, role="cli") as memory:
        assert until(lambda: memory._services.vectors.spaces() and missing(memory) == 0)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="Windows has no SIGKILL")
def test_E11_a_killed_process_loses_only_its_last_part(
    vault: Path, server: EmbedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"EMBEDDER": "ollama", "MODEL": "m", "EMBEDDER_URL": server.url}.items():
        monkeypatch.setenv(f"MUISTI_{name}", value)
    with bootstrap.open(vault, role="cli", create=True) as memory:
        note = memory.save(long_text(100_000))
        server.script = [good, good, slow]  # the dimensions, and the first part
        process = subprocess.Popen(
            [sys.executable, "-m", "muisti.surfaces.cli.embedding_process", str(vault)]
        )
        assert until(lambda: len(server.requests) == 3)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        space = memory._services.vectors.spaces()[0]
        stored = memory._services.vectors.count_pieces(space, [note.id])[note.id]
        assert stored == embedding.PART
        assert missing(memory) == 1
        assert file_store(memory).index.check() == []
        server.script, server.requests = [], []
        embedding_process.embed_all(vault)
        assert missing(memory) == 0
        complete = memory.get(note.id)
        assert complete is not None
        inputs: list[Any] = [body["input"] for body in server.requests]
        sent = sum(len(one) for one in inputs)
        assert sent - 1 == complete.chunk_count - stored, "the dimensions, and what was missing"
        assert file_store(memory).index.check() == []


# -- Servers that are down


@pytest.mark.needs_files("opens the vault again")
def test_E11_searches_wait_for_a_server_that_hangs_only_once(
    opened: Opener, server: EmbedServer
) -> None:
    memory = remote(opened, server.url, embedder_timeout=600.0, embedder_retry=600.0)
    memory.save_batch([SHORT])
    memory.close()
    again = remote(
        opened,
        server.url,
        embedder_timeout=600.0,
        embedder_query_timeout=1.2,
        embedder_retry=600.0,
    )
    server.script = [slow] * 99
    server.requests = []
    for _ in range(4):
        found = again.search("boat house")
        assert found[0].memory.content == SHORT
        assert "did not respond within 1.2 s" in found.degraded
    assert len(server.requests) <= 2, "the search, and the thread that tries again"
    assert returns(again.close)


def test_E11_closing_does_not_wait_for_an_embedder_that_hangs(
    opened: Opener, server: EmbedServer
) -> None:
    memory = remote(opened, server.url, embedder_timeout=600.0, embed_on_save=False)
    server.script = [good, *[slow] * 99]
    memory.save_batch([long_text(40_000)])
    memory._embedding_worker.wake()
    assert until(lambda: len(server.requests) > 1)
    assert returns(memory.close)


@pytest.mark.needs_files("opens the vault again")
def test_E11_closing_does_not_wait_for_an_extractor_that_is_down(
    opened: Opener, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("muisti.engine.extraction.PATIENCE", 3600.0)
    memory = opened(**STUCK)
    assert memory.extract_and_save("s", NOTE)
    assert returns(memory.close)
    assert len(waiting(vault)) == 1, "it stays on disk"
    again = opened(embedder="none")
    assert again.flush(MOST_SECONDS)
    assert [one.content for one in again.list()] != []
    assert waiting(vault) == []


def test_E11_closing_waits_for_an_extractor_that_works(
    opened: Opener, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("muisti.engine.extraction.PATIENCE", 3600.0)
    memory = opened(embedder="none")
    for number in range(20):
        assert memory.extract_and_save("s", f"Remember that box {number} is in room {number * 3}.")
    memory.close()
    assert waiting(vault) == []


# -- A long line takes linear time

SHAPES = {
    "one line": lambda n: "word of no account " * (n // 19),
    "sentences": lambda n: "The word of no account. " * (n // 24),
    "no spaces": lambda n: "x" * n,
    "table": lambda n: "| a | b |\n|---|---|\n" + "| one cell | another cell |\n" * (n // 27),
    "code": lambda n: "```\n" + "call(argument, other)\n" * (n // 22) + "```",
    "code in one line": lambda n: "```\n" + "call(argument, other) " * (n // 22) + "\n```",
    "Chinese": lambda n: "他们把船开进港口" * (n // 8),
}


@pytest.mark.parametrize("shape", list(SHAPES))
def test_E11_a_long_text_is_split_and_counted_in_linear_time(
    shape: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from muisti.models.embedders.hashing import HashingEmbedder
    from muisti.remember.derive import derive_title

    derived: list[str] = []
    derive = derive_title

    def count_titles(content: str) -> str:
        derived.append(content)
        return derive(content)

    monkeypatch.setattr(embedding, "derive_title", count_titles)
    counted: dict[int, int] = {}
    for length in (50_000, 200_000):

        class Counting(HashingEmbedder):
            characters = 0

            def count_tokens(self, text: str) -> int:
                self.characters += len(text)
                return -(-len(text) // 3)

        embedder = Counting()
        text = SHAPES[shape](length)
        memory = replace(a_memory(), content=text, title="Own title")
        derived.clear()
        parts = list(embedding.embed_parts(embedder, memory))
        assert sum(len(part.pieces) for part in parts) > 20
        assert len(derived) == 2, "one for the text and one for its hash, however many chunks"
        counted[length] = embedder.characters
    assert counted[200_000] < 4.5 * counted[50_000]


def test_E11_a_batch_may_have_drafts_of_any_length(opened: Opener) -> None:
    memory = opened(embedder="hashing")
    saved = memory.save_batch([Draft(content=SHORT), Draft(content=long_text(150_000))])
    assert saved[0].embedding_model == "hashing"
    assert until(lambda: missing(memory) == 0)
