"""C1 · A secret in the name of an event, a session, an agent or a file is neither kept nor logged."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from muisti.surfaces.hooks.events import has_secret
from tests.faults.canary import find_secret
from tests.surfaces.hooks.conftest import Hook

KEY = "ghp_" + "a1B2c3D4e5F6g7H8i9J0kLmNoPqRsTuVwXyZ"
JWT = "eyJ" + "hbGciOiJIUzI1NiJ9" + ".eyJ" + "zdWIiOiIxMjM0In0" + "." + "a1B2c3D4e5F6g7H8" * 3


def call(hook: Hook, event: str, *options: str, **fields: str) -> None:
    message = {"session_id": "s1", "cwd": str(hook.repository), **fields}
    hook.raw(event, json.dumps(message).encode(), *options)


@pytest.mark.parametrize("secret", [KEY, JWT], ids=["short", "long"])
@pytest.mark.parametrize("event", ["UserPromptSubmit", "Stop", "SessionEnd", "PostToolUse"])
@pytest.mark.parametrize("field", ["session_id", "transcript_path", "hook_event_name", "source"])
def test_C1_a_secret_in_a_field_of_a_hook(
    hook: Hook, tmp_path: Path, event: str, field: str, secret: str
) -> None:
    call(hook, event, prompt="We use PostgreSQL.", **{field: secret})
    log = hook.settled()
    assert find_secret(tmp_path, secret) == []
    if field == "session_id":
        assert "session_id contains private text or a secret" in log[0].detail


@pytest.mark.parametrize("secret", [KEY, JWT], ids=["short", "long"])
def test_C1_a_secret_as_event_or_agent(hook: Hook, tmp_path: Path, secret: str) -> None:
    call(hook, secret)
    call(hook, "Stop", "--agent", secret, last_assistant_message="Done.")
    log = hook.settled()
    assert find_secret(tmp_path, secret) == []
    assert "--agent contains private text or a secret" in log[0].detail


def test_C1_a_secret_at_the_limit_of_a_prompt_is_not_cut_in_half(
    hook: Hook, tmp_path: Path
) -> None:
    prompt = "We use PostgreSQL. " + "x " * 200_000
    prompt = prompt[: 400_000 - 20] + KEY
    call(hook, "UserPromptSubmit", prompt=prompt)
    call(hook, "Stop", last_assistant_message="Done.")
    hook.settled()
    assert find_secret(tmp_path, KEY[:16] + "?" * 30) == []
    assert not any(
        KEY[:16].encode() in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()
    )


def test_C1_names_of_agents_and_sessions_are_quick_to_check() -> None:
    for name in ("claude-code", "01a1e9a0-890f-72ab-adc3-be77ddd0ab46", "s1", ""):
        assert not has_secret(name)
    assert has_secret(KEY)
    assert has_secret("<private>x</private>")
