"""F1 · Sessions that nobody ended."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest

from muisti import Muisti, SettingsError
from tests.conftest import FakeClock, Opener


@pytest.fixture
def memory(opened: Opener) -> Muisti:
    return opened(embedder="none")


def leave_session(memory: Muisti, session_id: str, content: str = "", **scope: str) -> None:
    """Begin a session and never end it."""
    memory.start_session(session_id=session_id, **scope)
    if content:
        memory.save(content, session_id=session_id, **scope)


def test_F1_sessions_that_nobody_ended_are_summed_up_at_the_next_start(
    memory: Muisti, clock: FakeClock
) -> None:
    leave_session(memory, "killed", "We decided to keep sessions in Redis", project="web")
    clock.forward(hours=25)
    memory.start_session("web", session_id="next")
    ended = memory.get_session("killed")
    assert (ended.status, ended.ended_at) == ("completed", clock.now())
    assert ended.last_used == clock.now() - timedelta(hours=25)
    assert ended.summary == "Saved:\n- We decided to keep sessions in Redis"
    assert memory.get_session("next").status == "active"
    assert memory.end_idle_sessions() == []  # once


def test_F1_the_summary_of_a_chat_has_what_was_asked(memory: Muisti, clock: FakeClock) -> None:
    leave_session(memory, "web_anna", "We decided to use Redis", user="anna")
    memory.append_message("web_anna", "user", "How should the cache be stored?")
    memory.append_message("web_anna", "assistant", "In Redis. It is fast.")
    clock.forward(hours=25)
    (ended,) = memory.end_idle_sessions()
    assert ended.summary.splitlines() == [
        "Asked:",
        "- How should the cache be stored?",
        "Decided or learned:",
        "- We decided to use Redis",
        "Last answer:",
        "- In Redis.",
    ]


def test_F1_only_idle_sessions_of_the_same_project_and_user_end(
    memory: Muisti, clock: FakeClock
) -> None:
    leave_session(memory, "mine", "A", project="web", user="anna")
    leave_session(memory, "of ben", "B", project="web", user="ben")
    leave_session(memory, "elsewhere", "C", project="api", user="anna")
    leave_session(memory, "in use", "D", project="web", user="anna")
    clock.forward(hours=23)
    memory.save("Still at work", session_id="in use", project="web", user="anna")
    clock.forward(hours=2)
    memory.start_session("web", user="anna", session_id="next")
    status = {session.id: session.status for session in memory.list_sessions()}
    assert status == {
        "mine": "completed",
        "of ben": "active",
        "elsewhere": "active",
        "in use": "active",
        "next": "active",
    }
    told = memory.upkeep(dry_run=True).ended_sessions
    assert {session.id for session in told} == {"of ben", "elsewhere"}
    assert memory.get_session("of ben").status == "active"
    assert [session.id for session in memory.upkeep().ended_sessions] == [one.id for one in told]
    assert memory.get_session("of ben").status == "completed"


def test_F1_an_empty_session_ends_without_a_summary(memory: Muisti, clock: FakeClock) -> None:
    leave_session(memory, "empty")
    clock.forward(hours=25)
    (ended,) = memory.end_idle_sessions()
    assert (ended.id, ended.status, ended.summary) == ("empty", "completed", "")


def test_F1_a_summary_that_somebody_wrote_is_kept(memory: Muisti, clock: FakeClock) -> None:
    leave_session(memory, "again", "We chose Redis")
    memory.end_session("again", "Chose the cache", tool_calls=3)
    memory.start_session(session_id="again")
    clock.forward(hours=25)
    (ended,) = memory.end_idle_sessions()
    assert (ended.summary, ended.tool_calls) == ("Chose the cache", 3)


def test_F1_a_session_that_is_continued_is_not_ended_by_its_own_start(
    memory: Muisti, clock: FakeClock
) -> None:
    leave_session(memory, "long", "We chose Redis")
    clock.forward(days=3)
    assert memory.start_session(session_id="long").status == "active"
    assert memory.end_idle_sessions() == []


def test_F1_private_text_is_not_in_a_summary(memory: Muisti, clock: FakeClock) -> None:
    leave_session(memory, "s", "The key is AKIAIOSFODNN7EXAMPLE <private>my diary</private> here")
    clock.forward(hours=25)
    (ended,) = memory.end_idle_sessions()
    assert "AKIA" not in ended.summary
    assert "diary" not in ended.summary


def test_F1_what_was_ended_stays_so_after_a_rebuild(memory: Muisti, clock: FakeClock) -> None:
    leave_session(memory, "killed", "We chose Redis")
    clock.forward(hours=25)
    (ended,) = memory.end_idle_sessions()
    memory.reindex()
    assert memory.get_session("killed") == ended


@pytest.mark.needs_files("opens the vault twice")
def test_K1_two_processes_end_a_session_once(opened: Opener, clock: FakeClock, vault: Path) -> None:
    first, second = opened(embedder="none"), opened(embedder="none")
    for number in range(20):
        leave_session(first, f"s{number}", f"We chose number {number}")
    clock.forward(hours=25)
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda memory: memory.end_idle_sessions(), (first, second)))
    ended = [session.id for one in found for session in one]
    assert sorted(ended) == sorted(f"s{number}" for number in range(20))
    lines = "".join(path.read_text() for path in (vault / "journal").iterdir())
    assert lines.count("session_ended") == 20
    first.close()
    second.close()


@pytest.mark.parametrize("hours", [0, -1, "soon", 10**9])
def test_F1_a_bad_number_of_hours_is_refused(opened: Opener, hours: object) -> None:
    with pytest.raises(SettingsError, match="session_idle_hours"):
        opened(session_idle_hours=hours)
