"""Fold journal events into the usage of memories, sessions and document sources. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Protocol

from muisti.model import DocumentSource, Event, EventName, Session, SessionAction, SessionUse, Usage
from muisti.model.salience import fold_event, parse_count
from muisti.ports.search import JournalChanges

_DAY = timedelta(days=1)
_USES = {
    EventName.RECALLED: SessionAction.RECALLED,
    EventName.REINFORCED: SessionAction.REINFORCED,
    EventName.MERGED: SessionAction.REINFORCED,
    EventName.UPDATED: SessionAction.UPDATED,
}


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
    events: Sequence[Event], known: JournalState, *, restart: bool = False
) -> JournalChanges:
    """Return what new events change. Restart: these are all events; ignore what is known."""
    ids = list(dict.fromkeys(id_ for event in events for id_ in event.memory_ids))
    usage = {} if restart else known.usage(ids)
    decayed_at = None if restart else known.decayed_at()
    sessions: dict[str, Session | None] = {}
    uses: list[SessionUse] = []
    sources: dict[str, DocumentSource | None] = {}
    for event in events:
        counted = event
        if decayed_at is not None and event.at < decayed_at < event.at + _DAY:
            counted = replace(event, at=decayed_at)  # the clock was set back since that decay
        for memory_id in event.memory_ids:
            usage[memory_id] = fold_event(usage.get(memory_id, Usage()), counted)
        if event.session_id is not None:
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
        decayed_at=decayed_at,
    )


def _fold_session(session: Session | None, event: Event) -> Session | None:
    if event.name == EventName.SESSION_STARTED:
        if session is not None:
            return replace(session, status="active", ended_at=None)
        project = str(event.data.get("project") or "")
        return Session(id=str(event.session_id), project=project, started_at=event.at)
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
        name = str(event.data.get("source") or "")
        project = str(event.data.get("project") or "")
        sources[path] = DocumentSource(path, name, project, bool(event.data.get("trusted")))
    elif event.name == EventName.DOCUMENTS_DROPPED:
        sources[path] = None
