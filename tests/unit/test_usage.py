"""How use changes a memory's strength."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muisti.model import Event, Usage
from muisti.usage import FLOOR, MAX_COUNT, counted, deemphasized, folded, reinforced
from tests.unit.making import ANY_SHARE, ANY_TIME, NOON

AMOUNT = st.floats(0, 100)


@pytest.mark.parametrize(
    ("salience", "amount", "expected"), [(1.0, 0.5, 1.0), (0.5, 0.5, 0.75), (0.0, 1.0, 1.0), (0.5, 0.0, 0.5)]
)
def test_reinforced_as_in_spec_4(salience: float, amount: float, expected: float) -> None:
    assert reinforced(salience, amount) == expected


@pytest.mark.parametrize(
    ("salience", "amount", "expected"), [(1.0, 0.5, 0.5), (1.0, 2.0, FLOOR), (0.05, 0.0, 0.05), (0.3, 0.2, 0.1)]
)
def test_deemphasized_as_in_spec_4(salience: float, amount: float, expected: float) -> None:
    assert deemphasized(salience, amount) == pytest.approx(expected)


@given(ANY_SHARE, AMOUNT)
def test_reinforcing_never_weakens_and_never_exceeds_one(salience: float, amount: float) -> None:
    assert salience <= reinforced(salience, amount) <= 1


@given(st.floats(FLOOR, 1), AMOUNT)
def test_deemphasizing_never_strengthens_and_stops_at_the_floor(salience: float, amount: float) -> None:
    assert FLOOR <= deemphasized(salience, amount) <= salience


@given(ANY_SHARE, st.floats(0, 1), st.floats(0, 1))
def test_reinforcing_has_diminishing_returns(salience: float, first: float, second: float) -> None:
    once = reinforced(salience, first)
    assert reinforced(once, second) - once <= second * (1 - salience) + 1e-9


def test_each_event() -> None:
    later = NOON + timedelta(hours=1)
    before = Usage(0.5, NOON, 3, NOON, NOON)
    strong = {"salience": 0.8}
    assert folded(before, Event("recalled", later)) == Usage(0.5, NOON, 4, later, NOON)
    assert folded(before, Event("touched", later)) == Usage(0.5, NOON, 3, later, NOON)
    assert folded(before, Event("reinforced", later, data=strong)) == Usage(0.8, later, 4, later, NOON)
    assert folded(before, Event("deemphasized", later, data={"salience": 0.1})) == Usage(0.1, later, 3, NOON, NOON)
    assert folded(before, Event("edited", later)) == Usage(0.5, NOON, 3, NOON, later)
    assert folded(before, Event("imported", later, data={**strong, "access_count": 9})) == Usage(0.8, later, 9, NOON, NOON)
    assert folded(before, Event("session_started", later)) == before


@pytest.mark.parametrize("count", [-1, True, 1.5, "7", None, 10**30, MAX_COUNT])
def test_a_count_that_is_none_changes_nothing(count: Any) -> None:
    assert folded(Usage(access_count=3), Event("imported", NOON, data={"access_count": count})).access_count == 3
    assert counted(count) == 0


@pytest.mark.parametrize("salience", [-0.1, 1.1, float("nan"), "0.5", None, True])
def test_a_strength_that_is_none_changes_nothing(salience: Any) -> None:
    assert folded(Usage(0.5, NOON), Event("deemphasized", NOON, data={"salience": salience})) == Usage(0.5, NOON)


NAMES = st.sampled_from(["recalled", "touched", "reinforced", "deemphasized", "edited", "imported", "other"])
NOISE = ANY_SHARE | st.integers() | st.text(max_size=3) | st.none() | st.booleans() | st.floats()
EVENTS = st.lists(
    st.builds(Event, NAMES, ANY_TIME, data=st.dictionaries(st.sampled_from(["salience", "access_count", "amount"]), NOISE)),
    max_size=20,
)


@given(EVENTS)
def test_any_journal_stays_within_bounds(events: list[Event]) -> None:
    usage = Usage()
    for event in events:
        before, usage = usage, folded(usage, event)
        assert usage.salience is None or 0 <= usage.salience <= 1
        assert 0 <= usage.access_count <= MAX_COUNT
        for name in ("touched_at", "last_accessed", "edited_at"):
            was, now = getattr(before, name), getattr(usage, name)
            assert was is None or now >= was
