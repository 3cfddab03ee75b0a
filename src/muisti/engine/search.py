"""Finding and reading memories."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Unpack

from muisti.engine.runtime import Runtime
from muisti.errors import InvalidRequest
from muisti.model import (
    CompactResult,
    EntryType,
    Explanation,
    Filter,
    Memory,
    SearchResult,
    SearchResults,
)
from muisti.recall import lookups
from muisti.recall import pipeline as recalling
from muisti.recall.filters import FilterOptions, Mode, only_memories, to_filter, to_moment, to_order
from muisti.text.redact import redact_text

if TYPE_CHECKING:
    from muisti.ports import Frequencies

Listed = list
"""The built-in type: inside the class `list` is the method."""


class Search(Runtime):
    """Finding and reading memories."""

    def get(
        self, memory_id: str, *, include_deleted: bool = False, include_archived: bool = False
    ) -> Memory | None:
        """One memory, or None; by the id that a search answered also a message, or a section of a document.

        Include deleted: from the trash too; include archived: from the archive, where no search looks.
        """
        found = self._read(
            lambda services: services.index.get(
                memory_id, include_deleted=include_deleted, any_origin=True
            )
        )
        return (
            self._services.store.archived_memory(memory_id)
            if found is None and include_archived
            else found
        )

    def list(
        self,
        *,
        limit: int | None = 100,
        offset: int = 0,
        order_by: str = "created_at",
        order: str = "desc",
        **options: Unpack[FilterOptions],
    ) -> Listed[Memory]:
        """Memories of all sessions, sorted. Raises InvalidRequest."""
        lookups.check_page(limit, offset)
        only_memories(options)
        where, by = to_filter(self.settings, options, all_sessions=True), to_order(order_by, order)
        return self._read(
            lambda services: services.index.select(where, order=by, limit=limit, offset=offset)
        )

    def search(
        self,
        query: str,
        *,
        limit: int | None = None,
        mode: Mode = "hybrid",
        asked_at: datetime | None = None,
        record: bool = True,
        **options: Unpack[FilterOptions],
    ) -> SearchResults:
        """The memories that answer a query, best first, each with a score, a snippet and the reasons.

        Messages of conversations and sections of documents are found too: `source` says which, and narrows to some.
        `asked_at` says from when on "yesterday" and "last week" count back; unset: from now.
        Where the vectors cannot be asked, the answer goes by keyword, and its `degraded` says why.
        `record` off: it does not count as recall, as for somebody who is still typing.
        """
        results = self._searched(query, limit, mode, options, to_moment("asked_at", asked_at))
        if record:
            self._note([result.memory for result in results], options.get("session_id"))
        self._meter.count("memory.retrieved.count", len(results))
        return results

    def _filter(self, options: FilterOptions) -> Filter:
        """What narrows a search, with names of documents that there are."""
        where = to_filter(self.settings, options)
        if where.documents:
            self._read(lookups.check_sources, where.documents)
        return where

    def _note(self, memories: Sequence[Memory], session_id: str | None) -> None:
        """That they were recalled. Messages and documents do not fade, so that nothing is noted of them."""
        self._recall_log.note(
            [memory.id for memory in memories if memory.origin is EntryType.MEMORY], session_id
        )

    def _searched(
        self,
        query: str,
        limit: int | None,
        mode: str,
        options: FilterOptions,
        asked_at: datetime | None = None,
    ) -> SearchResults:
        where = self._filter(options)
        if recalling.validate_mode(mode) != "keyword":
            self._embed_missing()
        with self._meter.measure("search"):
            return self._answer(recalling.search, self._redact(query), where, limit, mode, asked_at)

    def _redact(self, query: str) -> str:
        """A question may be sent to an embedder: what is private in it is not."""
        return redact_text(query, self.settings) if isinstance(query, str) else query

    def _embed_missing(self) -> None:
        """Give vectors to what lacks them. Here nothing can: a vault that is only read is searched with what it has."""

    def context(
        self, query: str, *, budget: int = 2000, limit: int = 20, **options: Unpack[FilterOptions]
    ) -> str:
        """Core memory and the best memories as one block for a prompt, fenced as data, within a budget of tokens.

        Raises InvalidRequest if not even core memory fits.
        """
        if isinstance(budget, bool) or not isinstance(budget, int) or budget < 1:
            raise InvalidRequest("budget", budget, "must be a number of tokens of at least 1")
        if not options.get("source"):
            options = {
                **options,
                "source": (EntryType.MEMORY, EntryType.DOCUMENT),
            }  # what was said stands in the chat itself
        from muisti.recall.prompt_context import compose_context

        found = self.search(query, limit=limit, **options)
        return compose_context(
            self._services.store.core(), [result.memory for result in found], budget
        )

    def get_relevant_memories(self, session_id: str, query: str, limit: int = 5) -> Listed[Memory]:
        """The memories that help a session to answer, best first: its own, its project's and everybody's."""
        return [
            result.memory
            for result in self.search(
                query, limit=limit, session_id=session_id, source=EntryType.MEMORY
            )
        ]

    def build_memory_context(self, memories: Sequence[Memory]) -> str:
        """Memories as a list for a system prompt, each on one line with its kind and importance."""
        from muisti.recall.prompt_context import format_list

        return format_list(memories)

    def search_compact(
        self,
        query: str,
        *,
        limit: int | None = None,
        mode: Mode = "hybrid",
        **options: Unpack[FilterOptions],
    ) -> Listed[CompactResult]:
        """The first of three layers: ids, titles and scores to choose from. Counts as no recall."""
        return lookups.to_compact(self._searched(query, limit, mode, options))

    def timeline(self, memory_id: str, *, before: int = 5, after: int = 5) -> Listed[CompactResult]:
        """The second layer: what came before and after in the same project."""
        return self._read(lookups.timeline, memory_id, before, after)

    def details(self, ids: Sequence[str], *, session_id: str | None = None) -> Listed[Memory]:
        """The third layer: whole memories. Raises MemoryNotFound."""
        found = self._read(lookups.details, ids)
        self._note(found, session_id)
        return found

    def search_by_keywords(
        self,
        keywords: Sequence[str],
        /,
        *,
        match_all: bool = False,
        limit: int = 10,
        **options: Unpack[FilterOptions],
    ) -> Listed[Memory]:
        """Memories that carry any, or all, of these keywords."""
        only_memories(options)
        where = to_filter(self.settings, options)
        found = self._read(
            lookups.search_by_keywords, keywords, where, match_all=match_all, limit=limit
        )
        self._note(found, options.get("session_id"))
        return found

    def word_frequencies(self, words: Sequence[str]) -> Frequencies:
        """Return in how many texts each of these index words occurs."""
        return self._answer(lambda services: services.index.frequencies(words))

    def related(
        self, memory_id: str, *, limit: int = 10, **options: Unpack[FilterOptions]
    ) -> Listed[SearchResult]:
        """Memories that share the most telling words with this one, or are near it in meaning."""
        return self._read(recalling.find_related, memory_id, self._filter(options), limit)

    def explain(
        self, query: str, memory_id: str, *, mode: Mode = "hybrid", **options: Unpack[FilterOptions]
    ) -> Explanation:
        """Why this memory is, or is not, an answer to the query."""
        from muisti.recall.explain import explain

        where = self._filter(options)
        self._embed_missing()
        return self._read(explain, self._redact(query), memory_id, where, mode)
