"""Finds existing memories that may duplicate a new one, with few row reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from muisti.model import Memory, Tier
from muisti.model.memory import PLACE
from muisti.ports.search import Frequencies
from muisti.storage.postgres.connect import Database, fetch
from muisti.storage.postgres.rows import FROM_ENTRIES, IS_MEMORY, decode_memory
from muisti.storage.row_values import to_int
from muisti.text.simhash import compute_bands, hamming_distance


class PostgresDuplicates:
    """Implements the port DuplicateFinder."""

    _db: Database
    _columns: str
    frequencies: Callable[[Sequence[str]], Frequencies]

    def find_same_content(self, memory: Memory) -> Memory | None:
        """Return the oldest memory with this content and validity, or None."""
        sql = f"""SELECT {self._columns} FROM {FROM_ENTRIES}
            WHERE {IS_MEMORY} AND m.content_hash = %s AND {_SAME_PLACE}
            AND m.valid_from IS NOT DISTINCT FROM %s AND m.own_end IS NOT DISTINCT FROM %s
            AND (m.own_end IS NOT NULL OR m.ends_at IS NULL)
            ORDER BY m.created_at, m.id LIMIT 1"""
        span = to_int(memory.valid_from), to_int(memory.valid_until)
        with self._db.read_transaction() as db:
            found = fetch(db, sql, (memory.content_hash, *_place(memory), *span))
        return decode_memory(found[0]) if found else None

    def find_known_content(self, hashes: Sequence[str]) -> set[str]:
        """Return which of these content hashes memories have."""
        sql = f"SELECT m.content_hash FROM entries m WHERE {IS_MEMORY} AND content_hash = ANY(%s)"
        with self._db.read_transaction() as db:
            return {hash_ for (hash_,) in fetch(db, sql, (list(hashes),))}

    def find_near_simhash(
        self, memory: Memory, bands: Sequence[int], most_bits: int, limit: int
    ) -> dict[str, str]:
        """Return the simhash, by ID, of memories that share a band and are near."""
        if not bands:
            return {}
        sql = "SELECT DISTINCT n, simhash FROM bands WHERE band = ANY(%s) LIMIT %s"
        with self._db.read_transaction() as db:
            rows = fetch(db, sql, (list(bands), limit))
            near = [
                n for n, simhash in rows if hamming_distance(simhash, memory.simhash) <= most_bits
            ]
            return dict(fetch(db, _BY_NUMBER, (near, *_place(memory)))) if near else {}

    def find_with_words(
        self, memory: Memory, words: Sequence[str], limit: int, *, all_of_them: bool
    ) -> dict[str, str]:
        """Return the simhash, by ID, of memories with any, or all, of these words."""
        if not words:
            return {}
        wanted = list(dict.fromkeys(words))
        least = len(wanted) if all_of_them else 1
        with self._db.read_transaction() as db:
            return dict(fetch(db, _BY_WORDS, (wanted, least, *_place(memory), limit)))

    def find_near_simhashes(
        self, memories: Sequence[Memory], most_bits: int, limit: int
    ) -> list[dict[str, str]]:
        """Return the same for each of many memories and all its bands."""
        bands = [compute_bands(memory.simhash) for memory in memories]
        wanted = list({band for own in bands for band in own})
        sharing: dict[int, set[tuple[int, str]]] = {}
        with self._db.read_transaction() as db:
            rows = fetch(
                db,
                "SELECT band, n, simhash FROM bands WHERE band = ANY(%s) LIMIT %s",
                (wanted, limit),
            )
            for band, n, simhash in rows:
                sharing.setdefault(band, set()).add((n, simhash))
            found = []
            for memory, own in zip(memories, bands, strict=True):
                if len(rows) >= limit:  # some are missing
                    found.append(self.find_near_simhash(memory, own, most_bits, limit))
                    continue
                near = [
                    n
                    for n, simhash in {row for band in own for row in sharing.get(band, ())}
                    if hamming_distance(simhash, memory.simhash) <= most_bits
                ]
                place = (near, *_place(memory))
                found.append(dict(fetch(db, _BY_NUMBER, place)) if near else {})
        return found

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
        wanted = list({word for _, words in searches for word in words})
        having: dict[str, list[int]] = {}
        with self._db.read_transaction() as db:
            sql = "SELECT word, n FROM postings WHERE word = ANY(%s) ORDER BY n"
            for word, n in fetch(db, sql, (wanted,)):
                having.setdefault(word, []).append(n)
            numbers = list({n for found in having.values() for n in found})
            known = {
                n: (id_, simhash, (*place, session if place[0] == Tier.SESSION else None))
                for n, id_, simhash, session, *place in fetch(db, _PLACES, (numbers,))
            }
        results = []
        for memory, words in searches:
            matching = sorted({n for word in words for n in having.get(word, ())})
            same = [known[n] for n in matching if n in known and known[n][2] == memory.place]
            results.append({id_: simhash for id_, simhash, _ in same[:limit]})
        return results

    def get_contents(self, ids: Sequence[str]) -> dict[str, str]:
        """Return the content of memories by ID."""
        with self._db.read_transaction() as db:
            return dict(
                fetch(db, "SELECT id, content FROM entries WHERE id = ANY(%s)", (list(ids),))
            )

    def filter_current(self, ids: Sequence[str]) -> list[Memory]:
        """Return the memories among these without an end of validity."""
        sql = f"""SELECT {self._columns} FROM {FROM_ENTRIES}
                  WHERE {IS_MEMORY} AND m.id = ANY(%s) AND m.ends_at IS NULL"""
        with self._db.read_transaction() as db:
            found = {row[0]: decode_memory(row) for row in fetch(db, sql, (list(ids),))}
        return [found[id_] for id_ in ids if id_ in found]


_SAME_PLACE = " AND ".join(
    (
        *(f"m.{name} = %s" for name in PLACE),
        "m.deleted_at IS NULL",
        "(%s::text IS NULL OR m.session_id = %s)",
    )
)
_BY_NUMBER = f"""
SELECT m.id, m.simhash FROM entries m WHERE m.n = ANY(%s) AND {IS_MEMORY} AND {_SAME_PLACE}
"""
_BY_WORDS = f"""
SELECT m.id, m.simhash FROM (
    SELECT n FROM postings WHERE word = ANY(%s) GROUP BY n HAVING count(*) >= %s
) p JOIN entries m USING (n) WHERE {IS_MEMORY} AND {_SAME_PLACE} ORDER BY m.n LIMIT %s
"""
_PLACES = f"""
SELECT m.n, m.id, m.simhash, m.session_id, {", ".join(f"m.{name}" for name in PLACE)}
FROM entries m WHERE m.n = ANY(%s) AND {IS_MEMORY} AND m.deleted_at IS NULL
"""


def _place(memory: Memory) -> tuple[Any, ...]:
    """Return the values for _SAME_PLACE, which has the session twice."""
    *fields, session = memory.place
    return *map(str, fields), session, session
