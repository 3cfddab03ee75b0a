"""E · Recall by meaning and by both: E2, E3, E5, E8, E9."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from muisti import InvalidRequest, MemoryNotFound, Muisti
from muisti.model import SearchResult, SearchResults
from muisti.recall.filters import Mode
from tests.conftest import FakeClock, Opener
from tests.embed_server import serving

CAT = "Our cat sleeps on the sofa all day"
OTHERS = [
    "The budget for the third quarter was approved",
    "Deploys happen with docker compose on Fridays",
    "The bridge is closed for repairs until further notice",
    "Anna plays the violin in an orchestra",
]
PARAPHRASES = [
    ("feline", CAT),
    ("money plans of the company", OTHERS[0]),
    ("shipping software in containers", OTHERS[1]),
    ("musician", OTHERS[3]),
]

MODES: tuple[Mode, ...] = ("hybrid", "vector", "keyword")


def ids(results: SearchResults | list[SearchResult]) -> list[str]:
    return [result.memory.id for result in results]


def contents(results: SearchResults | list[SearchResult]) -> list[str]:
    return [result.memory.content for result in results]


# -- E2


@pytest.mark.parametrize(("query", "answer"), PARAPHRASES)
@pytest.mark.parametrize("mode", ["vector", "hybrid"])
def test_E2_a_paraphrase_without_a_shared_word_is_found(
    memory: Muisti, query: str, answer: str, mode: str
) -> None:
    memory.save_batch([CAT, *OTHERS])
    found = memory.search(query, mode=mode)  # type: ignore[arg-type]
    assert (contents(found)[0], found.mode, found.degraded) == (answer, mode, "")


def test_E2_the_vector_mode_answers_as_many_as_asked(memory: Muisti) -> None:
    memory.save_batch([CAT, *OTHERS])
    assert len(memory.search("zebra crossing", mode="vector", limit=3)) == 3
    assert len(memory.search("zebra crossing", mode="vector", limit=50)) == 5


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("mode", ["vector", "hybrid"])
def test_E2_filters_work_inside_so_that_the_limit_is_filled(
    opened: Opener, clock: FakeClock, mode: Mode
) -> None:
    """More near ones that a filter hides than are looked at closely, few far ones that it lets
    through.
    """
    with serving() as server:
        memory = opened(embedder="ollama", embedder_url=server.url, model="m", embedder_timeout=5.0)
        memory.save_batch(
            [
                {"content": f"Cat {n} on the sofa", "project": "zoo", "kind": "note"}
                for n in range(300)
            ]
        )
        clock.forward(days=30)
        memory.save_batch(
            [
                {
                    "content": f"{subject} has a sofa",
                    "project": "farm",
                    "kind": "fact",
                    "session_id": "s7",
                }
                for subject in (
                    "The donkey of the old farmer",
                    "The red tractor in the barn",
                    "The orchard behind the house",
                )
            ]
        )
        memory.reindex_missing()
        day = clock.now() - timedelta(days=1)
        filters: list[dict[str, Any]] = [
            {"project": "farm"},
            {"kind": "fact"},
            {"session": "s7"},
            {"since": day},
            {
                "project": "farm",
                "kind": ["fact", "decision"],
                "session": "s7",
                "since": day,
                "until": clock.now() + timedelta(1),
            },
        ]
        for options in filters:
            found = memory.search("cat on the sofa", mode=mode, limit=3, **options)
            assert found.degraded == ""
            assert [result.memory.project for result in found] == ["farm"] * 3, options
            assert all("vector" in [signal.name for signal in result.why] for result in found)
        found = memory.search("cat on the sofa", mode=mode, limit=3, until=day)
        assert [result.memory.project for result in found] == ["zoo"] * 3
        assert memory.search("cat on the sofa", mode=mode, project="nowhere") == []


def test_E2_until_and_salience_work_inside_too(opened: Opener, clock: FakeClock) -> None:
    memory = opened(embedder="onnx", model="minilm")
    old = memory.save("A cat is asleep on the old sofa")
    clock.forward(days=10)
    memory.save_batch([f"Cat number {n} sleeps on the sofa" for n in range(30)])
    found = memory.search(
        "sleeping cat", mode="vector", limit=2, until=clock.now() - timedelta(days=1)
    )
    assert ids(found) == [old.id]
    for weak in memory.list(limit=None):
        if weak.id != old.id:
            memory.deemphasize(weak.id, 0.9)
    assert ids(memory.search("sleeping cat", mode="vector", limit=2, min_salience=0.5)) == [old.id]
    assert ids(memory.search("sleeping cat", limit=2, min_salience=0.5)) == [old.id]


def test_E2_trash_is_not_searched_by_meaning(memory: Muisti) -> None:
    saved = memory.save(CAT)
    memory.save_batch(OTHERS)
    memory.delete(saved.id)
    assert saved.id not in ids(memory.search("feline", mode="vector"))
    assert ids(memory.search("feline", mode="vector", include_deleted=True))[0] == saved.id
    memory.restore(saved.id)
    assert ids(memory.search("feline", mode="vector"))[0] == saved.id


def test_E2_memories_of_another_session_stay_hidden(memory: Muisti) -> None:
    private = memory.save(CAT, tier="session", session_id="mine")
    memory.save_batch(OTHERS)
    assert private.id not in ids(memory.search("feline", mode="vector"))
    memory.start_session(session_id="yours")
    assert private.id not in ids(memory.search("feline", session_id="yours"))
    assert ids(memory.search("feline", session_id="mine"))[0] == private.id


# -- E3


def test_E3_in_both_lists_stands_above_those_in_one(memory: Muisti) -> None:
    both = memory.save("The cat is asleep on the sofa")
    words = memory.save(
        "CAT is also short for computerised axial tomography, says the hospital's leaflet"
    )
    meaning = memory.save("Our kitten likes to nap on the couch")
    memory.save_batch(OTHERS)
    found = ids(memory.search("cat asleep on sofa"))
    assert found[0] == both.id
    assert {words.id, meaning.id} <= set(found)


def test_E3_hybrid_is_the_default(memory: Muisti) -> None:
    memory.save_batch([CAT, *OTHERS])
    plain, named = memory.search("sleeping feline"), memory.search("sleeping feline", mode="hybrid")
    assert [(r.memory.id, r.score) for r in plain] == [(r.memory.id, r.score) for r in named]
    assert plain.mode == "hybrid"


def test_E3_one_side_empty_the_other_answers(memory: Muisti) -> None:
    cat = memory.save(CAT)
    code = memory.save("Ticket QX-7731 was closed as a duplicate")
    memory.save_batch(OTHERS)
    assert ids(memory.search("feline", mode="keyword")) == []
    assert ids(memory.search("feline"))[0] == cat.id
    assert ids(memory.search("QX-7731"))[0] == code.id
    russian = memory.save("Мы приняли решение вчера")  # the model reads no Russian
    assert ids(memory.search("решения"))[0] == russian.id


@pytest.mark.parametrize("mode", ["fuzzy", "", "HYBRID", None, 3])
def test_E3_an_unknown_mode_is_an_error_that_names_it(memory: Muisti, mode: object) -> None:
    memory.save(CAT)
    with pytest.raises(InvalidRequest, match="mode") as caught:
        memory.search("cat", mode=mode)  # type: ignore[arg-type]
    assert str(mode) in str(caught.value)
    assert "hybrid, vector, keyword" in str(caught.value)


QUERIES = {
    "one character": "x",
    "a digit": "7",
    "100 kB": "cat sofa " * 11_200,
    "100 kB without a space": "x" * 100_000,
    "stop words": "what is it that we are and who was the",
    "emoji": "🚀🎉",
    "Cyrillic": "Что мы решили вчера?",
    "Chinese": "数据库在哪里？",
    "Arabic": "أين القط",
    "control characters": "cat\x01\x02\x1b[31m\x7f",
    "half a surrogate pair": "cat \ud83d",
    "NUL inside": "cat\0sofa",
    "right to left mark": "\u200f",
    "combining marks": "c\u0301\u0301\u0301a\u0300t" * 50,
    "new lines": "cat\n\n\nsofa",
    "punctuation": "?!…",
}


@pytest.mark.parametrize("name", QUERIES)
def test_E3_every_query_is_answered_with_a_list(memory: Muisti, name: str) -> None:
    memory.save_batch([CAT, "Launch day 🚀 at last", "Мы решили вчера", "我们的数据库"])
    for mode in MODES:
        found = memory.search(QUERIES[name], mode=mode)
        assert isinstance(found, list)
        assert all(0 <= result.score <= 1 for result in found)


@pytest.mark.parametrize("mode", ["hybrid", "vector", "keyword"])
@pytest.mark.parametrize("query", ["", " ", "\n\t", "\0"])
def test_E3_an_empty_query_is_an_error_in_every_mode(memory: Muisti, query: str, mode: str) -> None:
    with pytest.raises(InvalidRequest, match="query"):
        memory.search(query, mode=mode)  # type: ignore[arg-type]


@pytest.mark.parametrize("mode", ["hybrid", "vector", "keyword"])
def test_E3_an_empty_vault_answers_nothing(memory: Muisti, mode: str) -> None:
    found = memory.search("anything", mode=mode)  # type: ignore[arg-type]
    assert found == []


# -- E5


@pytest.mark.parametrize("mode", ["hybrid", "vector", "keyword"])
def test_E5_scores_descend_between_0_and_1(memory: Muisti, mode: str) -> None:
    memory.save_batch([CAT, *OTHERS, "A cat and a dog", "Cats, cats, cats", "The sofa is red"])
    found = memory.search("cat on the sofa", mode=mode)  # type: ignore[arg-type]
    scores = [result.score for result in found]
    assert len(scores) > 2
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
    cosines = [
        next((signal.score for signal in result.why if signal.name == "vector"), None)
        for result in found
    ]
    for result, cosine in zip(found, cosines, strict=True):
        if mode == "keyword":
            assert result.distance is None
        elif cosine is not None:
            assert result.distance == pytest.approx(1 - cosine, abs=1e-4)


def test_E5_why_tells_rank_and_score_of_words_and_meaning(memory: Muisti) -> None:
    memory.save_batch([CAT, *OTHERS])
    best = memory.search("cat on the sofa")[0]
    signals = {signal.name: signal for signal in best.why}
    assert {"keyword", "vector", "prior"} <= signals.keys()
    assert (signals["keyword"].rank, signals["vector"].rank) == (1, 1)
    assert signals["keyword"].score > 0
    assert 0.45 < signals["vector"].score <= 1
    assert "cat" in signals["keyword"].note
    assert {signal.name for signal in memory.search("feline")[0].why} == {
        "vector",
        "prior",
        "fusion",
    }


def test_E5_the_snippet_of_a_hit_by_meaning_is_its_piece(memory: Muisti) -> None:
    dull = (
        "The committee met again and talked about the minutes of the meeting before, without any result. "
        * 30
    )
    saved = memory.save(
        f"# Protocol\n\n{dull}\n\n## Pets\n\nThe cat sleeps on the sofa. It purrs and chases mice.\n\n## End\n\n{dull}"
    )
    assert saved.chunk_count > 2
    (found,) = memory.search("feline predator hunting rodents", mode="vector")
    assert "The cat sleeps on the sofa." in found.matched_snippet
    assert len(found.matched_snippet) < 520


# -- E8


def test_E8_explain_tells_of_meaning(memory: Muisti) -> None:
    cat = memory.save(CAT, project="home", kind="fact")
    memory.save_batch(OTHERS)
    yes = memory.explain("feline", cat.id)
    assert (yes.recalled, yes.rank, yes.matched) == (True, 1, ())
    assert "vector" in [signal.name for signal in yes.signals]
    both = memory.explain("cat sofa", cat.id)
    assert {"keyword", "vector"} <= {signal.name for signal in both.signals}
    unrelated = memory.explain("quarterly budget", cat.id)
    assert not unrelated.recalled
    assert any("not similar in meaning" in reason for reason in unrelated.reasons)
    hidden = memory.explain("feline", cat.id, kind="note")
    assert not hidden.recalled
    assert any("kind" in reason for reason in hidden.reasons)
    assert memory.explain("feline", cat.id, mode="keyword").recalled is False
    with pytest.raises(MemoryNotFound):
        memory.explain("feline", "nobody")


def test_E8_explain_agrees_with_search(memory: Muisti) -> None:
    saved = memory.save_batch([CAT, *OTHERS])
    found = ids(memory.search("sofa for a feline musician"))
    for one in saved:
        told = memory.explain("sofa for a feline musician", one.id)
        assert told.recalled is (one.id in found)
        assert told.rank == (found.index(one.id) + 1 if one.id in found else None)


def test_E8_related_finds_the_neighbour_in_meaning(memory: Muisti) -> None:
    cat = memory.save(CAT)
    memory.save_batch(OTHERS)
    kitten = memory.save("A kitten naps upon its couch")
    found = memory.related(cat.id)
    assert ids(found)[0] == kitten.id
    assert cat.id not in ids(found)
    memory.save("A kitten dozes there", project="other")
    assert all(
        result.memory.project in ("", "other") for result in memory.related(cat.id, project="other")
    )
    assert len(memory.related(cat.id, limit=1)) == 1


# -- E9


def test_E9_a_named_month_puts_its_memory_first(memory: Muisti, clock: FakeClock) -> None:
    clock.at = datetime(2024, 5, 14, tzinfo=UTC)
    before = memory.save("The team went to the lake for the summer outing, with canoes")
    clock.at = datetime(2025, 5, 15, tzinfo=UTC)
    after = memory.save("The team went to the mountains for the summer outing, on foot")
    clock.at = datetime(2026, 3, 10, tzinfo=UTC)
    memory.save_batch(OTHERS)
    for mode in ("hybrid", "vector", "keyword"):
        assert (
            ids(memory.search("where did the team go for the outing in May 2025?", mode=mode))[0]
            == after.id
        )
        assert (
            ids(memory.search("where did the team go for the outing in May 2024?", mode=mode))[0]
            == before.id
        )
    signals = {signal.name for signal in memory.search("the team's outing in May 2025")[0].why}
    assert "time" in signals


def test_E9_asked_at_moves_yesterday(memory: Muisti, clock: FakeClock) -> None:
    clock.at = datetime(2026, 1, 1, 12, tzinfo=UTC)
    memory.save_batch(OTHERS)
    saved = []
    for day, who in (
        (1, "Mary at the harbour"),
        (5, "Otto in the canteen"),
        (9, "Ines near the station"),
    ):
        clock.at = datetime(2026, 2, day, 12, tzinfo=UTC)
        saved.append(memory.save(f"Lunch with {who}"))
    clock.at = datetime(2026, 2, 10, 9, tzinfo=UTC)
    query = "who had lunch with us yesterday?"
    assert ids(memory.search(query))[0] == saved[2].id
    assert ids(memory.search(query, asked_at=datetime(2026, 2, 6, 9, tzinfo=UTC)))[0] == saved[1].id
    assert ids(memory.search(query, asked_at=datetime(2026, 2, 2, 9, tzinfo=UTC)))[0] == saved[0].id
    with pytest.raises(InvalidRequest, match="asked_at"):
        memory.search(query, asked_at=datetime(2026, 2, 2))


def test_E9_known_at_hides_what_came_later(memory: Muisti, clock: FakeClock) -> None:
    first = memory.save("The cat sleeps on the sofa")
    moment = clock.now()
    clock.forward(days=1)
    later = memory.save("A kitten naps on the couch")
    for mode in ("hybrid", "vector", "keyword"):
        assert later.id not in ids(memory.search("cat kitten sofa", mode=mode, known_at=moment))
        assert first.id in ids(memory.search("cat kitten sofa", mode=mode, known_at=moment))
    assert later.id in ids(memory.search("cat kitten sofa"))


# -- Conversations


def _talk(memory: Muisti, clock: FakeClock, session: str, turns: list[str]) -> list[str]:
    made = []
    for turn in turns:
        clock.forward(seconds=30)
        made.append(memory.save(turn, session_id=session).id)
    return made


def test_E3_a_short_answer_is_found_by_the_words_of_the_turn_before(
    memory: Muisti, clock: FakeClock
) -> None:
    for n in range(4):
        _talk(
            memory,
            clock,
            f"filler{n}",
            [f"Anna: How was day {n} at the office?", "Ben: Long, as always.", "Anna: Oh dear."],
        )
    turns = _talk(
        memory,
        clock,
        "trip",
        [
            "Anna: Hello Ben, nice to see you!",
            "Anna: Have you found a flat for your sabbatical?",
            "Ben: Yes, in Lisbon!",
            "Anna: Wonderful.",
        ],
    )
    found = ids(memory.search("Where did Ben find a flat for the sabbatical?", limit=3))
    assert turns[2] in found


def test_E3_a_first_person_question_prefers_what_the_user_said(
    memory: Muisti, clock: FakeClock
) -> None:
    turns = _talk(
        memory,
        clock,
        "chat",
        [
            "user: I adopted a greyhound named Pixel last spring.",
            "assistant: A greyhound named Pixel! Greyhounds are calm dogs, and a greyhound needs a warm coat in winter.",
            "user: Thanks.",
        ],
    )
    found = memory.search("What is the name of my greyhound?")
    assert ids(found)[0] == turns[0]
    assert "speaker" in [signal.name for signal in found[0].why]
