"""Stretches of work."""

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
def list_sessions(memory: MemoryDep, asked: Annotated[SessionsQuery, Query()]) -> list[Session]:
    """The latest sessions first."""
    return [
        Session.model_validate(one)
        for one in memory.list_sessions(asked.project, limit=asked.limit)
    ]


@router.post("/api/sessions", status_code=201, responses=document_errors("change", "body"))
def start_session(memory: MemoryDep, body: NewSession) -> Session:
    """Begin a session; without an id it gets a new one."""
    begun = memory.start_session(body.project, session_id=body.session_id)
    return Session.model_validate(begun)


@router.get("/api/sessions/{session_id}", responses=document_errors("one"))
def get_session(memory: MemoryDep, session_id: Id) -> Session:
    """One session."""
    return Session.model_validate(memory.get_session(session_id))


@router.post("/api/sessions/{session_id}/end", responses=document_errors("one", "change", "body"))
def end_session(memory: MemoryDep, session_id: Id, body: SessionEnd | None = None) -> Session:
    """Complete a session; what is not said stays as it was."""
    ended = body or SessionEnd()
    return Session.model_validate(
        memory.end_session(session_id, ended.summary, tool_calls=ended.tool_calls)
    )


@router.get("/api/sessions/{session_id}/uses", responses=document_errors("one"))
def session_uses(memory: MemoryDep, session_id: Id) -> list[SessionUse]:
    """What a session did with memories, in the order of time."""
    return [SessionUse.model_validate(one) for one in memory.session_uses(session_id)]


@router.post(
    "/api/sessions/{session_id}/uses",
    status_code=204,
    responses=document_errors("one", "change", "body"),
)
def note_use(memory: MemoryDep, session_id: Id, body: NewSessionUse) -> None:
    """Note what a session did with a memory."""
    memory.link_to_session(body.memory_id, session_id, body.use)


@router.get("/api/sessions/{session_id}/context", responses=document_errors("one"))
def session_context(memory: MemoryDep, session_id: Id) -> list[Memory]:
    """The memories that a session made, whole, in the order of time."""
    return [Memory.model_validate(one) for one in memory.get_session_context(session_id)]


@router.get("/api/sessions/{session_id}/text", responses=document_errors("one"))
def session_text(memory: MemoryDep, session_id: Id) -> SessionText:
    """Their contents as one text for a summary, and roughly how many tokens it has."""
    content = memory.get_raw_session_content(session_id)
    return SessionText(content=content, token_count=memory.get_session_token_count(session_id))
