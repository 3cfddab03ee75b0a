"""Items of a chat history, as JSON, each stored as a message of a conversation.

The text of an item is the message's content, so that searches find it. The rest is in its `meta`.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from muisti.engine import Muisti
from muisti.errors import ConversationNotFound, MessageNotFound
from muisti.model import ROLES, SESSION_BREAK, Message
from muisti.recall.lookups import MAX_LIMIT

TEXTS = (
    ("content",),
    ("content", 0, "text"),
    ("data", "content"),
    ("data", "content", 0, "text"),
    ("output",),
    ("arguments",),
    ("summary", 0, "text"),
)
"""Where the text of an item may be: the first of these paths that leads to a text."""
_ITEM, _PATH = "item", "text"
_ROLES = {"developer": "system", "function": "tool", "human": "user", "ai": "assistant"}


def find_text(item: Any, path: tuple[str | int, ...]) -> str | None:
    """Return the text at a path of an item, or None. A message cannot hold a NUL."""
    value = item
    for step in path:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return None
    return value if isinstance(value, str) and value.strip() and "\0" not in value else None


class MessageItems:
    """The history of one conversation. Raises InvalidRequest for a name that is not valid."""

    def __init__(
        self,
        memory: Muisti,
        conversation: str,
        *,
        project: str | None = None,
        user: str | None = None,
    ) -> None:
        self.conversation = conversation
        self._memory, self._project, self._user = memory, project, user
        memory.window(conversation, 1)  # raises if the name is not valid

    def append(self, item: Mapping[str, Any], role: str) -> None:
        """Append an item. It is on disk when this returns. Raises InvalidRequest."""
        path = next((one for one in TEXTS if find_text(item, one) is not None), None)
        rest = dict(item)
        if path is not None:
            rest = copy.deepcopy(rest)
            parent = find_parent(rest, path)
            parent[path[-1]] = ""
        self._memory.append_message(
            self.conversation,
            _ROLES.get(role, role if role in ROLES else "system"),
            (find_text(item, path) or "") if path is not None else "",
            meta={_ITEM: rest, _PATH: list(path or ())},
            project=self._project,
            user=self._user,
        )

    def latest(self, limit: int | None = None) -> list[Any]:
        """Return the latest items, the oldest of them first."""
        return [decode_message(message) for message in self._window(limit)]

    def pop(self) -> Any:
        """Move the latest item to the trash and return it; None if there is none."""
        while messages := self._window(1):
            try:
                self._memory.delete_messages(self.conversation, [messages[0].id])
            except (ConversationNotFound, MessageNotFound):  # another process was faster
                continue
            return decode_message(messages[0])
        return None

    def clear(self) -> None:
        """Move the conversation to the trash. Raises SessionNotFound for that of another user."""
        self._window(1)
        try:
            self._memory.delete_conversation(self.conversation)
        except ConversationNotFound:
            return

    def _window(self, limit: int | None) -> list[Message]:
        wanted = limit if limit is None or limit <= MAX_LIMIT else None
        found = self._memory.window(
            self.conversation, wanted, project=self._project, user=self._user
        )
        kept = [message for message in found if message.type != SESSION_BREAK]
        return kept if limit is None else kept[-limit:]


def find_parent(item: Any, path: tuple[str | int, ...]) -> Any:
    """Return the object or list that holds the text at a path."""
    for step in path[:-1]:
        item = item[step]
    return item


def decode_message(message: Message) -> Any:
    """Return the item of a message. One that was not stored as an item has role and content."""
    item, path = message.meta.get(_ITEM), message.meta.get(_PATH)
    if not isinstance(item, dict) or not isinstance(path, list):
        return {"role": message.role, "content": message.content}
    if path:
        item = copy.deepcopy(item)
        find_parent(item, tuple(path))[path[-1]] = message.content
    return item
