"""Events and messages as every store returns them: plain JSON and valid Unicode. Pure."""

from __future__ import annotations

import json

from muisti.errors import InvalidRequest
from muisti.model import Event, Message
from muisti.ports.rows import MessageLine

LONE_SURROGATE = "contains half of a surrogate pair; remove it"


def check_text(*texts: str | None) -> None:
    """Raise InvalidRequest for text that is not valid Unicode."""
    for text in texts:
        try:
            (text or "").encode()
        except UnicodeEncodeError as error:
            raise InvalidRequest("text", error.object[error.start], LONE_SURROGATE) from error


def copy_event(event: Event) -> Event:
    """Return the event as a journal file would return it. Raises InvalidRequest."""
    fields = [event.name, event.memory_ids, event.session_id, dict(event.data)]
    try:
        line = json.dumps(fields, ensure_ascii=False)
        line.encode()
    except UnicodeEncodeError as error:
        character = error.object[error.start]
        raise InvalidRequest(event.name, character, LONE_SURROGATE) from error
    name, memory_ids = str(event.name), tuple(event.memory_ids)
    return event._replace(name=name, memory_ids=memory_ids, data=json.loads(line)[3])


def to_message_line(message: Message) -> MessageLine:
    """Return the message as a line of a conversation's file. Raises InvalidRequest."""
    check_text(message.id, message.role, message.content, message.type)
    try:
        meta = json.loads(json.dumps(dict(message.meta), ensure_ascii=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidRequest(
            "meta", type(message.meta).__name__, f"must be plain JSON ({error})"
        ) from error
    return MessageLine(0, message.id, message.at, message.role, message.content, message.type, meta)
