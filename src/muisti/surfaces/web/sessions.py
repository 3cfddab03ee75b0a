"""Sessions: the list, and what one session did with memories."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from fastapi import APIRouter, Request, Response

from muisti.errors import ConversationNotFound, InvalidRequest, SessionNotFound
from muisti.model import Conversation, Memory, Session, SessionAction, SessionUse
from muisti.surfaces.web.page_context import Context, PageContext
from muisti.surfaces.web.paging import clamp_offset, link_pages
from muisti.surfaces.web.render import PageRoute, render

router = APIRouter(route_class=PageRoute)
PAGE = 25
MEMORIES_PAGE = 100
MAX_READ = 20_000
"""This many of the latest sessions can be filtered and paged."""
STATES = ("active", "completed")


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """One memory, and what a session did with it, oldest first."""

    memory: Memory
    uses: tuple[SessionUse, ...]


@router.get("/sessions")
def show_sessions(
    request: Request,
    context: Context,
    project: str = "",
    user: str = "",
    state: str = "",
    offset: int = 0,
) -> Response:
    """Show the sessions of a project and a user, or of all, the latest first."""
    if state and state not in STATES:
        raise InvalidRequest("state", state, f"must be one of {', '.join(STATES)}")
    everything = context.memory.list_sessions(limit=MAX_READ)
    found = [
        one
        for one in everything
        if project in ("", one.project) and user in ("", one.user) and state in ("", one.status)
    ]
    offset = clamp_offset(offset)
    shown = found[offset : offset + PAGE]
    return render(
        request,
        "sessions.html",
        sessions=[(one, _count_uses(context, one.id)) for one in shown],
        count=len(found),
        pages=link_pages(
            "/sessions",
            offset,
            PAGE,
            more=len(found) > offset + PAGE,
            project=project,
            user=user,
            state=state,
        ),
        project=project,
        projects=sorted({one.project for one in everything if one.project}),
        user=user,
        users=sorted({one.user for one in everything if one.user}),
        state=state,
        states=STATES,
    )


@router.get("/session")
def show_session(request: Request, context: Context, id: str = "", offset: int = 0) -> Response:
    """Show a session with its memories in the order in which it first used them."""
    uses = context.memory.session_uses(id)  # raises SessionNotFound
    session: Session | None = None
    with suppress(SessionNotFound):  # nobody started it, but memories name it
        session = context.memory.get_session(id)
    memories = group_uses(uses, {one.id: one for one in context.memory.get_by_session(id)})
    conversation: Conversation | None = None
    with suppress(ConversationNotFound):
        conversation = context.memory.get_conversation(id)
    offset = clamp_offset(offset)
    end = offset + MEMORIES_PAGE
    shown = memories[offset:end]
    return render(
        request,
        "session.html",
        id=id,
        session=session,
        counts=_sum_up(uses),
        memories=shown,
        missing=len({use.memory_id for use in uses}) - len(memories),
        outdated=context.memory.find_outdated([one.memory.id for one in shown]),
        conversation=conversation,
        pages=link_pages("/session", offset, MEMORIES_PAGE, more=len(memories) > end, id=id),
    )


def group_uses(uses: Sequence[SessionUse], memories: Mapping[str, Memory]) -> list[MemoryUse]:
    """Return each of the memories with its uses, by first use. Pure."""
    by_memory: dict[str, list[SessionUse]] = {}
    for use in uses:
        by_memory.setdefault(use.memory_id, []).append(use)
    return [
        MemoryUse(memories[memory_id], tuple(its_uses))
        for memory_id, its_uses in by_memory.items()
        if memory_id in memories
    ]


def _count_uses(context: PageContext, session_id: str) -> dict[str, int]:
    with suppress(SessionNotFound):  # it was forgotten meanwhile
        return _sum_up(context.memory.session_uses(session_id))
    return {}


def _sum_up(uses: Sequence[SessionUse]) -> dict[str, int]:
    """Return how many memories were created, recalled, updated and reinforced, if any."""
    pairs = {(use.memory_id, use.use) for use in uses}
    counts = Counter(action for _, action in pairs)
    return {action.value: counts[action] for action in SessionAction if counts[action]}
