"""Sessions: what was done in one period of work (contract F1, F2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from muisti.errors import InvalidRequest, SessionNotFound
from muisti.lifecycle.session_summary import summarize_session
from muisti.model import (
    Event,
    EventName,
    Filter,
    Memory,
    Message,
    Session,
    SessionAction,
    SessionUse,
)
from muisti.model.journal import make_start_event, make_use_events
from muisti.ports import ChangeSet, Services
from muisti.ports.lookups import make_memory_error
from muisti.ports.scope import filter_visible, find_session_scopes, fix_scope

CHARS_PER_TOKEN = 4
MAX_SUMMARY = 20_000
MAX_MESSAGES = 1_000
"""Messages of a conversation that are summarized."""


def start_session(
    services: Services,
    session_id: str,
    project: str | None,
    user: str | None,
    *,
    implicit: bool = False,
    lock_timeout: float | None = None,
) -> Session:
    """Start a session, or continue one that had ended. Starting an active one is a use of it.

    Other sessions of the project and the user that nobody ended are ended, unless they are in use.
    None: the project and the user of the existing session, of the conversation with its name, or
    else the vault's. Raises InvalidRequest if the session has others, which are not named, and
    VaultBusy if the vault is locked for `lock_timeout` seconds (None: the setting).
    """
    with services.store.lock(lock_timeout):
        known = services.index.session(session_id)
        scopes = find_session_scopes(services, session_id)
        owned = scopes if known is not None else [one for one in scopes if any(one)]
        if owned:  # a conversation has the session of its name
            matching = [
                one for one in owned if project in (None, one[0]) and user in (None, one[1])
            ]
            if not matching:
                of_others = user is not None and user not in [one[1] for one in owned]
                raise make_scope_error(
                    session_id, *(("user", user) if of_others else ("project", project))
                )
            project, user = matching[0]
        project = services.settings.project if project is None else project
        user = services.settings.user if user is None else user
        now = services.clock.now()
        events = make_use_events(known, now)
        if known is None or known.status != "active":
            events = [make_start_event(session_id, project, user, now, implicit=implicit)]
        if events:
            services.store.commit(ChangeSet(events=events))
    if not implicit:
        end_idle_sessions(services, project, user)
    return services.index.session(session_id) or Session(
        id=session_id, project=project, user=user, started_at=services.clock.now()
    )


def make_scope_error(session_id: str, field: str, value: str | None) -> InvalidRequest:
    """Return the error for a write to a session of another project or user. It names neither."""
    reason = f"must be that of session {session_id}; leave it out, or use another session_id"
    return InvalidRequest(field, value, reason)


def end_session(
    services: Services, session_id: str, summary: str | None = None, tool_calls: int | None = None
) -> Session:
    """Complete a session; omitted values are unchanged. Raises SessionNotFound, InvalidRequest."""
    if summary is not None and (not isinstance(summary, str) or len(summary) > MAX_SUMMARY):
        raise InvalidRequest(
            "summary", str(summary)[:40], f"must be a text of at most {MAX_SUMMARY} characters"
        )
    if tool_calls is not None and (
        isinstance(tool_calls, bool) or not isinstance(tool_calls, int) or tool_calls < 0
    ):
        raise InvalidRequest("tool_calls", tool_calls, "must be a whole number of at least 0")
    with services.store.lock():
        known = require_session(services, session_id)
        data: dict[str, str | int] = {
            "summary": known.summary if summary is None else summary,
            "tool_calls": known.tool_calls if tool_calls is None else tool_calls,
        }
        event = Event(EventName.SESSION_ENDED, services.clock.now(), (), session_id, data)
        services.store.commit(ChangeSet(events=[event]))
    return require_session(services, session_id)


def end_idle_sessions(
    services: Services,
    project: str | None = None,
    user: str | None = None,
    *,
    dry_run: bool = False,
) -> list[Session]:
    """End sessions that were not used for `session_idle_hours`, with a summary, and return them.

    None: of all projects or users. A summary that a session has already is kept.
    """
    now, hours = services.clock.now(), services.settings.session_idle_hours
    active = services.index.active_sessions(project, user)
    idle = [session for session in active if not session.is_used(now, hours)]
    if dry_run:
        return idle
    ended = []
    for session in idle:
        with services.store.lock():
            # Check again under the lock: another process may have ended or used it.
            if services.index.session(session.id) != session:
                continue
            summary = session.summary or _summarize(services, session)
            data: dict[str, str | int] = {"summary": summary, "tool_calls": session.tool_calls}
            event = Event(EventName.SESSION_ENDED, now, (), session.id, data)
            services.store.commit(ChangeSet(events=[event]))
        ended.append(require_session(services, session.id))
    return ended


def _summarize(services: Services, session: Session) -> str:
    """Return a summary of what was said and saved in a session; "" if that was nothing."""
    messages: list[Message] = []
    for one in services.index.list_conversations():
        # Hooks name a conversation after the agent and the session.
        is_own = one.name == session.id or one.name.partition("_")[2] == session.id
        if is_own and (one.project, one.user) == (session.project, session.user):
            messages += services.index.window(one.name, MAX_MESSAGES, whole=True)
    said = [message for message in messages if message.type is None]
    return summarize_session(said, get_session_context(services, session.id))


def require_session(services: Services, session_id: str) -> Session:
    """Return a session. Raises SessionNotFound."""
    session = services.index.session(session_id)
    if session is None:
        raise SessionNotFound(session_id)
    return session


def link_to_session(
    services: Services, memory_id: str, session_id: str, use: SessionAction
) -> None:
    """Record what a session did with a memory. Raises MemoryNotFound."""
    with services.store.lock():
        if services.index.get(memory_id) is None:
            raise make_memory_error(services, memory_id)
        event = Event(
            EventName.USED, services.clock.now(), (memory_id,), session_id, {"use": use.value}
        )
        services.store.commit(ChangeSet(events=[event]))


def list_session_uses(services: Services, session_id: str) -> list[SessionUse]:
    """Return everything a session did with memories, oldest first. Raises SessionNotFound."""
    uses = services.index.session_uses(session_id=session_id)
    if not uses and services.index.session(session_id) is None:
        raise SessionNotFound(session_id)
    return uses


def get_by_session(services: Services, session_id: str) -> list[Memory]:
    """Return the memories a session created or used, by first use. Raises SessionNotFound."""
    ids = dict.fromkeys(use.memory_id for use in list_session_uses(services, session_id))
    return services.index.get_many(filter_visible(services, list(ids), _see(services, session_id)))


def get_session_context(services: Services, session_id: str) -> list[Memory]:
    """Return what a session said, oldest first. Raises SessionNotFound.

    These are the memories it created, and those that it said again and thereby reinforced: a
    duplicate is merged into the memory of an earlier session.
    """
    uses = list_session_uses(services, session_id)
    where = _see(services, session_id)
    created = services.index.select(
        replace(where, session=session_id), order="created_at", limit=None
    )
    said_at = {memory.id: memory.created_at for memory in created}
    repeated: dict[str, datetime] = {}
    for use in uses:
        if use.use is SessionAction.REINFORCED and use.memory_id not in said_at:
            repeated.setdefault(use.memory_id, use.at)
    if not repeated:
        return created
    said_at |= repeated
    visible = services.index.get_many(filter_visible(services, list(repeated), where))
    return sorted([*created, *visible], key=lambda memory: said_at[memory.id])


def find_long_sessions(services: Services, among: Sequence[str] | None = None) -> dict[str, int]:
    """Return the sessions that need a summary, with their tokens. Among: only these; None: all.

    Their memories have more tokens than the setting allows; none of them is a summary, and the
    session was not ended with one. The longest is first.
    """
    threshold = services.settings.summarize_token_threshold
    found = {}
    for session_id in services.index.find_long_sessions(threshold * CHARS_PER_TOKEN, among):
        session = services.index.session(session_id)
        memories = get_session_context(services, session_id)
        tokens = count_tokens(memories)
        is_summarized = any(memory.kind == "summary" for memory in memories)
        is_summarized = is_summarized or (session is not None and bool(session.summary))
        if tokens > threshold and not is_summarized:
            found[session_id] = tokens
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def _see(services: Services, session_id: str) -> Filter:
    """Return the filter for what a session sees. Its project does not restrict it."""
    return fix_scope(services, Filter(session_id=session_id), all_projects=True)


def join_contents(memories: Sequence[Memory]) -> str:
    """Return the contents, separated by blank lines."""
    return "\n\n".join(memory.content for memory in memories)


def count_tokens(memories: Sequence[Memory]) -> int:
    """Estimate the tokens: four characters each."""
    return len(join_contents(memories)) // CHARS_PER_TOKEN
