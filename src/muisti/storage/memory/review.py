"""Finds unconfirmed memories and suggested links."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from operator import attrgetter

from muisti.model import Filter, Link
from muisti.ports.review import ReviewOrder, Unconfirmed
from muisti.storage.memory.tables import Entry
from muisti.storage.memory.view import View, by_time


class MemoryReview:
    """Implements the port ReviewReader."""

    view: Callable[[], View]

    def unconfirmed(
        self, where: Filter, target: Filter, *, order: ReviewOrder, limit: int | None, offset: int
    ) -> list[Unconfirmed]:
        """Return one page of the queue."""
        view = self.view()
        found = sorted(view.memories(), key=by_time, reverse=True)
        if order == "importance":
            found.sort(key=lambda entry: -entry.memory.importance)
        queue = [
            Unconfirmed(entry.memory.id, link)
            for entry in found
            for link in _list_items(view, entry, where, target)
        ]
        return queue[offset : None if limit is None else offset + limit]

    def count_unconfirmed(self, where: Filter, target: Filter) -> tuple[int, int]:
        """Return how many memories and how many links are in the queue."""
        view = self.view()
        items = [
            link for entry in view.memories() for link in _list_items(view, entry, where, target)
        ]
        return items.count(None), len(items) - items.count(None)


def _list_items(view: View, entry: Entry, where: Filter, target: Filter) -> Iterator[Link | None]:
    """Yield None if the memory is in the queue, then its suggested links."""
    if not view.allows(where, entry) or _is_superseded(view, entry):
        return
    if view.allows(replace(where, trusted=False), entry):
        yield None
    first = {(link.type, link.target): link for link in reversed(entry.memory.links)}
    for link in sorted(first.values(), key=attrgetter("type", "target")):
        other = view.tables.entries.get(link.target)
        if not link.proposed or other is None or not other.is_memory:
            continue
        if view.allows(target, other) and not _is_superseded(view, other):
            # As in files, `valid_from` is only set if it differs from `created_at`.
            is_same = link.valid_from == link.created_at
            yield replace(link, valid_from=None) if is_same else link


def _is_superseded(view: View, entry: Entry) -> bool:
    return any(view.alive(link.source) for link in view.superseding(entry.memory.id))
