"""F · Sessions."""

from __future__ import annotations

import pytest

from muisti import InvalidRequest, Muisti, SessionNotFound
from tests.conftest import FakeClock


def test_F1_a_session_starts_active_and_ends_completed(memory: Muisti, clock: FakeClock) -> None:
    session = memory.start_session("web")
    assert (session.status, session.project, session.ended_at, session.started_at) == (
        "active",
        "web",
        None,
        clock.now(),
    )
    clock.forward(hours=2)
    ended = memory.end_session(session.id, "Built the login page", tool_calls=12)
    assert (ended.status, ended.ended_at, ended.summary, ended.tool_calls) == (
        "completed",
        clock.now(),
        "Built the login page",
        12,
    )
    assert memory.get_session(session.id) == ended
    assert memory.list_sessions("web") == [ended]
    assert memory.list_sessions("api") == []


def test_F1_starting_an_active_session_again_changes_nothing(
    memory: Muisti, clock: FakeClock
) -> None:
    first = memory.start_session("web", session_id="mine")
    clock.forward(hours=1)
    assert memory.start_session("web", session_id="mine") == first


def test_F1_memories_carry_their_session_and_uses_are_linked(memory: Muisti) -> None:
    session = memory.start_session()
    made = memory.save("Made here", session_id=session.id)
    other = memory.save("Made elsewhere")
    for use in ("recalled", "updated", "reinforced"):
        memory.link_to_session(other.id, session.id, use)
    assert made.session_id == session.id
    uses = [(use.memory_id, use.use) for use in memory.session_uses(session.id)]
    assert set(uses) == {
        (made.id, "created"),
        (other.id, "recalled"),
        (other.id, "updated"),
        (other.id, "reinforced"),
    }
    assert len(uses) == 4
    assert {found.id for found in memory.get_by_session(session.id)} == {made.id, other.id}
    with pytest.raises(InvalidRequest, match="use"):
        memory.link_to_session(other.id, session.id, "admired")


def test_F1_a_memory_may_name_a_session_that_was_never_started(memory: Muisti) -> None:
    saved = memory.save("Test", session_id="sess1")
    assert [found.id for found in memory.get_by_session("sess1")] == [saved.id]


def test_F1_an_unknown_session_is_an_error_not_an_empty_answer(memory: Muisti) -> None:
    for call in (
        memory.end_session,
        memory.get_session,
        memory.get_by_session,
        memory.get_session_context,
    ):
        with pytest.raises(SessionNotFound, match="nobody"):
            call("nobody")
    with pytest.raises(InvalidRequest, match="tool_calls"):
        memory.end_session(memory.start_session().id, tool_calls=-1)


def test_F2_the_context_of_a_session_is_in_the_order_of_time(
    memory: Muisti, clock: FakeClock
) -> None:
    session = memory.start_session()
    contents = ["First thing", "Second thing", "Third thing"]
    for content in contents:
        clock.forward(minutes=1)
        memory.save(content, session_id=session.id, tier="session")
    assert [found.content for found in memory.get_session_context(session.id)] == contents
    raw = memory.get_raw_session_content(session.id)
    assert raw == "First thing\n\nSecond thing\n\nThird thing"
    assert memory.get_session_token_count(session.id) == len(raw) // 4
    assert memory.get_session_context(memory.start_session().id) == []


def test_F1_ending_twice_or_going_on_keeps_what_is_known(memory: Muisti, clock: FakeClock) -> None:
    session = memory.start_session("web")
    memory.end_session(session.id, "Built it", tool_calls=4)
    clock.forward(hours=1)
    again = memory.end_session(session.id)
    assert (again.summary, again.tool_calls, again.ended_at) == ("Built it", 4, clock.now())
    resumed = memory.start_session(session_id=session.id)
    assert (resumed.status, resumed.project, resumed.started_at, resumed.ended_at) == (
        "active",
        "web",
        session.started_at,
        None,
    )


def test_F1_what_is_saved_in_a_session_belongs_to_its_project(memory: Muisti) -> None:
    session = memory.start_session("web")
    assert memory.save("Here", session_id=session.id).project == "web"
    assert memory.save("There", session_id=session.id, project="api").project == "api"
