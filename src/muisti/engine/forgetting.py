"""Forget conversations, and everything of a project or a user."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from muisti.deprecation import renamed_argument
from muisti.engine.runtime import Runtime
from muisti.errors import InvalidRequest, MemoryNotFound
from muisti.lifecycle import forget
from muisti.model import Conversation, ForgetReport, Message
from muisti.recall.filters import to_utc


class Forgetting(Runtime):
    """Forget conversations, and everything of a project or a user."""

    @renamed_argument("chat", "conversation")
    def forget(
        self,
        *,
        project: str | None = None,
        user: str | None = None,
        conversation: str | None = None,
        before: datetime | None = None,
        hard: bool = False,
        dry_run: bool = False,
    ) -> ForgetReport:
        """Remove the memories, messages, documents, sessions and core memory of a scope.

        All given values must match: the project and the user exactly, `before` the time of
        creation. Memories, messages and core memory go to the trash; with `hard` no copy is left,
        in the journal and the index either. Sessions and waiting exchanges are always deleted.
        Indexed files outside the vault stay, but are no longer searched. With `dry_run` nothing
        changes. Raises InvalidRequest without a scope, or for an unknown one.
        """
        scope = forget.ForgetScope(
            project=project or None,
            user=user or None,
            conversation=conversation or None,
            before=to_utc("before", before),
        )
        if scope == forget.ForgetScope():
            names = "project, user, conversation or before"
            raise InvalidRequest("scope", "", f"must be given: {names}")
        if dry_run:
            return self._read(forget.forget, scope, hard=hard, dry_run=True)
        return self._erase(forget.forget, scope, hard=hard)

    @renamed_argument("chat", "conversation")
    def delete_conversation(self, conversation: str, *, hard: bool = False) -> int:
        """Move a conversation to the trash, or delete it permanently; return its messages' number.

        Memories that were extracted from it stay; `forget(conversation=…)` removes them too. Raises
        ConversationNotFound.
        """
        return self._erase(forget.delete_messages, conversation, None, hard=hard)

    @renamed_argument("chat", "conversation")
    def delete_messages(
        self, conversation: str, message_ids: Sequence[str], *, hard: bool = False
    ) -> int:
        """Move messages to the trash, or delete them permanently; return how many.

        Raises ConversationNotFound, MessageNotFound, InvalidRequest.
        """
        if isinstance(message_ids, str) or not message_ids:
            raise InvalidRequest("message_ids", message_ids, "must be a list of one or more IDs")
        ids = list(message_ids)
        return self._erase(forget.delete_messages, conversation, ids, hard=hard)

    @renamed_argument("chat", "conversation")
    def restore_conversation(self, conversation: str) -> Conversation:
        """Restore a conversation's messages from the trash. Raises ConversationNotFound."""
        return self._write(forget.restore_messages, conversation)

    def find_source_messages(self, memory_id: str) -> list[Message]:
        """Return the messages that a memory was extracted from. Raises MemoryNotFound.

        Deleting a memory does not delete them.
        """
        memory = self._read(lambda services: services.index.get(memory_id, include_deleted=True))
        if memory is None:
            raise MemoryNotFound(memory_id)
        return self._read(forget.find_source_messages, memory)
