"""The review queue (contract J9): unconfirmed memories and suggested links."""

from __future__ import annotations

from dataclasses import replace

from muisti.errors import InvalidRequest
from muisti.lifecycle import links
from muisti.model import Filter, Link, LinkSource, LinkType, ReviewCount, ReviewItem
from muisti.ports import ReviewOrder, Services
from muisti.ports.lookups import require_memory

_ORDERS: tuple[ReviewOrder, ...] = ("created_at", "importance")


def parse_review_order(order_by: str) -> ReviewOrder:
    """Return the order of the queue. Raises InvalidRequest."""
    for order in _ORDERS:
        if order == order_by:
            return order
    raise InvalidRequest("order_by", order_by, f"must be one of {', '.join(_ORDERS)}")


def list_review(
    services: Services, where: Filter, order: ReviewOrder, limit: int | None, offset: int
) -> list[ReviewItem]:
    """Return one page of the queue, with the memories."""
    with services.index.snapshot():
        found = services.index.unconfirmed(
            where, _select_targets(where), order=order, limit=limit, offset=offset
        )
        ids = {item.memory_id: None for item in found}
        ids |= {item.link.target: None for item in found if item.link is not None}
        memories = {memory.id: memory for memory in services.index.get_many(list(ids))}
    return [
        ReviewItem(
            memories[item.memory_id],
            item.link,
            None if item.link is None else memories[item.link.target],
        )
        for item in found
    ]


def count_review(services: Services, where: Filter) -> ReviewCount:
    """Return how many items the queue has."""
    return ReviewCount(*services.index.count_unconfirmed(where, _select_targets(where)))


def _select_targets(where: Filter) -> Filter:
    """Return the filter for the far end of a link: only who may see it matters, not what it is."""
    return replace(
        where,
        ids=(),
        session=None,
        kinds=(),
        sectors=(),
        tiers=(),
        agent=None,
        keywords=(),
        files=(),
        min_salience=0.0,
        since=None,
        until=None,
        as_of=None,
        known_at=None,
    )


def confirm_link(services: Services, source: str, target: str, type_: LinkType) -> Link:
    """Confirm a suggested link, which takes effect. Raises InvalidRequest, MemoryNotFound."""
    with services.store.lock():
        suggested = _find_suggestion(services, source, target, type_)
        confirmed = replace(suggested, confidence=1.0, extracted_by=LinkSource.USER)
        return links.link(services, confirmed)


def reject_link(services: Services, source: str, target: str, type_: LinkType) -> None:
    """Remove a suggested link. Raises InvalidRequest if it is not one, MemoryNotFound."""
    with services.store.lock():
        _find_suggestion(services, source, target, type_)
        links.unlink(services, source, target, type_)


def _find_suggestion(services: Services, source: str, target: str, type_: LinkType) -> Link:
    require_memory(services, target)
    for link in require_memory(services, source).links:
        if link.proposed and (link.type, link.target) == (type_, target):
            return link
    raise InvalidRequest(
        "link", f"{source} {type_.value} {target}", "must be a suggested link; `review` lists them"
    )
