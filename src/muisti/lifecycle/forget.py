"""Forget everything of a project, a user or a conversation (contract F6)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime

from muisti.errors import ConversationNotFound, InvalidRequest, MessageNotFound, Unsupported
from muisti.model import (
    SESSION_BREAK,
    Conversation,
    Event,
    EventName,
    Exchange,
    Filter,
    ForgetReport,
    Memory,
    Message,
    Session,
)
from muisti.model.summaries import select_covered
from muisti.ports import ChangeSet, Services
from muisti.ports.replaced import release_replaced
from muisti.ports.scope import find_session_scopes
from muisti.ports.store import Removal
from muisti.text.tokens import tokenize

ALL_MESSAGES = 10**9
COVERED = 0.6
"""The share of a memory's words that a message must have to count as its source."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetScope:
    """What to forget. All values that are given must match."""

    project: str | None = None
    user: str | None = None
    conversation: str | None = None
    before: datetime | None = None
    session: str | None = None
    """With a conversation: the session that it is the record of, if that has another name."""

    def matches(self, project: str, user: str, at: datetime | None, session: str | None) -> bool:
        """Return whether something with these values is to be forgotten."""
        if self.project not in (None, project) or self.user not in (None, user):
            return False
        is_named = session is not None and session in (self.conversation, self.session)
        if self.conversation is not None and not is_named:
            return False
        return self.before is None or (at is not None and at < self.before)

    def matches_memory(self, memory: Memory) -> bool:
        """Return whether a memory is to be forgotten."""
        project, user, at = memory.project, memory.user, memory.created_at
        if self.matches(project, user, at, memory.session_id):
            return True
        return bool(memory.conversation) and self.matches(project, user, at, memory.conversation)

    def matches_message(self, message: Message) -> bool:
        """Return whether a message is to be forgotten."""
        return self.matches(message.project, message.user, message.at, message.conversation)

    def matches_source(self, project: str, user: str) -> bool:
        """Return whether a document source of this project and user is to be forgotten."""
        if self.conversation is not None or self.before is not None:
            return False
        return bool(project or user) and self.matches(project, user, None, None)

    def matches_session(self, session: Session) -> bool:
        """Return whether a session is to be forgotten."""
        ended_at = session.ended_at or session.started_at
        return self.matches(session.project, session.user, ended_at, session.id)


def forget(
    services: Services, scope: ForgetScope, *, hard: bool = False, dry_run: bool = False
) -> ForgetReport:
    """Remove all that the scope matches, and return what it was.

    Raises InvalidRequest for an unknown project, user or conversation.
    """
    _check_known(services, scope)
    scope = replace(scope, session=_find_session(services, scope.conversation))
    if dry_run:
        return _forget(services, scope, hard=hard, dry_run=True)
    with services.store.lock():
        return _forget(services, scope, hard=hard, dry_run=False)


def _forget(services: Services, scope: ForgetScope, *, hard: bool, dry_run: bool) -> ForgetReport:
    messages = _find_messages(services, scope)
    if hard:
        for message in services.store.trashed_messages():
            if scope.matches_message(message):
                messages.setdefault(message.conversation, []).append(message)
    where = Filter(all_sessions=True, include_deleted=hard)
    stored = services.index.select(where, order="created_at", limit=None)
    memories = _select_memories(services, scope, stored, messages)
    archived = _select_memories(services, scope, services.store.archived(), messages)
    sessions = [
        session.id
        for session in services.index.sessions(None, ALL_MESSAGES)
        if scope.matches_session(session)
    ]
    sources = [
        source.path
        for source in services.reconciler.sources()
        if scope.matches_source(source.project, source.user)
    ]
    of_user = scope.user if scope == ForgetScope(user=scope.user) else None
    core = services.store.core(of_user).user if of_user else {}

    def is_waiting(exchange: Exchange) -> bool:
        project, user = exchange.project, exchange.owner
        for own_project, own_user in find_session_scopes(services, exchange.session_id)[:1]:
            project = own_project if project is None else project
            user = own_user if user is None else user
        return scope.matches(project or "", user or "", exchange.at, exchange.session_id)

    report = ForgetReport(
        dry_run=dry_run,
        hard=hard,
        memories=tuple(memory.id for memory in (*memories, *(archived if hard else ()))),
        messages=sum(len(found) for found in messages.values()),
        conversations=tuple(messages),
        documents=tuple(sources),
        sessions=tuple(sessions),
        core_entries=len(core),
        exchanges=services.store.queue.discard(is_waiting, dry_run=dry_run),
    )
    if not dry_run:
        if hard:
            updates = release_replaced(services, [*memories, *archived])
            if updates:
                services.store.commit(ChangeSet(updated=updates, durable=False))
        _remove(services, scope, report, memories, messages)
    return report


def _select_memories(
    services: Services,
    scope: ForgetScope,
    memories: Iterable[Memory],
    messages: Mapping[str, Sequence[Message]],
) -> list[Memory]:
    """Return the memories that the scope matches, and summaries of messages that go."""
    whole: dict[str, list[Message]] = {}
    selected = []
    for memory in memories:
        name = memory.conversation
        forgotten = scope.matches_memory(memory)
        if not forgotten and name in messages:
            if name not in whole:
                whole[name] = services.index.window(name, ALL_MESSAGES, whole=True)
            forgotten = bool(select_covered(memory, messages[name], whole[name]))
        if forgotten:
            selected.append(memory)
    return selected


def _find_session(services: Services, conversation: str | None) -> str | None:
    """Return the session whose messages a conversation has, if its name is the conversation's ID.

    Hooks store session `abc` of an agent as the conversation `claude-code_abc`.
    """
    session = (conversation or "").partition("_")[2]
    if not session:
        return None
    known = services.index.list_conversations()
    others = [one for one in known if session in (one.name, one.name.partition("_")[2])]
    scopes = find_session_scopes(services, session)
    is_own = any((one.project, one.user) in scopes for one in others)
    return session if is_own and len(others) == 1 else None


def _find_messages(services: Services, scope: ForgetScope) -> dict[str, list[Message]]:
    """Return the messages to forget, by conversation; session breaks go with the last message."""
    found = {}
    for conversation in services.index.list_conversations():
        name = conversation.name
        if scope.conversation in (None, name):
            whole = services.index.window(name, ALL_MESSAGES, whole=True)
            matching = [message for message in whole if scope.matches_message(message)]
            if matching:
                found[name] = matching
    return found


def _remove(
    services: Services,
    scope: ForgetScope,
    report: ForgetReport,
    memories: list[Memory],
    messages: dict[str, list[Message]],
) -> None:
    now = services.clock.now()
    trashed = services.store.trashed_messages() if report.hard else []
    for path in report.documents:
        services.reconciler.forget_path(path)
    if report.memories:
        if report.hard:
            # If a crash leaves many files missing at once, a sync waits for a confirmation.
            share = services.settings.vanished_share / 2
            size = max(1, int(services.index.stats().total_count * share))
            for start in range(0, len(report.memories), size):
                services.store.commit(ChangeSet(erased=report.memories[start : start + size]))
        else:
            event = Event(EventName.DELETED, now, report.memories, data={"reason": "forget"})
            services.store.commit(ChangeSet(trashed=memories, events=[event]))
    by_conversation = {}
    for name, found in messages.items():
        wanted = {message.id for message in found}
        others = services.index.window(name, ALL_MESSAGES, whole=True)
        others += [one for one in trashed if one.conversation == name]
        is_whole = all(message.id in wanted for message in others)
        by_conversation[name] = None if is_whole else [*wanted]
    has_core = scope == ForgetScope(user=scope.user) and (report.core_entries or report.hard)
    services.store.remove(
        Removal(
            messages=by_conversation,
            core_users=[scope.user] if has_core and scope.user else [],
            sessions=frozenset(report.sessions),
            memories=frozenset(report.memories) if report.hard else frozenset(),
            paths=frozenset(report.documents),
            is_source=scope.matches_source,
            hard=report.hard,
        )
    )
    if services.reconciler.sources():
        with suppress(Unsupported):  # a store without files is always current
            services.reconciler.sync()  # the journal was read again, and with it the sources


def _check_known(services: Services, scope: ForgetScope) -> None:
    projects, users = services.index.find_scope_names()
    for message in services.store.trashed_messages():
        projects.append(message.project)
        users.append(message.user)
    projects += [source.project for source in services.reconciler.sources()]
    users += [source.user for source in services.reconciler.sources()]
    for field, name, known in (("project", scope.project, projects), ("user", scope.user, users)):
        if name is None or name in known:
            continue
        if field == "user" and services.store.core(name).user:
            continue
        if any(getattr(memory, field) == name for memory in services.store.archived()):
            continue
        others = sorted({other for other in known if other})[:10]
        names = f": {', '.join(others)}" if others else ""
        raise InvalidRequest(field, name, f"must be a {field} of the vault{names}")
    conversation = scope.conversation
    if conversation is not None:
        is_known = (
            services.index.conversation(conversation) is not None
            or services.index.session(conversation) is not None
            or services.index.find_session_scopes(conversation)
            or any(one.conversation == conversation for one in services.store.trashed_messages())
            or find_summaries(services, conversation, Filter(all_sessions=True))
        )
        if not is_known:
            raise InvalidRequest(
                "conversation", conversation, "must be a conversation or session of the vault"
            )


def delete_messages(
    services: Services, conversation: str, ids: list[str] | None, *, hard: bool
) -> int:
    """Remove messages of a conversation, or all of them, and return how many.

    Raises ConversationNotFound, and MessageNotFound if it has no message with one of the IDs.
    """
    _check_folder(conversation)
    with services.store.lock():
        known = services.index.window(conversation, ALL_MESSAGES, whole=True)
        if not known and (ids or (ids is None and not hard)):
            raise ConversationNotFound(conversation)
        if ids is None:
            removed = [one for one in known if one.type != SESSION_BREAK]
        else:
            removed = [message for message in known if message.id in ids]
            missing = [id_ for id_ in ids if id_ not in {message.id for message in known}]
            if missing:
                raise MessageNotFound(missing[0], conversation)
        services.store.remove(Removal(messages={conversation: ids}, hard=hard))
        return len(removed)


def restore_messages(services: Services, conversation: str) -> Conversation:
    """Put a conversation's messages back from the trash.

    Raises ConversationNotFound if there are none.
    """
    _check_folder(conversation)
    with services.store.lock():
        if not services.store.restore_messages(conversation):
            raise ConversationNotFound(
                conversation, "must be a conversation with messages in the trash"
            )
        restored = services.index.conversation(conversation)
    if restored is None:
        raise ConversationNotFound(conversation)
    return restored


def _check_folder(conversation: str) -> None:
    """Raises ConversationNotFound for a name that is not a single folder."""
    if (
        not isinstance(conversation, str)
        or not conversation.isprintable()
        or conversation.startswith(".")
        or not conversation
        or {"/", "\\"} & set(conversation)
    ):
        raise ConversationNotFound(conversation)


def find_source_messages(services: Services, memory: Memory) -> list[Message]:
    """Return the messages that an extracted memory came from, as far as they are stored.

    Those that a summary covers. Of the memory's session those that were sent when it was said, or
    that have most of its words.
    """
    if memory.conversation:
        whole = services.index.window(memory.conversation, ALL_MESSAGES, whole=True)
        return select_covered(memory, whole, whole)
    if memory.session_id is None:
        return []
    names = [
        one.name
        for one in services.index.list_conversations()
        if memory.session_id in (one.name, one.name.partition("_")[2])
    ]
    wanted = frozenset(tokenize(memory.content))
    found = []
    for name in names:
        for message in services.index.window(name, ALL_MESSAGES, whole=True):
            words = frozenset(tokenize(message.content))
            has_most = len(wanted & words) >= COVERED * len(wanted)
            if has_most or (message.at == memory.created_at and message.content):
                found.append(message)
    return found


def find_summaries(
    services: Services,
    conversation: str,
    where: Filter,
    message_ids: Sequence[str] | None = None,
) -> list[Memory]:
    """Return the summaries of a conversation, in the order of its messages.

    Message_ids: only summaries that cover one of these messages.
    """
    where = replace(where, conversation=conversation)
    found = services.index.select(where, order="created_at", limit=None)
    if not found:
        return []
    order = services.index.window(conversation, ALL_MESSAGES, whole=True)
    if message_ids is not None:
        wanted = [message for message in order if message.id in message_ids]
        found = [memory for memory in found if select_covered(memory, wanted, order)]
    places = {message.id: place for place, message in enumerate(order)}
    return sorted(found, key=lambda memory: places.get(memory.from_message, -1))
