"""Links, history, decay, trash and archive."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Unpack, cast

from muisti.engine.search import Search
from muisti.lifecycle import links, retention, visible
from muisti.lifecycle.history import list_merged, unmerge
from muisti.model import (
    Filter,
    Graph,
    HistoryEntry,
    Link,
    Memory,
    UnresolvedLink,
    UpkeepReport,
)
from muisti.recall.filters import FilterOptions, ScopeOptions
from muisti.recall.lookups import check_page

Listed = list
"""The built-in type: within the class, `list` is the method."""


class Lifecycle(Search):
    """Links, history, decay, trash and archive."""

    def link(
        self,
        source_id: str,
        target_id: str,
        type: str = "RELATED_TO",
        *,
        confidence: float = 1.0,
        extracted_by: str = "user",
        valid_from: datetime | None = None,
        valid_until: datetime | None = None,
    ) -> Link:
        """Link two memories, or confirm a suggested link.

        Types: SUPERSEDES, CONTRADICTS, RELATED_TO, BUILDS_ON, CONFIRMS, APPLIES_TO, DEPENDS_ON and
        ALTERNATIVE_TO. Raises MemoryNotFound, InvalidRequest.
        """
        link = Link(
            source=source_id,
            type=links.parse_link_type(type),
            target=target_id,
            created_at=self._services.clock.now(),
            confidence=confidence,
            extracted_by=links.parse_link_source(extracted_by),
            valid_from=valid_from,
            valid_until=valid_until,
        )
        return self._write(links.link, link)

    def unlink(self, source_id: str, target_id: str, type: str = "RELATED_TO") -> None:
        """Remove a link, or reject a suggested one. Raises MemoryNotFound, InvalidRequest."""
        self._write(links.unlink, source_id, target_id, links.parse_link_type(type))

    def links(self, memory_id: str, **scope: Unpack[ScopeOptions]) -> Listed[Link]:
        """Return the links from and to a memory, oldest first.

        With a scope, without links to memories outside it. Raises MemoryNotFound, also for one
        outside the scope; SessionNotFound.
        """
        return self._read(visible.list_visible_links, memory_id, self._make_scope(scope))

    def find_links(self, memory_ids: Sequence[str], **scope: Unpack[ScopeOptions]) -> Listed[Link]:
        """Return the links that begin or end at any of these memories, each once, oldest first.

        With a scope, without links to memories outside it. Unknown IDs are left out. Raises
        SessionNotFound.
        """
        return self._read(visible.find_visible_links, memory_ids, self._make_scope(scope))

    def wikilinks(self, memory_id: str, **scope: Unpack[ScopeOptions]) -> dict[str, str | None]:
        """Return the ID of the memory that each `[[wikilink]]` in a memory's text leads to.

        None for one that leads to no memory, or to none in the scope. Raises MemoryNotFound, also
        for one outside the scope; SessionNotFound.
        """
        return self._read(visible.find_visible_targets, memory_id, self._make_scope(scope))

    def unresolved_links(self, **scope: Unpack[ScopeOptions]) -> Listed[UnresolvedLink]:
        """Return the `[[wikilinks]]` that lead to no memory, those of the latest memory first.

        Of the memories that `list` returns in this scope. They become links when a memory gets that
        title or alias. Raises SessionNotFound.
        """
        where = self._make_filter(cast("FilterOptions", scope))
        return self._read(visible.list_visible_unresolved, where)

    def supersede(self, old_id: str, new_id: str) -> Memory:
        """Replace an outdated memory with a new one, and return the outdated one.

        Raises MemoryNotFound, InvalidRequest.
        """
        return self._write(links.supersede, old_id, new_id)

    def superseding(self, memory_id: str, **scope: Unpack[ScopeOptions]) -> Memory | None:
        """Return the memory that replaced this one, or None, also if it is outside the scope.

        Raises MemoryNotFound, also for one outside the scope; SessionNotFound.
        """
        return self._read(visible.find_visible_successor, memory_id, self._make_scope(scope))

    def graph(self, memory_id: str, *, depth: int = 1, **scope: Unpack[ScopeOptions]) -> Graph:
        """Return the memories within `depth` links of one, and the links, within the scope.

        Raises MemoryNotFound, also for one outside the scope; InvalidRequest, SessionNotFound.
        """
        where = self._make_scope(scope)
        return self._read(visible.build_visible_graph, memory_id, depth, where)

    def history(self, memory_id: str, **scope: Unpack[ScopeOptions]) -> Listed[HistoryEntry]:
        """Return a memory's versions, merges, links and uses, oldest first.

        With a scope, without entries about memories outside it. Raises MemoryNotFound, also for
        one outside the scope; SessionNotFound.
        """
        return self._read(visible.build_visible_history, memory_id, self._make_scope(scope))

    def unmerge(self, memory_id: str) -> Memory:
        """Undo the last merge into a memory, and return the memory that was merged into it.

        The id may also be that of the merged text. Raises MemoryNotFound, InvalidRequest.
        """
        return self._write(unmerge, memory_id)

    def decay_salience(self, *, dry_run: bool = False) -> int:
        """Return how many memories lost salience since the last call.

        Salience itself is computed whenever it is read.
        """
        return self._write(retention.decay_salience, dry_run=dry_run)

    def cleanup(self, min_salience: float = 0.1, *, dry_run: bool = False) -> Listed[Memory]:
        """Move memories below this salience to the trash, and return them.

        Decisions, pinned memories and those of a session in use stay. Raises InvalidRequest.
        """
        return self._write(retention.cleanup, min_salience, dry_run=dry_run)

    def evict(
        self, max_bytes: int | None = None, *, to: float | None = None, dry_run: bool = False
    ) -> Listed[Memory]:
        """If the vault is larger than this, archive the longest unused memories and return them.

        Decisions, pinned memories and those of a session in use stay. `to` is the share of the
        limit that is left. `restore` brings a memory back. Raises InvalidRequest.
        """
        if max_bytes is None:
            max_bytes = self.settings.evict_above
            if not max_bytes:
                return []
        to = self.settings.evict_to if to is None else to
        return self._write(retention.evict, max_bytes, to, dry_run=dry_run)

    def upkeep(self, *, dry_run: bool = False) -> UpkeepReport:
        """Run maintenance: end idle sessions, then decay, cleanup and eviction, as set.

        `dry_run` only reports.
        """
        return self._write(retention.upkeep, dry_run=dry_run)

    def list_trash(self, *, limit: int | None = None, offset: int = 0) -> Listed[Memory]:
        """Return the memories in the trash, of all projects, the last deleted first.

        `restore` brings one back. Raises InvalidRequest.
        """
        check_page(limit, offset)
        where = Filter(all_sessions=True, only_deleted=True)
        return self._read(
            lambda services: services.index.select(
                where, order="deleted_at", limit=limit, offset=offset
            )
        )

    def list_archive(self, *, limit: int | None = None, offset: int = 0) -> Listed[Memory]:
        """Return the memories in the archive, which no search finds, the latest first.

        `restore` brings one back. Broken files are left out. Raises InvalidRequest.
        """
        check_page(limit, offset)
        return self._read(lambda services: services.store.archived(limit, offset))

    def merged(self, *, limit: int | None = None, offset: int = 0) -> Listed[Memory]:
        """Return the memories that other texts were merged into, the latest merge first.

        Trash and archive are included. `history` has the texts, and `unmerge` undoes a merge.
        Raises InvalidRequest.
        """
        check_page(limit, offset)
        return self._read(list_merged, limit, offset)

    def merged_count(self) -> int:
        """Return how many memories other texts were merged into."""
        return self._read(lambda services: len(services.store.merged_ids()))

    def count_archive(self) -> int:
        """Return how many memories are in the archive."""
        return self._read(lambda services: len(services.store.archived_ids()))
