"""Finds existing memories that may duplicate a new one, with few row reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from muisti.model import Memory
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
