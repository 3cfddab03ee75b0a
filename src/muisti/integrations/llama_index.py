"""A memory block for LlamaIndex, with long-term memory in a vault.

with Muisti.open("~/notes") as memory:
block = MuistiMemoryBlock(memory=memory, user="anna")
chat = Memory.from_defaults(session_id="anna-1", memory_blocks=[block])
"""

from __future__ import annotations

import asyncio
from typing import Any

from muisti.engine import Muisti
from muisti.integrations.frameworks import require

require("llama-index-core", "0.14", "llama-index")

from llama_index.core.base.llms.types import ChatMessage  # noqa: E402
from llama_index.core.memory import BaseMemoryBlock  # noqa: E402

_ROLES = {"user", "assistant", "system", "tool"}


class MuistiMemoryBlock(BaseMemoryBlock[str]):
    """Recalls what is known about the latest message, and keeps messages that leave the chat.

    Messages go to the conversation `llama-index_SESSION`. Secrets and `<private>` parts are
    redacted.
    """

    memory: Muisti
    name: str = "long_term_memory"
    description: str | None = "Memories and earlier messages that bear on the latest message."
    project: str | None = None
    user: str | None = None
    session_id: str = "default"
    """The session of messages that name none."""
    budget: int = 1000
    """The most tokens of what is recalled."""

    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> str:
        """Return what is known about the latest message of the user, fenced as data."""
        said = [one.content for one in messages or () if one.role == "user" and one.content]
        if not said:
            return ""
        return await asyncio.to_thread(
            self.memory.context,
            str(said[-1]),
            budget=self.budget,
            source=("memory", "document", "message"),
            project=self.project,
            user=self.user,
        )

    async def _aput(self, messages: list[ChatMessage]) -> None:
        """Append messages to their conversation. Those without a text are left out."""
        for message in messages:
            session = message.additional_kwargs.get("session_id") or self.session_id
            role = str(getattr(message.role, "value", message.role))
            if not message.content:
                continue
            await asyncio.to_thread(
                self.memory.append_message,
                f"llama-index_{session}",
                role if role in _ROLES else "system",
                message.content,
                project=self.project,
                user=self.user,
            )


__all__ = ["MuistiMemoryBlock"]
