"""C5, D1, D5 · A vector of unchanged text is made once; texts that the model cannot read get none."""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from muisti import Draft, Muisti, bootstrap
from muisti.errors import EmbedderProblem
from muisti.models.embedders.onnx import OnnxEmbedder
from muisti.ports import Matrix, Vector
from tests.acceptance.test_D_embeddings import TEXTS, remote
from tests.conftest import Opener
from tests.embed_server import EmbedServer, serving

WALRUS = TEXTS[0]
RUSSIAN = "Ключ от лодочного сарая висит за синей дверью рядом с окном"
KOREAN = "보트 창고 열쇠는 파란 문 뒤에 걸려 있습니다"
CHINESE = "船屋的钥匙挂在蓝色的门后面"
MIXED = "Ключ от сарая: the key to the boat house hangs behind the blue door"


@pytest.fixture
def server() -> Iterator[EmbedServer]:
    with serving() as running:
        yield running


def sent(server: EmbedServer) -> list[str]:
    """The texts that the server was asked to embed, in order."""
    return [str(text) for request in server.requests for text in request["input"]]  # type: ignore[attr-defined]


def missing(memory: Muisti) -> int:
    return sum(space.missing for space in memory._services.vectors.spaces())


def vector(memory: Muisti, memory_id: str) -> list[float]:
    [space] = memory._services.vectors.spaces()
    made = memory._services.vectors.get_vector(space, memory_id)
    assert made is not None
    return [float(value) for value in made]


# -- Once


def test_C5_the_same_text_of_another_user_or_project_is_embedded_once(
    opened: Opener, server: EmbedServer
) -> None:
    memory = remote(opened, server.url, embedder_timeout=30.0)
    first = memory.save(WALRUS, user="anna")
    asked = sent(server)
    assert asked.count(WALRUS) == 1
    others = [
        memory.save(WALRUS, user="ben"),
        memory.save(WALRUS, project="other"),
        *memory.save_batch([Draft(content=WALRUS, user="cleo"), Draft(content=WALRUS, user="dan")]),
    ]
    assert sent(server) == asked
    assert len({one.id for one in (first, *others)}) == 5
    assert all(one.embedding_model == "m" and one.chunk_count == 1 for one in others)
    assert all(vector(memory, one.id) == vector(memory, first.id) for one in others)
    assert memory.verify(deep=True).ok


def test_C5_equal_texts_of_one_batch_are_embedded_once(opened: Opener, server: EmbedServer) -> None:
    memory = remote(opened, server.url, embedder_timeout=30.0)
    saved = memory.save_batch([Draft(content=WALRUS, user=name) for name in ("a", "b", "c")])
    assert sent(server).count(WALRUS) == 1
    assert len({one.id for one in saved}) == 3
    assert missing(memory) == 0


def test_C5_another_title_is_another_text(opened: Opener, server: EmbedServer) -> None:
    memory = remote(opened, server.url, embedder_timeout=30.0)
    memory.save(WALRUS, user="anna")
    memory.save(WALRUS, user="ben", title="Lunch at sea")
    assert [text for text in sent(server) if WALRUS in text][1:] == [f"Lunch at sea\n\n{WALRUS}"]


@pytest.mark.needs_files("moves files, rebuilds the index")
def test_C5_no_vector_is_made_again_of_unchanged_text(
    opened: Opener, server: EmbedServer, tmp_path: Path
) -> None:
    memory = remote(opened, server.url, embedder_timeout=30.0)
    saved = memory.save_batch(TEXTS)
    asked = sent(server)
    root = Path(memory.location)

    memory.update(saved[0].id, importance=0.9, keywords=["sea"])
    memory.delete(saved[1].id)
    memory.restore(saved[1].id)
    at = root / str(saved[2].file_path)
    at.rename(at.with_name("by-hand.md"))
    assert memory.sync().moved == 1
    assert memory.reindex_missing() == 0
    exported = tmp_path / "all.json"
    exported.write_text(memory.export_memories(format="json"), encoding="utf-8")
    assert memory.import_memories(exported) == 0
    memory.reindex()
    assert sent(server) == asked
    assert missing(memory) == 0

    again = remote(opened, server.url, embedder_timeout=30.0)
    assert again.reindex_missing() == 0
    assert [text for text in sent(server) if text in TEXTS] == [t for t in asked if t in TEXTS]


@pytest.mark.needs_files("writes files by hand")
def test_C5_a_copied_file_gets_the_vectors_of_the_original(
    opened: Opener, server: EmbedServer
) -> None:
    memory = remote(opened, server.url, embedder_timeout=30.0)
    saved = memory.save(WALRUS)
    root = Path(memory.location)
    copied = root / "projects" / "other" / "notes" / "walrus.md"
    copied.parent.mkdir(parents=True)
    copied.write_text(WALRUS + "\n", encoding="utf-8")
    kept = root / str(saved.file_path)
    asked = sent(server)
    assert memory.sync().added == 1
    memory.reindex_missing()
    assert sent(server) == asked
    assert kept.exists()
    assert missing(memory) == 0


# -- Scripts that the model does not read


def test_D1_chinese_is_embedded(opened: Opener) -> None:
    """Its characters are in the vocabulary: English questions find some of it."""
    assert opened(model="minilm").save(CHINESE).chunk_count == 1


@pytest.mark.parametrize("text", [RUSSIAN, KOREAN])
def test_D1_a_script_that_the_model_does_not_read_is_not_embedded(
    opened: Opener, text: str
) -> None:
    memory = opened(model="minilm")
    saved = memory.save(text)
    assert (saved.embedding_model, saved.chunk_count) == ("minilm", 0)
    assert (missing(memory), memory.get_stats().waiting_count) == (0, 0)
    assert memory.reindex_missing() == 0
    found = memory.search(text)
    assert [one.memory.id for one in found] == [saved.id]
    assert found.degraded == ""
    assert memory.verify(deep=True).ok


def test_D1_a_mixed_text_is_embedded(opened: Opener) -> None:
    memory = opened(model="minilm")
    assert memory.save(MIXED).chunk_count == 1
    assert memory.save("2026: 17 → 42 %").chunk_count == 1, "no letters at all"
    long = "\n\n".join([f"# {RUSSIAN}", RUSSIAN * 60, "# Boat house", "The key is here. " * 150])
    assert 0 < memory.save(long).chunk_count < 10
    assert memory.search("where is the key to the boat house", mode="vector")


def test_D6_a_model_that_reads_the_script_embeds_it_later(
    opened: Opener, server: EmbedServer
) -> None:
    memory = opened(model="minilm")
    saved = memory.save_batch([RUSSIAN, WALRUS])
    assert [one.chunk_count for one in saved] == [0, 1]
    if memory.location != ":memory:":
        memory.close()
        other = remote(opened, server.url, embedder_timeout=30.0)
        assert other.reindex_missing() == 2
        again = other.get(saved[0].id)
        assert again is not None
        assert (again.embedding_model, again.chunk_count) == ("m", 1)
        assert RUSSIAN in sent(server)


def test_D5_unread_texts_never_keep_the_model_busy(
    opened: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    embed = OnnxEmbedder._embed

    def count(self: OnnxEmbedder, texts: Sequence[str]) -> Matrix:
        seen.extend(texts)
        return embed(self, texts)

    monkeypatch.setattr(OnnxEmbedder, "_embed", count)
    memory = opened(model="minilm", embed_on_save=False)
    memory.save_batch([f"{RUSSIAN} {n}" for n in range(3)])
    for _ in range(3):
        assert memory.search(RUSSIAN).degraded == ""
        assert memory.reindex_missing() == 0
    memory.reindex()
    assert seen == []


# -- All cores


def texts_of_all_lengths(count: int) -> list[str]:
    return [
        f"Remark {n} on the harbour. " + "The lamp was moved again. " * (n % 7)
        for n in range(count)
    ]


def test_D1_several_threads_make_the_same_vectors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2}, raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 3)
    used: set[str] = set()
    embed = OnnxEmbedder._embed

    def note(self: OnnxEmbedder, texts: Sequence[str]) -> Matrix:
        used.add(threading.current_thread().name)
        return embed(self, texts)

    monkeypatch.setattr(OnnxEmbedder, "_embed", note)
    found: list[list[list[float]]] = []
    for role in ("library", "server"):
        settings = {"model": "minilm"}
        with bootstrap.open(tmp_path / role, role=role, create=True, settings=settings) as memory:
            used.clear()
            saved = memory.save_batch(texts_of_all_lengths(40))
            assert any("muisti-bulk" in name for name in used) == (role == "library"), used
            found.append([vector(memory, one.id) for one in saved])
    assert found[0] == found[1]


def test_D6_progress_follows_the_amount_of_text(opened: Opener) -> None:
    memory = opened(embedder="hashing", embed_on_save=False)
    texts = texts_of_all_lengths(60)
    texts[0] = "A long story of the sea. " * 1000
    memory.save_batch(texts)
    seen: list[tuple[int, int]] = []
    assert memory.reindex_missing(progress=lambda *at: seen.append(at)) == 60
    assert seen == sorted(set(seen)), "it never goes back"
    assert (seen[0], seen[-1]) == ((0, 60), (60, 60))
    share = len(texts[0]) / sum(map(len, texts))
    largest = max(later[0] - earlier[0] for earlier, later in itertools.pairwise(seen))
    assert share > 0.5
    assert 1 < largest < 60 * share, "the long text is most of the work, and done in parts"


def test_D5_an_error_in_a_thread_ends_the_bulk_and_keeps_what_is_stored(
    opened: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("muisti.remember.embedding_worker.choose_threads", lambda *_: 3)
    memory = opened(model="minilm", embed_on_save=False)
    memory.save_batch(texts_of_all_lengths(70))
    embed = OnnxEmbedder._embed
    made: list[str] = []

    def fail(self: OnnxEmbedder, texts: Sequence[str]) -> Matrix:
        made.extend(texts)
        if len(made) == 40:
            raise EmbedderProblem("out of order")
        return embed(self, texts)

    monkeypatch.setattr(OnnxEmbedder, "_embed", fail)
    if memory._services.store.queue.is_shared:  # then each text of a failed batch is tried alone
        assert memory.reindex_missing() == 70
        assert missing(memory) == 0
        return
    with pytest.raises(EmbedderProblem, match="out of order"):
        memory.reindex_missing()
    assert missing(memory) == 70 - 32
    monkeypatch.setattr(OnnxEmbedder, "_embed", embed)
    assert memory.reindex_missing() == 38
    assert missing(memory) == 0


# -- Queries


def count_queries(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The queries that the model embeds from now on."""
    seen: list[str] = []
    embed = OnnxEmbedder.embed_query

    def count(self: OnnxEmbedder, text: str) -> Vector:
        seen.append(text)
        return embed(self, text)

    monkeypatch.setattr(OnnxEmbedder, "embed_query", count)
    return seen


def test_D1_a_repeated_query_is_embedded_once(
    opened: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = count_queries(monkeypatch)
    memory = opened(model="minilm")
    memory.save_batch(TEXTS)
    first = memory.search("sea animals")
    again = memory.search("sea animals")
    assert seen == ["sea animals"]
    assert [one.memory.id for one in again] == [one.memory.id for one in first]
    memory.search("my key is sk-ant-REDACTED")
    assert "AAAA" not in seen[-1], "queries are redacted before they are embedded or kept"


def test_B6_F6_what_is_deleted_permanently_takes_the_cached_queries_with_it(
    opened: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = count_queries(monkeypatch)
    memory = opened(model="minilm")
    saved = memory.save_batch([Draft(content=text, project="sea") for text in TEXTS])
    memory.append_message("cli_chat", "user", "hello there")

    def asks_again() -> bool:
        before = len(seen)
        memory.search("walrus")
        return len(seen) > before

    assert asks_again()
    memory.delete(saved[1].id)
    assert not asks_again(), "it is in the trash"
    memory.delete(saved[2].id, hard=True)
    assert asks_again()
    memory.delete_conversation("cli_chat", hard=True)
    assert asks_again()
    memory.forget(project="sea", dry_run=True)
    assert not asks_again()
    memory.forget(project="sea", hard=True)
    assert asks_again()


@pytest.mark.needs_files("counts the steps of SQLite")
def test_D5_the_next_texts_to_embed_are_found_without_reading_all(
    opened: Opener,
) -> None:
    memory = opened(embedder="hashing", merge_duplicates=False)
    memory.save_batch([f"Walrus number {number}" for number in range(300)])
    assert missing(memory) == 0
    with memory._services.index._db.write_transaction() as db:  # type: ignore[attr-defined]
        db.execute("INSERT INTO unembedded SELECT space, n FROM spaces, entries")
    vectors = memory._services.vectors
    [space] = vectors.spaces()
    steps = itertools.count()
    with memory._services.index._db.read_transaction() as db:  # type: ignore[attr-defined]
        db.set_progress_handler(lambda: next(steps) < 0, 1)
        assert len(vectors.find_missing(space, 2)) == 2
        db.set_progress_handler(None)
    assert 0 < next(steps) < 100
