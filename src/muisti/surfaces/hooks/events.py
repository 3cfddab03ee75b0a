"""The messages of agents: parsing a hook's input and building its reply. Pure.

What differs between agents is in `formats`. The classes are not dataclasses because this module is
loaded after every tool call, and importing `dataclasses` takes longer than everything else here.
"""

from __future__ import annotations

import json
import re

from muisti.surfaces.hooks.formats import (
    COMPACT,
    EVENTS,
    FORMATS,
    NESTED,
    PROMPT,
    REPLY,
    SESSION_END,
    SESSION_START,
    STOP,
    TOOL,
    detect_agent,
    get_format,
)

__all__ = ["COMPACT", "EVENTS", "PROMPT", "REPLY", "SESSION_END", "SESSION_START", "STOP", "TOOL"]
ALIASES = {name: event for form in FORMATS.values() for name, event in form.events.items()}
"""Other agents' names of the same events."""
DEFAULT_AGENT = "claude-code"
MAX_BYTES = 8 * 1024 * 1024
"""The largest message that is accepted."""
_NAMES = {name.lower(): (name, name) for name in EVENTS}
_NAMES |= {name.lower(): (name, event) for name, event in ALIASES.items()}


class BadPayload(ValueError):
    """The input is not an agent's message. Says why, without quoting it."""


class Call:
    """One message of an agent."""

    __slots__ = (
        "agent",
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

    def __init__(self, name: str, event: str, agent: str, payload: dict[str, object]) -> None:
        form = get_format(agent)
        fields = form.fields
        self.name = name
        """The agent's name for the event."""
        self.event = event
        """One of EVENTS, or REPLY."""
        self.agent = agent
        self.session = clean_session_id(_get_text(payload, fields["session"]))
        self.cwd = _get_text(payload, fields["cwd"])
        self.transcript = _get_text(payload, fields["transcript"])
        self.prompt = _get_text(payload, fields["prompt"])
        if form.wrapper:
            wrapped = rf"(?s)<{form.wrapper}>.*?</{form.wrapper}>\s*"
            self.prompt = re.sub(wrapped, "", self.prompt)
        self.answer = _get_text(payload, fields["answer"])
        self.source = _get_text(payload, fields["source"])
        self.reason = _get_text(payload, fields["reason"])


def parse_event(name: str) -> tuple[str, str] | None:
    """Return the agent's name for an event and ours, or None. Case and hyphens do not matter."""
    return _NAMES.get(re.sub(r"[-_ ]", "", name).lower())


def parse_call(name: str, raw: bytes, agent: str | None = None) -> Call:
    """Parse a message. Fields of the wrong type count as missing. Raises BadPayload.

    Agent: the one that sent it; None to tell from the message.
    """
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
    sender = agent or detect_agent(payload) or DEFAULT_AGENT
    session = get_format(sender).fields["session"]
    if has_secret(_get_text(payload, session)):  # it becomes part of file names
        raise BadPayload(f"{session[0]} contains private text or a secret; nothing was done")
    return Call(*event, sender, payload)


def has_secret(name: str) -> bool:
    """Return whether a name contains private text or a secret. Fast for UUIDs and plain words."""
    if re.fullmatch(r"[a-z0-9]{0,12}(?:-[a-z0-9]{1,12}){0,4}", name):
        return False
    from muisti.text.private_tags import remove_private
    from muisti.text.secrets import redact_secrets

    return redact_secrets(remove_private(name)) != name


def build_reply(call: Call, context: str) -> bytes:
    """Return the reply that adds a text to the agent's context, in the agent's form."""
    form = get_format(call.agent)
    reply: dict[str, object] = dict(form.prompt_reply) if call.event == PROMPT else {}
    for field in form.reply:
        nested = {"hookEventName": call.name, "additionalContext": context}
        reply[field] = nested if field == NESTED else context
    return json.dumps(reply).encode() + b"\n"


def clean_session_id(text: str) -> str:
    """Return a session ID that is safe in names of files and conversations. May be empty."""
    clean = re.sub(r"[^\w@+=~.-]+|\.{2,}", "-", text.strip(), flags=re.ASCII)
    return clean.lstrip(".-")[:100].rstrip(".")


def _get_text(payload: dict[str, object], keys: tuple[str, ...]) -> str:
    """Return the first text of these fields, without characters that a text file cannot hold.

    Of a list, such as Cursor's `workspace_roots`, the first element counts.
    """
    for key in keys:
        value = payload.get(key)
        if isinstance(value, list) and value:
            value = value[0]
        if isinstance(value, str) and value:
            return value.replace("\0", " ").encode("utf-8", "replace").decode()
    return ""
