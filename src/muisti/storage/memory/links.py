"""Reads links."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from muisti.model import Link, LinkType
from muisti.model.chains import find_chains, find_successors
from muisti.storage.memory.view import View, by_time


class MemoryLinks:
    """Implements the port LinkReader."""

    view: Callable[[], View]

    def get_links(self, ids: Sequence[str]) -> list[Link]:
        """Return the links that begin or end at any of these memories, oldest first."""
        view = self.view()
        tables = view.tables
        found: dict[tuple[str, LinkType, str], Link] = {}
        for id_ in ids:
            entry = tables.entries.get(id_)
            for link in entry.memory.links if entry is not None else ():
                found.setdefault((link.source, link.type, link.target), link)
            for link in tables.links_to[id_].values():
                found.setdefault((link.source, link.type, link.target), link)
        alive = [
            link for link in found.values() if view.alive(link.source) and view.alive(link.target)
        ]
        alive.sort(key=lambda link: (link.created_at, link.source, link.type, link.target))
        # As in files, `valid_from` is only set if it differs from `created_at`.
        return [
            replace(link, valid_from=None) if link.valid_from == link.created_at else link
            for link in alive
        ]

    def find_labelled(self, label: str, values: Sequence[str] | None) -> list[str]:
        """Return the IDs of memories with any of these values of a label, or with any value."""
        wanted = None if values is None else {(label, value) for value in values}
        found = [
            entry
            for entry in self.view().memories()
            if entry.memory.deleted_at is None
            and (
                any(field == label for field, _ in entry.labels)
                if wanted is None
                else not wanted.isdisjoint(entry.labels)
            )
        ]
        return [entry.memory.id for entry in sorted(found, key=by_time, reverse=True)]

    def successors(self, ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """Return the IDs of the memories that supersede each of these, the latest last."""
        view = self.view()
        found = {id_: find_successors(id_, view.find_replacing) for id_ in ids}
        return {old: news for old, news in found.items() if news}

    def chains(self, ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """Return the successors of these memories, and of their successors in turn."""
        return find_chains(ids, self.view().find_replacing)
