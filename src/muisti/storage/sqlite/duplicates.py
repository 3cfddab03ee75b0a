"""Finds existing memories that may duplicate a new one, with few row reads."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from muisti.model import Memory, Tier
from muisti.model.memory import PLACE
from muisti.storage.sqlite.rows import (
    FROM,
    Cell,
    decode_memory,
    fetch,
    quote_word,
    to_int,
)
from muisti.storage.sqlite.validity import OWN_END, VALID_UNTIL
from muisti.storage.sqlite.vector_spaces import to_json

if TYPE_CHECKING:
    from muisti.storage.sqlite.connect import Database


class SqliteDuplicates:
    """Implements the port DuplicateFinder."""

    _db: Database
    _columns: str

    def find_same_content(self, memory: Memory) -> Memory | None:
        """Return the oldest memory with this content and validity, or None."""
        time = f"m.valid_from IS ? AND {OWN_END} IS ? AND ({OWN_END} NOT NULL OR {_CURRENT})"
        same = f"m.content_hash = ? AND {_SAME_PLACE} AND {time}"
        sql = f"SELECT {self._columns} FROM {FROM} WHERE {same} ORDER BY m.created_at, m.id LIMIT 1"
        span = to_int(memory.valid_from), to_int(memory.valid_until)
        with self._db.read_transaction() as db:
            found = fetch(db, sql, (memory.content_hash, *_place(memory), *span))
        return decode_memory(found[0]) if found else None

    def find_known_content(self, hashes: Sequence[str]) -> set[str]:
        """Return which of these content hashes memories have."""
        with self._db.read_transaction() as db:
            return {hash_ for (hash_,) in fetch(db, _KNOWN_HASHES, (to_json(hashes),))}

    def find_near_simhash(
        self, memory: Memory, bands: Sequence[int], most_bits: int, limit: int
    ) -> dict[str, str]:
        """Return the simhash, by ID, of memories that share a band and are near."""
        if not bands:
            return {}
        from muisti.text.simhash import hamming_distance  # only saving needs it

        with self._db.read_transaction() as db:
            rows = fetch(db, _BY_BANDS, (to_json(bands), limit))
            near = [
                n for n, simhash in rows if hamming_distance(simhash, memory.simhash) <= most_bits
            ]
            return dict(fetch(db, _BY_NUMBER, (to_json(near), *_place(memory)))) if near else {}

    def find_with_words(
        self, memory: Memory, words: Sequence[str], limit: int, *, all_of_them: bool
    ) -> dict[str, str]:
        """Return the simhash, by ID, of memories with any, or all, of these words."""
        if not words:
            return {}
        match = (" AND " if all_of_them else " OR ").join(quote_word(word) for word in words)
        with self._db.read_transaction() as db:
            return dict(fetch(db, _BY_WORDS, (match, *_place(memory), limit)))

    def find_near_simhashes(
        self, memories: Sequence[Memory], most_bits: int, limit: int
    ) -> list[dict[str, str]]:
        """Return the same for each of many memories and all its bands."""
        from muisti.text.simhash import compute_bands, hamming_distance

        bands = [compute_bands(memory.simhash) for memory in memories]
        wanted = to_json({band for own in bands for band in own})
        sharing: dict[int, list[tuple[int, str]]] = defaultdict(list)
        with self._db.read_transaction() as db:
            rows = fetch(db, _OF_BANDS, (wanted, limit))
            is_complete = len(rows) < limit
            for band, n, simhash in rows:
                sharing[band].append((n, simhash))
            found = []
            for memory, own in zip(memories, bands, strict=True):
                if not is_complete:
                    found.append(self.find_near_simhash(memory, own, most_bits, limit))
                    continue
                near = [
                    n
                    for n, simhash in {row for band in own for row in sharing.get(band, ())}
                    if hamming_distance(simhash, memory.simhash) <= most_bits
                ]
                place = (to_json(near), *_place(memory))
                found.append(dict(fetch(db, _BY_NUMBER, place)) if near else {})
        return found

    def find_with_any_word(
        self, searches: Sequence[tuple[Memory, Sequence[str]]], limit: int
    ) -> list[dict[str, str]]:
        """Return the memories with any of the words, for each of many searches.

        The rows that several searches find are read once.
        """
        if len(searches) == 1:
            [(memory, words)] = searches
            return [self.find_with_words(memory, words, limit, all_of_them=False)]
        matching: list[list[int]] = []
        with self._db.read_transaction() as db:
            for _, words in searches:
                match = " OR ".join(quote_word(word) for word in words)
                rows = fetch(db, _MATCHING, (match,)) if words else []
                matching.append([n for (n,) in rows])
            numbers = to_json({n for found in matching for n in found})
            by_place: dict[tuple[str | None, ...], dict[int, tuple[str, str]]] = defaultdict(dict)
            for n, id_, simhash, session, *place in fetch(db, _PLACES, (numbers,)):
                full = (*place, session if place[0] == Tier.SESSION else None)
                by_place[full][n] = id_, simhash
        results = []
        for (memory, _), found in zip(searches, matching, strict=True):
            known = by_place.get(memory.place, {})
            results.append(dict([known[n] for n in found if n in known][:limit]))
        return results

    def get_contents(self, ids: Sequence[str]) -> dict[str, str]:
        """Return the content of memories by ID."""
        with self._db.read_transaction() as db:
            return dict(fetch(db, _CONTENTS, (to_json(ids),)))

    def filter_current(self, ids: Sequence[str]) -> list[Memory]:
        """Return the memories among these without an end of validity."""
        chosen = "m.id IN (SELECT value FROM json_each(?))"
        sql = f"SELECT {self._columns} FROM {FROM} WHERE {chosen} AND {_CURRENT}"
        with self._db.read_transaction() as db:
            found = {row[0]: decode_memory(row) for row in fetch(db, sql, (to_json(ids),))}
        return [found[id_] for id_ in ids if id_ in found]


_SAME_PLACE = " AND ".join(
    (
        *(f"+m.{name} = ?" for name in PLACE),
        "m.deleted_at IS NULL",
        "(? IS NULL OR m.session_id = ?)",
    )
)
_CURRENT = f"{VALID_UNTIL} IS NULL"
_BY_BANDS = (
    "SELECT DISTINCT n, simhash FROM bands WHERE band IN (SELECT value FROM json_each(?)) LIMIT ?"
)
_OF_BANDS = """
SELECT b.band, b.n, b.simhash FROM json_each(?) j CROSS JOIN bands b ON b.band = j.value LIMIT ?
"""
_KNOWN_HASHES = """
SELECT m.content_hash FROM json_each(?) j
CROSS JOIN entries m ON m.content_hash = j.value AND m.origin = 'memory'
"""
_MATCHING = "SELECT rowid FROM word_index WHERE word_index MATCH ?"
_PLACES = f"""
SELECT m.n, m.id, m.simhash, m.session_id, {", ".join(f"m.{name}" for name in PLACE)}
FROM json_each(?) j CROSS JOIN entries m ON m.n = j.value
WHERE m.origin = 'memory' AND m.deleted_at IS NULL
"""
_CONTENTS = """
SELECT m.id, m.content FROM json_each(?) j CROSS JOIN entries m ON m.id = j.value
"""
_BY_NUMBER = f"""
SELECT m.id, m.simhash FROM json_each(?) j JOIN memories m ON m.n = j.value WHERE {_SAME_PLACE}
"""
_BY_WORDS = f"""
SELECT m.id, m.simhash FROM word_index JOIN memories m ON m.n = word_index.rowid
WHERE word_index MATCH ? AND {_SAME_PLACE} LIMIT ?
"""


def _place(memory: Memory) -> tuple[Cell, ...]:
    """Return the values for _SAME_PLACE, which has the session twice."""
    return *memory.place, memory.place[-1]
