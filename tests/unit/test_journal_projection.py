"""What the events of the journal come to."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muisti.lifecycle.journal_projection import project_events
from muisti.model import DocumentSource, Event, Session, SessionAction, SessionUse, Usage
from muisti.storage.memory.index import MemoryIndex
from tests.conftest import FakeClock
from tests.contract.making import happen
from tests.unit.making import NOON

HOUR, DAY = timedelta(hours=1), timedelta(days=1)


class Known:
    """What earlier events came to."""

    def __init__(
        self,
        usage: dict[str, Usage] | None = None,
        sessions: tuple[Session, ...] = (),
        decayed_at: datetime | None = None,
    ) -> None:
        self._usage = usage or {}
        self._sessions = {session.id: session for session in sessions}
        self._decayed_at = decayed_at

    def usage(self, ids):
        return {id_: self._usage[id_] for id_ in ids if id_ in self._usage}

    def session(self, session_id):
        return self._sessions.get(session_id)

    def decayed_at(self):
        return self._decayed_at


def test_no_events_change_nothing() -> None:
    changes = project_events([], Known(decayed_at=NOON))
    assert (dict(changes.usage), changes.sessions, changes.uses, dict(changes.sources)) == (
        {},
        [],
        [],
        {},
    )
    assert changes.decayed_at == NOON


def test_usage_goes_on_from_what_is_known() -> None:
    known = Known(
        {"m": Usage(salience=0.5, touched_at=NOON - DAY, access_count=3, last_accessed=NOON - DAY)}
    )
    changes = project_events([Event("recalled", NOON, ("m", "n"))], known)
    assert changes.usage["m"] == Usage(
        salience=0.5, touched_at=NOON - DAY, access_count=4, last_accessed=NOON
    )
    assert changes.usage["n"].access_count == 1


def test_a_restart_forgets_what_is_known() -> None:
    known = Known({"m": Usage(access_count=3)}, (Session(id="s", started_at=NOON),), NOON)
    changes = project_events(
        [Event("recalled", NOON, ("m",)), Event("session_ended", NOON, (), "s")],
        known,
        restart=True,
    )
    assert changes.restart
    assert changes.usage["m"].access_count == 1
    assert (changes.sessions, changes.decayed_at) == ([], None)


def test_events_that_say_nothing_of_use_leave_no_usage() -> None:
    assert (
        dict(
            project_events(
                [Event("linked", NOON, ("m",)), Event("of a later version", NOON, ("m",))], Known()
            ).usage
        )
        == {}
    )


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([Event("recalled", NOON + HOUR, ("m",), "s")], NOON + HOUR),
        ([Event("used", NOON + HOUR, (), "s")], NOON + HOUR),
        ([Event("of a later version", NOON + HOUR, (), "s")], NOON + HOUR),
        ([Event("session_started", NOON + HOUR, (), "s")], NOON + HOUR),
        ([Event("session_ended", NOON + HOUR, (), "s")], NOON),
        ([Event("used", NOON + HOUR, (), "another")], NOON),
        ([Event("used", NOON - HOUR, (), "s")], NOON),
        ([Event("used", NOON + 400 * DAY, (), "s"), Event("used", NOON + HOUR, (), "s")], NOON + HOUR),
    ],
)  # fmt: skip
def test_a_session_knows_its_last_use(events: list[Event], expected: datetime) -> None:
    started = Event("session_started", NOON, (), "s")
    (session,) = project_events([started, *events], Known()).sessions
    assert session.last_used == expected


@pytest.mark.parametrize(
    ("status", "hours", "expected"),
    [("active", 0, True), ("active", 24, True), ("active", 25, False), ("completed", 0, False),
     ("active", -24, True), ("active", -25, False)],
)  # fmt: skip
def test_a_session_is_used_for_a_while(status: str, hours: int, *, expected: bool) -> None:
    session = Session(id="s", started_at=NOON, status=status, last_used=NOON + DAY)
    assert session.is_used(NOON + DAY + hours * HOUR, 24.0) is expected


def test_a_session_begins_ends_and_goes_on() -> None:
    events = [
        Event("session_started", NOON, (), "s", {"project": "app"}),
        Event("session_ended", NOON + HOUR, (), "s", {"summary": "done", "tool_calls": 4}),
        Event("session_started", NOON + 2 * HOUR, (), "s", {"project": "other"}),
    ]
    (ended,) = project_events(events[:2], Known()).sessions
    assert (ended.status, ended.ended_at, ended.summary, ended.tool_calls) == (
        "completed",
        NOON + HOUR,
        "done",
        4,
    )
    (again,) = project_events(events[2:], Known(sessions=(ended,))).sessions
    assert (again.status, again.ended_at, again.project, again.started_at) == (
        "active",
        None,
        "app",
        NOON,
    )


def test_a_session_that_nobody_began_does_not_end() -> None:
    assert (
        project_events(
            [Event("session_ended", NOON, (), "s"), Event("recalled", NOON, ("m",), "t")], Known()
        ).sessions
        == []
    )


@pytest.mark.parametrize("count", [10**30, -1, True, "7", 1.5, None])
def test_a_count_that_is_none_is_zero(count: object) -> None:
    events = [
        Event("session_started", NOON, (), "s"),
        Event("session_ended", NOON, (), "s", {"tool_calls": count}),  # type: ignore[dict-item]
    ]
    assert project_events(events, Known()).sessions[0].tool_calls == 0


@pytest.mark.parametrize(
    ("event", "uses"),
    [
        (
            Event("recalled", NOON, ("m", "n"), "s"),
            [("m", SessionAction.RECALLED), ("n", SessionAction.RECALLED)],
        ),
        (Event("reinforced", NOON, ("m",), "s"), [("m", SessionAction.REINFORCED)]),
        (Event("merged", NOON, ("m",), "s"), [("m", SessionAction.REINFORCED)]),
        (Event("updated", NOON, ("m",), "s"), [("m", SessionAction.UPDATED)]),
        (Event("used", NOON, ("m",), "s", {"use": "created"}), [("m", SessionAction.CREATED)]),
        (Event("used", NOON, ("m",), "s", {"use": "nonsense"}), []),
        (Event("used", NOON, ("m",), "s"), []),
        (Event("touched", NOON, ("m",), "s"), []),
        (Event("recalled", NOON, ("m",)), []),
    ],
)
def test_what_sessions_did(event: Event, uses: list[tuple[str, SessionAction]]) -> None:
    assert project_events([event], Known()).uses == [
        SessionUse("s", id_, use, NOON) for id_, use in uses
    ]


def test_the_last_word_on_a_document_source_counts() -> None:
    added = Event(
        "documents_added",
        NOON,
        data={"path": "docs", "source": "Manual", "project": "app", "trusted": 1},
    )
    dropped = Event("documents_dropped", NOON, data={"path": "docs"})
    assert dict(project_events([dropped, added], Known()).sources) == {
        "docs": DocumentSource("docs", "Manual", "app", True)
    }
    assert dict(project_events([added, dropped], Known()).sources) == {"docs": None}
    assert (
        dict(project_events([Event("documents_added", NOON, data={"path": 7})], Known()).sources)
        == {}
    )


@pytest.mark.parametrize(
    ("known", "at", "expected"),
    [
        (None, NOON, NOON),
        (NOON, NOON + HOUR, NOON + HOUR),
        (NOON, NOON - HOUR, NOON),  # a clock that is set back takes nothing back
        (NOON + 2 * DAY, NOON, NOON),  # one that was wrong by more than a day does not count
    ],
)
def test_up_to_when_decay_was_recorded(
    known: datetime | None, at: datetime, expected: datetime
) -> None:
    assert project_events([Event("decayed", at)], Known(decayed_at=known)).decayed_at == expected


@pytest.mark.parametrize(
    ("behind", "counts_at"), [(HOUR, NOON), (2 * DAY, NOON - 2 * DAY), (-HOUR, NOON + HOUR)]
)
def test_an_event_before_recorded_decay_counts_from_there(
    behind: timedelta, counts_at: datetime
) -> None:
    """If a clock that was set back put it there; a day and more is no clock that was set back."""
    changes = project_events([Event("recalled", NOON - behind, ("m",))], Known(decayed_at=NOON))
    assert changes.usage["m"].last_accessed == counts_at


NAMES = st.sampled_from(
    [
        "saved",
        "recalled",
        "touched",
        "reinforced",
        "deemphasized",
        "session_started",
        "session_ended",
        "decayed",
    ]
)
EVENTS = st.lists(
    st.builds(
        Event,
        NAMES,
        st.integers(0, 200).map(lambda hours: NOON + hours * HOUR),
        st.lists(st.sampled_from("mn"), max_size=2, unique=True).map(tuple),
        st.sampled_from([None, "s"]),
        st.fixed_dictionaries({}, optional={"salience": st.floats(0, 1)}),
    ),
    max_size=10,
)


@given(events=EVENTS, at=st.integers(0, 10))
def test_it_does_not_matter_how_many_are_read_at_once(events: list[Event], at: int) -> None:
    whole, parts = MemoryIndex(FakeClock()), MemoryIndex(FakeClock())
    happen(whole, *events)
    happen(parts, *events[:at])
    happen(parts, *events[at:])
    for index in (whole, parts):
        assert index.usage(["m", "n"]) == whole.usage(["m", "n"])
        assert index.session("s") == whole.session("s")
        assert index.session_uses() == whole.session_uses()
        assert index.decayed_at() == whole.decayed_at()
