"""A LangChain retriever over a vault, and a chat history in a conversation of it.

with Muisti.open("~/notes") as memory:
MuistiRetriever(memory=memory, k=5).invoke("which database did we choose?")
MuistiChatHistory("anna-1", memory).add_user_message("Let us use PostgreSQL.")
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from muisti.engine import Muisti
from muisti.integrations.frameworks import require
from muisti.integrations.message_items import MessageItems

require("langchain-core", "1.0", "langchain")

from langchain_core.callbacks import CallbackManagerForRetrieverRun  # noqa: E402
from langchain_core.chat_history import BaseChatMessageHistory  # noqa: E402
from langchain_core.documents import Document  # noqa: E402
from langchain_core.messages import BaseMessage, message_to_dict, messages_from_dict  # noqa: E402
from langchain_core.retrievers import BaseRetriever  # noqa: E402
from pydantic import Field  # noqa: E402


class MuistiRetriever(BaseRetriever):
    """Returns memories, messages and sections of documents that match a query, best first.

    `filters` has further options of `Muisti.search`, such as `{"kind": "decision"}`. The metadata
    of a document says where it is from, when it was written, and whether it is outdated.
    """

    memory: Muisti
    k: int = 10
    """The most documents to return."""
    project: str | None = None
    user: str | None = None
    filters: dict[str, Any] = Field(default_factory=dict)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        """Return the documents. Raises InvalidRequest."""
        options: Any = {"project": self.project, "user": self.user, **self.filters}
        results = self.memory.search(query, limit=self.k if k is None else k, **options)
        return [
            Document(
                id=result.memory.id,
                page_content=result.memory.content,
                metadata={
                    "title": result.memory.title,
                    "kind": result.memory.kind,
                    "source": result.memory.file_path or result.source,
                    "project": result.memory.project,
                    "user": result.memory.user,
                    "created_at": result.memory.created_at.isoformat(),
                    "trusted": result.memory.trusted,
                    "outdated": result.outdated,
                    "score": result.score,
                },
            )
            for result in results
        ]


class MuistiChatHistory(BaseChatMessageHistory):
    """The messages of a session, in the conversation `langchain_SESSION`.

    Secrets and `<private>` parts are redacted. Raises InvalidRequest for an ID that cannot name a
    conversation.
    """

    def __init__(
        self,
        session_id: str,
        memory: Muisti,
        *,
        project: str | None = None,
        user: str | None = None,
    ) -> None:
        name = f"langchain_{session_id}"
        self._items = MessageItems(memory, name, project=project, user=user)

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override]  # a property, as in LangChain
        """All messages, in the order in which they were added."""
        items = self._items.latest()
        return messages_from_dict([_to_dict(item) for item in items])

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Append messages. They are on disk when this returns."""
        for message in messages:
            self._items.append(message_to_dict(message), message.type)

    def clear(self) -> None:
        """Move the messages to the vault's trash."""
        self._items.clear()


def _to_dict(item: dict[str, Any]) -> dict[str, Any]:
    """Return an item in LangChain's form. A message of another program has role and content."""
    if "data" in item:
        return item
    types = {"user": "human", "assistant": "ai"}
    return {"type": types.get(item["role"], "system"), "data": {"content": item["content"]}}


__all__ = ["MuistiChatHistory", "MuistiRetriever"]
