"""Search and read memories."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Unpack, cast

from muisti.engine.runtime import Runtime
from muisti.errors import VaultFull
from muisti.model import (
    EntryType,
    Filter,
    Tier,
)
from muisti.model.argument_names import to_field_names
from muisti.ports.scope import check_owner, filter_visible, fix_scope
from muisti.recall import lookups, pipeline
from muisti.recall.filters import (
    ALL,
    FilterOptions,
    Mode,
    ScopeOptions,
    reject_source,
    to_filter,
    to_order,
    to_utc,
)
from muisti.recall.query import clean_query, validate_mode
from muisti.recall.query_embedding import count_search, start_embedding
from muisti.recall.scope import hint_for_results
from muisti.text.redact import redact_text

if TYPE_CHECKING:
    from muisti.model import (
        CompactResult,
        Explanation,
        FoundMemories,
        Memory,
        SearchResult,
        SearchResults,
    )
    from muisti.ports import Frequencies, Services

MAX_STANDING = 200
"""How many standing instructions are considered for a request."""
Listed = list
"""The built-in type: within the class, `list` is the method."""


class Search(Runtime):
    """Search and read memories, in this vault and in others that it was opened with."""

    def get(
        self,
        memory_id: str,
        *,
        include_deleted: bool = False,
        include_archived: bool = False,
        **scope: Unpack[ScopeOptions],
    ) -> Memory | None:
        """Return one memory, message or document section, or None if there is none with this id.

        `include_deleted` and `include_archived` look into the trash and the archive too. With a
        project, a user or a session: None if it is outside that scope. Raises SessionNotFound, and
        VaultFull if it may be missing only because the disk is full.
        """
        memory, is_visible = None, True
        if any(value is not None for value in scope.values()):
            where = replace(self._make_scope(scope), include_deleted=include_deleted)
            is_visible = bool(self._read(filter_visible, [memory_id], where))
        if is_visible:
            memory = self._read(
                lambda services: services.index.get(
                    memory_id, include_deleted=include_deleted, any_origin=True
                )
            )
        if memory is None and self.others is not None:
            where = self._make_scope(scope)
            elsewhere: ScopeOptions = {"project": where.project, "user": where.user}
            answers = self.others.read(
                lambda vault: vault.get(memory_id, include_deleted=include_deleted, **elsewhere)
            )
            # A session of this vault does not see what a session there does.
            hidden = Tier.SESSION if where.session_id is not None else None
            memories = (found for _, found in answers if found is not None)
            memory = next((found for found in memories if found.tier is not hidden), None)
        if memory is None and not is_visible:
            return None
        if memory is None and include_archived:
            return self._services.store.archived_memory(memory_id)
        if memory is None and self._services.lag:
            raise VaultFull(f"{memory_id} is not in the index; {self._services.lag}")
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
        where = self._make_filter(options, all_sessions=True)
        by = to_order(order_by, order)
        if self.others is None:
            return self._read(
                lambda services: services.index.select(where, order=by, limit=limit, offset=offset)
            )
        from muisti.engine.other_vaults import make_other_options, merge_lists

        end = None if limit is None else offset + limit
        own = self._read(lambda services: services.index.select(where, order=by, limit=end))
        elsewhere = make_other_options(options, where)
        answers = self.others.read(
            lambda vault: vault.list(limit=end, order_by=order_by, order=order, **elsewhere)
        )
        merged = merge_lists(
            [own, *(found for _, found in answers)],
            lambda memory: (str(getattr(memory, order_by) or ""), str(memory.created_at)),
            reverse=order == "desc",
        )
        return merged[offset:end]

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
        is by keyword only, and `degraded` of the results has the reason. A `limit` above the
        setting `max_search_limit` is reduced to it, which `hint` says. With `record=False` the
        search is not recorded as a recall, for example while the user is typing. Raises
        InvalidRequest.
        """
        capped = self._cap_limit(limit)
        results = self._search(query, capped, mode, options, to_utc("asked_at", asked_at))
        if limit is not None and limit > capped:
            hint = f"limit {limit} was reduced to {capped}, the setting max_search_limit"
            results.hint = "; ".join(filter(None, (results.hint, hint)))
        if record:
            self._record([result.memory for result in results], options.get("session_id"))
        self._meter.count("memory.retrieved.count", len(results))
        return results

    def _cap_limit(self, limit: int | None) -> int:
        """Return how many results to return at most. Raises InvalidRequest."""
        wanted = self.settings.search_limit if limit is None else lookups.validate_limit(limit)
        return min(wanted, self.settings.max_search_limit)

    def _make_filter(self, options: FilterOptions, *, all_sessions: bool = False) -> Filter:
        """Return the filter of a search or a list.

        Raises InvalidRequest, also for an unknown document, and SessionNotFound.
        """
        where = to_filter(self.settings, options, all_sessions=all_sessions)
        if where.session_id is not None:
            everywhere = options.get("project") == ALL
            where = self._read_index(fix_scope, where, all_projects=everywhere)
        if where.documents:
            self._read(lookups.check_sources, where)
        return where

    def _make_scope(self, scope: ScopeOptions) -> Filter:
        """Return the filter of a look-up by ID. Without a scope it accepts all that is there."""
        if all(value is None for value in scope.values()):
            return Filter(all_sessions=True)
        options = cast("FilterOptions", scope)
        return self._make_filter(options, all_sessions=scope.get("session_id") is None)

    def _record(self, memories: Sequence[Memory], session_id: str | None) -> None:
        """Record a recall of the memories, not of messages and documents: those do not decay."""
        ids = [
            memory.id
            for memory in memories
            if memory.origin is EntryType.MEMORY
            and (self.others is None or memory.id not in self.others.found)
        ]
        self._recall_log.record(ids, session_id)

    def _search(
        self,
        query: str,
        limit: int | None,
        mode: str,
        options: FilterOptions,
        asked_at: datetime | None = None,
    ) -> SearchResults:
        self._check_open()
        safe = clean_query(self._redact(query))
        uses_vectors = validate_mode(mode) != "keyword"
        with count_search():
            # First of all: the model takes longer than all that does not need the vector.
            started = start_embedding(self._services, safe) if mode == "hybrid" else None
            where = self._make_filter(options)

            def run(services: Services) -> SearchResults:
                if uses_vectors:
                    self._embed_missing()
                with self._meter.measure("search"):
                    return pipeline.search(services, safe, where, limit, mode, asked_at, started)

            results = self._read_index(run)
        # Only names that the caller gave may be misspelled.
        named = Filter(
            project=where.project if options.get("project") else None,
            user=where.user if options.get("user") else None,
        )
        if named.project or named.user:
            results.hint = self._read_index(hint_for_results, named, results)
        if self.others is None:
            return results
        from muisti.engine.other_vaults import make_other_options, merge_results

        elsewhere = make_other_options(options, where)
        answers, problems = self.others.ask(
            lambda vault: vault._search(query, limit, mode, elsewhere, asked_at)
        )
        own = [(str(self._services.location), results)]
        found = own + [(str(vault._services.location), theirs) for vault, theirs in answers]
        self.others.found.update(one.memory.id for _, theirs in found[1:] for one in theirs)
        self.others.found.difference_update(one.memory.id for one in results)
        return merge_results(found, limit, problems)

    def _redact(self, query: str) -> str:
        """Remove private text: the query may be sent to a remote embedder."""
        return redact_text(query, self.settings) if isinstance(query, str) else query

    def _embed_missing(self) -> None:
        """Embed what is missing, within `_read_index`. Hooks only search: nothing is done here."""

    def find_standing(
        self, query: str | None = None, **options: Unpack[FilterOptions]
    ) -> Listed[Memory]:
        """Return the standing instructions and preferences that bear on a request.

        By topic, and instructions that bear on every request; no word needs to match. Without a
        query: the instructions to know before the first request. Outdated ones are left out, and
        instructions that no person has confirmed. Raises InvalidRequest.
        """
        sources = options.get("source") or EntryType.MEMORY
        is_memory = EntryType.MEMORY in ((sources,) if isinstance(sources, str) else sources)
        if not is_memory or not self._services.settings.vault_trusted:
            return []
        where = replace(self._make_filter(options), standing=True, origins=(), documents=())
        found = self._read_index(
            lambda services: services.index.select(
                where, order="created_at_desc", limit=MAX_STANDING, offset=0
            )
        )
        if not found:
            return []
        from muisti.recall import standing  # slow to import, and most vaults have few

        now = options.get("as_of") or self._services.clock.now()
        admissible = [memory for memory in found if standing.is_admissible(memory, now)]
        if query is None:
            return standing.choose_for_start(admissible)
        return standing.choose_bearing(admissible, self._redact(query))

    def find_outdated(
        self, ids: Sequence[str], **scope: Unpack[ScopeOptions]
    ) -> dict[str, Memory | None]:
        """Return the outdated memories among these, by id, each with the memory that replaced it.

        None for a memory that only expired, or whose successor is outside the scope. Raises
        InvalidRequest.
        """
        # A successor that only its session sees is not named to others.
        where = replace(self._make_scope(scope), all_sessions=False)
        outdated = self._read(lookups.find_outdated, ids, where)
        if self.others is not None and ids:
            elsewhere: ScopeOptions = {"project": where.project, "user": where.user}
            for _, found in self.others.ask(lambda vault: vault.find_outdated(ids, **elsewhere))[0]:
                outdated = {**found, **outdated}
        return outdated

    def search_compact(
        self,
        query: str,
        *,
        limit: int | None = None,
        mode: Mode = "hybrid",
        **options: Unpack[FilterOptions],
    ) -> Listed[CompactResult]:
        """Search, but return only IDs, titles and scores. Not recorded as a recall.

        Raises InvalidRequest.
        """
        return lookups.to_compact(self._search(query, self._cap_limit(limit), mode, options))

    def timeline(
        self,
        memory_id: str,
        *,
        before: int = 5,
        after: int = 5,
        **scope: Unpack[ScopeOptions],
    ) -> Listed[CompactResult]:
        """Return the memories before and after one in its project, oldest first.

        Raises MemoryNotFound, also for one outside the scope; InvalidRequest, SessionNotFound.
        """
        where = self._make_scope(scope)
        return self._read(lookups.build_timeline, memory_id, where, before, after)

    def details(self, ids: Sequence[str], **scope: Unpack[ScopeOptions]) -> FoundMemories:
        """Return full memories by their IDs, in that order.

        Those that are gone or outside the scope are left out, and `missing` has their IDs. Raises
        InvalidRequest, also for what cannot be an ID; SessionNotFound; and VaultFull if one may be
        missing only because the disk is full.
        """
        lookups.check_ids(ids)
        found = self._read(lookups.get_details, ids, self._make_scope(scope))
        if found.missing and self.others is not None:
            # In the order of their IDs. Only what this vault has is recorded.
            self._record(found, scope.get("session_id"))
            by_id = {memory.id: memory for memory in found}
            elsewhere = {one: self.get(one, **scope) for one in found.missing}
            by_id |= {one: memory for one, memory in elsewhere.items() if memory is not None}
            there = [by_id[one] for one in dict.fromkeys(ids) if one in by_id]
            return type(found)(there, [one for one in found.missing if one not in by_id])
        if found.missing and self._services.lag:
            raise VaultFull(f"{found.missing[0]} is not in the index; {self._services.lag}")
        self._record(found, scope.get("session_id"))
        return found

    def search_by_keywords(
        self,
        keywords: Sequence[str] | None = None,
        /,
        *,
        match_all: bool = False,
        limit: int = 10,
        **options: Unpack[FilterOptions],
    ) -> Listed[Memory]:
        """Return memories with any, or all, of these keywords. Raises InvalidRequest.

        `keywords=` or `tags=` in addition are a filter: a memory must have all of those.
        """
        reject_source(options)
        if keywords is None:  # they were given by name
            keywords = to_field_names(options).get("keywords", ())
            options = {**options, "keywords": (), "tags": ()}
        where = self._make_filter(options)
        most = self._cap_limit(limit)
        found = self._read(
            lookups.search_by_keywords, keywords, where, match_all=match_all, limit=most
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
        where = self._make_filter(options)
        self._read(check_owner, memory_id, where)
        return self._read(pipeline.find_related, memory_id, where, self._cap_limit(limit))

    def explain(
        self,
        query: str,
        memory_id: str,
        *,
        mode: Mode = "hybrid",
        asked_at: datetime | None = None,
        **options: Unpack[FilterOptions],
    ) -> Explanation:
        """Explain why a memory is, or is not, among the results of a search with these options.

        Rank, score and signals are those of the search. Raises InvalidRequest, and MemoryNotFound,
        also for a memory of another user, or one that the session does not see.
        """
        from muisti.recall.explain import explain

        where = self._make_filter(options)
        self._read(check_owner, memory_id, where)
        at = to_utc("asked_at", asked_at)
        if self.others is not None and not self._read_index(
            lambda services: services.index.get(memory_id, any_origin=True)
        ):
            from muisti.engine.other_vaults import make_other_options

            if owner := self.others.find_owner(memory_id):
                elsewhere = make_other_options(options, where)
                return owner.explain(query, memory_id, mode=mode, asked_at=at, **elsewhere)
        uses_vectors = validate_mode(mode) != "keyword"

        def run(services: Services) -> Explanation:
            if uses_vectors:
                self._embed_missing()
            return explain(services, self._redact(query), memory_id, where, mode, at)

        return self._read_index(run)
