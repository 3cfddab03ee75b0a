"""Fold journal events into the usage of memories, sessions and document sources. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Protocol

from muisti.model import DocumentSource, EventName, Usage
from muisti.model.salience import IDLE_DAYS, fold_event, parse_count
from muisti.ports.rows import JournalChanges

if TYPE_CHECKING:
    from muisti.model import Event, Message, Session, SessionUse
    from muisti.ports.store import Removal

_DAY = timedelta(days=1)
_USES = {
    EventName.RECALLED: "recalled",
    EventName.REINFORCED: "reinforced",
    EventName.MERGED: "reinforced",
    EventName.UPDATED: "updated",
}
"""Which `SessionAction` an event is."""


class JournalState(Protocol):
    """The result of earlier events."""

    def usage(self, ids: Sequence[str]) -> dict[str, Usage]:
        """Return the usage of these memories; unused ones are left out."""
        ...

    def session(self, session_id: str) -> Session | None:
        """Return one session."""
        ...

    def decayed_at(self) -> datetime | None:
        """Return the time up to which decay was recorded."""
        ...


def project_events(
    events: Sequence[Event],
    known: JournalState,
    *,
    restart: bool = False,
    grace_days: float = IDLE_DAYS,
) -> JournalChanges:
    """Return what new events change. Restart: these are all events; ignore what is known.

    Grace_days: idle days before kinds with their own decay lose salience.
    """
    ids = list(dict.fromkeys(id_ for event in events for id_ in event.memory_ids))
    usage = {} if restart else known.usage(ids)
    decayed_at = None if restart else known.decayed_at()
    sessions: dict[str, Session | None] = {}
    uses: list[SessionUse] = []
    sources: dict[str, DocumentSource | None] = {}
    assignments: dict[str, tuple[str, str]] = {}
    for event in events:
        counted = event
        if decayed_at is not None and event.at < decayed_at < event.at + _DAY:
            counted = event._replace(at=decayed_at)  # the clock was set back since that decay
        for memory_id in event.memory_ids:
            usage[memory_id] = fold_event(usage.get(memory_id, Usage()), counted, grace_days)
        if event.session_id is not None:
            from muisti.model import SessionAction, SessionUse  # most recalls have no session

            if event.session_id not in sessions:
                sessions[event.session_id] = None if restart else known.session(event.session_id)
            sessions[event.session_id] = _fold_session(sessions[event.session_id], event)
            # A journal may name events that this version does not know.
            use: object = _USES.get(event.name)  # type: ignore[call-overload]
            if event.name == EventName.USED:
                use = event.data.get("use")
            if use in tuple(SessionAction):
                action = SessionAction(str(use))
                uses += [
                    SessionUse(event.session_id, memory_id, action, event.at)
                    for memory_id in event.memory_ids
                ]
        _fold_source(sources, event)
        conversation = event.data.get("conversation")
        if event.name == EventName.CONVERSATION_ASSIGNED and isinstance(conversation, str):
            assignments[conversation] = (_get_text(event, "project"), _get_text(event, "user"))
        if event.name == EventName.DECAYED:
            # A record of more than a day ahead came from a wrong clock: the new one counts.
            if decayed_at is None or decayed_at > event.at + _DAY:
                decayed_at = event.at
            else:
                decayed_at = max(decayed_at, event.at)
    return JournalChanges(
        restart=restart,
        usage={id_: used for id_, used in usage.items() if used != Usage()},
        sessions=[session for session in sessions.values() if session is not None],
        uses=uses,
        sources=sources,
        assignments=assignments,
        decayed_at=decayed_at,
    )


def remove_from_event(event: Event, removal: Removal) -> Event | None:
    """Return an event without what is removed; None if nothing else is in it."""
    is_session_event = event.name in (EventName.SESSION_STARTED, EventName.SESSION_ENDED)
    if event.session_id in removal.sessions and (is_session_event or removal.hard):
        if is_session_event or not event.memory_ids:
            return None
        event = event._replace(session_id=None)
    if not removal.hard:
        return event
    conversation = event.data.get("conversation")
    if conversation is not None and removal.messages.get(str(conversation), ()) is None:
        return None
    owner = _get_text(event, "project"), _get_text(event, "user")
    is_source = removal.is_source is not None and removal.is_source(*owner)
    if event.name == EventName.DOCUMENTS_ADDED and is_source:
        # A call that was killed may have removed the source from the index already.
        return None
    if event.data.get("path") in removal.paths and event.data.get("path") is not None:
        return None
    if not removal.memories & set(event.memory_ids):
        return event
    left = tuple(id_ for id_ in event.memory_ids if id_ not in removal.memories)
    return event._replace(memory_ids=left) if left else None


def assign_messages(messages: Sequence[Message], events: Sequence[Event]) -> list[Message]:
    """Return messages with the owner that their conversation was assigned to by an event."""
    owners = {
        event.data.get("conversation"): (_get_text(event, "project"), _get_text(event, "user"))
        for event in events
        if event.name == EventName.CONVERSATION_ASSIGNED
    }
    assigned = []
    for message in messages:
        project, user = message.project, message.user
        if not project and not user:
            project, user = owners.get(message.conversation, ("", ""))
        assigned.append(replace(message, project=project, user=user))
    return assigned


def _fold_session(session: Session | None, event: Event) -> Session | None:
    if session is not None and event.name != EventName.SESSION_ENDED:
        last_used = session.last_used
        if last_used is None or last_used > event.at + _DAY:  # that far ahead, a clock was wrong
            last_used = event.at
        session = replace(session, last_used=max(last_used, event.at))
    if event.name == EventName.SESSION_STARTED:
        is_implicit = bool(event.data.get("implicit"))
        if session is not None:
            return replace(session, status="active", ended_at=None)
        from muisti.model import Session

        return Session(
            id=str(event.session_id),
            project=_get_text(event, "project"),
            user=_get_text(event, "user"),
            status="completed" if is_implicit else "active",
            started_at=event.at,
            ended_at=event.at if is_implicit else None,
            last_used=event.at,
        )
    if event.name == EventName.SESSION_ENDED and session is not None:
        return replace(
            session,
            status="completed",
            ended_at=event.at,
            summary=str(event.data.get("summary") or ""),
            tool_calls=parse_count(event.data.get("tool_calls")),
        )
    return session


def _fold_source(sources: dict[str, DocumentSource | None], event: Event) -> None:
    path = event.data.get("path")
    if not isinstance(path, str):
        return
    if event.name == EventName.DOCUMENTS_ADDED:
        sources[path] = DocumentSource(
            path,
            _get_text(event, "source"),
            _get_text(event, "project"),
            bool(event.data.get("trusted")),
            user=_get_text(event, "user"),
        )
    elif event.name == EventName.DOCUMENTS_DROPPED:
        sources[path] = None


def _get_text(event: Event, name: str) -> str:
    return str(event.data.get(name) or "")
