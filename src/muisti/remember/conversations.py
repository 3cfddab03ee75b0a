"""What is said in a conversation is written down: one line, then one transaction of the index (contract F3)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from muisti.errors import InvalidRequest
from muisti.model import ROLES, SESSION_BREAK, Message
from muisti.ports import ChangeSet, Services
from muisti.remember.identity import make_id
from muisti.remember.validate import validate_line, validate_text, validate_time
from muisti.settings import Settings
from muisti.text.redact import check_name, redact_meta, redact_text

MOST_META = 65_536
DEEPEST_META = 50
PRIVATE = "[private]"
"""Stands for a message that was private as a whole: that something was said belongs to the conversation."""
_CHANNEL = re.compile(r"[^\W_][\w.@+=~-]{0,59}\Z")
_CHAT_ID = re.compile(r"[\w@+=~!#-][\w.@+=~!#,-]{0,119}\Z")


def validate_conversation(chat: str) -> str:
    """A chat's name: its channel, an underscore, its id. It becomes a folder. Raises InvalidRequest."""
    channel, _, chat_id = chat.partition("_") if isinstance(chat, str) else ("", "", "")
    plain = (
        _CHANNEL.match(channel)
        and "_" not in channel
        and _CHAT_ID.match(chat_id)
        and ".." not in chat_id
    )
    if not plain or chat.endswith((".", " ")) or len(chat.encode("utf-8", "replace")) > 200:
        raise InvalidRequest(
            "conversation",
            chat,
            "must be a channel, _ and an ID, such as telegram_123456: letters, digits and "
            ". @ + = ~ ! # , - but neither / nor ..",
        )
    return chat


def make_message(
    services: Services,
    chat: str,
    role: str,
    content: str,
    *,
    type: str | None = None,  # the name that the files have for it
    meta: Mapping[str, object] | None = None,
    at: datetime | None = None,
    id: str | None = None,
) -> Message:
    """A message that may be written. Raises InvalidRequest and InvalidMemory that name the field."""
    settings = services.settings
    if role not in ROLES:
        given = "nothing" if role in (None, "") else role
        raise InvalidRequest("role", given, f"must be one of {', '.join(ROLES)}")
    safe = redact_text(validate_text("content", content, settings), settings)
    if content.strip() and not safe.strip():
        safe = PRIVATE
    if not safe.strip() and type is None and not meta:
        raise InvalidRequest(
            "content", content, "must not be empty, unless type or meta say what it is"
        )
    moment = services.clock.now() if at is None else validate_time("at", at)
    return Message(
        id=make_id(services.clock.now())
        if id is None
        else check_name("id", _checked_id(id), settings),
        conversation=validate_conversation(chat),
        role=role,
        content=safe,
        at=moment,
        type=None
        if type is None
        else check_name("type", validate_line("type", type, 60), settings) or None,
        meta=_checked_meta({} if meta is None else meta, derive_meta(chat), settings),
    )


def _checked_id(id_: str) -> str:
    if not isinstance(id_, str) or not id_.strip():
        raise InvalidRequest("id", id_, "must be a short text, or be left out")
    return validate_line("id", id_, 120)


def derive_meta(chat: str) -> dict[str, str]:
    """What the meta of every line says because the chat's name does; messages are given without it."""
    channel, _, chat_id = chat.partition("_")
    return {"channel": channel, "chat_id": chat_id}


def _checked_meta(
    meta: Mapping[str, object], own: Mapping[str, str], settings: Settings
) -> dict[str, object]:
    if not isinstance(meta, Mapping):
        raise InvalidRequest("meta", meta, 'it must be a table such as {"model": "…"}')
    try:
        text = json.dumps(dict(meta), ensure_ascii=False, allow_nan=False)
        text.encode()
        plain: dict[str, object] = json.loads(text)
        collect_texts(plain)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidRequest("meta", "…", f"must be plain JSON ({error})") from error
    if len(text) > MOST_META:
        raise InvalidRequest(
            "meta",
            f"{len(text)} characters",
            f"at most {MOST_META} are kept; put long texts into content",
        )
    return redact_meta(
        {key: value for key, value in plain.items() if own.get(key) != value or key not in own},
        settings,
    )


def collect_texts(meta: Mapping[str, object]) -> list[str]:
    """All texts in a meta. Raises ValueError if it is too deep to be walked."""
    texts: list[str] = []
    values: list[object] = [meta]
    for _ in range(DEEPEST_META):
        texts += [value for value in values if isinstance(value, str)]
        values = [
            item for value in values if isinstance(value, dict | list) for item in _items(value)
        ]
        if not values:
            return texts
    raise ValueError(f"it is nested more than {DEEPEST_META} levels deep")


def _items(value: dict[str, object] | list[object]) -> list[object]:
    return list(value.values()) if isinstance(value, dict) else value


def append(services: Services, messages: Sequence[Message]) -> list[Message]:
    """Write messages of one chat to its file. One whose id is there already, and says the same, is not written again."""
    chat = messages[0].conversation
    with services.store.lock():
        known = services.index.find_messages(chat, [message.id for message in messages])
        new = [message for message in messages if not _is_there(known.get(message.id), message)]
        if not new:
            return [known[message.id] for message in messages]
        committed = services.store.commit(ChangeSet(messages=new))
    if not committed.indexed:
        return [replace(message, index_pending=True) for message in messages]
    return list(messages)


def _is_there(known: Message | None, message: Message) -> bool:
    if known is None:
        return False
    if (known.role, known.content) != (message.role, message.content):
        raise InvalidRequest(
            "id",
            message.id,
            f"belongs to another message of {message.conversation}; leave the id out",
        )
    return True


def make_session_break(services: Services, chat: str) -> Message:
    """What follows is a new talk: the window begins after this."""
    return make_message(services, chat, "system", "", type=SESSION_BREAK)
