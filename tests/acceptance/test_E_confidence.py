"""E · The score of a result is the probability that it answers: E5, E8, E10."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muisti import Muisti
from muisti.model import SearchResult, SearchResults
from muisti.recall.filters import Mode
from tests.conftest import Opener

FACTS = [
    "Anna is allergic to peanuts",
    "We chose PostgreSQL over MySQL because of JSONB",
    "The deploy runs on Fridays with docker compose",
    "Standup is at 9:30 in the small room",
    "The API key rotates every 90 days",
]
ANSWERED = [
    ("What is Anna allergic to?", FACTS[0]),
    ("peanuts", FACTS[0]),
    ("Why PostgreSQL and not MySQL?", FACTS[1]),
]
OFF_TOPIC = [
    "asdfqwer zzz",
    "bliru kato mefi",
    "x7kq2 qwertz",
    "What is the capital of Mongolia?",
    "Who discovered penicillin, and in which year?",
    "How long does sourdough bread bake?",
]
MODES: tuple[Mode, ...] = ("hybrid", "vector", "keyword")
SIZES = (3, 300)
ASKED = datetime(2030, 1, 1, tzinfo=UTC)


def make_fillers(count: int) -> list[str]:
    """Return notes that have no word of the questions."""
    subjects = ("parser", "garden", "printer", "invoice", "router", "camera", "bridge")
    verbs = ("failed", "moved", "grew", "stopped", "broke")
    return [
        f"The {subjects[n % 7]} {n} {verbs[n % 5]} after {n * 7 % 97} minutes" for n in range(count)
    ]


@pytest.fixture(scope="module", params=SIZES)
def filled(request: pytest.FixtureRequest) -> Iterator[Muisti]:
    """A vault of this many memories; without files, for they do not matter here."""
    with Muisti.open(":memory:") as memory:
        memory.save_batch([*FACTS[:3], *make_fillers(request.param - 3)])
        memory.reindex_missing()
        yield memory


def contents(results: SearchResults | list[SearchResult]) -> list[str]:
    return [result.memory.content for result in results]


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("query", OFF_TOPIC)
def test_E5_gibberish_and_off_topic_queries_have_no_good_match(
    filled: Muisti, query: str, mode: Mode
) -> None:
    found = filled.search(query, mode=mode, record=False)
    assert not found.has_good_match
    assert all(result.weak for result in found)


IN_OTHER_WORDS = [
    ("where are credentials stored?", "We keep the API keys in 1Password, vault Engineering."),
    ("which service delivers our mail?", "Emails are sent by Postmark."),
    ("which book am I in the middle of?", "I'm reading The Left Hand of Darkness."),
]


@pytest.mark.parametrize(("query", "answer"), IN_OTHER_WORDS)
@pytest.mark.parametrize("mode", ["hybrid", "vector"])
def test_E5_an_answer_in_other_words_is_a_good_match(
    filled: Muisti, query: str, answer: str, mode: Mode
) -> None:
    """Also beside a text that shares a word with the query but is about something else."""
    saved = [filled.save(text).id for text in (answer, "Our service desk is open on Sundays.")]
    filled.reindex_missing()
    found = filled.search(query, mode=mode, record=False)
    for id_ in saved:
        filled.delete(id_, hard=True)
    assert contents(found)[0] == answer
    assert found.has_good_match


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("query", "answer"), ANSWERED)
def test_E5_the_answer_is_a_good_match(filled: Muisti, query: str, answer: str, mode: Mode) -> None:
    found = filled.search(query, mode=mode, record=False)
    assert contents(found)[0] == answer
    assert found[0].score > 0.5
    assert not found[0].weak


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("mode", MODES)
def test_E5_the_score_does_not_depend_on_the_size_of_the_vault(opened: Opener, mode: Mode) -> None:
    memory = opened()
    memory.save_batch(FACTS[:2])
    before = {query: memory.search(query, mode=mode)[0].score for query, _ in ANSWERED}
    memory.save_batch(make_fillers(120))
    memory.reindex_missing()
    for query, answer in ANSWERED:
        best = memory.search(query, mode=mode, limit=1)[0]
        assert best.memory.content == answer
        assert best.score == pytest.approx(before[query], abs=0.05)


def test_E5_without_vectors_the_words_decide(opened: Opener) -> None:
    memory = opened(embedder="none")
    memory.save_batch(FACTS)
    degraded = memory.search("What is Anna allergic to?", record=False)
    keyword = memory.search("What is Anna allergic to?", mode="keyword", record=False)
    assert [(r.memory.id, r.score, r.weak, r.distance) for r in degraded] == [
        (r.memory.id, r.score, r.weak, None) for r in keyword
    ]
    assert degraded.has_good_match
    assert not memory.search("How much snow fell on the roof of Anna?").has_good_match


def test_E5_a_successor_is_as_sure_as_what_it_replaced(memory: Muisti) -> None:
    """It has none of the words, and stands above the memory that has them."""
    old = memory.save("Anna lives in Turku, near the harbour")
    new = memory.save("Moved to Espoo in May")
    memory.supersede(old.id, new.id)
    found = memory.search("Does Anna live near the harbour in Turku?")
    assert [result.memory.id for result in found[:2]] == [new.id, old.id]
    assert not found[0].weak
    assert not found[1].weak


def test_E5_a_time_counts_as_evidence(opened: Opener) -> None:
    memory = opened(embedder="none")
    at = datetime(2026, 3, 4, 12, tzinfo=UTC)
    memory.save("Yesterday is only a word here", created_at=at - timedelta(days=90))
    met = memory.save("Met the plumber about the leak", created_at=at - timedelta(days=1))
    found = memory.search("What did the plumber say yesterday?", asked_at=at)
    assert found[0].memory.id == met.id
    assert not found[0].weak


def test_E10_context_and_relevant_memories_leave_weak_matches_out(memory: Muisti) -> None:
    memory.save_batch(FACTS)
    session = memory.start_session().id
    assert FACTS[0] in memory.context("What is Anna allergic to?")
    assert contents_of(memory, session, "What is Anna allergic to?") == [FACTS[0]]
    for query in OFF_TOPIC:
        assert not any(fact in memory.context(query) for fact in FACTS)
        assert contents_of(memory, session, query) == []


def contents_of(memory: Muisti, session: str, query: str) -> list[str]:
    return [one.content for one in memory.get_relevant_memories(session, query)]


def test_E7_weak_matches_that_are_left_out_are_not_recalled(memory: Muisti) -> None:
    saved = memory.save_batch(FACTS)
    memory.context("Who discovered penicillin, and in which year?")
    memory.context("What is Anna allergic to?")
    counts = [memory.get(one.id).access_count for one in saved]  # type: ignore[union-attr]
    assert counts == [1, 0, 0, 0, 0]


# -- Pages, and explanations


WORDS = "red green blue house garden river stone bread salt light paper glass".split()
TEXTS = st.lists(
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join), min_size=1, max_size=130
)
QUERIES = st.lists(st.sampled_from([*WORDS, "unknown"]), min_size=1, max_size=4).map(" ".join)


@pytest.mark.exhaustive(keep=1)
@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from([*(query for query, _ in ANSWERED), *OFF_TOPIC, "the printer failed"]),
    st.sampled_from(MODES),
    st.integers(1, 300),
    st.integers(1, 300),
)
def test_E5_pages_continue_one_another(
    filled: Muisti, query: str, mode: Mode, limit: int, more: int
) -> None:
    def find(count: int) -> list[tuple[str, float, bool]]:
        found = filled.search(query, limit=count, mode=mode, record=False, asked_at=ASKED)
        return [(result.memory.id, result.score, result.weak) for result in found]

    short = find(limit)
    assert find(limit + more)[: len(short)] == short


@settings(max_examples=25, deadline=None)
@given(TEXTS, QUERIES, st.lists(st.integers(1, 300), min_size=2, max_size=3), st.data())
def test_E5_a_longer_list_begins_with_the_shorter_one(
    texts: list[str], query: str, limits: list[int], data: st.DataObject
) -> None:
    mode = data.draw(st.sampled_from(MODES))
    with Muisti.open(":memory:", embedder="hashing") as memory:
        drafts = [
            {"content": text, "session_id": f"s{n // 9}", "kind": "fact" if n % 3 else "note"}
            for n, text in enumerate(texts)
        ]
        memory.save_batch(drafts)
        memory.reindex_missing()
        lists = [
            [
                (result.memory.id, result.score, result.weak)
                for result in memory.search(query, limit=limit, mode=mode, record=False)
            ]
            for limit in sorted(limits)
        ]
        for shorter, longer in pairwise(lists):
            assert longer[: len(shorter)] == shorter
        scores = [score for _, score, _ in lists[-1]]
        assert scores == sorted(scores, reverse=True)


@settings(max_examples=25, deadline=None)
@given(TEXTS, QUERIES, st.integers(1, 60), st.data())
def test_E8_explain_agrees_with_search(
    texts: list[str], query: str, limit: int, data: st.DataObject
) -> None:
    """With the same time and filters: the same rank, score and signals."""
    mode = data.draw(st.sampled_from(MODES))
    kind = data.draw(st.sampled_from(["fact", "note", None]))
    when = data.draw(st.sampled_from(["", " yesterday", " last week"]))
    start = datetime(2026, 3, 1, tzinfo=UTC)
    asked_at = start + timedelta(days=data.draw(st.integers(0, 20)))
    with Muisti.open(":memory:", embedder="hashing") as memory:
        saved = memory.save_batch(
            {
                "content": text,
                "kind": "fact" if n % 3 else "note",
                "created_at": start + timedelta(days=n % 15),
            }
            for n, text in enumerate(texts)
        )
        memory.reindex_missing()
        options = {"mode": mode, "asked_at": asked_at, "kind": kind}
        found = memory.search(query + when, limit=limit, record=False, **options)
        for place, result in enumerate(found, start=1):
            told = memory.explain(query + when, result.memory.id, **options)
            assert (told.recalled, told.rank, told.score, told.weak, told.signals) == (
                True,
                place,
                result.score,
                result.weak,
                result.why,
            )
        listed = {result.memory.id for result in found}
        for one in saved[:20]:
            told = memory.explain(query + when, one.id, **options)
            assert one.id in listed or told.rank is None or told.rank > len(found)
