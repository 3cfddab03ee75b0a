"""Sessions."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from muisti.surfaces.rest.concurrency import ThreadedRoute
from muisti.surfaces.rest.dependencies import Id, MemoryDep
from muisti.surfaces.rest.problems import document_errors
from muisti.surfaces.rest.schemas import Memory
from muisti.surfaces.rest.schemas_conversations import (
    NewSession,
    NewSessionUse,
    Session,
    SessionEnd,
    SessionsQuery,
    SessionText,
    SessionUse,
)

router = APIRouter(tags=["Sessions"], route_class=ThreadedRoute)


@router.get("/api/sessions", responses=document_errors())
def list_sessions(memory: MemoryDep, query: Annotated[SessionsQuery, Query()]) -> list[Session]:
    """List sessions, latest first."""
    found = memory.list_sessions(query.project, user=query.user, limit=query.limit)
    return [Session.model_validate(one) for one in found]


@router.post("/api/sessions", status_code=201, responses=document_errors("item", "write", "body"))
def start_session(memory: MemoryDep, body: NewSession) -> Session:
    """Start a session. Without an ID, it gets a new one."""
    started = memory.start_session(body.project, session_id=body.session_id, user=body.user)
    return Session.model_validate(started)


@router.get("/api/sessions/{session_id}", responses=document_errors("item"))
def get_session(memory: MemoryDep, session_id: Id) -> Session:
    """Return one session."""
    return Session.model_validate(memory.get_session(session_id))


@router.post("/api/sessions/{session_id}/end", responses=document_errors("item", "write", "body"))
def end_session(memory: MemoryDep, session_id: Id, body: SessionEnd | None = None) -> Session:
    """End a session; omitted fields are unchanged."""
    end = body or SessionEnd()
    ended = memory.end_session(session_id, end.summary, tool_calls=end.tool_calls)
    return Session.model_validate(ended)


@router.get("/api/sessions/{session_id}/uses", responses=document_errors("item"))
def list_session_uses(memory: MemoryDep, session_id: Id) -> list[SessionUse]:
    """List how a session used memories, oldest first."""
    return [SessionUse.model_validate(one) for one in memory.session_uses(session_id)]


@router.post(
    "/api/sessions/{session_id}/uses",
    status_code=204,
    responses=document_errors("item", "write", "body"),
)
def record_session_use(memory: MemoryDep, session_id: Id, body: NewSessionUse) -> None:
    """Record how a session used a memory."""
    memory.link_to_session(body.memory_id, session_id, body.use)


@router.get("/api/sessions/{session_id}/context", responses=document_errors("item"))
def get_session_context(memory: MemoryDep, session_id: Id) -> list[Memory]:
    """Return the full memories of a session, oldest first."""
    return [Memory.model_validate(one) for one in memory.get_session_context(session_id)]


@router.get("/api/sessions/{session_id}/text", responses=document_errors("item"))
def get_session_text(memory: MemoryDep, session_id: Id) -> SessionText:
    """Return the memories of a session as one text to summarize, and its approximate tokens."""
    content = memory.get_raw_session_content(session_id)
    return SessionText(content=content, token_count=memory.get_session_token_count(session_id))
