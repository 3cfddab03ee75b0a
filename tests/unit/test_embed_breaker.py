"""The circuit breaker, with time moved by hand, and the guard that uses it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from muisti.errors import EmbedderMisbehaved, EmbedderProblem, EmbedderUnavailable
from muisti.models.embedders.guarded import GuardedEmbedder
from muisti.models.embedders.hashing import HashingEmbedder
from muisti.models.http.breaker import Breaker
from muisti.models.http.purpose import EMBEDDER
from muisti.ports import Matrix


class Seconds:
    def __init__(self) -> None:
        self.at = 1000.0

    def __call__(self) -> float:
        return self.at


def call(breaker: Breaker, good: bool) -> str:
    ran = False
    try:
        with breaker.watch():
            ran = True
            if not good:
                raise EmbedderProblem("down")
    except EmbedderProblem:
        return "failed" if ran else "refused"
    return "passed"


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ("---", "failed failed failed"),
        ("---+", "failed failed failed refused"),
        ("--+--+", "failed failed passed failed failed passed"),
        ("---.+", "failed failed failed refused"),
        ("---_+-", "failed failed failed passed failed"),
        ("---_-+", "failed failed failed failed refused"),
        ("---_-_+++", "failed failed failed failed passed passed passed"),
    ],
)
def test_opens_and_closes(steps: str, expected: str) -> None:
    """`+` a call that would pass, `-` one that would fail, `.` 59 s, `_` 60 s."""
    clock = Seconds()
    breaker, seen = Breaker(EMBEDDER, clock=clock), []
    for step in steps:
        if step in "._":
            clock.at += 60 if step == "_" else 59
        else:
            seen.append(call(breaker, step == "+"))
    assert " ".join(seen) == expected


@pytest.mark.parametrize(("seconds", "is_open"), [(0.9, False), (1.0, True), (30.0, True)])
def test_a_call_that_fails_slowly_opens_it_at_once(seconds: float, is_open: bool) -> None:
    clock = Seconds()
    breaker = Breaker(EMBEDDER, clock=clock)
    with pytest.raises(EmbedderProblem), breaker.watch():
        clock.at += seconds
        raise EmbedderProblem("did not respond")
    assert breaker.is_open is is_open


def test_the_refusal_says_why_and_when() -> None:
    clock = Seconds()
    breaker = Breaker(EMBEDDER, failures=1, clock=clock)
    call(breaker, False)
    clock.at += 18
    with pytest.raises(EmbedderUnavailable, match="down .*next attempt in 42 s"), breaker.watch():
        pass
    assert breaker.is_open


def test_half_open_lets_one_through() -> None:
    clock = Seconds()
    breaker = Breaker(EMBEDDER, failures=1, clock=clock)
    call(breaker, False)
    clock.at += 60
    assert not breaker.is_open
    with breaker.watch():
        assert breaker.is_open
        assert call(breaker, True) == "refused"
    assert call(breaker, True) == "passed"


def test_an_interrupted_trial_leaves_the_next_one_free() -> None:
    clock = Seconds()
    breaker = Breaker(EMBEDDER, failures=1, clock=clock)
    call(breaker, False)
    clock.at += 60
    with pytest.raises(KeyboardInterrupt), breaker.watch():
        raise KeyboardInterrupt
    assert call(breaker, True) == "passed"


def test_a_late_answer_neither_closes_nor_prolongs() -> None:
    clock = Seconds()
    breaker = Breaker(EMBEDDER, failures=1, clock=clock)
    with breaker.watch():
        call(breaker, False)
    assert call(breaker, True) == "refused"


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 90))))
def test_never_more_calls_than_allowed(steps: list[tuple[bool, int]]) -> None:
    clock = Seconds()
    breaker = Breaker(EMBEDDER, clock=clock)
    row, last = 0, 0.0
    for good, seconds in steps:
        clock.at += seconds
        seen = call(breaker, good)
        assert (seen == "refused") == (row >= 3 and clock.at < last + 60)
        if seen == "passed":
            row = 0
        elif seen == "failed":
            row, last = row + 1, clock.at


class Odd(HashingEmbedder):
    """Answers whatever it is told to."""

    answer: object = None

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        return self.answer  # type: ignore[return-value]


@pytest.mark.parametrize(
    "answer",
    [
        np.zeros((1, 8)),
        np.full((1, 8), np.nan),
        np.full((1, 8), np.inf),
        np.ones((2, 8)),
        np.ones((1, 7)),
        np.ones(8),
        [],
        None,
        "x",
    ],
    ids=range(9),
)
def test_a_bad_answer_is_a_failure(answer: object) -> None:
    inner, breaker = Odd(8), Breaker(EMBEDDER, failures=2)
    inner.answer = answer
    guarded = GuardedEmbedder(inner, breaker)
    for _ in range(2):
        assert guarded.is_ready()
        with pytest.raises(EmbedderMisbehaved):
            guarded.embed_documents(["text"])
    assert not guarded.is_ready()
    with pytest.raises(EmbedderUnavailable):
        guarded.embed_query("text")


@pytest.mark.parametrize("scale", [1e-300, 0.5, 7.0, 1e300])
def test_lengths_are_set_right(scale: float) -> None:
    inner = Odd(4)
    inner.answer = np.full((1, 4), scale)
    assert np.allclose(GuardedEmbedder(inner, Breaker(EMBEDDER)).embed_documents(["text"]), 0.5)


@pytest.mark.parametrize(
    "row",
    [
        np.full(4, 0.5, np.float32),
        np.full(4, 0.5, np.float64),
        np.full(4, 3.0, np.float32),
        [0.5, 0.5, 0.5, 0.5],
    ],
    ids=range(4),
)
def test_the_vector_of_a_query_has_the_length_1_and_is_its_own(row: Any) -> None:
    inner = Odd(4)
    inner.embed_query = lambda text: row  # type: ignore[method-assign]
    vector = GuardedEmbedder(inner, Breaker(EMBEDDER)).embed_query("text")
    assert vector.dtype == np.float32
    assert vector.tolist() == [0.5] * 4
    assert not np.shares_memory(vector, np.asarray(row))
    assert not vector.flags.writeable


@pytest.mark.parametrize("wrong", [np.nan, np.inf, 0.0])
def test_a_wrong_vector_of_a_query_is_a_failure(wrong: float) -> None:
    inner = Odd(4)
    inner.embed_query = lambda text: np.full(4, wrong, np.float32)  # type: ignore[method-assign]
    with pytest.raises(EmbedderMisbehaved):
        GuardedEmbedder(inner, Breaker(EMBEDDER)).embed_query("text")
