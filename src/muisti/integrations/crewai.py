"""A storage for CrewAI's memory, with its records in a vault.

with Muisti.open("~/notes") as memory:
    storage = MuistiStorage(memory)
    crew = Crew(…, memory=Memory(storage=storage, embedder=storage.embed))
"""

from __future__ import annotations

import hashlib
import sys
import threading
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Self

from rapidfuzz.fuzz import token_sort_ratio

from muisti.engine import Muisti
from muisti.engine.other_vaults import use_own_vault
from muisti.errors import InvalidRequest
from muisti.integrations import crewai_records as codec
from muisti.integrations.frameworks import in_thread, require
from muisti.model import Memory
from muisti.recall.filters import ALL, FilterOptions

require("crewai", "1.15", "crewai")

from crewai.memory.storage.backend import StorageBackend  # noqa: E402
from crewai.memory.types import MemoryRecord, ScopeInfo  # noqa: E402

MOST_TEXTS = 10_000
"""How many texts that were embedded can be searched for: the latest."""
SAME_WORDS, OTHER_FACTOR = 70, 0.8
"""CrewAI asks its model to merge records that score 0.85 or more. Only those that share so many
words with the query, in percent, may reach that. The score of others has the factor."""


class MuistiStorage(StorageBackend):
    """Stores records as memories of a project and a user; those of the settings, if none are given.

    CrewAI gives a storage the vector of a query, not its text. `embed` returns vectors by which the
    storage finds the text again, and the vault searches with its own embedder.
    """

    def __init__(
        self, memory: Muisti, *, project: str | None = None, user: str | None = None
    ) -> None:
        self._memory = memory
        self._project = memory.settings.project if project is None else project
        self._user = memory.settings.user if user is None else user
        self._lock = threading.Lock()
        self._texts: dict[int, str] = {}

    def __deepcopy__(self, memo: object) -> Self:
        """Return the storage itself: copies of a crew share their memory."""
        return self

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return a vector for each text. Those of different texts are not similar."""
        digests = [hashlib.sha256(text.encode(errors="surrogatepass")).digest() for text in texts]
        vectors = [[byte / 127.5 - 1 for byte in digest] for digest in digests]
        with self._lock:
            for vector, text in zip(vectors, texts, strict=True):
                self._texts.pop(hash(tuple(vector)), None)  # so that it is the latest again
                self._texts[hash(tuple(vector))] = text
            for key in list(self._texts)[: -max(MOST_TEXTS, len(texts))]:
                del self._texts[key]
        return vectors

    def save(self, records: list[MemoryRecord]) -> None:
        """Store records. They replace stored ones with the same ID. Raises InvalidMemory."""
        scope = (self._memory.settings, self._project, self._user)
        drafts = {record.id: codec.encode_record(record, *scope) for record in records}
        with self._lock:
            known = {id_: self._find(codec.make_uri(id_)) for id_ in drafts}
            new = [draft for id_, draft in drafts.items() if not known[id_]]
            self._memory.save_batch(new, merge=False)
            for id_, draft in drafts.items():
                for memory in known[id_][:1]:
                    self._memory.update(
                        memory.id,
                        content=draft.content,
                        title=draft.title or "",
                        importance=draft.importance or 0.0,
                        categories=draft.categories,
                        files=draft.files,
                        trusted=memory.trusted and memory.content == draft.content,
                    )
                for memory in known[id_][1:]:  # two processes created it at the same time
                    self._memory.delete(memory.id)

    def update(self, record: MemoryRecord) -> None:
        """Replace the record with the same ID. Raises InvalidMemory."""
        self.save([record])

    def search(
        self,
        query_embedding: list[float],
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        metadata_filter: dict[str, Any] | None = None,
        limit: int = 10,
        min_score: float = 0.0,
    ) -> list[tuple[MemoryRecord, float]]:
        """Return records with scores, best first. Raises InvalidRequest for another's vector."""
        text = self._texts.get(hash(tuple(query_embedding)))
        if text is None:
            reason = "must be the storage's: Memory(storage=storage, embedder=storage.embed)"
            raise InvalidRequest("embedder", "", reason)
        most = self._memory.settings.max_search_limit
        where = self._make_filter(codec.make_scope_uris(scope_prefix)[-1])
        found = []
        with use_own_vault(self._memory):
            results = self._memory.search(text, limit=most, record=False, **where)
        for result in results:
            record = codec.decode_record(result.memory)
            if self._owns(result.memory) and codec.matches(record, categories, metadata_filter):
                is_same = token_sort_ratio(text, record.content) >= SAME_WORDS
                found.append((record, result.score * (1 if is_same else OTHER_FACTOR)))
        found.sort(key=lambda one: -one[1])
        return [one for one in found if one[1] >= min_score][: max(limit, 0)]

    def delete(
        self,
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        record_ids: list[str] | None = None,
        older_than: datetime | None = None,
        metadata_filter: dict[str, Any] | None = None,
    ) -> int:
        """Move the records that meet all criteria to the vault's trash, and return how many."""
        scope = codec.make_scope_uris(scope_prefix)[-1]
        wanted = [[]] if record_ids is None else [[codec.make_uri(id_)] for id_ in set(record_ids)]
        deleted = set()
        for memory in [memory for uris in wanted for memory in self._find(scope, *uris)]:
            record = codec.decode_record(memory)
            is_old = older_than is None or record.created_at < codec.to_naive(older_than)
            if is_old and codec.matches(record, categories, metadata_filter):
                self._memory.delete(memory.id)
                deleted.add(record.id)
        return len(deleted)

    def touch_records(self, record_ids: list[str]) -> None:
        """Record that records were recalled."""
        for id_ in record_ids:
            for memory in self._find(codec.make_uri(id_)):
                self._memory.touch(memory.id)

    def get_record(self, record_id: str) -> MemoryRecord | None:
        """Return a record, or None."""
        found = self._find(codec.make_uri(record_id))
        return codec.decode_record(found[0]) if found else None

    def list_records(
        self, scope_prefix: str | None = None, limit: int = 200, offset: int = 0
    ) -> list[MemoryRecord]:
        """Return the records of a scope and of those below it, the newest first."""
        found = self._find(codec.make_scope_uris(scope_prefix)[-1])
        records = {record.id: record for record in map(codec.decode_record, reversed(found))}
        newest = list(reversed(records.values()))
        return newest[offset : offset + limit] if limit > 0 and offset >= 0 else []

    def get_scope_info(self, scope: str) -> ScopeInfo:
        """Return what is in a scope and below it."""
        return codec.describe_scope(scope, self.list_records(scope, sys.maxsize))

    def list_scopes(self, parent: str = "/") -> list[str]:
        """Return the scopes directly below one."""
        return self.get_scope_info(parent).child_scopes

    def list_categories(self, scope_prefix: str | None = None) -> dict[str, int]:
        """Return how many records each category has."""
        records = self.list_records(scope_prefix, sys.maxsize)
        return dict(Counter(name for record in records for name in record.categories))

    def count(self, scope_prefix: str | None = None) -> int:
        """Return how many records a scope and those below it have."""
        return len(self.list_records(scope_prefix, sys.maxsize))

    def reset(self, scope_prefix: str | None = None) -> None:
        """Move the records of a scope and of those below it to the vault's trash."""
        self.delete(scope_prefix)

    asave, asearch, adelete = in_thread(save), in_thread(search), in_thread(delete)

    def _make_filter(self, *uris: str) -> FilterOptions:
        return {"files": uris, "project": self._project or ALL, "user": self._user}

    def _owns(self, memory: Memory) -> bool:
        return (memory.project, memory.user) == (self._project, self._user)

    def _find(self, *uris: str) -> list[Memory]:
        """Return the memories of the records that have all of these addresses, newest first."""
        with use_own_vault(self._memory):
            found = self._memory.list(limit=None, **self._make_filter(*uris))
        return list(filter(self._owns, found))


__all__ = ["MuistiStorage"]
