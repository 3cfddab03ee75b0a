"""The messages of agents: parsing a hook's input and building its reply. Pure.

Claude Code, Codex and VS Code use the same names and fields; Gemini CLI has its own event names.
The classes are not dataclasses because this module is loaded after every tool call, and importing
`dataclasses` takes longer than everything else here.
"""

from __future__ import annotations

import json
import re

SESSION_START, PROMPT, TOOL, STOP, COMPACT, SESSION_END = (
    "SessionStart",
    "UserPromptSubmit",
    "PostToolUse",
    "Stop",
    "PreCompact",
    "SessionEnd",
)
EVENTS = (SESSION_START, PROMPT, TOOL, STOP, COMPACT, SESSION_END)
ALIASES = {"BeforeAgent": PROMPT, "AfterTool": TOOL, "AfterAgent": STOP, "PreCompress": COMPACT}
"""Gemini CLI's names of the same events."""
MAX_BYTES = 8 * 1024 * 1024
"""The largest message that is accepted."""
_NAMES = {name.lower(): (name, name) for name in EVENTS}
_NAMES |= {name.lower(): (name, event) for name, event in ALIASES.items()}


class BadPayload(ValueError):
    """The input is not an agent's message. Says why, without quoting it."""


class Call:
    """One message of an agent."""

    __slots__ = (
        "answer",
        "cwd",
        "event",
        "name",
        "prompt",
        "reason",
        "session",
        "source",
        "transcript",
    )

    def __init__(self, name: str, event: str, payload: dict[str, object]) -> None:
        self.name = name
        """The agent's name for the event."""
        self.event = event
        """One of EVENTS."""
        self.session = clean_session_id(_get_text(payload, "session_id"))
        self.cwd = _get_text(payload, "cwd")
        self.transcript = _get_text(payload, "transcript_path")
        self.prompt = _get_text(payload, "prompt")
        self.answer = _get_text(payload, "last_assistant_message")
        self.answer = self.answer or _get_text(payload, "prompt_response")
        self.source = _get_text(payload, "source")
        self.reason = _get_text(payload, "reason")


def parse_event(name: str) -> tuple[str, str] | None:
    """Return the agent's name for an event and ours, or None. Case and hyphens do not matter."""
    return _NAMES.get(re.sub(r"[-_ ]", "", name).lower())


def parse_call(name: str, raw: bytes) -> Call:
    """Parse a message. Fields of the wrong type count as missing. Raises BadPayload."""
    event = parse_event(name)
    if event is None:
        known = ", ".join((*EVENTS, *ALIASES))
        raise BadPayload(f"unknown event; known events: {known}")
    if not raw.strip():
        raise BadPayload("standard input is empty; expected the agent's JSON")
    if len(raw) > MAX_BYTES:
        raise BadPayload(f"input is larger than {MAX_BYTES} bytes")
    try:
        payload = json.loads(raw.decode("utf-8-sig", "replace"))
    except (ValueError, RecursionError) as error:
        raise BadPayload(f"input is not JSON ({type(error).__name__})") from error
    if not isinstance(payload, dict):
        raise BadPayload("input is not a JSON object")
    if has_secret(_get_text(payload, "session_id")):  # it becomes part of file names
        raise BadPayload("session_id contains private text or a secret; nothing was done")
    return Call(*event, payload)


def has_secret(name: str) -> bool:
    """Return whether a name contains private text or a secret. Fast for UUIDs and plain words."""
    if re.fullmatch(r"[a-z0-9]{0,12}(?:-[a-z0-9]{1,12}){0,4}", name):
        return False
    from muisti.text.private_tags import remove_private
    from muisti.text.secrets import redact_secrets

    return redact_secrets(remove_private(name)) != name


def build_reply(name: str, context: str) -> bytes:
    """Return the reply that adds a text to the agent's context."""
    reply = {"hookSpecificOutput": {"hookEventName": name, "additionalContext": context}}
    return json.dumps(reply).encode() + b"\n"


def clean_session_id(text: str) -> str:
    """Return a session ID that is safe in names of files and conversations. May be empty."""
    clean = re.sub(r"[^\w@+=~.-]+|\.{2,}", "-", text.strip(), flags=re.ASCII)
    return clean.lstrip(".-")[:100].rstrip(".")


def _get_text(payload: dict[str, object], key: str) -> str:
    """Return a text field, without characters that a text file cannot hold."""
    value = payload.get(key)
    if not isinstance(value, str):
        return ""
    return value.replace("\0", " ").encode("utf-8", "replace").decode()
