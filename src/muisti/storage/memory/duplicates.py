"""Finds existing memories that may duplicate a new one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from muisti.model import Memory
from muisti.ports.search import Frequencies
from muisti.storage.memory.tables import Entry
from muisti.storage.memory.view import View
from muisti.text.simhash import compute_bands, hamming_distance


class MemoryDuplicates:
    """Implements the port DuplicateFinder."""

    view: Callable[[], View]
    frequencies: Callable[[Sequence[str]], Frequencies]

    def find_same_content(self, memory: Memory) -> Memory | None:
        """Return the oldest memory with this content and validity, or None."""
        view = self.view()
        tables = view.tables
        known = [tables.entries[id_] for id_ in tables.by_hash[memory.content_hash]]
        span = memory.valid_from, memory.valid_until
        same = []
        for entry in known:
            known_span = entry.memory.valid_from, view.own_end(entry.memory)
            if known_span != span or not _is_same_scope(entry, memory):
                continue
            if memory.valid_until is not None or view.valid_until(entry) is None:
                same.append(entry)
        first = min(same, key=lambda entry: (entry.created_at, entry.number), default=None)
        return None if first is None else view.memory(first)

    def find_known_content(self, hashes: Sequence[str]) -> set[str]:
        """Return which of these content hashes memories have."""
        by_hash = self.view().tables.by_hash
        return {hash_ for hash_ in hashes if by_hash[hash_]}

    def find_near_simhash(
        self, memory: Memory, bands: Sequence[int], most_bits: int, limit: int
    ) -> dict[str, str]:
        """Return the simhash, by ID, of memories that share a band and are near."""
        tables = self.view().tables
        sharing = list(dict.fromkeys(id_ for band in bands for id_ in tables.bands[band]))[:limit]
        found = {}
        for id_ in sharing:
            entry = tables.entries[id_]
            distance = hamming_distance(entry.memory.simhash, memory.simhash)
            if distance <= most_bits and _is_same_scope(entry, memory):
                found[id_] = entry.memory.simhash
        return found

    def find_with_words(
        self, memory: Memory, words: Sequence[str], limit: int, *, all_of_them: bool
    ) -> dict[str, str]:
        """Return the simhash, by ID, of memories with any, or all, of these words."""
        tables = self.view().tables
        sets = [set(tables.postings[word]) for word in words]
        if not sets:
            return {}
        found = set.intersection(*sets) if all_of_them else set.union(*sets)
        entries = sorted((tables.entries[id_] for id_ in found), key=lambda entry: entry.number)
        same = [entry.memory for entry in entries if _is_same_scope(entry, memory)]
        return {known.id: known.simhash for known in same[:limit]}

    def find_near_simhashes(
        self, memories: Sequence[Memory], most_bits: int, limit: int
    ) -> list[dict[str, str]]:
        """Return the same for each of many memories and all its bands."""
        return [
            self.find_near_simhash(memory, compute_bands(memory.simhash), most_bits, limit)
            for memory in memories
        ]

    def count_texts(self, words: Sequence[str], memories: int) -> Mapping[str, int]:
        """Return in how many texts each of these words occurs."""
        return self.frequencies(words).counts

    def find_with_any_word(
        self,
        searches: Sequence[tuple[Memory, Sequence[str]]],
        limit: int,
        most_bits: Sequence[int] = (),
    ) -> list[dict[str, str]]:
        """Return the memories with any of the words, for each of many searches."""
        return [
            self.find_with_words(memory, words, limit, all_of_them=False)
            for memory, words in searches
        ]

    def get_contents(self, ids: Sequence[str]) -> dict[str, str]:
        """Return the content of memories by ID."""
        entries = self.view().tables.entries
        return {id_: entries[id_].memory.content for id_ in ids if id_ in entries}

    def filter_current(self, ids: Sequence[str]) -> list[Memory]:
        """Return the memories among these without an end of validity."""
        view = self.view()
        found = [view.tables.entries[id_] for id_ in ids if id_ in view.tables.entries]
        return [
            view.memory(entry)
            for entry in found
            if entry.is_memory and view.valid_until(entry) is None
        ]


def _is_same_scope(entry: Entry, memory: Memory) -> bool:
    known = entry.memory
    if not entry.is_memory or known.deleted_at is not None:
        return False
    if known.place[:-1] != memory.place[:-1]:
        return False
    return memory.place[-1] is None or known.session_id == memory.session_id
