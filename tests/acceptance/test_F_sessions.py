"""F · Sessions."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from muisti import InvalidRequest, MemoryService, Muisti, SessionNotFound
from muisti.settings import Settings
from muisti.surfaces.cli.main import cli
from muisti.surfaces.mcp.reads import describe_long_sessions
from muisti.surfaces.mcp.scope import AgentScope
from tests.conftest import FakeClock, Opener
from tests.rest.conftest import client_of


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


def test_F1_starting_an_active_session_again_changes_only_its_last_use(
    memory: Muisti, clock: FakeClock
) -> None:
    first = memory.start_session("web", session_id="mine")
    clock.forward(hours=1)
    again = memory.start_session("web", session_id="mine")
    assert again == replace(first, last_used=clock.now())


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


def test_F2_the_context_has_what_the_session_said_again(memory: Muisti, clock: FakeClock) -> None:
    first, second = memory.start_session("web"), memory.start_session("web")
    old = memory.save("The auth module is in src/auth/index.ts", session_id=first.id)
    clock.forward(minutes=1)
    memory.save("Valittiin SQLite-vec", session_id=second.id)
    clock.forward(minutes=1)
    # One duplicate is the same text, the other one is near.
    memory.save("The auth module is in src/auth/index.ts", session_id=second.id)
    memory.save("The authentication module is located in src/auth/index.ts", session_id=second.id)
    clock.forward(minutes=1)
    memory.save("Valittiin FastAPI", session_id=second.id)
    hidden = memory.save("Only the first session sees it", session_id=first.id, tier="session")
    memory.link_to_session(hidden.id, second.id, "reinforced")
    recalled = memory.save("Recalled, not said")
    memory.link_to_session(recalled.id, second.id, "recalled")

    expected = ["Valittiin SQLite-vec", old.content, "Valittiin FastAPI"]
    for _ in range(2):
        assert [one.content for one in memory.get_session_context(second.id)] == expected
        raw = memory.get_raw_session_content(second.id)
        assert raw == "\n\n".join(expected)
        assert memory.get_session_token_count(second.id) == len(raw) // 4
        assert old.id in [one.id for one in memory.get_session_context(first.id)]
        memory.reindex()
    memory.delete(old.id)
    assert old.id not in [one.id for one in memory.get_session_context(second.id)]


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


def test_F7_a_session_over_the_threshold_is_reported_until_it_is_summed_up(
    opened: Opener,
) -> None:
    assert Settings().summarize_token_threshold == 50_000
    memory = opened(embedder="none", summarize_token_threshold=500)
    first, second = memory.start_session("web"), memory.start_session("web")
    memory.save("First part. " + "a " * 700, session_id=first.id)
    memory.save("Short", session_id=second.id)
    assert memory.get_stats().long_sessions == {}
    # What a session said again counts too.
    memory.save("Second part. " + "b " * 700, session_id=second.id)
    memory.save("Second part. " + "b " * 700, session_id=first.id)
    tokens = memory.get_session_token_count(first.id)
    assert tokens > memory.settings.summarize_token_threshold
    for _ in range(2):
        assert memory.get_stats().long_sessions == {first.id: tokens}
        assert memory.get_session(first.id).needs_summary
        assert not memory.get_session(second.id).needs_summary
        listed = {one.id: one.needs_summary for one in memory.list_sessions()}
        assert listed == {first.id: True, second.id: False}
        memory.reindex()
    # As the specification does: the caller sums up the raw content and saves that.
    assert len(memory.get_raw_session_content(first.id)) // 4 == tokens
    memory.save("Tiivistelmä", "summaries", session_id=first.id, source="ai")
    assert memory.get_stats().long_sessions == {}
    assert not memory.get_session(first.id).needs_summary
    memory.save("Third part. " + "c " * 1400, session_id=second.id)
    assert list(memory.get_stats().long_sessions) == [second.id]
    memory.end_session(second.id, "Two parts")
    assert memory.get_stats().long_sessions == {}


def test_F7_every_surface_reports_it(opened: Opener, vault: Path) -> None:
    memory = opened(embedder="none", summarize_token_threshold=100)
    session = memory.start_session("web")
    other = memory.start_session("secret")
    for one in (session, other):
        memory.save(f"Part of {one.project}. " + "a " * 400, session_id=one.id)
    tokens = memory.get_session_token_count(session.id)
    with client_of(memory) as client:
        stats = client.get("/api/stats").json()
        assert stats["longSessions"][session.id] == tokens
        [told] = client.get("/api/sessions", params={"project": "web"}).json()
        assert told["needsSummary"] is True
    environment = {"MUISTI_VAULT": str(vault), "MUISTI_SUMMARIZE_TOKEN_THRESHOLD": "100"}
    shown = CliRunner().invoke(cli, ["stats"], env=environment).output
    assert f"{session.id} (about {tokens:,} tokens)" in shown
    shown = CliRunner().invoke(cli, ["session", "list"], env=environment).output
    assert f"Session {session.id} needs a summary" in shown

    async def ask_mcp() -> str:
        async with await MemoryService.open(vault, summarize_token_threshold=100) as service:
            agent = AgentScope(service.settings, "web", "")
            return await describe_long_sessions(service, agent, agent.project)

    note = asyncio.run(ask_mcp())
    assert note == f"To summarize, as their memories are long: session {session.id}."
