"""Hooks capture messages, memories and the summary of a session."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from muisti import Session, bootstrap
from muisti.surfaces.hooks import spool, worker
from muisti.surfaces.hooks.capture import find_answer
from tests.conftest import FakeClock
from tests.surfaces.hooks.conftest import Hook

CACHE = "We decided to use Redis for the session cache because it is fast."
DONE = "Redis is configured in cache.py now."


def said(hook: Hook, session: str = "s1", agent: str = "claude-code") -> list[tuple[str, str]]:
    with hook.open() as memory:
        return [
            (one.role, one.content) for one in memory.window(f"{agent}_{session}", 100, whole=True)
        ]


def memories(hook: Hook) -> list[str]:
    with hook.open() as memory:
        return [one.content for one in memory.list(limit=None)]


def test_J6_an_exchange_is_stored_and_extracted_from(hook: Hook) -> None:
    hook.exchange(CACHE, DONE)
    hook.settled()
    assert said(hook) == [("user", CACHE), ("assistant", DONE)]
    with hook.open() as memory:
        (learnt,) = [one for one in memory.list() if one.kind == "decision"]
        session = memory.get_session("s1")
    assert "Redis" in learnt.content
    assert (learnt.project, learnt.session_id, learnt.trusted) == ("otters", "s1", False)
    assert (session.project, session.status) == ("otters", "active")


def test_J6_told_twice_is_kept_once(hook: Hook) -> None:
    """Two sets of hooks, or an agent that repeats itself."""
    for _ in range(2):
        hook("UserPromptSubmit", prompt=CACHE)
    for _ in range(2):
        hook("Stop", last_assistant_message=DONE)
    hook.settled()
    hook("Stop", last_assistant_message=DONE)
    hook.settled()
    assert said(hook) == [("user", CACHE), ("assistant", DONE)]
    assert len([one for one in memories(hook) if "decided" in one]) == 1


def test_J6_the_same_words_later_are_said_again(hook: Hook) -> None:
    for answer in ("First half is there.", "Second half is there.", "Second half is there."):
        hook.exchange("continue", answer)
        hook.settled()
    assert [text for role, text in said(hook) if role == "assistant"] == [
        "First half is there.",
        "Second half is there.",
    ]
    assert [text for role, text in said(hook) if role == "user"] == ["continue"] * 2


def test_J6_secrets_and_private_parts_are_nowhere(hook: Hook, tmp_path: Path) -> None:
    key = "AKIAIOSFODNN7EXAMPLE"
    hook("UserPromptSubmit", prompt=f"Use {key} for the bucket. <private>my diary</private>")
    assert _holding(tmp_path, key, "my diary") == []
    hook(
        "Stop", last_assistant_message=f"I put {key} into the settings. <private>my diary</private>"
    )
    hook(
        "PostToolUse",
        tool_name="Bash",
        tool_input={"command": f"echo {key}"},
        tool_response={"stdout": key},
    )
    assert _holding(tmp_path, key, "my diary") == []
    hook.settled()
    assert _holding(tmp_path, key, "my diary") == []
    assert any("[redacted:" in text for _, text in said(hook))


def _holding(folder: Path, *texts: str) -> list[Path]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [path for path in files if any(text.encode() in path.read_bytes() for text in texts)]


def test_J6_a_session_ends_with_a_summary(hook: Hook) -> None:
    hook.exchange(
        "How should the session cache be stored for the otter service?", "There are two ways."
    )
    hook.exchange("thanks", "You are welcome.")
    hook.exchange(CACHE, DONE)
    for _ in range(3):
        hook("PostToolUse", tool_name="Read")
    hook("SessionEnd", reason="exit")
    hook.settled()
    with hook.open() as memory:
        session = memory.get_session("s1")
    assert (session.status, session.tool_calls) == ("completed", 3)
    assert "How should the session cache be stored" in session.summary
    assert "Redis" in session.summary
    assert DONE in session.summary
    assert "thanks" not in session.summary
    assert "How should the session cache" in hook("SessionStart", source="startup", session="s2")


def test_J6_the_session_of_a_killed_agent_is_summed_up_at_the_next_start(hook: Hook) -> None:
    with bootstrap.open(hook.vault, create=True, clock=FakeClock()) as memory:  # long ago
        memory.start_session("otters", session_id="killed")
        memory.append_message(
            "claude-code_killed", "user", "How should the otters be fed?", project="otters"
        )

    def find() -> Session:
        with hook.open() as memory:
            return memory.get_session("killed")

    hook("SessionStart", source="startup", session="next")
    hook.until(lambda: find().status == "completed")
    assert find().summary == "Asked:\n- How should the otters be fed?"


def test_J6_an_empty_session_leaves_nothing(hook: Hook) -> None:
    hook("SessionStart", source="startup")
    hook("SessionEnd", reason="exit")
    hook.settled()
    with hook.open() as memory:
        assert memory.list_sessions() == []


def line(kind: str, content: object, **more: Any) -> str:
    return json.dumps(
        {
            "type": kind,
            "message": {"role": kind, "content": content},
            "timestamp": "2026-11-01T10:00:00Z",
            **more,
        }
    )


def transcript(path: Path) -> Path:
    lines = [
        line("user", "<command-name>/clear</command-name>"),
        line("user", "Caveat: the messages below", isMeta=True),
        line("user", "Where do the otters of Turku sleep?"),
        line(
            "assistant",
            [
                {"type": "thinking", "thinking": "secret thoughts"},
                {"type": "text", "text": "Let me look."},
            ],
        ),
        line("assistant", [{"type": "tool_use", "name": "Read", "input": {}}]),
        line(
            "user",
            [{"type": "tool_result", "content": "a file with big output"}],
            toolUseResult={"stdout": "x"},
        ),
        "{not json",
        '"just a text"',
        "[1, 2]",
        line("user", "I am a subagent's task", isSidechain=True),
        json.dumps(
            {"type": "api-request-blob", "message": {"role": "user", "content": "raw request"}}
        ),
        line("assistant", [{"type": "text", "text": "They sleep on the water."}]),
        line(
            "user",
            [
                {
                    "type": "text",
                    "text": "And in winter?<system-reminder>todo list</system-reminder>",
                }
            ],
        ),
        line("assistant", "Under the ice."),
    ]
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


EXPECTED = [
    ("user", "Where do the otters of Turku sleep?"),
    ("assistant", "They sleep on the water."),
    ("user", "And in winter?"),
    ("assistant", "Under the ice."),
]


@pytest.mark.parametrize("event", ["PreCompact", "SessionEnd"])
def test_J6_what_no_hook_told_is_read_from_the_transcript(
    hook: Hook, tmp_path: Path, event: str
) -> None:
    path = str(transcript(tmp_path / "talk.jsonl"))
    for _ in range(2):
        hook(event, trigger="auto", transcript_path=path)
        hook.settled()
    assert said(hook) == EXPECTED


def test_J6_what_was_told_is_not_read_again(hook: Hook, tmp_path: Path) -> None:
    for asked, answered in ((EXPECTED[0][1], EXPECTED[1][1]), (EXPECTED[2][1], EXPECTED[3][1])):
        hook.exchange(asked, answered)
    hook.settled()
    hook("PreCompact", trigger="manual", transcript_path=str(transcript(tmp_path / "talk.jsonl")))
    hook.settled()
    assert said(hook) == EXPECTED


def test_J6_a_turn_that_is_compacted_is_told_when_it_is_answered(
    hook: Hook, tmp_path: Path
) -> None:
    path = transcript(tmp_path / "talk.jsonl")
    hook("UserPromptSubmit", prompt="And in winter?")
    hook("PreCompact", trigger="auto", transcript_path=str(path))
    hook.settled()
    assert said(hook) == EXPECTED[:2]
    hook("Stop", last_assistant_message="Under the ice.")
    hook.settled()
    assert said(hook) == EXPECTED


def test_J6_an_answer_that_the_agent_does_not_tell_is_in_the_transcript(
    hook: Hook, tmp_path: Path
) -> None:
    hook("UserPromptSubmit", prompt="And in winter?")
    hook("Stop", transcript_path=str(transcript(tmp_path / "talk.jsonl")))
    hook.settled()
    assert ("assistant", "Under the ice.") in said(hook)
    assert said(hook).count(("user", "And in winter?")) == 1


def test_J6_an_answer_may_be_written_after_the_hook(tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    path.write_text(line("user", "And in winter?") + "\n")
    entry = spool.Entry(id="e", at=time.time(), agent="vscode", vault="", project="", session="s1")
    entry.prompts, entry.transcript = [(entry.at, "And in winter?")], str(path)
    answer = line("assistant", "Under the ice.") + "\n"

    def write() -> None:
        with path.open("a") as file:
            file.write(answer)

    writer = threading.Timer(0.3, write)
    writer.start()
    assert find_answer(entry) == "Under the ice."
    writer.join()
    entry.prompts, entry.at = [(entry.at, "And in spring?")], time.time() - 3600
    assert find_answer(entry) == ""  # an old entry is not waited for


def test_J6_an_interrupted_prompt_is_kept_at_the_end(hook: Hook) -> None:
    hook("UserPromptSubmit", prompt="Where do the otters sleep?")
    hook("SessionEnd", reason="exit")
    hook.settled()
    assert said(hook) == [("user", "Where do the otters sleep?")]


def test_J6_gemini_tells_prompt_and_answer_at_once(hook: Hook) -> None:
    message = {
        "session_id": "g",
        "cwd": str(hook.repository),
        "prompt": CACHE,
        "prompt_response": DONE,
    }
    hook.raw("AfterAgent", json.dumps(message).encode(), "--agent", "gemini")
    hook.settled()
    assert said(hook, "g", "gemini") == [("user", CACHE), ("assistant", DONE)]


@pytest.mark.parametrize("what", ["link", "folder", "fifo", "missing"])
def test_J6_a_transcript_is_a_plain_file(hook: Hook, tmp_path: Path, what: str) -> None:
    path = tmp_path / "talk.jsonl"
    if what == "link":
        path.symlink_to(transcript(tmp_path / "real.jsonl"))
    elif what == "folder":
        path.mkdir()
    elif what == "fifo":
        os.mkfifo(path)
    hook("PreCompact", trigger="auto", transcript_path=str(path))
    hook.settled()
    assert spool.list_entries() == []
    assert said(hook) == []


def test_J6_of_an_endless_transcript_the_end_is_read(hook: Hook, tmp_path: Path) -> None:
    path = transcript(tmp_path / "talk.jsonl")
    filler = json.dumps({"type": "progress", "data": "x" * 1000})
    path.write_text(
        "\n".join(
            [
                line("user", "An early question about herons?"),
                *[filler] * 9000,
                path.read_text("utf-8"),
            ]
        ),
        "utf-8",
    )
    hook("PreCompact", trigger="auto", transcript_path=str(path))
    hook.settled()
    assert said(hook) == EXPECTED


def test_K2_a_worker_that_is_killed_loses_nothing(
    hook: Hook, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kill the worker at every step, in its own process; the next one completes the work."""
    monkeypatch.setattr(worker, "start", lambda vault="": None)
    entry = spool.new_entry("claude-code", str(hook.vault), "otters", "s1")
    entry.prompts, entry.answer = [(entry.at, CACHE)], DONE
    spool.add_entry(entry)
    for step in ("start_session", "append_message", "extract_and_save", "flush", "close"):
        child = os.fork()
        if child == 0:
            _work_and_die_at(step, hook.vault)
        _, status = os.waitpid(child, 0)
        assert os.WTERMSIG(status) == signal.SIGKILL
    worker.process_entries(str(hook.vault))
    assert said(hook) == [("user", CACHE), ("assistant", DONE)]
    assert len([one for one in memories(hook) if "decided" in one]) == 1
    assert spool.list_entries() == []


def _work_and_die_at(step: str, vault: Path) -> None:
    from muisti.engine import Muisti

    def die(*_: object, **__: object) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    try:
        setattr(Muisti, step, die)
        worker.process_entries(str(vault))
        die()
    finally:
        os._exit(1)


@pytest.mark.exhaustive
def test_K1_many_sessions_at_once(hook: Hook) -> None:
    import threading

    def talk(name: str) -> None:
        for number in range(3):
            hook.exchange(
                f"What does otter {name} number {number} eat?", f"Fish {number} of {name}.", name
            )

    threads = [threading.Thread(target=talk, args=(f"s{n}",)) for n in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    hook.settled()
    for n in range(4):
        assert said(hook, f"s{n}") == [
            pair
            for number in range(3)
            for pair in (
                ("user", f"What does otter s{n} number {number} eat?"),
                ("assistant", f"Fish {number} of s{n}."),
            )
        ]
