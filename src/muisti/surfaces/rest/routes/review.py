"""The review queue: unconfirmed memories and suggested links."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from muisti.errors import Conflict
from muisti.surfaces.rest import etags
from muisti.surfaces.rest.concurrency import ThreadedRoute
from muisti.surfaces.rest.dependencies import Id, MemoryDep
from muisti.surfaces.rest.problems import document_errors
from muisti.surfaces.rest.routes.memories import CREATED, WITH_ETAG, IfMatch, with_etag
from muisti.surfaces.rest.schemas import Link, Memory, NewMemory
from muisti.surfaces.rest.schemas_review import (
    ReviewCount,
    ReviewItem,
    ReviewPage,
    ReviewQuery,
    SuggestedLink,
)

router = APIRouter(tags=["Review"], route_class=ThreadedRoute)


@router.get("/api/review", responses=document_errors("item"))
def list_review_items(memory: MemoryDep, query: Annotated[ReviewQuery, Query()]) -> ReviewPage:
    """List unconfirmed memories and suggested links, newest first."""
    filters = query.given_fields()
    for name in ("limit", "offset", "order_by"):
        filters.pop(name, None)
    found = memory.review(
        limit=query.limit + 1, offset=query.offset, order_by=query.order_by, **filters
    )
    return ReviewPage(
        items=[ReviewItem.model_validate(item) for item in found[: query.limit]],
        count=ReviewCount.model_validate(memory.count_review(**filters)),
        next_offset=query.offset + query.limit if len(found) > query.limit else None,
    )


# Before the routes of a memory: `links` is not an ID.
@router.post("/api/review/links/confirm", responses=document_errors("item", "write", "body"))
def confirm_link(memory: MemoryDep, body: SuggestedLink) -> Link:
    """Confirm a suggested link, which takes effect."""
    return Link.model_validate(memory.confirm_link(body.source, body.target, body.type))


@router.post(
    "/api/review/links/reject",
    status_code=204,
    responses=document_errors("item", "write", "body"),
)
def reject_link(memory: MemoryDep, body: SuggestedLink) -> None:
    """Reject a suggested link. Both memories stay as they are."""
    memory.reject_link(body.source, body.target, body.type)


@router.post(
    "/api/review/{memory_id}/confirm",
    responses={200: WITH_ETAG, **document_errors("item", "write", also=[412])},
)
def confirm_memory(
    memory: MemoryDep, memory_id: Id, response: Response, if_match: IfMatch = None
) -> Memory:
    """Confirm a memory, so that agents may rely on it. Its source stays as it is."""
    version = None
    if if_match is not None:
        version = etags.match_version(if_match, memory_id, memory.get(memory_id))
    try:
        return with_etag(memory.confirm(memory_id, expected_version=version), response)
    except Conflict as error:
        raise etags.stale_version(memory_id) from error


@router.post(
    "/api/review/{memory_id}/replace",
    status_code=201,
    responses={201: CREATED, **document_errors("item", "write", "body", also=[412])},
)
def replace_reviewed_memory(
    memory: MemoryDep,
    memory_id: Id,
    body: NewMemory,
    response: Response,
    if_match: IfMatch = None,
) -> Memory:
    """Save a new memory in place of this one, which is marked outdated.

    Fields that are omitted are those of the old memory.
    """
    version = None
    if if_match is not None:
        version = etags.match_version(if_match, memory_id, memory.get(memory_id))
    try:
        new = memory.replace(memory_id, expected_version=version, **body.given_fields())
    except Conflict as error:
        raise etags.stale_version(memory_id) from error
    response.headers["Location"] = f"/api/memories/{new.id}"
    return with_etag(new, response)
