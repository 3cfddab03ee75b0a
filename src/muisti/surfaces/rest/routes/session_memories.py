"""The memories of a session: spec 1's four endpoints, with exactly its JSON.

Times carry their time zone (`Z`), which the specification omits: without it, a browser would take
them for local times.
"""

from __future__ import annotations

from fastapi import APIRouter, Response

from muisti.engine import Muisti
from muisti.errors import InvalidMemory, MemoryNotFound
from muisti.model import Memory, SessionAction
from muisti.recall.filters import ALL
from muisti.surfaces.rest.concurrency import ThreadedRoute
from muisti.surfaces.rest.dependencies import Id, MemoryDep
from muisti.surfaces.rest.problems import document_errors
from muisti.surfaces.rest.schemas_conversations import NewSessionMemory, SessionMemory

router = APIRouter(tags=["Session memories"], route_class=ThreadedRoute)
_WRITES = (SessionAction.CREATED, SessionAction.REINFORCED, SessionAction.UPDATED)
"""What makes a memory one of the session's; recalling it does not."""


def _list_ids(memory: Muisti, session_id: str) -> list[str]:
    """Return the IDs of a session's memories. Raises SessionNotFound."""
    uses = memory.session_uses(session_id)
    return list(dict.fromkeys(use.memory_id for use in uses if use.use in _WRITES))


def _get_memory(memory: Muisti, session_id: str, memory_id: str) -> Memory:
    found = None
    if memory_id in _list_ids(memory, session_id):
        found = memory.get(memory_id, project=ALL, session_id=session_id)
    if found is None:
        raise MemoryNotFound(memory_id)
    return found


def _to_response(memory: Memory, session_id: str) -> SessionMemory:
    return SessionMemory(
        id=memory.id,
        session_id=session_id,
        memory_content=memory.content,
        memory_type=memory.kind,
        importance=memory.importance,
        created_at=memory.created_at,
        last_accessed_at=memory.last_accessed or memory.created_at,
    )


@router.get("/api/sessions/{session_id}/memories", responses=document_errors("item"))
def list_session_memories(memory: MemoryDep, session_id: Id) -> list[SessionMemory]:
    """List the memories of a session."""
    ids = _list_ids(memory, session_id)
    found = {one.id: one for one in memory.get_by_session(session_id)}
    return [_to_response(found[memory_id], session_id) for memory_id in ids if memory_id in found]


@router.post(
    "/api/sessions/{session_id}/memories",
    status_code=201,
    responses=document_errors("item", "write", "body"),
)
def save_session_memory(
    memory: MemoryDep, session_id: Id, body: NewSessionMemory, response: Response
) -> SessionMemory:
    """Save a memory in a session."""
    memory.session_uses(session_id)  # raises SessionNotFound
    try:
        saved = memory.save(
            body.content, body.type, importance=body.importance, session_id=session_id
        )
    except InvalidMemory as error:
        if error.field != "category":
            raise
        raise InvalidMemory("type", error.value, error.reason) from None
    response.headers["Location"] = f"/api/memories/{saved.id}"
    return _to_response(saved, session_id)


@router.get("/api/sessions/{session_id}/memories/{memory_id}", responses=document_errors("item"))
def get_session_memory(memory: MemoryDep, session_id: Id, memory_id: Id) -> SessionMemory:
    """Return one memory of a session."""
    return _to_response(_get_memory(memory, session_id, memory_id), session_id)


@router.delete(
    "/api/sessions/{session_id}/memories/{memory_id}",
    status_code=204,
    responses=document_errors("item", "write"),
)
def delete_session_memory(memory: MemoryDep, session_id: Id, memory_id: Id) -> None:
    """Move a memory of a session to the trash."""
    memory.delete(_get_memory(memory, session_id, memory_id).id)
