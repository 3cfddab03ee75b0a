"""Conversations and documents."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import datetime
from typing import Unpack

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

    def append_message(
        self,
        chat: str,
        role: str,
        content: str,
        *,
        type: str | None = None,
        meta: Mapping[str, object] | None = None,
        at: datetime | None = None,
        id: str | None = None,
    ) -> Message:
        """Write down what was said in a chat, such as `telegram_123456`: on the disk before this returns.

        An `id` makes it safe to repeat: the same message is written once. Raises InvalidRequest.
        """
        message = conversations.make_message(
            self._services, chat, role, content, type=type, meta=meta, at=at, id=id
        )
        return self._said(message)

    def session_break(self, chat: str) -> Message:
        """Begin a new talk in a chat: the window shows what follows."""
        return self._said(conversations.make_session_break(self._services, chat))

    def _said(self, message: Message) -> Message:
        check_name("chat", message.chat, self.settings)
        written = self._write(conversations.append, [message])[0]
        self._embed_later()
        return written

    def window(self, chat: str, limit: int = 20, *, whole: bool = False) -> list[Message]:
        """The latest messages of a chat since its last session break, in their order. Whole: and before it, breaks included."""
        validate_limit(limit)
        found = (
            self._read(lambda services: services.index.window(chat, limit, whole=whole))
            if isinstance(chat, str)
            else []
        )
        if not found:
            self._check_chat(chat)
        return found

    def _check_chat(self, chat: str) -> None:
        """Raises InvalidRequest for a name that no chat has nor can have. Other programs may have given it any name."""
        if not isinstance(chat, str) or not self._read(
            lambda services: services.index.window(chat, 1, whole=True)
        ):
            conversations.validate_conversation(chat)

    def chats(self) -> list[Conversation]:
        """All conversations, the latest first."""
        return self._read(lambda services: services.index.chats())

    def search_messages(
        self,
        query: str,
        *,
        chat: str | None = None,
        limit: int | None = None,
        mode: Mode = "hybrid",
        **options: Unpack[FilterOptions],
    ) -> SearchResults:
        """What was said about something, in one chat or in all. Each result's `message` says who said it and when."""
        narrowed: FilterOptions = {**options, "source": EntryType.MESSAGE}
        if chat is not None:
            self._check_chat(chat)
            narrowed["session"] = chat
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

    def shelves(self) -> list[DocumentSource]:
        """What is searched beside the memories and the conversations."""
        return self._read(lambda services: services.reconciler.sources())


def _path_of(path: str | os.PathLike[str]) -> str:
    if not isinstance(path, str | os.PathLike) or not isinstance(os.fspath(path), str):
        raise InvalidRequest("path", path, "name a Markdown file, or a folder with some")
    return os.fspath(path)
