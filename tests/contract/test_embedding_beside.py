"""A query that is embedded beside the search by words finds the same, and fails the same."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from muisti import Muisti
from muisti.errors import EmbedderUnavailable
from muisti.models.embedders.hashing import HashingEmbedder
from muisti.ports import Services, Vector
from muisti.recall import query_embedding
from muisti.recall.speaker import find_named

TEXTS = (
    "Anna: my cat is called Momo",
    "Ben: the boat lies in the harbour",
    "user: I moved to Turku in May",
    "The staging server runs in Frankfurt",
    "Dr. Lee: the operation went well",
)
SIDE = "muisti-query"


class Recorder:
    """Which texts were embedded, and by which threads."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str]] = []
        self.before: Callable[[], object] = lambda: None

    def names(self) -> list[str]:
        return [thread.rpartition("_")[0] for thread, _ in self.calls]


@pytest.fixture
def embedded(monkeypatch: pytest.MonkeyPatch) -> Recorder:
    """The embedder counts as a model that understands queries and runs on a core of its own."""
    recorder, embed = Recorder(), HashingEmbedder.embed_query

    def record(self: HashingEmbedder, text: str) -> Vector:
        recorder.calls.append((threading.current_thread().name, text))
        recorder.before()
        return embed(self, text)

    monkeypatch.setattr(HashingEmbedder, "understands", lambda *_: 1.0)
    monkeypatch.setattr(HashingEmbedder, "is_parallel", True)
    monkeypatch.setattr(HashingEmbedder, "embed_query", record)
    monkeypatch.setattr(query_embedding, "count_cores", lambda: 2)
    return recorder


@pytest.fixture
def memory(embedded: Recorder, tmp_path: Path) -> Iterator[Muisti]:
    with Muisti.open(tmp_path / "vault", embedder="hashing", record_recall=False) as opened:
        opened.save_batch([{"content": text} for text in TEXTS])
        opened.reindex_missing()
        opened.search("warm up", mode="keyword")  # the first search of a process reads rows
        opened.search("warm up")  # the first with a vector shows which model and which names
        embedded.calls.clear()
        yield opened


@pytest.mark.parametrize(
    "query",
    [
        "what is called Momo?",
        "what is Anna's cat called?",  # Anna is removed before it is embedded
        "where does Anna keep the boat?",  # the matches have other speakers, too
        "did Dr. Lee operate well?",
        "when did I move?",
    ],
)
def test_the_answer_does_not_depend_on_the_thread(
    memory: Muisti, embedded: Recorder, query: str
) -> None:
    beside = memory.search(query)
    memory._services.side_thread.close()  # waits for it, also if its vector was not used
    assert embedded.names().count(SIDE) == 1
    memory._services.forget_queries()  # and so the next search starts nothing
    embedded.calls.clear()
    alone = memory.search(query)
    assert [thread for thread, _ in embedded.calls] == [threading.current_thread().name]
    assert list(beside) == list(alone)
    assert (beside.mode, beside.degraded) == (alone.mode, alone.degraded)


def test_a_query_is_embedded_again_if_the_matches_have_other_speakers(
    memory: Muisti, embedded: Recorder
) -> None:
    memory.search("Ben likes harbour boats", source="message")  # no match, so no speaker
    memory._services.side_thread.close()
    own = threading.current_thread().name
    assert {(SIDE in thread, text) for thread, text in embedded.calls} == {
        (True, "likes harbour boats"),
        (False, "Ben likes harbour boats"),
    }
    assert own in dict(embedded.calls)


def test_the_model_starts_before_the_index_is_read(
    memory: Muisti, embedded: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[list[str]] = []
    prepare = Services.prepare

    def look(self: Services, *, wait: bool) -> None:
        seen.append(embedded.names())
        prepare(self, wait=wait)

    monkeypatch.setattr(Services, "prepare", look)
    memory.search("where is the boat?")
    assert seen[0] == [SIDE]
    assert len(embedded.calls) == 1


def test_only_a_hybrid_search_that_is_alone_and_unknown_starts_it(
    memory: Muisti, embedded: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.search("the harbour", mode="keyword")
    assert embedded.calls == []
    memory.search("the harbour", mode="vector")
    memory.search("the harbour")  # its vector is kept
    assert len(embedded.calls) == 1
    monkeypatch.setattr(query_embedding, "count_cores", lambda: 1)
    memory.search("one core")
    assert SIDE not in embedded.names()


def test_searches_at_the_same_time_use_their_own_threads(
    memory: Muisti, embedded: Recorder
) -> None:
    both = threading.Barrier(2)
    embedded.before = lambda: both.wait(10)
    with ThreadPoolExecutor(2) as pool:
        found = pool.map(memory.search, ("where is the cat?", "where is the boat?"))
        assert all(not one.degraded for one in found)
    assert len(embedded.calls) == 2
    assert embedded.names().count(SIDE) <= 1


def test_D5_a_model_that_fails_leaves_a_search_by_keyword(
    memory: Muisti, embedded: Recorder
) -> None:
    def fail() -> None:
        raise EmbedderUnavailable("out of order")

    embedded.before = fail
    found = memory.search("where is the boat?")
    assert embedded.names() == [SIDE]
    assert found.degraded == "by keyword only: out of order"
    assert found.mode == "keyword"
    assert found[0].memory.content == TEXTS[1]


def test_closing_the_vault_ends_the_thread(memory: Muisti, embedded: Recorder) -> None:
    memory.search("where is the boat?")
    memory.close()
    assert not [one for one in threading.enumerate() if one.name.startswith(SIDE)]


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ("What is Anna's cat called?", {"anna"}),
        ("what did anna maria and ben say?", {"anna", "anna maria", "ben"}),
        ("Annabel and the bend", set()),
        ("anna-lena", {"anna-lena", "anna"}),
        ("", set()),
    ],
)
def test_names_are_found_as_whole_words(query: str, named: set[str]) -> None:
    assert find_named(query, {"anna", "anna maria", "anna-lena", "ben"}) == named
