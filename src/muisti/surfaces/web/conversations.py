"""Conversations: the list, and the messages of one."""

from __future__ import annotations

from fastapi import APIRouter, HTTPException, Request, Response

from muisti.model import SearchResults
from muisti.recall.filters import ALL
from muisti.surfaces.web.page_context import Context
from muisti.surfaces.web.paging import clamp_offset, link_pages
from muisti.surfaces.web.render import PageRoute, render

router = APIRouter(route_class=PageRoute)
LIMITS = (50, 200, 1000)
"""How many messages are shown at first, and after each "Earlier messages"."""
PAGE = 100


@router.get("/conversations")
def show_conversations(request: Request, context: Context, offset: int = 0) -> Response:
    """Show all conversations, the latest first."""
    conversations = context.memory.list_conversations()
    offset = clamp_offset(offset)
    end = offset + PAGE
    return render(
        request,
        "conversations.html",
        conversations=conversations[offset:end],
        pages=link_pages("/conversations", offset, PAGE, more=len(conversations) > end),
    )


@router.get("/conversation")
def show_conversation(
    request: Request, context: Context, name: str = "", n: int = LIMITS[0], q: str = ""
) -> Response:
    """Show the messages of the current session; with a query, also matches in all sessions."""
    conversation = next(
        (one for one in context.memory.list_conversations() if one.name == name), None
    )
    if conversation is None:
        raise HTTPException(404, f"there is no conversation {name!r}; /conversations lists them")
    limit = max(1, min(n, LIMITS[-1]))
    messages = context.memory.window(name, limit)
    results = SearchResults()
    if q.strip():
        results = context.memory.search_messages(
            q[:2000], conversation=name, limit=50, project=ALL, user=ALL
        )
    more = 0
    if len(messages) == limit:
        more = next((step for step in LIMITS if step > limit), 0)
    return render(
        request,
        "conversation.html",
        conversation=conversation,
        messages=messages,
        results=results,
        q=q,
        more=more,
    )
