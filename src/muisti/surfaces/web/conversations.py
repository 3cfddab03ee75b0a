"""Conversations."""

from __future__ import annotations

from fastapi import APIRouter, HTTPException, Request, Response

from muisti.model import SearchResults
from muisti.recall.filters import ALL_PROJECTS
from muisti.surfaces.web.page_context import At
from muisti.surfaces.web.paging import placed, turning
from muisti.surfaces.web.render import PageRoute, show

router = APIRouter(route_class=PageRoute)
STEPS = (50, 200, 1000)
PAGE = 100


@router.get("/chats")
def chats(request: Request, desk: At, offset: int = 0) -> Response:
    """All conversations, the latest first."""
    known, offset = desk.memory.list_conversations(), placed(offset)
    turn = turning("/chats", offset, PAGE, more=len(known) > offset + PAGE)
    return show(request, "chats.html", chats=known[offset : offset + PAGE], turn=turn)


@router.get("/chat")
def chat(request: Request, desk: At, name: str = "", n: int = STEPS[0], q: str = "") -> Response:
    """What was said in one since its last session break; with a question, what of all that was said answers it."""
    known = next((one for one in desk.memory.list_conversations() if one.name == name), None)
    if known is None:
        raise HTTPException(
            404, f"there is no conversation {name!r}; /chats shows those that exist"
        )
    limit = max(1, min(n, STEPS[-1]))
    said = desk.memory.window(name, limit)
    found = (
        desk.memory.search_messages(q[:2000], conversation=name, limit=50, project=ALL_PROJECTS)
        if q.strip()
        else SearchResults()
    )
    more = next((step for step in STEPS if step > limit), 0) if len(said) == limit else 0
    return show(request, "chat.html", chat=known, said_there=said, found=found, q=q, more=more)
