"""Links, history, decay, trash and archive."""

from __future__ import annotations

from datetime import datetime

from muisti.engine.runtime import Runtime
from muisti.lifecycle import links
from muisti.lifecycle import retention as clean
from muisti.lifecycle.history import build_history, list_merged, unmerge
from muisti.model import Filter, Graph, HistoryEntry, Link, Memory, UpkeepReport
from muisti.recall.lookups import check_page


class Lifecycle(Runtime):
    """Links, history, fading, trash and archive."""

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
        """Say how one memory stands to another: SUPERSEDES, CONTRADICTS, RELATED_TO, BUILDS_ON, CONFIRMS, APPLIES_TO,
        DEPENDS_ON or ALTERNATIVE_TO. A link that was proposed is confirmed by this. Raises MemoryNotFound, InvalidRequest.
        """
        wanted = Link(
            source=source_id,
            type=links.parse_link_type(type),
            target=target_id,
            created_at=self._services.clock.now(),
            confidence=confidence,
            extracted_by=links.parse_link_source(extracted_by),
            valid_from=valid_from,
            valid_until=valid_until,
        )
        return self._write(links.link, wanted)

    def unlink(self, source_id: str, target_id: str, type: str = "RELATED_TO") -> None:
        """Take a link, or the proposal of one, back. Raises MemoryNotFound, InvalidRequest."""
        self._write(links.unlink, source_id, target_id, links.parse_link_type(type))

    def links(self, memory_id: str) -> list[Link]:
        """The links that begin or end at a memory, oldest first. Raises MemoryNotFound."""
        return self._read(links.list_links, memory_id)

    def supersede(self, old_id: str, new_id: str) -> Memory:
        """Let a memory take the place of another, which is true no longer. Answers the old one. Raises InvalidRequest."""
        return self._write(links.supersede, old_id, new_id)

    def superseding(self, memory_id: str) -> Memory | None:
        """The memory that took its place, if one did. Raises MemoryNotFound."""
        return self._read(links.find_successor, memory_id)

    def graph(self, memory_id: str, *, depth: int = 1) -> Graph:
        """The memories that can be reached over so many links, and the links. Raises MemoryNotFound, InvalidRequest."""
        return self._read(links.build_graph, memory_id, depth)

    def history(self, memory_id: str) -> list[HistoryEntry]:
        """What became of a memory: versions, merges, links, uses, in the order of time. Raises MemoryNotFound."""
        return self._read(build_history, memory_id)

    def unmerge(self, memory_id: str) -> Memory:
        """Make what was last merged into a memory one of its own again; the id may also be that of the merged text.

        Raises MemoryNotFound, InvalidRequest.
        """
        return self._write(unmerge, memory_id)

    def decay_salience(self, *, dry_run: bool = False) -> int:
        """How many memories have faded since this was last asked. Salience itself is worked out whenever it is read."""
        return self._write(clean.decay_salience, dry_run=dry_run)

    def cleanup(self, min_salience: float = 0.1, *, dry_run: bool = False) -> list[Memory]:
        """Move memories that are weaker than this to the trash, and answer them. Decisions and pinned ones stay."""
        return self._write(clean.cleanup, min_salience, dry_run=dry_run)

    def evict(
        self, max_bytes: int | None = None, *, to: float | None = None, dry_run: bool = False
    ) -> list[Memory]:
        """If there is more than this, move the longest unused memories to the archive, and answer them.

        Decisions, pinned ones and those of an active session stay. `restore` brings one back.
        """
        if max_bytes is None and not self.settings.evict_above:
            return []
        limit = self.settings.evict_above if max_bytes is None else max_bytes
        share = self.settings.evict_to if to is None else to
        return self._write(clean.evict, limit, share, dry_run=dry_run)

    def upkeep(self, *, dry_run: bool = False) -> UpkeepReport:
        """Note what has faded, clean up and evict as the settings say. Dry run: tell what would be done."""
        return self._write(clean.upkeep, dry_run=dry_run)

    def list_trash(self, *, limit: int | None = None, offset: int = 0) -> list[Memory]:
        """The memories in the trash, of all projects, the latest deleted first; `restore` brings one back.

        Raises InvalidRequest.
        """
        check_page(limit, offset)
        where = Filter(all_sessions=True, only_deleted=True)
        return self._read(
            lambda services: services.index.select(
                where, order="deleted_at", limit=limit, offset=offset
            )
        )

    def list_archive(self, *, limit: int | None = None, offset: int = 0) -> list[Memory]:
        """The memories in the archive, which no search sees, the latest first; `restore` brings one back.

        Of a page only the files of that page are read; one that is broken is left out. Raises InvalidRequest.
        """
        check_page(limit, offset)
        return self._read(lambda services: services.store.archived(limit, offset))

    def merged(self, *, limit: int | None = None, offset: int = 0) -> list[Memory]:
        """Return the memories that other texts were merged into, the latest merge first; `unmerge` undoes one.

        Those in the trash and the archive too; `history` has the texts. Raises InvalidRequest.
        """
        check_page(limit, offset)
        return self._read(list_merged, limit, offset)

    def merged_count(self) -> int:
        """Return how many memories other texts were merged into."""
        return self._read(lambda services: len(services.store.merged_ids()))

    def count_archive(self) -> int:
        """How many files are in the archive."""
        return self._read(lambda services: len(services.store.archived_ids()))
