"""Salience: how use and time change it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muisti.model import RATES, Event, Usage
from muisti.model.salience import (
    FLOOR,
    MAX_COUNT,
    MOST_PROTECTION,
    PROTECTION,
    Trace,
    apply_deemphasis,
    apply_reinforcement,
    compute_salience,
    fold_event,
    parse_count,
)
from tests.unit.making import ANY_SHARE, ANY_TIME, NOON

AMOUNT = st.floats(0, 100)


@pytest.mark.parametrize(
    ("salience", "amount", "expected"),
    [(1.0, 0.5, 1.0), (0.5, 0.5, 0.75), (0.0, 1.0, 1.0), (0.5, 0.0, 0.5)],
)
def test_reinforced_as_in_spec_4(salience: float, amount: float, expected: float) -> None:
    assert apply_reinforcement(salience, amount) == expected


@pytest.mark.parametrize(
    ("salience", "amount", "expected"),
    [(1.0, 0.5, 0.5), (1.0, 2.0, FLOOR), (0.05, 0.0, 0.05), (0.3, 0.2, 0.1)],
)
def test_deemphasized_as_in_spec_4(salience: float, amount: float, expected: float) -> None:
    assert apply_deemphasis(salience, amount) == pytest.approx(expected)


@given(ANY_SHARE, AMOUNT)
def test_reinforcing_never_weakens_and_never_exceeds_one(salience: float, amount: float) -> None:
    assert salience <= apply_reinforcement(salience, amount) <= 1


@given(st.floats(FLOOR, 1), AMOUNT)
def test_deemphasizing_never_strengthens_and_stops_at_the_floor(
    salience: float, amount: float
) -> None:
    assert FLOOR <= apply_deemphasis(salience, amount) <= salience


@given(ANY_SHARE, st.floats(0, 1), st.floats(0, 1))
def test_reinforcing_has_diminishing_returns(salience: float, first: float, second: float) -> None:
    once = apply_reinforcement(salience, first)
    assert apply_reinforcement(once, second) - once <= second * (1 - salience) + 1e-9


def test_each_event() -> None:
    later = NOON + timedelta(hours=1)
    before = Usage(0.5, NOON, 3, NOON, NOON)
    strong = {"salience": 0.8}
    assert fold_event(before, Event("recalled", later)) == Usage(0.5, NOON, 4, later, NOON)
    counted = Event("touched", later, data={"count": 1})
    assert fold_event(before, counted) == Usage(0.5, NOON, 4, later, NOON)
    assert fold_event(before, Event("touched", later)) == Usage(0.5, NOON, 3, later, NOON)
    assert fold_event(before, Event("reinforced", later, data=strong)) == Usage(
        0.8, later, 4, later, NOON
    )
    assert fold_event(before, Event("deemphasized", later, data={"salience": 0.1})) == Usage(
        0.1, later, 3, NOON, NOON
    )
    assert fold_event(before, Event("edited", later)) == Usage(0.5, NOON, 3, NOON, later)
    assert fold_event(
        before, Event("imported", later, data={**strong, "access_count": 9})
    ) == Usage(0.8, later, 9, NOON, NOON)
    assert fold_event(
        before, Event("restored", later, data={"from": "cleanup", **strong})
    ) == Usage(0.8, later, 3, later, NOON)
    assert fold_event(
        before, Event("restored", later, data={"from": "archive", **strong})
    ) == Usage(0.8, later, 3, later, NOON)
    assert fold_event(before, Event("restored", later)) == before
    assert fold_event(before, Event("session_started", later)) == before


@pytest.mark.parametrize("count", [-1, True, 1.5, "7", None, 10**30, MAX_COUNT])
def test_a_count_that_is_none_changes_nothing(count: Any) -> None:
    assert (
        fold_event(
            Usage(access_count=3), Event("imported", NOON, data={"access_count": count})
        ).access_count
        == 3
    )
    assert parse_count(count) == 0


@pytest.mark.parametrize("salience", [-0.1, 1.1, float("nan"), "0.5", "x", 7, None, True, [], {}])
def test_a_strength_that_is_none_changes_nothing(salience: Any) -> None:
    assert fold_event(
        Usage(0.5, NOON), Event("deemphasized", NOON, data={"salience": salience})
    ) == Usage(0.5, NOON)
    restored = Event("restored", NOON, data={"from": "cleanup", "salience": salience})
    assert fold_event(Usage(0.5, NOON), restored) == Usage(0.5, NOON, last_accessed=NOON)


@pytest.mark.parametrize("origin", [None, "", "elsewhere", 7, [], {}])
def test_a_return_from_nowhere_changes_nothing(origin: Any) -> None:
    assert fold_event(
        Usage(0.2, NOON), Event("restored", NOON, data={"from": origin, "salience": 0.9})
    ) == Usage(0.2, NOON)


NAMES = st.sampled_from(
    ["recalled", "touched", "reinforced", "deemphasized", "edited", "imported", "restored", "other"]
)
NOISE = ANY_SHARE | st.integers() | st.text(max_size=3) | st.none() | st.booleans() | st.floats()
EVENTS = st.lists(
    st.builds(
        Event,
        NAMES,
        ANY_TIME,
        data=st.dictionaries(
            st.sampled_from(["salience", "access_count", "amount", "from"]),
            NOISE | st.just("archive"),
        ),
    ),
    max_size=20,
)


@given(EVENTS)
def test_any_journal_stays_within_bounds(events: list[Event]) -> None:
    usage = Usage()
    for event in events:
        before, usage = usage, fold_event(usage, event)
        assert usage.salience is None or 0 <= usage.salience <= 1
        assert 0 <= usage.access_count <= MAX_COUNT
        for name in ("touched_at", "last_accessed", "edited_at"):
            was, now = getattr(before, name), getattr(usage, name)
            assert was is None or now >= was


# -- Fading

DAY = timedelta(days=1)
SPAN = st.floats(0, 2000).map(lambda days: days * DAY)


@st.composite
def traces(draw: st.DrawFn) -> Trace:
    return Trace(
        salience=draw(ANY_SHARE),
        weighed_at=NOON,
        used_at=draw(st.none() | st.just(NOON) | SPAN.map(lambda span: NOON + span)),
        idle_days=draw(st.floats(0, 100)),
        access_count=draw(st.integers(0, 10**6)),
        importance=draw(ANY_SHARE),
        rate=draw(st.sampled_from([*RATES.values(), 0.0, 1.0])),
        decay_per_day=draw(st.none() | ANY_SHARE),
    )


@given(traces(), SPAN, st.lists(SPAN, max_size=5))
def test_strength_does_not_depend_on_when_it_was_asked_for_before(
    trace: Trace, now: timedelta, before: list[timedelta]
) -> None:
    wanted = compute_salience(trace, NOON + now)
    for at in before:
        compute_salience(trace, NOON + at)
    assert compute_salience(trace, NOON + now) == wanted


@given(traces(), SPAN, SPAN)
def test_time_alone_never_makes_it_stronger(
    trace: Trace, first: timedelta, more: timedelta
) -> None:
    assert compute_salience(trace, NOON + first + more) <= compute_salience(trace, NOON + first)


@given(traces(), SPAN)
def test_a_clock_before_the_last_weighing_counts_as_no_time(trace: Trace, back: timedelta) -> None:
    assert compute_salience(trace, NOON - back) == compute_salience(trace, NOON)


@given(traces(), SPAN)
def test_strength_has_a_floor_and_a_cap(trace: Trace, now: timedelta) -> None:
    assert min(FLOOR, trace.salience) <= compute_salience(trace, NOON + now) <= trace.salience


@given(traces(), SPAN)
def test_the_sectors_keep_their_order(trace: Trace, now: timedelta) -> None:
    by_rate = sorted(RATES, key=lambda sector: RATES[sector])
    found = [
        compute_salience(trace._replace(rate=RATES[sector], decay_per_day=None), NOON + now)
        for sector in by_rate
    ]
    assert found == sorted(found, reverse=True)


@given(traces(), SPAN, ANY_SHARE)
def test_what_is_more_important_fades_less(trace: Trace, now: timedelta, other: float) -> None:
    less, more = sorted((trace.importance, other))
    assert compute_salience(trace._replace(importance=less), NOON + now) <= compute_salience(
        trace._replace(importance=more), NOON + now
    )


@given(traces(), SPAN, st.integers(0, 10**6))
def test_more_uses_never_make_it_weaker(trace: Trace, now: timedelta, more: int) -> None:
    often = trace._replace(access_count=trace.access_count + more)
    assert (
        compute_salience(trace, NOON + now)
        <= compute_salience(often, NOON + now)
        <= compute_salience(trace, NOON + now) + MOST_PROTECTION + 1e-9
    )


@given(traces(), traces(), SPAN)
def test_what_was_stronger_stays_stronger(trace: Trace, other: Trace, now: timedelta) -> None:
    weaker, stronger = sorted((trace.salience, other.salience))
    assert compute_salience(trace._replace(salience=weaker), NOON + now) <= compute_salience(
        trace._replace(salience=stronger), NOON + now
    )


def trace_of(usage: Usage, decay_per_day: float | None) -> Trace:
    return Trace(
        salience=1.0 if usage.salience is None else usage.salience,
        weighed_at=usage.touched_at or NOON,
        used_at=usage.last_accessed,
        idle_days=usage.idle_days,
        access_count=usage.access_count,
        decay_per_day=decay_per_day,
    )


SAVED = fold_event(Usage(), Event("saved", NOON))
DECAYS = st.none() | st.sampled_from([1.0, 0.99, 0.9, 0.5])


@given(
    st.lists(st.tuples(st.sampled_from(["recalled", "touched"]), SPAN), max_size=10), DECAYS, SPAN
)
def test_use_stops_fading_and_does_not_undo_it(
    uses: list[tuple[str, timedelta]], decay: float | None, at: timedelta
) -> None:
    """Whatever the uses were before: one more gives back what its protection is worth, and nothing
    else.
    """
    usage = SAVED
    for name, span in sorted(uses, key=lambda use: use[1]):
        usage = fold_event(usage, Event(name, NOON + span))
    now = max(NOON + at, usage.last_accessed or NOON)
    before = compute_salience(trace_of(usage, decay), now)
    touched = fold_event(usage, Event("touched", now))
    assert compute_salience(trace_of(touched, decay), now) == pytest.approx(before, rel=1e-9)
    recalled = compute_salience(trace_of(fold_event(usage, Event("recalled", now)), decay), now)
    assert before - 1e-9 <= recalled <= min(1.0, before + PROTECTION)


@given(st.lists(SPAN, max_size=10), DECAYS, SPAN)
def test_uses_after_which_the_clock_went_back_do_not_undo_it_either(
    uses: list[timedelta], decay: float | None, at: timedelta
) -> None:
    usage = SAVED
    for span in uses:  # in any order
        usage = fold_event(usage, Event("touched", NOON + span))
    now = max([NOON + at, *(NOON + span for span in uses)])
    before = compute_salience(trace_of(usage, decay), now)
    assert compute_salience(
        trace_of(fold_event(usage, Event("touched", now)), decay), now
    ) == pytest.approx(before, rel=1e-9)


@pytest.mark.parametrize(
    ("days_lain", "expected"),
    [
        (0, 1.0),
        (1, 1.0),
        (7, 1.0),
        (7 + 1 / 24, 0.9 ** (1 / 24)),
        (7.04, 1.0),
        (8, 0.9),
        (9.5, 0.9**2.5),
        (17, 0.9**10),
        (400, FLOOR),
    ],
)
def test_a_kind_of_its_own_decay_fades_after_seven_idle_days(
    days_lain: float, expected: float
) -> None:
    trace = Trace(salience=1.0, weighed_at=NOON, decay_per_day=0.9)
    assert compute_salience(trace, NOON + days_lain * DAY) == pytest.approx(expected)
    assert compute_salience(
        trace._replace(used_at=NOON + 3 * DAY), NOON + (3 + days_lain) * DAY
    ) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("gaps", "idle"),
    [
        ([3], 0),
        ([7], 0),
        ([8], 1),
        ([8, 8], 2),
        ([10, 7, 7.5], 3.5),
        ([7, 7, 7], 0),
        ([-5, 13], 1),
        ([8, -30, 1], 1),
    ],
)
def test_idle_days_add_up(gaps: list[float], idle: float) -> None:
    usage, at = SAVED, NOON
    for gap in gaps:
        at += gap * DAY
        usage = fold_event(usage, Event("touched", at))
    assert usage.idle_days == pytest.approx(idle)


def test_a_new_weighing_begins_anew() -> None:
    usage = fold_event(SAVED, Event("touched", NOON + 20 * DAY))
    assert usage.idle_days == 13
    assert (
        fold_event(usage, Event("reinforced", NOON + 40 * DAY, data={"salience": 0.8})).idle_days
        == 0
    )
    assert (
        fold_event(usage, Event("deemphasized", NOON + 40 * DAY, data={"salience": 0.2})).idle_days
        == 0
    )
