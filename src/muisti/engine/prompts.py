"""Memories for a prompt."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

from muisti.engine.search import Listed, Search
from muisti.errors import InvalidRequest
from muisti.model import EntryType, Memory, Problem, SearchResult
from muisti.model.validity import is_outdated
from muisti.recall import lookups
from muisti.recall.filters import FilterOptions


class Prompts(Search):
    """Memories for a prompt: only good matches that are still true."""

    def context(
        self,
        query: str,
        *,
        budget: int = 2000,
        limit: int = 20,
        include_outdated: bool = False,
        **options: Unpack[FilterOptions],
    ) -> str:
        """Return core memory and the best memories as one block for a prompt, fenced as data.

        Weak matches are left out. Standing instructions and preferences that bear on the query have
        their own section, even if no word matches. It has at most `budget` tokens. Outdated
        memories are left out unless `include_outdated`; then they are marked. A broken file of core
        memory is left out and named. Raises InvalidRequest if core memory alone does not fit.
        """
        if isinstance(budget, bool) or not isinstance(budget, int) or budget < 1:
            raise InvalidRequest("budget", budget, "must be a number of tokens of at least 1")
        if not options.get("source"):
            # Not messages: the prompt has the conversation itself.
            options = {**options, "source": (EntryType.MEMORY, EntryType.DOCUMENT)}
        from muisti.recall.prompt_context import compose_context

        results = self._search_for_prompt(query, limit, options, include_outdated=include_outdated)
        memories = [result.memory for result in results]
        standing = self.find_standing(query, **options)
        outdated = {one.memory.id: one.superseded_by or "" for one in results if one.outdated}
        broken: list[Problem] = []
        core = self._services.store.core(self._make_filter(options).user or "", broken)
        trusted = self._services.settings.vault_trusted
        return compose_context(
            core, memories, budget, outdated, broken, trusted=trusted, standing=standing
        )

    def get_relevant_memories(
        self,
        session_id: str,
        query: str,
        limit: int | None = None,
        *,
        include_outdated: bool = False,
    ) -> Listed[Memory]:
        """Return the memories that match a query, best first, without weak matches.

        If there is room, standing instructions and preferences that bear on it follow. At most
        `limit`, by default the setting `context_limit`. Those of the session, of its project and
        global ones, as far as they belong to the session's user or to none. Outdated ones are left
        out unless `include_outdated`. Raises SessionNotFound, InvalidRequest.
        """
        options: FilterOptions = {"session_id": session_id, "source": EntryType.MEMORY}
        most = self.settings.context_limit if limit is None else limit
        results = self._search_for_prompt(query, most, options, include_outdated=include_outdated)
        found = {result.memory.id: result.memory for result in results}
        for one in self.find_standing(query, **options):
            if len(found) < most:
                found.setdefault(one.id, one)
        return list(found.values())

    def _search_for_prompt(
        self, query: str, limit: int, options: FilterOptions, *, include_outdated: bool
    ) -> Listed[SearchResult]:
        """Return good matches that are still true, and record those as recalled."""
        wants_outdated = include_outdated or options.get("as_of") is not None
        limit = self._cap_limit(limit)
        # Outdated memories come with their successors: look for more, so that enough are left.
        more = min(2 * limit, lookups.MAX_LIMIT)
        results = self._search(query, more, "hybrid", options)
        good = [result for result in results if not result.weak]
        current = [result for result in good if wants_outdated or not result.outdated][:limit]
        self._record([result.memory for result in current], options.get("session_id"))
        self._meter.count("memory.retrieved.count", len(current))
        return current

    def build_memory_context(
        self, memories: Sequence[Memory], *, include_outdated: bool = False
    ) -> str:
        """Return memories as a list for a system prompt, each with kind and importance.

        Those that no human has confirmed follow the others, below a line with their source.
        Outdated ones are left out unless `include_outdated`; then they are marked likewise.
        """
        from muisti.recall.prompt_context import format_list

        now = self._services.clock.now()
        if not include_outdated:
            memories = [memory for memory in memories if not is_outdated(memory, now)]
        return format_list(memories, now)
