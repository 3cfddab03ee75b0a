"""C · Long memories in pieces, and when their vectors are made: C4, C5."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import apsw
import pytest

from muisti import InvalidMemory, Muisti, SettingsError
from muisti.ports.vectors import Chunking
from muisti.remember.chunk import OVERLAP, SIZE
from muisti.remember.embed import embed
from muisti.remember.embedding_worker import _warn_capped
from muisti.settings import Settings
from tests.conftest import Opener, file_store
from tests.embed_server import EmbedServer, serving

FILLER = "The committee met again and talked about the minutes of the meeting before, without any result worth noting here. "
MANUAL = "\n\n".join(
    f"## {title}\n\n{FILLER * 12}{last}"
    for title, last in [
        ("Introduction", "This manual is for new colleagues."),
        ("Travel expenses", "Receipts are handed in within thirty days."),
        ("Parking", "The garage has forty places."),
        ("Beekeeping", "Honey is harvested from the hives on the roof in July."),
    ]
)


@pytest.fixture
def server() -> Iterator[EmbedServer]:
    with serving() as running:
        yield running


@pytest.fixture
def remote(opened: Opener, server: EmbedServer) -> Muisti:
    return opened(embedder="ollama", embedder_url=server.url, model="counted", embedder_timeout=5.0)


def texts(server: EmbedServer) -> list[str]:
    """Everything that was embedded, without the short text by which the dimensions are learned."""
    return [text for request in server.requests for text in request["input"] if text != "."]  # type: ignore[attr-defined]


def pieces(memory: Muisti) -> list[tuple[object, ...]]:
    """The rows of all vectors as the index file has them."""
    path = file_store(memory).index._db.path  # type: ignore[attr-defined]
    db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        return list(
            db.execute(
                "SELECT v, space, n, first, last, heading, scale, codes FROM vectors ORDER BY v"
            )
        )
    finally:
        db.close()


def test_C4_a_question_about_the_last_section_finds_a_long_memory_and_shows_that_section(
    memory: Muisti,
) -> None:
    saved = memory.save(MANUAL, title="Handbook")
    memory.save_batch(
        ["The printer is out of toner", "Lunch is at noon", "The lift is being repaired"]
    )
    assert saved.chunk_count > 1
    by_meaning = memory.search("apiculture insects", mode="vector")
    assert by_meaning[0].memory.id == saved.id
    assert (
        "hives on the roof" in by_meaning[0].matched_snippet
        or "Beekeeping" in by_meaning[0].matched_snippet
    )
    by_words = memory.search("when is honey harvested?")
    assert by_words[0].memory.id == saved.id
    assert "Honey is harvested from the hives" in by_words[0].matched_snippet


def test_C4_a_memory_is_one_answer_however_many_of_its_pieces_hit(memory: Muisti) -> None:
    saved = memory.save(MANUAL)
    found = [
        result.memory.id
        for result in memory.search("minutes of the committee meeting", mode="vector")
    ]
    assert found == [saved.id]


@pytest.mark.needs_files("looks into the index file")
def test_C4_pieces_know_their_headings_and_cover_the_text(memory: Muisti) -> None:
    saved = memory.save(MANUAL)
    rows = pieces(memory)
    assert len(rows) == saved.chunk_count
    spans = [(int(str(row[3])), int(str(row[4]))) for row in rows]
    assert spans[0][0] == 0
    assert spans[-1][1] == len(saved.content)
    assert all(later[0] <= earlier[1] + 2 for earlier, later in pairwise(spans)), (
        "a gap but white space"
    )
    assert "Beekeeping" in str(rows[-1][5]) or saved.content[spans[-1][0] :].startswith(
        "## Beekeeping"
    )


@pytest.mark.needs_files("looks into the index file")
def test_C4_no_piece_is_longer_than_the_model_reads(opened: Opener) -> None:
    memory = opened(embedder="onnx", model="minilm")  # reads 256 tokens
    saved = memory.save(FILLER * 30)
    embedder = memory._services.embedders(None)
    assert embedder is not None
    assert saved.chunk_count > 30 * embedder.count_tokens(FILLER) // 256
    for row in pieces(memory):
        assert embedder.count_tokens(saved.content[int(str(row[3])) : int(str(row[4]))]) <= 254


def test_C4_the_chunks_of_spec_0_have_512_tokens_and_overlap_by_50(opened: Opener) -> None:
    default = Settings()
    assert (default.chunk_size, default.chunk_overlap) == (SIZE, OVERLAP) == (400, 80)
    memory = opened(embedder="hashing", chunk_size=512, chunk_overlap=50)
    saved = memory.save(FILLER * 60)
    model = memory._services.embedders(None)
    assert model is not None
    pieces = embed(model, [saved], chunking=Chunking(512, 50))[0].pieces
    counts = [model.count_tokens(saved.content[one.start : one.end]) for one in pieces]
    assert saved.chunk_count == len(counts) > 1
    assert all(400 < count <= 512 for count in counts[:-1])
    for before, after in pairwise(pieces):
        assert 0 < model.count_tokens(saved.content[after.start : before.end]) <= 50
    assert memory.search("talked about the minutes", mode="vector")


def test_C4_other_chunks_are_a_space_of_their_own_that_serves_when_it_is_complete(
    opened: Opener, vault: Path
) -> None:
    with opened(embedder="hashing") as memory:
        counts = {one.id: one.chunk_count for one in memory.save_batch([MANUAL, FILLER * 40])}
        assert [one.identity.revision for one in memory._services.vectors.spaces()] == ["fnv1a-r1"]
    with opened(embedder="hashing", chunk_size=100) as memory:
        assert memory.settings.chunk_overlap == 20
        assert memory.reindex_missing() == 2
        [space] = memory._services.vectors.spaces()
        assert (space.identity.revision, space.missing) == ("fnv1a-r1+chunks-100-20", 0)
        for one in memory.list():
            assert one.chunk_count > 2 * counts[one.id]
        assert memory.search("honey on the roof", mode="vector")
        memory.reindex()
        assert memory._services.vectors.spaces() == [space]
    with opened(embedder="hashing") as memory:
        memory.reindex()
        assert {one.id: one.chunk_count for one in memory.list()} == counts
        assert memory.verify(deep=True).ok


def test_C4_a_chunk_size_above_what_the_model_reads_is_capped_and_said(
    opened: Opener, caplog: pytest.LogCaptureFixture
) -> None:
    _warn_capped.cache_clear()
    memory = opened(embedder="onnx", model="minilm", chunk_size=1000, chunk_overlap=200)
    saved = memory.save_batch([FILLER * 13, "Another text"])
    assert [one.message for one in caplog.records if "chunk" in one.message] == [
        "chunk_size = 1000 is more than minilm reads: chunks have at most 254 tokens"
    ]
    assert [one.chunk_count for one in saved] == [2, 1]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"chunk_size": 100, "chunk_overlap": 100}, "chunk_overlap = 100 .* chunk_size = 100"),
        ({"chunk_size": 100, "chunk_overlap": 101}, "chunk_overlap = 101 .* chunk_size = 100"),
        ({"chunk_overlap": 400}, "chunk_overlap = 400 .* chunk_size = 400"),
        ({"chunk_size": 15}, "chunk_size = 15 must be between 16 and"),
        ({"chunk_overlap": -1}, "chunk_overlap = -1 must be between 0 and"),
    ],
)
def test_C4_contradictory_chunks_are_refused(
    opened: Opener, given: dict[str, int], said: str
) -> None:
    with pytest.raises(SettingsError, match=said):
        opened(**given)


@pytest.mark.needs_files("looks into the index file")
@pytest.mark.parametrize(
    "content",
    [
        "```\nx = 1",
        "🚀",
        "\u200b.",
        "---",
        "a" * 3_000,
        "| a | b |\n|---|---|\n" * 60,
        "the 数据库 " * 300,
    ],
)
def test_C4_odd_texts_are_saved_and_embedded(memory: Muisti, content: str) -> None:
    saved = memory.save(content)
    assert saved.embedding_model == "bge-small"
    assert saved.chunk_count >= 1
    assert file_store(memory).index.check() == []


@pytest.mark.needs_files("looks into the index file")
def test_C5_update_embeds_again_only_if_the_text_changed(
    remote: Muisti, server: EmbedServer
) -> None:
    saved = remote.save("The first text of this memory", kind="note")
    assert (saved.chunk_count, saved.embedding_model) == (1, "counted")
    before, rows = len(server.requests), pieces(remote)
    remote.update(saved.id, kind="decision")
    remote.update(saved.id, importance=0.9)
    remote.update(saved.id, keywords=["one", "two"])
    remote.update(saved.id, project="elsewhere")
    remote.touch(saved.id)
    remote.reinforce(saved.id)
    assert len(server.requests) == before
    assert pieces(remote) == rows
    longer = remote.update(saved.id, content=MANUAL)
    assert longer.chunk_count > 1
    assert longer.embedding_model == "counted"
    assert len(server.requests) > before
    shorter = remote.update(saved.id, content="Short again")
    assert shorter.chunk_count == 1
    assert len(pieces(remote)) == 1
    assert file_store(remote).index.check() == []


def test_C5_a_new_title_is_part_of_what_is_embedded(remote: Muisti, server: EmbedServer) -> None:
    saved = remote.save("It was decided at last")
    before = len(texts(server))
    remote.update(saved.id, title="Migration to Postgres")
    assert any("Migration to Postgres" in text for text in texts(server)[before:])


def test_C5_trash_and_back_keep_the_vectors(remote: Muisti, server: EmbedServer) -> None:
    saved = remote.save("Thrown away and fetched back")
    before = len(server.requests)
    remote.delete(saved.id)
    remote.restore(saved.id)
    kept = remote.get(saved.id)
    assert kept is not None
    assert (kept.chunk_count, kept.embedding_model) == (1, "counted")
    assert len(server.requests) == before


def test_C5_save_batch_embeds_all_in_batches(remote: Muisti, server: EmbedServer) -> None:
    seen: list[tuple[int, int]] = []
    saved = remote.save_batch(
        [f"Batch item number {n} on subject {n * n}" for n in range(60)],
        progress=lambda *at: seen.append(at),
    )
    assert seen
    assert {one.embedding_model for one in saved} == {"counted"}
    assert {one.chunk_count for one in saved} == {1}
    assert len(texts(server)) == 60, "each text once"
    assert len(server.requests) < 10, "in batches"
    assert remote.get_stats().waiting_count == 0


def test_C5_save_batch_of_more_than_a_save_waits_for_is_embedded_in_the_end(opened: Opener) -> None:
    memory = opened(embedder="hashing", embedder_timeout=1.0)
    memory.save_batch([f"Item {n} of a long list" for n in range(300)])
    memory.reindex_missing()
    assert memory.get_stats().waiting_count == 0
    assert {one.embedding_model for one in memory.list(limit=None)} == {"hashing"}


def test_C5_a_refused_batch_embeds_nothing(remote: Muisti, server: EmbedServer) -> None:
    with pytest.raises(InvalidMemory):
        remote.save_batch(["Good", {"content": "Bad", "importance": 7}])
    assert texts(server) == []


def test_C5_saying_the_same_again_embeds_nothing(remote: Muisti, server: EmbedServer) -> None:
    remote.save("Said twice, word for word")
    before = len(server.requests)
    again = remote.save("Said twice, word for word")
    assert len(server.requests) == before
    assert (again.chunk_count, again.embedding_model) == (1, "counted")


def test_C5_vectors_can_wait_for_the_next_search(opened: Opener, server: EmbedServer) -> None:
    memory = opened(
        embedder="ollama",
        embedder_url=server.url,
        model="counted",
        embedder_timeout=5.0,
        embed_on_save=False,
    )
    saved = memory.save("Embedded only when somebody asks")
    assert (saved.embedding_model, server.requests) == (None, [])
    assert memory.search("asks").degraded == ""
    assert memory.get(saved.id).embedding_model == "counted"  # type: ignore[union-attr]
