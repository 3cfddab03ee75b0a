"""Finds memories that may say what a new one says."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from muisti.model import Memory
from muisti.storage.memory.tables import Entry
from muisti.storage.memory.view import View
from muisti.text.simhash import hamming_distance


class MemoryDuplicates:
    """Looks by content, by simhash and by words, in the scope of a memory."""

    view: Callable[[], View]

    def find_same_content(self, memory: Memory) -> Memory | None:
        """The memory with exactly this content and validity; of several the oldest."""
        view = self.view()
        tables = view.tables
        known = [tables.entries[id_] for id_ in tables.by_hash[memory.content_hash]]
        same = [
            entry
            for entry in known
            if _is_same_scope(entry, memory)
            and (entry.memory.valid_from, entry.memory.valid_until)
            == (memory.valid_from, memory.valid_until)
            and (memory.valid_until is not None or view.valid_until(entry) is None)
        ]
        first = min(same, key=lambda entry: (entry.created_at, entry.number), default=None)
        return None if first is None else view.memory(first)

    def find_near_simhash(
        self, memory: Memory, bands: Sequence[int], most_bits: int, limit: int
    ) -> dict[str, str]:
        """Id → simhash of memories that share a band and differ in at most so many bits."""
        tables = self.view().tables
        sharing = list(dict.fromkeys(id_ for band in bands for id_ in tables.bands[band]))[:limit]
        entries = [tables.entries[id_] for id_ in sharing]
        return {
            entry.memory.id: entry.memory.simhash
            for entry in entries
            if hamming_distance(entry.memory.simhash, memory.simhash) <= most_bits
            and _is_same_scope(entry, memory)
        }

    def find_with_words(
        self, memory: Memory, words: Sequence[str], limit: int, *, all_of_them: bool
    ) -> dict[str, str]:
        """Id → simhash of memories that have any, or all, of these words."""
        tables = self.view().tables
        sets = [set(tables.postings[word]) for word in words]
        if not sets:
            return {}
        found = set.intersection(*sets) if all_of_them else set.union(*sets)
        entries = sorted((tables.entries[id_] for id_ in found), key=lambda entry: entry.number)
        same = [entry.memory for entry in entries if _is_same_scope(entry, memory)]
        return {one.id: one.simhash for one in same[:limit]}

    def filter_current(self, ids: Sequence[str]) -> list[Memory]:
        """Those of these that are neither superseded nor expired."""
        view = self.view()
        found = [view.tables.entries[id_] for id_ in ids if id_ in view.tables.entries]
        return [
            view.memory(entry)
            for entry in found
            if entry.is_memory and view.valid_until(entry) is None
        ]


def _is_same_scope(entry: Entry, memory: Memory) -> bool:
    one = entry.memory
    if not entry.is_memory or one.deleted_at is not None or one.place[:-1] != memory.place[:-1]:
        return False
    return memory.place[-1] is None or one.session_id == memory.session_id
