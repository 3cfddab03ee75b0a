"""Summaries: memories that cover a range of messages of a conversation (contract F7)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from muisti.errors import InvalidMemory
from muisti.model import Draft
from muisti.ports import Services
from muisti.remember.validate import MAX_NAME, validate_line

SUMMARY = "summary"
ALL_MESSAGES = 10**9
_RANGE = ("conversation", "from_message", "to_message")


def apply_range(services: Services, draft: Draft) -> Draft:
    """Return a draft that covers messages as a summary, with the scope of its conversation.

    Other drafts are returned as they are. Raises InvalidMemory for a range that is incomplete or
    reversed, for messages that the conversation does not have, and for another kind or scope.
    """
    given = {name: getattr(draft, name) for name in _RANGE}
    for name, value in given.items():
        validate_line(name, value, MAX_NAME)
    if not any(given.values()):
        return draft
    for name, value in given.items():
        if not value.strip():
            others = " and ".join(other for other in _RANGE if other != name)
            raise InvalidMemory(name, value, f"must not be empty if {others} are given")
    kind = services.settings.kind(draft.kind) if isinstance(draft.kind, str) else None
    if draft.kind is not None and (kind is None or kind.name != SUMMARY):
        raise InvalidMemory("kind", draft.kind, "must be summary if it covers a conversation")
    order = [
        message.id
        for message in services.index.window(draft.conversation, ALL_MESSAGES, whole=True)
    ]
    known = services.index.conversation(draft.conversation)
    if known is None:
        raise InvalidMemory("conversation", draft.conversation, "must be one of the vault")
    for name in _RANGE[1:]:
        if given[name] not in order:
            raise InvalidMemory(name, given[name], f"must be a message of {draft.conversation}")
    if order.index(draft.to_message) < order.index(draft.from_message):
        reason = f"must not come before from_message ({draft.from_message})"
        raise InvalidMemory("to_message", draft.to_message, reason)
    scope: dict[str, Any] = {}
    for name in ("project", "user"):
        own, wanted = getattr(draft, name), getattr(known, name)
        if wanted and own not in (None, wanted):
            raise InvalidMemory(name, own, f"must be that of the conversation, {wanted}")
        scope[name] = wanted or own
    return replace(draft, kind=SUMMARY, **scope)
