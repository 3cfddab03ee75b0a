"""A session of the OpenAI Agents SDK, with its history in a conversation of a vault.

    with Muisti.open("~/notes") as memory:
        session = MuistiSession("anna-1", memory)
        await Runner.run(agent, "What did we decide?", session=session)

What was said is searched together with memories: `memory.search("what did we decide")`.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from muisti.engine import Muisti
from muisti.integrations.frameworks import require
from muisti.integrations.message_items import MessageItems

require("openai-agents", "0.20", "openai-agents")

from agents.memory import SessionABC, SessionSettings  # noqa: E402

if TYPE_CHECKING:
    from agents.items import TResponseInputItem


class MuistiSession(SessionABC):
    """Stores the items of a session in the conversation `openai-agents_SESSION`.

    `project` and `user` are those of its messages. Secrets and `<private>` parts are redacted.
    Items that are popped or cleared are in the vault's trash. Raises InvalidRequest for an ID that
    cannot name a conversation.
    """

    def __init__(
        self,
        session_id: str,
        memory: Muisti,
        *,
        project: str | None = None,
        user: str | None = None,
        session_settings: SessionSettings | None = None,
    ) -> None:
        self.session_id = session_id
        self.session_settings = session_settings or SessionSettings()
        name = f"openai-agents_{session_id}"
        self._items = MessageItems(memory, name, project=project, user=user)
        self._lock = asyncio.Lock()

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Return the latest `limit` items, or all, in the order in which they were added."""
        if limit is None and self.session_settings is not None:
            limit = self.session_settings.limit
        if limit == 0:
            return []
        latest = None if limit is None or limit < 0 else limit
        return await asyncio.to_thread(self._items.latest, latest)

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Append items. They are on disk when this returns."""
        async with self._lock:
            for item in items:
                await asyncio.to_thread(self._items.append, item, _get_role(item))

    async def pop_item(self) -> TResponseInputItem | None:
        """Remove the latest item and return it; None if there is none."""
        async with self._lock:
            popped: TResponseInputItem | None = await asyncio.to_thread(self._items.pop)
            return popped

    async def clear_session(self) -> None:
        """Remove all items."""
        async with self._lock:
            await asyncio.to_thread(self._items.clear)


def _get_role(item: Any) -> str:
    """Return the role of an item; of a tool call or its output, who wrote it."""
    role = item.get("role")
    if isinstance(role, str):
        return role
    return "tool" if str(item.get("type")).endswith("_output") else "assistant"


__all__ = ["MuistiSession"]
