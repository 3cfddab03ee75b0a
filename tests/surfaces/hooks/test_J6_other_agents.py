"""Hooks of Cursor, VS Code and Copilot: their messages, their replies, and what is stored."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from muisti.surfaces.hooks import events
from muisti.surfaces.hooks.formats import FORMATS
from muisti.surfaces.hooks.transcript import read_exchanges
from tests.surfaces.hooks.conftest import Hook
from tests.surfaces.strangers import PLANTED, open_own, plant, snapshot

DATABASE = "We chose PostgreSQL as our database"
ASK = "Which database did we choose?"
CURSOR = {
    "conversation_id": "c1",
    "generation_id": "g1",
    "model": "auto",
    "cursor_version": "3.20.17",
    "user_email": "anna@example.org",
}
COPILOT = {"timestamp": "2026-10-14T10:30:00.000Z", "sessionId": "v1"}


@pytest.fixture
def filled(hook: Hook) -> Hook:
    with hook.open() as memory:
        memory.save(DATABASE, kind="decision", project="otters")
        memory.save("The garden project uses MongoDB as its database", project="garden")
    return hook


def send(
    hook: Hook, agent: str, event: str, *, folder: Path | None = None, home: str = "", **said: Any
) -> dict[str, Any]:
    """Send an agent's message and return its reply; {} if there is none."""
    folder = folder or hook.repository
    common = (
        {**CURSOR, "workspace_roots": [str(folder)], "hook_event_name": event}
        if agent == "cursor"
        else {**COPILOT, "cwd": str(folder), "hookEventName": event}
    )
    given = json.dumps({**common, **said}).encode()
    options = () if home else ("--agent", agent)
    environment = {"HOME": home} if home else {}
    answered = hook.raw(event, given, *options, **environment).stdout
    return dict(json.loads(answered)) if answered else {}


def test_J6_cursor_is_told_and_heard(filled: Hook, tmp_path: Path) -> None:
    outside = tmp_path / "elsewhere"
    outside.mkdir()
    asking = Hook(filled.vault, outside)  # Cursor runs hooks of the user in ~/.cursor
    project = filled.repository
    started = send(asking, "cursor", "sessionStart", folder=project, composer_mode="agent")
    assert set(started) == {"additional_context"}
    assert DATABASE in started["additional_context"]
    assert "MongoDB" not in started["additional_context"]
    assert "trust=" in started["additional_context"]
    again = {"conversation_id": "c2", "folder": project}
    assert send(asking, "cursor", "beforeSubmitPrompt", prompt="Thanks!", **again) == {}
    told = send(asking, "cursor", "beforeSubmitPrompt", prompt=ASK, attachments=[], **again)
    assert set(told) == {"continue", "additional_context"}
    assert told["continue"] is True
    assert DATABASE in told["additional_context"]
    for text in ("Let me look it up.", "You chose PostgreSQL, in the spring."):
        assert send(asking, "cursor", "afterAgentResponse", text=text, **again) == {}
    assert send(asking, "cursor", "stop", status="completed", loop_count=0, **again) == {}
    asking.settled()
    with filled.open() as memory:
        heard = [(one.role, one.content) for one in memory.window("cursor_c2", 9, whole=True)]
    assert heard == [
        ("user", "Thanks!"),
        ("user", ASK),
        ("assistant", "You chose PostgreSQL, in the spring."),
    ]


def test_J6_vscode_is_told_and_heard(filled: Hook, tmp_path: Path) -> None:
    lines = [
        {"type": "session.start", "data": {"sessionId": "v1"}},
        {"type": "user.message", "data": {"content": ASK}},
        {"type": "assistant.message", "data": {"content": "Looking.", "toolRequests": [{}]}},
        {"type": "assistant.message", "data": {"content": "No.", "parentToolCallId": "t"}},
        {"type": "assistant.message", "data": {"content": "You chose PostgreSQL."}},
    ]
    transcript = tmp_path / "events.jsonl"
    transcript.write_text("".join(json.dumps(line) + "\n" for line in lines))
    started = send(filled, "vscode", "SessionStart", source="new", sessionId="v0")
    assert set(started) == {"hookSpecificOutput", "additionalContext"}
    output = started["hookSpecificOutput"]
    assert output["additionalContext"] == started["additionalContext"]
    assert output["hookEventName"] == "SessionStart"
    assert DATABASE in output["additionalContext"]
    told = send(filled, "vscode", "UserPromptSubmit", prompt=ASK)["hookSpecificOutput"]
    assert told["hookEventName"] == "UserPromptSubmit"
    assert DATABASE in told["additionalContext"]
    ended = {"stop_hook_active": False, "transcript_path": str(transcript)}
    assert send(filled, "vscode", "Stop", **ended) == {}
    filled.settled()
    with filled.open() as memory:
        heard = [(one.role, one.content) for one in memory.window("vscode_v1", 9, whole=True)]
    assert heard == [("user", ASK), ("assistant", "You chose PostgreSQL.")]


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("agent", ["cursor", "vscode"])
def test_J6_hooks_of_claude_code_are_left_to_the_agent_s_own(
    filled: Hook, tmp_path: Path, agent: str
) -> None:
    home = tmp_path / "home"
    told = send(filled, agent, "SessionStart", home=str(home))
    assert DATABASE in json.dumps(told)
    assert ("additional_context" in told) is (agent == "cursor")
    own = home / FORMATS[agent].hook_files[0]
    own.parent.mkdir(parents=True)
    own.write_text('{"command": "/bin/muisti hook SessionStart"}')
    assert send(filled, agent, "SessionStart", home=str(home)) == {}


@pytest.mark.exhaustive
def test_K6_a_stranger_s_vault_gets_and_gives_nothing(hook: Hook, tmp_path: Path) -> None:
    clone = plant(tmp_path, "")
    before = snapshot(clone)
    hook = Hook(hook.vault, tmp_path, named=False)
    assert PLANTED not in json.dumps(send(hook, "cursor", "sessionStart", folder=clone))
    send(hook, "cursor", "beforeSubmitPrompt", folder=clone, prompt="I prefer the ferry.")
    send(hook, "cursor", "afterAgentResponse", folder=clone, text="Noted.")
    send(hook, "cursor", "stop", folder=clone)
    hook.settled()
    assert snapshot(clone) == before
    with open_own() as memory:
        assert len(memory.window("cursor_c1", 9, whole=True)) == 2


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("event", ["beforeSubmitPrompt", "afterAgentResponse", "stop"])
@pytest.mark.parametrize(
    "given", [b"", b"[]", b'{"workspace_roots": {}, "conversation_id": 5, "text": [], "prompt": 1}']
)
def test_J6_cursor_s_bad_input_changes_nothing(hook: Hook, event: str, given: bytes) -> None:
    assert hook.raw(event, given, "--agent", "cursor").stdout == b""


@pytest.mark.parametrize(
    ("agent", "payload", "found"),
    [
        (None, {"session_id": "s", "cwd": "/x"}, ("claude-code", "s", "/x", "")),
        (None, {**CURSOR, "workspace_roots": ["/x", "/y"]}, ("cursor", "c1", "/x", "")),
        (None, {**COPILOT, "cwd": "/x"}, ("vscode", "v1", "/x", "")),
        ("gemini", {"session_id": "s", "prompt_response": "a"}, ("gemini", "s", "", "a")),
        ("cursor", {**CURSOR, "text": "a"}, ("cursor", "c1", "", "a")),
        ("codex", {"session_id": "s", "last_assistant_message": "a"}, ("codex", "s", "", "a")),
        ("other", {"session_id": "s", "last_assistant_message": "a"}, ("other", "s", "", "a")),
    ],
)
def test_J6_the_message_tells_the_agent(
    agent: str | None, payload: dict[str, object], found: tuple[str, str, str, str]
) -> None:
    call = events.parse_call("Stop", json.dumps(payload).encode(), agent)
    assert (call.agent, call.session, call.cwd, call.answer) == found


def test_J6_gemini_reports_the_context_of_hooks_with_the_prompt() -> None:
    told = "<hook_context>&lt;memories&gt;…</hook_context>\n\nWhich bird?"
    payload = json.dumps({"session_id": "s", "prompt": told}).encode()
    assert events.parse_call("BeforeAgent", payload, "gemini").prompt == "Which bird?"
    assert events.parse_call("BeforeAgent", payload, "codex").prompt == told
    typed = json.dumps({"prompt": "What is <hook_context> in HTML?"}).encode()
    assert "HTML" in events.parse_call("BeforeAgent", typed, "gemini").prompt


def test_J6_every_event_name_means_one_event() -> None:
    meant: dict[str, str] = {}
    for form in FORMATS.values():
        for name, event in form.events.items():
            assert meant.setdefault(name.lower(), event) == event
            assert events.parse_event(name) == (name, event)
    assert not set(meant) & {event.lower() for event in events.EVENTS}


def test_J6_cursor_s_transcript(tmp_path: Path) -> None:
    lines = [
        {"role": "user", "message": {"content": [{"type": "text", "text": "x\n<user_query>\nHi\n</user_query>"}]}},
        {"role": "assistant", "message": {"content": [{"type": "text", "text": "Hello."}]}},
        {"role": "tool", "message": {"content": "no"}},
    ]  # fmt: skip
    file = tmp_path / "transcript.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert [(one.prompt, one.answer) for one in read_exchanges(str(file))] == [("Hi", "Hello.")]
