"""Conversations and documents."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import datetime
from typing import Unpack

from muisti.deprecation import renamed_argument
from muisti.engine.embedding import Embedding
from muisti.errors import InvalidRequest
from muisti.model import Conversation, DocumentSource, EntryType, Message, SearchResults
from muisti.recall.filters import FilterOptions, Mode
from muisti.recall.lookups import validate_limit
from muisti.remember import conversations
from muisti.remember.validate import validate_line, validate_project
from muisti.text.redact import check_name


class Conversations(Embedding):
    """Conversations and documents, which are searched together with the memories."""

    @renamed_argument("chat", "conversation")
    def append_message(
        self,
        conversation: str,
        role: str,
        content: str,
        *,
        type: str | None = None,
        meta: Mapping[str, object] | None = None,
        at: datetime | None = None,
        id: str | None = None,
    ) -> Message:
        """Append a message to a conversation, such as `telegram_123456`, and return it.

        It is on the disk before this returns. A call with the same `id` writes it once. Raises
        InvalidRequest.
        """
        message = conversations.make_message(
            self._services, conversation, role, content, type=type, meta=meta, at=at, id=id
        )
        return self._append(message)

    @renamed_argument("chat", "conversation")
    def session_break(self, conversation: str) -> Message:
        """Start a new session in a conversation: `window` shows only what follows."""
        return self._append(conversations.session_break(self._services, conversation))

    def _append(self, message: Message) -> Message:
        check_name("conversation", message.conversation, self.settings)
        written = self._write(conversations.append, [message])[0]
        self._embed_later()
        return written

    @renamed_argument("chat", "conversation")
    def window(self, conversation: str, limit: int = 20, *, whole: bool = False) -> list[Message]:
        """Return the latest messages of a conversation since its last session break, oldest first.

        `whole` includes what came before the break, and the breaks. Raises InvalidRequest.
        """
        validate_limit(limit)
        messages: list[Message] = []
        if isinstance(conversation, str):
            messages = self._read(
                lambda services: services.index.window(conversation, limit, whole=whole)
            )
        if not messages:
            self._check_conversation(conversation)
        return messages

    def _check_conversation(self, name: str) -> None:
        """Raises InvalidRequest for a name that is not valid, unless a conversation has it.

        Other programs may write conversations under names that muisti itself would not accept.
        """
        exists = isinstance(name, str) and self._read(
            lambda services: services.index.window(name, 1, whole=True)
        )
        if not exists:
            conversations.validate_conversation(name)

    def list_conversations(self) -> list[Conversation]:
        """Return all conversations, the latest first."""
        return self._read(lambda services: services.index.list_conversations())

    @renamed_argument("chat", "conversation")
    def search_messages(
        self,
        query: str,
        *,
        conversation: str | None = None,
        limit: int | None = None,
        mode: Mode = "hybrid",
        **options: Unpack[FilterOptions],
    ) -> SearchResults:
        """Search the messages of one conversation, or of all. Each result has its `message`."""
        narrowed: FilterOptions = {**options, "source": EntryType.MESSAGE}
        if conversation is not None:
            self._check_conversation(conversation)
            narrowed["session"] = conversation
        return self.search(query, limit=limit, mode=mode, **narrowed)

    def index_path(
        self,
        path: str | os.PathLike[str],
        source: str | None = None,
        *,
        project: str | None = None,
        trusted: bool | None = None,
    ) -> DocumentSource:
        """Search a Markdown file, or all in a folder, from now on: by section, changed files anew, gone ones no longer.

        The files stay where they are. `source` is what hits from there are called; empty: each by its file. What is left out
        stays as it was; at first there is no name, no project and no trust. Raises InvalidRequest.
        """
        if source is not None:
            source = check_name(
                "source", validate_line("source", source, 200).strip(), self.settings
            )
            if source in tuple(EntryType):
                raise InvalidRequest(
                    "source", source, "search has another meaning for that name; choose another"
                )
        if trusted is not None and not isinstance(trusted, bool):
            raise InvalidRequest("trusted", trusted, "must be true or false")
        wanted = None if project is None else validate_project(project)
        shelf = self._write(
            lambda services: services.reconciler.index_path(
                _path_of(path), source, wanted, trusted=trusted
            )
        )
        self._embed_later()
        return shelf

    def forget_path(self, path: str | os.PathLike[str]) -> DocumentSource:
        """Search a file or folder no longer. Raises InvalidRequest if it was not searched."""
        return self._write(lambda services: services.reconciler.forget_path(_path_of(path)))

    def list_document_sources(self) -> list[DocumentSource]:
        """Return the files and folders that are indexed as documents."""
        return self._read(lambda services: services.reconciler.sources())


def _path_of(path: str | os.PathLike[str]) -> str:
    if not isinstance(path, str | os.PathLike) or not isinstance(os.fspath(path), str):
        raise InvalidRequest("path", path, "name a Markdown file, or a folder with some")
    return os.fspath(path)
