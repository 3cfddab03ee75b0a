"""What an agent says when it calls a hook. Pure.

Claude Code, Codex and VS Code use the same names and fields; Gemini CLI has names of its own for the same moments.
Plain classes: this is read after every call of a tool, and what would make them dataclasses takes longer than all the rest.
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
"""Gemini CLI's names, with what they are here."""
MAX_BYTES = 8 * 1024 * 1024
"""Bytes of a message that are read."""
_NAMES = {
    name.lower(): (name, event)
    for name, event in ((*((name, name) for name in EVENTS), *ALIASES.items()))
}


class BadPayload(ValueError):
    """What came in is no message of an agent; says why, without what it was."""


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

    def __init__(self, name: str, event: str, said: dict[str, object]) -> None:
        self.name = name
        """What the agent calls the event."""
        self.event = event
        """One of EVENTS."""
        self.session = clean_session_id(_text(said, "session_id"))
        self.cwd = _text(said, "cwd")
        self.transcript = _text(said, "transcript_path")
        self.prompt = _text(said, "prompt")
        self.answer = _text(said, "last_assistant_message") or _text(said, "prompt_response")
        self.source = _text(said, "source")
        self.reason = _text(said, "reason")


def parse_event(name: str) -> tuple[str, str] | None:
    """An agent's name for an event and ours; in any case, with or without hyphens. None for one that is none of ours."""
    return _NAMES.get(re.sub(r"[-_ ]", "", name).lower())


def parse_call(name: str, raw: bytes) -> Call:
    """A message, read. What has another type than it should have counts as not said. Raises BadPayload."""
    known = parse_event(name)
    if known is None:
        raise BadPayload(
            f"there is no event {name[:40]!r}; known are: {', '.join((*EVENTS, *ALIASES))}"
        )
    if not raw.strip():
        raise BadPayload("nothing came in on standard input; the agent's JSON was expected")
    if len(raw) > MAX_BYTES:
        raise BadPayload(f"more than {MAX_BYTES} bytes came in")
    try:
        said = json.loads(raw.decode("utf-8-sig", "replace"))
    except (ValueError, RecursionError) as error:
        raise BadPayload(f"what came in is no JSON ({type(error).__name__})") from error
    if not isinstance(said, dict):
        raise BadPayload("what came in is no JSON object")
    return Call(*known, said)


def build_reply(name: str, context: str) -> bytes:
    """The answer that puts a text into the agent's context."""
    answer = {"hookSpecificOutput": {"hookEventName": name, "additionalContext": context}}
    return json.dumps(answer).encode() + b"\n"


def clean_session_id(text: str) -> str:
    """A session's id as files and chats may be called. May be ""."""
    clean = re.sub(r"[^\w@+=~.-]+|\.{2,}", "-", text.strip(), flags=re.ASCII)
    return clean.lstrip(".-")[:100].rstrip(".")


def _text(said: dict[str, object], key: str) -> str:
    """What stands there; characters that no text file can hold are replaced."""
    value = said.get(key)
    return (
        value.replace("\0", " ").encode("utf-8", "replace").decode()
        if isinstance(value, str)
        else ""
    )
