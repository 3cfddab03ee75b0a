"""The JSON of the review queue."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from muisti.recall.lookups import MAX_LIMIT
from muisti.surfaces.rest.schemas import (
    MAX_OFFSET,
    FilterQuery,
    Integer,
    Link,
    LinkName,
    Memory,
    Name,
    RequestModel,
    ResponseModel,
)


class ReviewQuery(FilterQuery):
    """Filters of the review queue. For a link, they apply to the memory that it begins at."""

    limit: Annotated[Integer, Field(ge=1, le=MAX_LIMIT)] = 50
    offset: Annotated[Integer, Field(ge=0, le=MAX_OFFSET)] = 0
    order_by: Literal["created_at", "importance"] = "created_at"


class ReviewItem(ResponseModel):
    """An unconfirmed memory, or a suggested link and the two memories that it connects."""

    memory: Memory
    link: Link | None = Field(description="The suggested link; null if this is a memory.")
    target: Memory | None = Field(description="The memory that the link points to.")


class ReviewCount(ResponseModel):
    """How many items the whole queue has."""

    memories: int
    links: int


class ReviewPage(ResponseModel):
    """One page of the review queue."""

    items: list[ReviewItem]
    count: ReviewCount
    next_offset: int | None = Field(
        default=None, description="The offset of the next page; null on the last one."
    )


class SuggestedLink(RequestModel):
    """A suggested link."""

    source: Name
    target: Name
    type: LinkName
