"""A memory service for Google's Agent Development Kit, with its memories in a vault.

    with Muisti.open("~/notes") as memory:
        runner = Runner(…, memory_service=MuistiMemoryService(memory))

The app is the project and the user ID the user.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from muisti.engine import Muisti
from muisti.errors import InvalidRequest
from muisti.integrations.frameworks import require

require("google-adk", "2.0", "google-adk")

from google.adk.events import Event  # noqa: E402
from google.adk.memory import BaseMemoryService  # noqa: E402
from google.adk.memory.base_memory_service import SearchMemoryResponse  # noqa: E402
from google.adk.memory.memory_entry import MemoryEntry  # noqa: E402
from google.adk.sessions import Session  # noqa: E402
from google.genai import types  # noqa: E402

_MESSAGE = "message:"
"""How the IDs of messages begin."""


class MuistiMemoryService(BaseMemoryService):
    """Stores the texts of sessions as conversations, one for each session of an app and a user.

    A search returns at most `limit` of a user's memories and messages, best first. A session may be
    added several times: events that are stored are not stored again.
    """

    def __init__(self, memory: Muisti, *, limit: int = 10) -> None:
        self._memory, self._limit = memory, limit

    async def add_session_to_memory(self, session: Session) -> None:
        """Store the events of a session that have a text."""
        await self.add_events_to_memory(
            app_name=session.app_name,
            user_id=session.user_id,
            events=session.events,
            session_id=session.id,
        )

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Event],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Store events that have a text. Without a session, in one for the app and the user."""
        # Two users may have sessions with the same ID: the name has a hash of app and user.
        names = json.dumps([app_name, user_id])
        owner = hashlib.sha256(names.encode()).hexdigest()[:16]
        conversation = f"google-adk_{session_id or 'default'}~{owner}"
        for event in events:
            text = _get_text(event.content)
            if not text or event.partial:
                continue
            meta = {"author": event.author, **dict(custom_metadata or {})}
            await asyncio.to_thread(
                self._memory.append_message,
                conversation,
                "user" if event.author == "user" else "assistant",
                text,
                id=event.id,
                at=datetime.fromtimestamp(event.timestamp, UTC),
                meta=meta,
                project=app_name,
                user=user_id,
            )

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Save memories. A duplicate reinforces the one that exists."""
        items = [
            {
                "content": _get_text(entry.content),
                "project": app_name,
                "user": user_id,
                "source": entry.author or "ai",
                "trusted": False,  # no person has confirmed it yet
            }
            for entry in memories
        ]
        await asyncio.to_thread(self._memory.save_batch, items)

    async def search_memory(
        self, *, app_name: str, user_id: str, query: str
    ) -> SearchMemoryResponse:
        """Return what matches a query. Raises InvalidRequest."""
        results = await asyncio.to_thread(
            self._memory.search, query, limit=self._limit, project=app_name, user=user_id
        )
        entries = []
        for result in results:
            found, message = result.memory, result.message
            author = message.meta.get("author") if message else found.source
            role = "user" if message is None or message.role == "user" else "model"
            entries.append(
                MemoryEntry(
                    id=found.id,
                    author=str(author or role),
                    timestamp=(message.at if message else found.created_at).isoformat(),
                    content=types.Content(role=role, parts=[types.Part(text=found.content)]),
                    custom_metadata={"score": result.score, "outdated": result.outdated},
                )
            )
        return SearchMemoryResponse(memories=entries)

    async def delete_memory(
        self, *, app_name: str, user_id: str, memory_id: str | None = None
    ) -> None:
        """Move a memory or a message to the vault's trash. Raises InvalidRequest, NotFound."""
        found = None
        if memory_id:
            found = await asyncio.to_thread(
                self._memory.get, memory_id, project=app_name, user=user_id
            )
        if memory_id is None or found is None or found.user != user_id:
            raise InvalidRequest("memory_id", memory_id, "must be the ID of a memory of this user")
        if memory_id.startswith(_MESSAGE):
            conversation, _, id_ = memory_id.removeprefix(_MESSAGE).split("/", 2)
            await asyncio.to_thread(self._memory.delete_messages, conversation, [id_])
        else:
            await asyncio.to_thread(self._memory.delete, memory_id)


def _get_text(content: types.Content | None) -> str:
    """Return the texts of a content, without the model's thoughts."""
    parts = (content.parts if content else None) or []
    return "\n".join(part.text for part in parts if part.text and not part.thought)


__all__ = ["MuistiMemoryService"]
