"""Conversations and indexed documents."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Unpack

from muisti.deprecation import renamed_argument
from muisti.engine.embedding import Embedding
from muisti.errors import ConversationNotFound, InvalidRequest, SessionNotFound
from muisti.lifecycle.forget import find_summaries
from muisti.model import (
    Conversation,
    DocumentSource,
    EntryType,
    IndexedDocument,
    Memory,
    Message,
    SearchResults,
)
from muisti.recall.filters import ALL, FilterOptions, Mode, is_among, to_filter
from muisti.recall.lookups import validate_limit
from muisti.remember import conversations
from muisti.remember.summaries import ALL_MESSAGES, SUMMARY
from muisti.remember.validate import validate_line, validate_project, validate_user
from muisti.text.redact import check_name


class Conversations(Embedding):
    """Conversations and documents, which are searched together with memories."""

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
        project: str | None = None,
        user: str | None = None,
    ) -> Message:  # shape: one argument for each option
        """Append a message to a conversation, such as `telegram_123456`, and return it.

        It is on the disk before this returns. A call with the same `id` writes it once. Project and
        user are fixed by the first message that names them, or by the session with the
        conversation's name; later messages need not repeat them. Raises InvalidRequest.
        """
        message = conversations.make_message(
            self._services,
            conversation,
            role,
            content,
            type=type,
            meta=meta,
            at=at,
            id=id,
            project=project,
            user=user,
        )
        return self._append(message)

    @renamed_argument("chat", "conversation")
    def session_break(self, conversation: str) -> Message:
        """Start a new session in a conversation: `window` shows only what follows."""
        return self._append(conversations.make_session_break(self._services, conversation))

    def _append(self, message: Message) -> Message:
        check_name("conversation", message.conversation, self.settings)
        [written] = self._write(conversations.append, [message])
        self._embed_later()
        return written

    @renamed_argument("chat", "conversation")
    def window(
        self,
        conversation: str,
        limit: int | None = 20,
        *,
        whole: bool = False,
        project: str | None = None,
        user: str | None = None,
    ) -> list[Message]:
        """Return the latest messages of a conversation since its last session break, oldest first.

        `limit=None` returns all of them; `whole` includes what came before the break, and the
        breaks. Raises InvalidRequest, and SessionNotFound if the conversation belongs to another
        project or user than the given one.
        """
        most = ALL_MESSAGES if limit is None else validate_limit(limit)
        if project is not None or user is not None:
            known = None
            if isinstance(conversation, str):
                known = self._read(lambda services: services.index.conversation(conversation))
            if known is not None and (known.project or known.user):
                of_other_user = known.user and not is_among(user, known.user)
                if of_other_user or not is_among(project, known.project):
                    raise SessionNotFound(conversation)
        messages: list[Message] = []
        if isinstance(conversation, str):
            messages = self._read(
                lambda services: services.index.window(conversation, most, whole=whole)
            )
        if not messages:
            self._check_conversation(conversation)
        return [
            message
            for message in messages
            if (not message.user or is_among(user, message.user))
            and (not message.project or is_among(project, message.project))
        ]

    def _check_conversation(self, name: str) -> None:
        """Raises InvalidRequest for a name that is not valid, unless a conversation has it.

        Other programs may write conversations under names that muisti itself would not accept.
        """
        exists = isinstance(name, str) and self._read(
            lambda services: services.index.window(name, 1, whole=True)
        )
        if not exists:
            conversations.validate_conversation(name)

    def list_conversations(
        self, *, project: str | None = None, user: str | None = None
    ) -> list[Conversation]:
        """Return all conversations, or those of a project and a user; the latest first."""
        found = self._read(lambda services: services.index.list_conversations())
        return [one for one in found if is_among(project, one.project) and is_among(user, one.user)]

    def get_conversation(
        self, conversation: str, *, project: str | None = None, user: str | None = None
    ) -> Conversation:
        """Return a conversation: its size and times, its model and where its segment starts.

        Raises ConversationNotFound, also for a conversation of another project or user than the
        given one.
        """
        found = None
        if isinstance(conversation, str) and conversation.isprintable():
            found = self._read(lambda services: services.index.conversation(conversation))
        if found is None or not (is_among(project, found.project) and is_among(user, found.user)):
            raise ConversationNotFound(conversation)
        return found

    def list_summaries(
        self,
        conversation: str,
        *,
        message_ids: Sequence[str] | None = None,
        project: str | None = None,
        user: str | None = None,
    ) -> list[Memory]:
        """Return the summaries of a conversation, in the order of the messages that they cover.

        With `message_ids`, only those that cover one of these messages. Summaries of a conversation
        that was deleted are returned too. Raises InvalidRequest.
        """
        if isinstance(message_ids, str):
            raise InvalidRequest("message_ids", message_ids, "must be a list of IDs")
        scope: FilterOptions = {
            "project": ALL if project is None else project,
            "user": ALL if user is None else user,
            "kind": SUMMARY,
        }
        where = to_filter(self.settings, scope, all_sessions=True)
        found = self._read(find_summaries, conversation, where, message_ids)
        if not found:
            self._check_conversation(conversation)
        return found

    def assign_conversation(
        self, conversation: str, *, project: str | None = None, user: str | None = None
    ) -> Conversation:
        """Assign a project, a user or both to a conversation that has neither.

        For conversations that were written without them: until then only unscoped searches and
        the session of the same name find their messages. Raises ConversationNotFound,
        InvalidRequest.
        """
        if not project and not user:
            raise InvalidRequest("project, user", "", "must not both be empty")
        project = check_name("project", validate_project(project or ""), self.settings)
        user = check_name("user", validate_user(user or ""), self.settings)
        return self._write(conversations.assign, conversation, project, user)

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
        """Search the messages of one conversation, or of all. Each result has its `message`.

        Raises InvalidRequest.
        """
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
        user: str | None = None,
        trusted: bool | None = None,
    ) -> DocumentSource:
        """Index a Markdown file, or all in a folder, section by section, and keep it up to date.

        The files stay where they are. A database gets a copy of the text, and a new one with each
        call: it does not read the files by itself. There, `memories` is the folder of notes.

        `source` is the name that results show, by default the file's name. An argument that is not
        given is unchanged; at first there is no project and no user, so that all see it, and the
        text is unconfirmed. Raises InvalidRequest.
        """
        if source is not None:
            source = validate_line("source", source, 200).strip()
            check_name("source", source, self.settings)
            if source in tuple(EntryType):
                raise InvalidRequest("source", source, "is reserved by search; choose another name")
        if trusted is not None and not isinstance(trusted, bool):
            raise InvalidRequest("trusted", trusted, "must be true or false")
        check_name("path", _validate_path(path), self.settings)
        if project is not None:
            project = check_name("project", validate_project(project), self.settings)
        user = None if user is None else check_name("user", validate_user(user), self.settings)
        indexed = self._write(
            lambda services: services.reconciler.index_path(
                _validate_path(path), source, project, trusted=trusted, user=user
            )
        )
        self._embed_later()
        return indexed

    def forget_path(self, path: str | os.PathLike[str]) -> DocumentSource:
        """Remove a file or folder from the index. Raises InvalidRequest if it is not indexed."""
        return self._write(lambda services: services.reconciler.forget_path(_validate_path(path)))

    def list_documents(
        self, *, project: str | None = None, user: str | None = None
    ) -> list[IndexedDocument]:
        """Return the indexed Markdown files with their versions, sorted by path.

        With a project or a user: those that a search there finds, also those of all projects and
        users.
        """
        found = self._read(lambda services: services.index.list_documents())
        return [
            one
            for one in found
            if (not one.project or is_among(project, one.project))
            and (not one.user or is_among(user, one.user))
        ]

    def list_document_sources(self) -> list[DocumentSource]:
        """Return the files and folders that are indexed as documents."""
        return self._read(lambda services: services.reconciler.sources())


def _validate_path(path: str | os.PathLike[str]) -> str:
    if not isinstance(path, str | os.PathLike) or not isinstance(os.fspath(path), str):
        raise InvalidRequest("path", path, "must be a Markdown file, or a folder with some")
    return os.fspath(path)
