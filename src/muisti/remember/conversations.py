"""Append messages to conversations: a line in the file, then the index (contract F3)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from muisti.errors import ConversationNotFound, InvalidRequest
from muisti.filesystem import is_portable_name
from muisti.model import ROLES, SESSION_BREAK, Event, EventName, Message
from muisti.model.journal import make_use_events
from muisti.ports import ChangeSet
from muisti.remember.identity import make_id
from muisti.remember.index_rows import get_own_scope
from muisti.remember.validate import (
    validate_line,
    validate_project,
    validate_text,
    validate_time,
    validate_user,
)
from muisti.text.redact import check_name, redact_meta, redact_text

if TYPE_CHECKING:
    from muisti.model import Conversation
    from muisti.ports import Services
    from muisti.settings import Settings

MOST_META = 65_536
"""The most characters of a meta as JSON."""
DEEPEST_META = 50
PRIVATE = "[private]"
"""Replaces a message that is private as a whole, so that the conversation shows there was one."""
_CHANNEL = re.compile(r"[^\W_][\w.@+=~-]{0,59}\Z")
_CHAT_ID = re.compile(r"[\w@+=~!#-][\w.@+=~!#,-]{0,119}\Z")


def validate_conversation(name: str) -> str:
    """Return the name of a conversation. It names a folder. Raises InvalidRequest."""
    channel, _, chat_id = name.partition("_") if isinstance(name, str) else ("", "", "")
    is_valid = _CHANNEL.match(channel) and _CHAT_ID.match(chat_id) and ".." not in chat_id
    if not is_valid or not is_portable_name(name) or len(name.encode("utf-8", "replace")) > 200:
        raise InvalidRequest(
            "conversation",
            name,
            "must be a channel, _ and an ID, such as telegram_123456: letters, digits and "
            ". @ + = ~ ! # , - but neither / nor ..",
        )
    return name


def make_message(
    services: Services,
    conversation: str,
    role: str,
    content: str,
    *,
    type: str | None = None,  # the name of the field in the files
    meta: Mapping[str, object] | None = None,
    at: datetime | None = None,
    id: str | None = None,
    project: str | None = None,
    user: str | None = None,
) -> Message:  # shape: one argument for each option
    """Return a redacted and validated message. Raises InvalidRequest and InvalidMemory."""
    settings, now = services.settings, services.clock.now()
    if role not in ROLES:
        raise InvalidRequest("role", role, f"must be one of {', '.join(ROLES)}")
    redacted = redact_text(validate_text("content", content, settings), settings)
    if content.strip() and not redacted.strip():
        redacted = PRIVATE
    if not redacted.strip() and type is None and not meta:
        raise InvalidRequest("content", content, "must not be empty without a type or meta")
    moment = now if at is None else validate_time("at", at)
    if id is None:
        id_ = make_id(now)
    elif not isinstance(id, str) or not id.strip():
        raise InvalidRequest("id", id, "must be a short text, or be left out")
    else:
        id_ = check_name("id", validate_line("id", id, 120), settings)
    validate_conversation(conversation)
    own = _validate_meta({} if meta is None else meta, derive_meta(conversation), settings)
    type_ = None
    if type is not None:
        type_ = check_name("type", validate_line("type", type, 60), settings) or None
    own_project, own_user = get_own_scope(own)
    return Message(
        id=id_,
        conversation=conversation,
        role=role,
        content=redacted,
        at=moment,
        type=type_,
        meta=own,
        project=validate_project(own_project if project is None else project),
        user=validate_user(own_user if user is None else user),
    )


def _add_scope(services: Services, message: Message) -> Message:
    """Return the message with its project and user, which its meta names if they are not empty.

    An omitted one is that of the conversation, of the session with its name, or the vault's.
    Raises InvalidRequest if a given one differs from the conversation's.
    """
    fixed = {"project": "", "user": ""}
    vault = {"project": services.settings.project, "user": services.settings.user}
    for last in services.index.window(message.conversation, 1, whole=True):
        fixed = {"project": last.project, "user": last.user}
    if fixed["project"] or fixed["user"]:
        vault = fixed
    elif session := services.index.session(message.conversation):
        fixed = {"project": session.project, "user": session.user}
    scope: dict[str, str] = {}
    for name, value in (("project", message.project), ("user", message.user)):
        if value and fixed[name] not in ("", value):
            reason = f"must be that of the conversation, {fixed[name]}; use another conversation"
            raise InvalidRequest(name, value, reason)
        scope[name] = check_name(name, value or fixed[name] or vault[name], services.settings)
    named = {name: value for name, value in scope.items() if value}
    meta = {**message.meta, **named}
    return replace(message, meta=meta, project=scope["project"], user=scope["user"])


def derive_meta(conversation: str) -> dict[str, str]:
    """Return the part of the meta that repeats the conversation's name. Messages omit it."""
    channel, _, chat_id = conversation.partition("_")
    return {"channel": channel, "chat_id": chat_id}


def _validate_meta(
    meta: Mapping[str, object], derived: Mapping[str, str], settings: Settings
) -> dict[str, object]:
    """Return the meta as plain JSON, redacted, without what is derived. Raises InvalidRequest."""
    if not isinstance(meta, Mapping):
        raise InvalidRequest("meta", meta, 'must be an object such as {"model": "…"}')
    try:
        text = json.dumps(dict(meta), ensure_ascii=False, allow_nan=False)
        text.encode()
        plain: dict[str, object] = json.loads(text)
        collect_texts(plain)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidRequest("meta", "", f"must be plain JSON ({error})") from error
    if len(text) > MOST_META:
        reason = f"must have at most {MOST_META} characters; put long texts into content"
        raise InvalidRequest("meta", len(text), reason)
    own = {
        key: value for key, value in plain.items() if key not in derived or derived[key] != value
    }
    return redact_meta(own, settings)


def collect_texts(meta: Mapping[str, object]) -> list[str]:
    """Return all texts and keys in a meta. Raises ValueError if it is nested too deeply."""
    texts: list[str] = []
    values: list[object] = [meta]
    for _ in range(DEEPEST_META):
        nested: list[object] = []
        for value in values:
            if isinstance(value, str):
                texts.append(value)
            elif isinstance(value, dict):
                texts += value
                nested += value.values()
            elif isinstance(value, list):
                nested += value
        if not nested:
            return texts
        values = nested
    raise ValueError(f"nested more than {DEEPEST_META} levels deep")


def append(services: Services, messages: Sequence[Message]) -> list[Message]:
    """Write messages of one conversation to its file and return them.

    A message that was written before, with the same ID, is not written again. Raises
    InvalidRequest if its ID is that of another message.
    """
    conversation = messages[0].conversation
    with services.store.lock():
        known = services.index.find_messages(conversation, [message.id for message in messages])
        new = []
        for message in messages:
            same_id = known.get(message.id)
            if same_id is None:
                new.append(_add_scope(services, message))
            elif (same_id.role, same_id.content) != (message.role, message.content):
                reason = f"belongs to another message of {conversation}; leave the ID out"
                raise InvalidRequest("id", message.id, reason)
        if not new:
            return [known[message.id] for message in messages]
        # A conversation has the session of its name.
        events = make_use_events(services.index.session(conversation), services.clock.now())
        committed = services.store.commit(ChangeSet(messages=new, events=events))
    written = {message.id: message for message in new} | known
    if not committed.indexed:
        return [replace(written[one.id], index_pending=True) for one in messages]
    return [written[one.id] for one in messages]


def make_session_break(services: Services, conversation: str) -> Message:
    """Return the message that ends a session: the window begins after it."""
    return make_message(services, conversation, "system", "", type=SESSION_BREAK)


def assign(services: Services, conversation: str, project: str, user: str) -> Conversation:
    """Assign a project and a user to the messages of a conversation that have neither.

    Raises ConversationNotFound, and InvalidRequest if it belongs to others.
    """
    with services.store.lock():
        known = services.index.conversation(conversation)
        if known is None:
            raise ConversationNotFound(conversation)
        for name, value, fixed in (
            ("project", project, known.project),
            ("user", user, known.user),
        ):
            if fixed not in ("", value):
                raise InvalidRequest(name, value, f"must be that of the conversation, {fixed}")
        data = {"conversation": conversation, "project": project, "user": user}
        event = Event(EventName.CONVERSATION_ASSIGNED, services.clock.now(), data=data)
        services.store.commit(ChangeSet(events=[event]))
    return services.index.conversation(conversation) or known
