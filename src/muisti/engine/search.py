"""Search and read memories."""

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
from muisti.recall import lookups, pipeline
from muisti.recall.filters import FilterOptions, Mode, reject_source, to_filter, to_order, to_utc
from muisti.recall.query import validate_mode
from muisti.text.redact import redact_text

if TYPE_CHECKING:
    from muisti.ports import Frequencies

Listed = list
"""The built-in type: within the class, `list` is the method."""


class Search(Runtime):
    """Search and read memories."""

    def get(
        self, memory_id: str, *, include_deleted: bool = False, include_archived: bool = False
    ) -> Memory | None:
        """Return one memory, message or document section, or None if there is none with this id.

        `include_deleted` and `include_archived` look into the trash and the archive too.
        """
        memory = self._read(
            lambda services: services.index.get(
                memory_id, include_deleted=include_deleted, any_origin=True
            )
        )
        if memory is None and include_archived:
            return self._services.store.archived_memory(memory_id)
        return memory

    def list(
        self,
        *,
        limit: int | None = 100,
        offset: int = 0,
        order_by: str = "created_at",
        order: str = "desc",
        **options: Unpack[FilterOptions],
    ) -> Listed[Memory]:
        """Return memories of all sessions, sorted. Raises InvalidRequest."""
        lookups.check_page(limit, offset)
        reject_source(options)
        where = to_filter(self.settings, options, all_sessions=True)
        by = to_order(order_by, order)
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
        """Return the memories that match a query, best first, with score, snippet and reasons.

        Messages and document sections are included; the option `source` restricts the results.
        "Yesterday" in the query is relative to `asked_at`, or to now. Without embeddings the search
        is by keyword only, and `degraded` of the results has the reason. With `record=False` the
        search is not recorded as a recall, for example while the user is typing. Raises
        InvalidRequest.
        """
        results = self._search(query, limit, mode, options, to_utc("asked_at", asked_at))
        if record:
            self._record([result.memory for result in results], options.get("session_id"))
        self._meter.count("memory.retrieved.count", len(results))
        return results

    def _make_filter(self, options: FilterOptions) -> Filter:
        """Return the filter of a search. Raises InvalidRequest, also for an unknown document."""
        where = to_filter(self.settings, options)
        if where.documents:
            self._read(lookups.check_sources, where.documents)
        return where

    def _record(self, memories: Sequence[Memory], session_id: str | None) -> None:
        """Record a recall of the memories, not of messages and documents: those do not decay."""
        ids = [memory.id for memory in memories if memory.origin is EntryType.MEMORY]
        self._recall_log.record(ids, session_id)

    def _search(
        self,
        query: str,
        limit: int | None,
        mode: str,
        options: FilterOptions,
        asked_at: datetime | None = None,
    ) -> SearchResults:
        where = self._make_filter(options)
        if validate_mode(mode) != "keyword":
            self._embed_missing()
        safe = self._redact(query)
        with self._meter.measure("search"):
            return self._read_index(pipeline.search, safe, where, limit, mode, asked_at)

    def _redact(self, query: str) -> str:
        """Remove private text: the query may be sent to a remote embedder."""
        return redact_text(query, self.settings) if isinstance(query, str) else query

    def _embed_missing(self) -> None:
        """Embed what is missing. Hooks only search, so this does nothing here."""

    def context(
        self, query: str, *, budget: int = 2000, limit: int = 20, **options: Unpack[FilterOptions]
    ) -> str:
        """Return core memory and the best memories as one block for a prompt, fenced as data.

        It has at most `budget` tokens. Raises InvalidRequest if core memory alone does not fit.
        """
        if isinstance(budget, bool) or not isinstance(budget, int) or budget < 1:
            raise InvalidRequest("budget", budget, "must be a number of tokens of at least 1")
        if not options.get("source"):
            # Not messages: the prompt has the conversation itself.
            options = {**options, "source": (EntryType.MEMORY, EntryType.DOCUMENT)}
        from muisti.recall.prompt_context import compose_context

        results = self.search(query, limit=limit, **options)
        memories = [result.memory for result in results]
        return compose_context(self._services.store.core(), memories, budget)

    def get_relevant_memories(self, session_id: str, query: str, limit: int = 5) -> Listed[Memory]:
        """Return the memories that match a query, best first.

        Those of the session, of its project and global ones.
        """
        results = self.search(query, limit=limit, session_id=session_id, source=EntryType.MEMORY)
        return [result.memory for result in results]

    def build_memory_context(self, memories: Sequence[Memory]) -> str:
        """Return memories as a list for a system prompt, each with kind and importance."""
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
        """Search, but return only IDs, titles and scores. Not recorded as a recall."""
        return lookups.to_compact(self._search(query, limit, mode, options))

    def timeline(self, memory_id: str, *, before: int = 5, after: int = 5) -> Listed[CompactResult]:
        """Return the memories before and after one in its project, oldest first.

        Raises MemoryNotFound, InvalidRequest.
        """
        return self._read(lookups.build_timeline, memory_id, before, after)

    def details(self, ids: Sequence[str], *, session_id: str | None = None) -> Listed[Memory]:
        """Return full memories by their ids. Raises MemoryNotFound."""
        found = self._read(lookups.get_details, ids)
        self._record(found, session_id)
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
        """Return memories with any, or all, of these keywords. Raises InvalidRequest."""
        reject_source(options)
        where = to_filter(self.settings, options)
        found = self._read(
            lookups.search_by_keywords, keywords, where, match_all=match_all, limit=limit
        )
        self._record(found, options.get("session_id"))
        return found

    def word_frequencies(self, words: Sequence[str]) -> Frequencies:
        """Return in how many texts each of these index words occurs."""
        return self._read_index(lambda services: services.index.frequencies(words))

    def related(
        self, memory_id: str, *, limit: int = 10, **options: Unpack[FilterOptions]
    ) -> Listed[SearchResult]:
        """Return memories that share distinctive words with one, or are similar in meaning.

        Raises MemoryNotFound, InvalidRequest.
        """
        return self._read(pipeline.find_related, memory_id, self._make_filter(options), limit)

    def explain(
        self, query: str, memory_id: str, *, mode: Mode = "hybrid", **options: Unpack[FilterOptions]
    ) -> Explanation:
        """Explain why a memory is, or is not, among the results. Raises MemoryNotFound."""
        from muisti.recall.explain import explain

        where = self._make_filter(options)
        self._embed_missing()
        return self._read(explain, self._redact(query), memory_id, where, mode)
