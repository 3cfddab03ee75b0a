"""Sessions: what was done in one stretch of work (contract F1, F2)."""

from __future__ import annotations

from collections.abc import Sequence

from muisti.errors import InvalidRequest, SessionNotFound
from muisti.model import Event, EventName, Filter, Memory, Session, SessionAction, SessionUse
from muisti.ports import ChangeSet, Services
from muisti.ports.lookups import make_memory_error

CHARS_PER_TOKEN = 4
MAX_SUMMARY = 20_000


def start_session(services: Services, session_id: str, project: str) -> Session:
    """Begin a session, or go on with one that had ended; beginning an active one changes nothing."""
    with services.store.lock():
        known = services.index.session(session_id)
        if known is None or known.status != "active":
            event = Event(
                EventName.SESSION_STARTED,
                services.clock.now(),
                (),
                session_id,
                {"project": project},
            )
            services.store.commit(ChangeSet(events=[event]))
    return services.index.session(session_id) or Session(
        id=session_id, project=project, started_at=services.clock.now()
    )


def end_session(
    services: Services, session_id: str, summary: str | None = None, tool_calls: int | None = None
) -> Session:
    """Complete a session; what is not said stays as it was. Raises SessionNotFound."""
    if summary is not None and (not isinstance(summary, str) or len(summary) > MAX_SUMMARY):
        raise InvalidRequest(
            "summary", str(summary)[:40], f"must be a text of at most {MAX_SUMMARY} characters"
        )
    if tool_calls is not None and (
        isinstance(tool_calls, bool) or not isinstance(tool_calls, int) or tool_calls < 0
    ):
        raise InvalidRequest("tool_calls", tool_calls, "must be a count")
    with services.store.lock():
        known = require_session(services, session_id)
        data: dict[str, str | int] = {
            "summary": known.summary if summary is None else summary,
            "tool_calls": known.tool_calls if tool_calls is None else tool_calls,
        }
        event = Event(EventName.SESSION_ENDED, services.clock.now(), (), session_id, data)
        services.store.commit(ChangeSet(events=[event]))
    return require_session(services, session_id)


def require_session(services: Services, session_id: str) -> Session:
    """One session. Raises SessionNotFound."""
    session = services.index.session(session_id)
    if session is None:
        raise SessionNotFound(session_id)
    return session


def link_to_session(
    services: Services, memory_id: str, session_id: str, use: SessionAction
) -> None:
    """Note what a session did with a memory. Raises MemoryNotFound."""
    with services.store.lock():
        if services.index.get(memory_id) is None:
            raise make_memory_error(services, memory_id)
        event = Event(
            EventName.USED, services.clock.now(), (memory_id,), session_id, {"use": use.value}
        )
        services.store.commit(ChangeSet(events=[event]))


def list_session_uses(services: Services, session_id: str) -> list[SessionUse]:
    """Everything a session did with memories, in the order of time. Raises SessionNotFound."""
    uses = services.index.session_uses(session_id=session_id)
    if not uses and services.index.session(session_id) is None:
        raise SessionNotFound(session_id)
    return uses


def get_by_session(services: Services, session_id: str) -> list[Memory]:
    """The memories that a session made or used, each once, in the order of first use. Raises SessionNotFound."""
    ids = dict.fromkeys(use.memory_id for use in list_session_uses(services, session_id))
    return services.index.get_many(list(ids))


def get_session_context(services: Services, session_id: str) -> list[Memory]:
    """The memories that a session made, in the order of time. Raises SessionNotFound."""
    list_session_uses(services, session_id)
    return services.index.select(Filter(session=session_id), order="created_at", limit=None)


def get_raw_content(memories: Sequence[Memory]) -> str:
    """The contents, separated by blank lines."""
    return "\n\n".join(memory.content for memory in memories)


def count_tokens(memories: Sequence[Memory]) -> int:
    """An estimate: four characters a token."""
    return len(get_raw_content(memories)) // CHARS_PER_TOKEN
