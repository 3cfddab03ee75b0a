"""What every search index must do: count and weigh memories. Its salience is the one of the rule."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muisti.model import KINDS, Event, Filter, Memory, Sector, Usage
from muisti.model.salience import compute_salience, fold_event, make_trace
from muisti.ports import Footprint, SearchIndex
from tests.conftest import FakeClock
from tests.contract.making import SHARED_SUITE, add, filed, happen, ident, remove
from tests.tiers import amount
from tests.unit.making import ANY_SHARE, ANY_TIME, NOON

DAY = timedelta(days=1)
NAMES = st.sampled_from(
    [
        "recalled",
        "touched",
        "reinforced",
        "merged",
        "deemphasized",
        "edited",
        "imported",
        "saved",
        "restored",
        "other",
    ]
)
DATA = st.fixed_dictionaries(
    {},
    optional={
        "salience": ANY_SHARE,
        "access_count": st.integers(0, 10**6),
        "from": st.just("archive"),
    },
)
NEAR_TIME = st.floats(-400, 400).map(lambda days: NOON + days * DAY) | ANY_TIME
"""Mostly about now: what is centuries away has faded to the floor anyway."""
CLOCKS = NEAR_TIME.filter(lambda at: at.year > 1971)
"""No computer's clock stands before the epoch."""
_EVENT = st.builds(Event, NAMES, NEAR_TIME, st.just(()), st.none(), data=DATA)
EVENTS = st.lists(_EVENT, max_size=12)


@st.composite
def anything(draw: st.DrawFn) -> Memory:
    return filed(
        1,
        "whatever",
        created_at=draw(NEAR_TIME),
        kind=draw(st.sampled_from([*KINDS, "unheard"])),
        sector=draw(st.sampled_from(Sector)),
        importance=draw(ANY_SHARE),
        salience=draw(ANY_SHARE),
    )


def expected(memory: Memory, usage: Usage, now: datetime) -> float:
    return compute_salience(
        make_trace(
            memory, usage, KINDS[memory.kind].decay_per_day if memory.kind in KINDS else None
        ),
        now,
    )


def short(found: list[Footprint] | list[str]) -> str:
    return "".join((one if isinstance(one, str) else one.memory_id)[-1] for one in found)


class StatisticsContract:
    """Subclasses give the fixtures `index`, an open, empty index, and `clock`, which it goes by."""

    @settings(max_examples=amount(quick=40, all=200), suppress_health_check=SHARED_SUITE)
    @given(memory=anything(), events=EVENTS, now=CLOCKS, noted=st.none() | NEAR_TIME)
    def test_salience_is_what_the_rule_says(
        self,
        index: SearchIndex,
        clock: FakeClock,
        memory: Memory,
        events: list[Event],
        now: datetime,
        noted: datetime | None,
    ) -> None:
        clock.at = now
        mine = [
            event._replace(memory_ids=(memory.id,))
            for event in (Event("saved", memory.created_at), *events)
        ]
        remove(index, 1)
        add(index, memory)
        happen(index, *mine, *([Event("decayed", noted)] if noted else []), restart=True)
        usage = Usage()
        for event in mine:
            usage = fold_event(usage, event)
        wanted = expected(memory, usage, max(now, noted) if noted and noted < now + DAY else now)
        found = index.get(memory.id)
        assert found is not None
        assert found.salience == pytest.approx(wanted, rel=1e-9)
        assert index.stats().avg_salience == pytest.approx(wanted, rel=1e-9)
        for least in (wanted - 1e-6, wanted + 1e-6):
            if 0 < least <= 1:
                let_through = index.select(Filter(min_salience=least), order="salience", limit=None)
                assert bool(let_through) is (least < wanted)
                assert bool(index.weakest(least, ())) is (least > wanted)

    def test_F7_long_sessions_are_found_by_what_they_created_and_said_again(
        self, index: SearchIndex
    ) -> None:
        add(
            index,
            filed(1, "x" * 100, session_id="short"),
            filed(2, "y" * 300, session_id="long"),
            filed(3, "z" * 300),
        )
        happen(index, Event("reinforced", NOON, (ident(3),), "short", {"salience": 1.0}))
        assert index.find_long_sessions(350) == ["short"]
        assert index.find_long_sessions(250) == ["long", "short"]
        assert index.find_long_sessions(250, ["long", "unknown"]) == ["long"]
        assert index.find_long_sessions(250, []) == []

    def test_live_bytes_are_of_what_is_not_deleted(self, index: SearchIndex) -> None:
        assert index.live_bytes() == 0
        add(index, filed(1, "x" * 10), filed(2, "y" * 20), filed(3, "z" * 40, deleted_at=NOON))
        assert index.live_bytes() == 30
        remove(index, 1)
        assert index.live_bytes() == 20

    def test_longest_unused_goes_by_the_last_use_and_then_by_age(self, index: SearchIndex) -> None:
        add(index, *(filed(n, "x" * n, created_at=NOON - (9 - n) * DAY) for n in range(1, 6)))
        assert short(index.longest_unused(())) == "12345"
        happen(
            index,
            Event("recalled", NOON, (ident(1), ident(3))),
            Event("touched", NOON + DAY, (ident(2),)),
        )
        assert short(index.longest_unused(())) == "45132"
        assert index.longest_unused(())[0] == Footprint(ident(4), 4)

    @pytest.fixture
    def guarded(self, index: SearchIndex) -> SearchIndex:
        """One that upkeep may move, and others that it may not."""
        weak = {"salience": 0.05}
        add(
            index,
            filed(1, "free", **weak),
            filed(2, "kind", kind="decision", **weak),
            filed(3, "pinned", pinned=True, **weak),
            filed(4, "at work", session_id="in use", **weak),
            filed(5, "at work before", session_id="over", **weak),
            filed(6, "of an empty name", session_id="", **weak),
            filed(7, "deleted", deleted_at=NOON, **weak),
            filed(8, "strong"),
        )
        return index

    @pytest.mark.parametrize(
        ("protected", "among", "expected"),
        [
            ((), None, "12568"),
            (("decision",), None, "1568"),
            (("decision", "note"), None, ""),
            ((), "1378", "18"),
            ((), "", ""),
        ],
    )
    def test_what_upkeep_may_not_move_is_left_out(
        self, guarded: SearchIndex, protected: tuple[str, ...], among: str | None, expected: str
    ) -> None:
        chosen = None if among is None else [ident(int(n)) for n in among]
        assert short(guarded.longest_unused(protected, ["in use"], chosen)) == expected
        weak = expected.replace("8", "")
        assert short(guarded.weakest(0.5, protected, ["in use"], chosen)) == weak

    def test_the_weakest_first_and_none_that_is_as_strong(self, index: SearchIndex) -> None:
        add(
            index,
            *(
                filed(n, f"text {n}", salience=s)
                for n, s in enumerate((0.5, 0.3, 0.4, 0.2), start=1)
            ),
        )
        assert short(index.weakest(0.5, ())) == "423"
        assert short(index.weakest(0.0, ())) == ""
        assert short(index.weakest(1.0, ())) == "4231"

    def test_weakness_is_of_the_moment(self, index: SearchIndex, clock: FakeClock) -> None:
        add(index, filed(1, "fades", sector=Sector.EPISODIC), filed(2, "stays", kind="decision"))
        assert index.weakest(0.5, ()) == []
        clock.forward(days=60)
        assert short(index.weakest(0.5, ())) == "1"

    def test_faded_counts_since_it_was_last_noted(
        self, index: SearchIndex, clock: FakeClock
    ) -> None:
        add(
            index,
            filed(1, "fades"),
            filed(2, "fades too"),
            filed(3, "stays", kind="decision"),
            filed(4, "gone", deleted_at=NOON),
        )
        assert index.count_decayed(0.001) == 0
        clock.forward(days=10)
        assert index.count_decayed(0.001) == 2
        assert index.count_decayed(0.5) == 0
        happen(index, Event("decayed", clock.now()))
        assert index.count_decayed(0.001) == 0
        clock.forward(days=1)
        assert index.count_decayed(0.001) == 2
        clock.forward(hours=-30)
        assert index.count_decayed(0.001) == 0
