"""What a result shows, and what may move it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muisti import bootstrap
from muisti.model import Signal
from muisti.ports import Candidate
from muisti.ports.columns import CandidateTable
from muisti.recall import features
from muisti.recall.columns import ArrayColumns, ListColumns
from muisti.recall.features import (
    EXPIRED,
    FEATURES,
    MESSAGE,
    PRIOR,
    Feature,
    RankingInputs,
    score_closeness,
    score_prior,
)
from muisti.recall.fuse import standardise
from muisti.recall.query import ParsedQuery
from muisti.recall.query_embedding import QueryEmbedding
from muisti.recall.rank import explain_result, rank
from muisti.recall.retrieve import Retrieval
from muisti.recall.snippet import LENGTH, make_snippet
from muisti.recall.speaker import find_speaker, remove_names
from muisti.text.time_expressions.question import When, parse_when
from muisti.text.tokens import tokenize
from tests.unit.making import ANY_SHARE, NOON, a_memory
from tests.unit.timing import grows_linearly

MARKS = len("… ") + len(" …")
FILLER = "Nothing of interest stands in this sentence at all. "


def test_a_short_text_is_shown_whole() -> None:
    assert make_snippet(" Short.\n", {"absent"}) == "Short."


@pytest.mark.parametrize("place", [0, 1, 10, 30, 40])
def test_the_sentence_with_the_word_is_shown(place: int) -> None:
    text = FILLER * place + "The needle is here. " + FILLER * (40 - place)
    shown = make_snippet(text, {"needl"})
    assert "The needle is here." in shown
    assert len(shown) <= LENGTH + MARKS
    assert shown.startswith("… ") == (place > 0)
    assert shown.endswith(" …") == (place < 40)


@pytest.mark.parametrize("before", [0, 1, 59, 60, 61, 119, 200, 237, 239, 240])
def test_the_word_is_shown_wherever_it_is_in_a_sentence_without_end(before: int) -> None:
    text = "foo " * before + "needle" + " bar" * (240 - before)
    shown = make_snippet(text, {"needl"})
    assert "needle" in shown
    assert len(shown) <= LENGTH + MARKS


def test_chinese_without_a_single_full_stop() -> None:
    text = "天" * 700 + "数据库" + "地" * 300
    assert "数据库" in make_snippet(text, {"数据", "据库"})


def test_the_sentence_with_most_words_wins() -> None:
    text = "Only apples. " + FILLER * 10 + "Apples and pears. " + FILLER * 10
    assert "Apples and pears." in make_snippet(text, {"appl", "pear"})


def test_the_beginning_is_shown_when_only_the_title_matched() -> None:
    text = "It begins here, with a sentence of some length. " + FILLER * 20 + "Ok. " + FILLER
    assert make_snippet(text, {"absent"}).startswith("It begins here")


@given(st.text(max_size=2000), st.sets(st.sampled_from(["a", "b", "needl"])), st.integers(20, 300))
def test_a_snippet_is_a_part_of_the_text_and_not_too_long(
    text: str, wanted: set[str], length: int
) -> None:
    shown = make_snippet(text, wanted, length)
    assert len(shown) <= length + MARKS
    inner = shown.removeprefix("… ").removesuffix(" …")
    assert "".join(inner.split()) in "".join(text.split())


_SENTENCE = st.lists(
    st.sampled_from(["apple", "pear", "fig", "plum", "x" * 50]), min_size=1, max_size=30
).map(" ".join)


@given(
    st.lists(
        st.tuples(_SENTENCE, st.sampled_from([". ", "\n", " ", "。"])), min_size=1, max_size=12
    )
)
def test_a_snippet_has_a_matched_word_if_the_text_has_one(sentences: list[tuple[str, str]]) -> None:
    text = "".join(sentence + end for sentence, end in sentences)
    if "fig" in tokenize(text):
        assert "fig" in tokenize(make_snippet(text, frozenset({"fig"}), 240))


@pytest.mark.parametrize(
    "text",
    [lambda n: "." * n, lambda n: "a. " * (n // 3), lambda n: "a" * n],
    ids=["dots", "many", "one"],
)
def test_snippets_of_hostile_texts_take_linear_time(text) -> None:
    assert grows_linearly(lambda content: make_snippet(content, {"a"}), text, 500_000)


def candidate(number: int = 1, **fields) -> Candidate:
    memory = a_memory(number, **fields)
    return Candidate(
        memory_id=memory.id,
        created_at=memory.created_at.timestamp(),
        valid_from=memory.valid_from and memory.valid_from.timestamp(),
        valid_until=memory.valid_until and memory.valid_until.timestamp(),
        importance=memory.importance,
        salience=memory.salience,
        opening=memory.content[:80],
        content_hash=f"hash of {number}",
        session_id=None,
        origin="memory",
        before=(),
        after=(),
        allowed=True,
    )


def make_inputs(
    scores: Mapping[Candidate, float],
    text: str = "question",
    when: When | None = None,
    session_words: Sequence[float] | None = None,
) -> RankingInputs:
    """Candidates with these scores by words."""
    columns, found = ListColumns(), list(scores)
    names = ["", *(find_speaker(one.opening) for one in found)]
    table = CandidateTable(
        keys=found,
        lengths=columns.make([*(5 for _ in found), -1]),
        bodies=columns.make([*(5 for _ in found), -1]),
        counts={},
        sides=(),
        created_at=columns.make([one.created_at for one in found]),
        about_at=columns.make([one.created_at for one in found]),
        messages=columns.make([float(one.origin == "message") for one in found]),
        allowed=None,
        sessions=columns.index(range(len(found))),
        session_count=len(found),
        speakers=names,
        speaker=list(range(1, len(names))),
    )
    retrieval = Retrieval(
        QueryEmbedding(),
        table,
        columns,
        lambda positions: [found[position] for position in positions],
        words=columns.make([*scores.values()]),
        session_words=None if session_words is None else columns.make(session_words),
    )
    return RankingInputs(ParsedQuery(text, "keyword", when=when), retrieval, NOON)


def order(
    scores: Mapping[Candidate, float], text: str = "question", when: When | None = None
) -> list[str]:
    return [one.candidate.memory_id[-1] for one in rank(make_inputs(scores, text, when))]


def prior(candidate: Candidate) -> float:
    return score_prior(make_inputs({candidate: 1.0}), candidate)


@given(ANY_SHARE, ANY_SHARE, st.integers(-10_000, 10_000))
def test_strength_importance_and_age_move_a_score_within_the_bound(
    salience: float, importance: float, days: int
) -> None:
    weighed = candidate(
        salience=salience, importance=importance, created_at=NOON - timedelta(days=days)
    )
    assert -1e-9 <= prior(weighed) <= 1 + 1e-9


def test_each_of_them_counts() -> None:
    base = {"salience": 0.5, "importance": 0.5, "created_at": NOON - timedelta(days=10)}
    middle = prior(candidate(**base))
    assert prior(candidate(**{**base, "salience": 0.9})) > middle
    assert prior(candidate(**{**base, "importance": 0.9})) > middle
    assert prior(candidate(**{**base, "created_at": NOON})) > middle


@pytest.mark.parametrize("origin", ["memory", "message"])
@pytest.mark.parametrize("over", [False, True])
def test_what_moved_a_result_adds_up(origin: str, over: bool) -> None:
    """And the prior is within its bound, whatever is taken off beside it."""
    end = NOON - timedelta(days=1) if over else None
    moved = candidate(1, valid_until=end)._replace(origin=origin)
    inputs = make_inputs({moved: 1.0, candidate(2): 1.0})
    one, other = sorted(rank(inputs), key=lambda one: one.candidate.memory_id)
    assert 0 <= one.contributions["prior"] <= PRIOR
    assert one.contributions["validity"] == (-EXPIRED if over else 0.0)
    assert one.contributions["message"] == (-MESSAGE if origin == "message" else 0.0)
    assert one.score == pytest.approx(sum(one.contributions.values()))
    moved_by = sum(one.contributions[name] for name in ("prior", "validity", "message"))
    assert one.score - other.score == pytest.approx(moved_by - other.contributions["prior"])


def test_every_feature_that_moved_a_result_is_named_in_why() -> None:
    """Except the two of sessions, which `why` has never shown."""
    said = candidate(1, content="Anna: rice", valid_until=NOON - timedelta(days=1))
    said = said._replace(origin="message")
    inputs = make_inputs(
        {said: 1.0, candidate(2): 1.0},
        "What did Anna eat?",
        parse_when("in March 2026", NOON),
        session_words=[0.0, 1.0],
    )
    result = next(one for one in rank(inputs) if one.candidate is said)
    signals = {signal.name: signal.score for signal in explain_result(inputs, result)}
    moved = {name for name, contribution in result.contributions.items() if contribution}
    assert moved == {"session_words", "speaker", "time", "prior", "validity", "message"}
    assert signals.keys() == (moved - {"session_words"}) | {"context", "fusion"}
    assert signals.pop("fusion") == pytest.approx(result.score, abs=1e-4)
    assert all(
        signals[name] == pytest.approx(result.contributions[name], abs=1e-4) for name in signals
    )


def test_a_new_feature_is_one_object(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It moves results, and `why` and `explain` name it; nothing else has to know it."""
    favourite = Feature(
        "favourite",
        weight=10.0,
        score=lambda _: 1.0,
        note="a favourite of the person who asks",
        score_row=lambda _, one: float("favourite" in one.opening),
    )
    with bootstrap.open(tmp_path / "vault", settings={"embedder": "none"}) as memory:
        memory.save("Rice, rice and more rice: how to cook rice.")
        chosen = memory.save(
            "Our favourite way to eat rice is with beans, corn, onions and a little pepper on top."
        ).id
        assert memory.search("rice")[0].memory.id != chosen
        monkeypatch.setattr(features, "FEATURES", (*FEATURES, favourite))
        first = memory.search("rice")[0]
        explanation = memory.explain("rice", chosen)
    assert first.memory.id == chosen
    assert first.why[-2] == Signal("favourite", None, 10.0, "a favourite of the person who asks")
    assert explanation.signals == first.why


def test_what_is_no_longer_true_steps_back() -> None:
    current = candidate(1)
    over = candidate(2, valid_until=NOON - timedelta(days=1))
    crowd = {candidate(n): 0.01 * n for n in range(3, 9)}
    assert order({over: 1.0, current: 0.95, **crowd})[0] == "1"
    assert order({over._replace(valid_until=None): 1.0, current: 0.95, **crowd})[0] == "2"


def test_a_faded_exact_match_stands_above_a_fresh_weak_one() -> None:
    faded = candidate(1, salience=0.05, importance=0.0, created_at=NOON - timedelta(days=3000))
    fresh = candidate(2, salience=1.0, importance=1.0)
    assert order({fresh: 0.7, faded: 0.9}) == ["1", "2"]


def test_equal_scores_the_latest_first_then_by_id() -> None:
    old = candidate(1, created_at=NOON - timedelta(days=400))
    assert order({candidate(3): 1.0, candidate(2): 1.0, old: 1.0}) == ["2", "3", "1"]


@given(st.permutations([(1, 0.5), (2, 0.5), (3, 0.9), (4, 0.1)]))
def test_the_order_does_not_depend_on_the_order_before(scored: list[tuple[int, float]]) -> None:
    assert order({candidate(number): score for number, score in scored}) == ["3", "1", "2", "4"]


def test_the_same_text_is_shown_once() -> None:
    twins = {candidate(number): 1.0 for number in (1, 2)}
    same = {one._replace(content_hash="same"): score for one, score in twins.items()}
    assert order(same) == ["1"]


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("What did I eat?", "1"),
        ("What did you say?", "2"),
        ("What did Anna eat?", "3"),
        ("What did Anna tell Ben?", "2"),
    ],
)
def test_who_is_asked_about_stands_first(question: str, first: str) -> None:
    said = {1: "user: rice", 2: "assistant: rice is good", 3: "Anna: rice", 4: "Ben: rice"}
    scores = {
        candidate(number, content=text): 1.0 + (number == 2) * 0.1 for number, text in said.items()
    }
    scores |= {candidate(number, content="Cleo: no"): 0.0 for number in range(5, 9)}
    assert order(scores, question)[0] == first


def test_a_memory_of_the_time_that_is_asked_for_stands_first() -> None:
    may, june = (
        candidate(n, created_at=datetime(2025, month, 10, tzinfo=UTC))
        for n, month in ((1, 5), (2, 6))
    )
    when = parse_when("in May 2025", NOON)
    assert order({june: 1.0, may: 0.8}, when=when) == ["1", "2"]
    assert when is not None
    columns = ListColumns()
    times = columns.make([may.created_at, june.created_at])
    in_may, in_june = score_closeness(times, when, columns).tolist()
    assert in_may > in_june > 0


MAKERS = (ListColumns(), ArrayColumns())


def deviations(make: ListColumns, scores: list[float], least: float = 0.0) -> list[float]:
    found = standardise(make.make(scores), make, least=least)
    return [found] * len(scores) if isinstance(found, float) else list(found.tolist())


@given(st.lists(st.floats(-5, 5).map(lambda score: round(score, 5)), min_size=1, max_size=30))
def test_scores_count_in_standard_deviations(scores: list[float]) -> None:
    for make in MAKERS:
        once = deviations(make, scores)
        scaled = deviations(make, [2 * score + 3 for score in scores])
        assert scaled == pytest.approx(once, abs=1e-3)


def test_small_differences_among_a_few_say_little() -> None:
    first, second = deviations(MAKERS[0], [0.640, 0.631], least=0.03)
    assert first - second == pytest.approx(0.3)


@pytest.mark.parametrize("make", MAKERS)
def test_what_has_no_score_counts_as_the_lowest(make: ListColumns) -> None:
    nan = float("nan")
    first, second, third = deviations(make, [2.0, 1.0, nan])
    assert third == second < first
    assert deviations(make, [nan, nan]) == [0.0, 0.0]


@pytest.mark.parametrize("make", MAKERS)
def test_only_what_may_be_shown_counts_for_the_mean(make: ListColumns) -> None:
    found = standardise(make.make([1.0, 3.0, 100.0]), make, among=[0, 1])
    assert not isinstance(found, float)
    assert found.tolist()[:2] == [-1.0, 1.0]


@given(st.lists(st.tuples(ANY_SHARE, ANY_SHARE, ANY_SHARE), min_size=1, max_size=90))
def test_reading_few_rows_at_a_time_gives_the_same_order(
    given_scores: list[tuple[float, float, float]],
) -> None:
    scores = {
        candidate(number, salience=salience, importance=importance): score
        for number, (score, salience, importance) in enumerate(given_scores)
    }
    found = list(rank(make_inputs(scores)))
    best_first = sorted(found, key=lambda one: (-one.score, one.candidate.memory_id))
    assert len(found) == len(scores)
    assert found == best_first


@pytest.mark.parametrize(
    ("opening", "speaker"),
    [
        ("Anna: hello", "anna"),
        ("user: hello", "user"),
        ("**Anna Maria:** hello", "anna maria"),
        ("Note: see https://x.org", "note"),
        ("https://example.org: gone", ""),
        ("12:30 we met", ""),
        ("No speaker here", ""),
        ("", ""),
    ],
)
def test_speaker(opening: str, speaker: str) -> None:
    assert find_speaker(opening) == speaker


def test_a_question_without_the_names_of_speakers() -> None:
    assert remove_names("What is Anna's cat called?", {"anna"}) == "What is cat called?"
    assert remove_names("Anna?", {"anna"}) == "Anna?"
    assert remove_names("What did I eat?", {"user"}) == "What did I eat?"
