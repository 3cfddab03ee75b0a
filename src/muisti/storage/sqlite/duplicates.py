"""Finds existing memories that may duplicate a new one, with few row reads."""

from __future__ import annotations

import threading
from array import array
from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from muisti.model import Tier
from muisti.model.memory import PLACE
from muisti.storage.row_values import to_int
from muisti.storage.sqlite.rows import FROM, Cell, decode_memory, fetch, quote_word
from muisti.storage.sqlite.validity import OWN_END, VALID_UNTIL
from muisti.storage.sqlite.vector_spaces import to_json

if TYPE_CHECKING:
    from pathlib import Path

    import apsw

    from muisti.model import Memory
    from muisti.storage.sqlite.connect import Database
    from muisti.storage.sqlite.word_rows import WordRows


class _Row(NamedTuple):
    """A memory."""

    id: str
    simhash: str
    place: tuple[str | None, ...]


_ALL_BITS = 64
"""Each simhash differs in at most this many bits from another one."""
_UNREAD, _MEMORY, _OTHER = 0, 1, 2
"""Whether a row was read, and whether it is a memory that is not in the trash."""


class KnownRows:
    """The rows of one index file that were read to find duplicates.

    Their texts are far apart in the file: each save would read up to 200 pages for them. The table
    `changed` has a number for every change of a row, so that no row is used after it changed.
    """

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._path: Path | None = None
        self._seq = 0
        self._rows: dict[int, _Row | None] = {}
        self._forget_all()

    def find_near(
        self,
        db: apsw.Connection,
        path: Path | None,
        wanted: Sequence[Sequence[int]],
        simhashes: Sequence[int],
        most_bits: Sequence[int],
    ) -> list[list[_Row]]:
        """Return the memories among the rows with these numbers, for each of many searches.

        Those that are deleted, or whose simhash differs in more bits from this one, are left out.
        """
        with self._guard:
            self._forget_changed(db, path)
            self._read_simhashes(db, set[int]().union(*wanted))
            states, known = self._states, self._simhashes
            near = [
                [n for n in some if states[n] == _MEMORY and (known[n] ^ own).bit_count() <= most]
                for own, most, some in zip(simhashes, most_bits, wanted, strict=True)
            ]
            numbers = set[int]().union(*near)
            unknown = numbers.difference(self._rows)
            if len(self._rows) + len(unknown) > _MOST_ROWS:
                self._rows, unknown = {}, numbers
            self._read_rows(db, unknown)
            rows = self._rows
            return [[row for n in some if (row := rows[n]) is not None] for some in near]

    def clear(self) -> None:
        """Forget all rows."""
        with self._guard:
            self._forget_all()

    def _read_simhashes(self, db: apsw.Connection, numbers: set[int]) -> None:
        """Read the simhashes of these rows, or of all memories if that takes less time."""
        missing = max(numbers, default=-1) + 1 - len(self._states)
        if missing > 0:
            self._states.extend(bytes(missing))
            self._simhashes.frombytes(bytes(8 * missing))
        unread = {n for n in numbers if self._states[n] == _UNREAD}
        if _SCANNED * len(unread) > len(self._states):
            for n, simhash in db.execute(_FIRST_BANDS):
                if n < len(self._states):
                    self._states[n] = _MEMORY
                    self._simhashes[n] = int(simhash, 16)
            unread = {n for n in unread if self._states[n] == _UNREAD}
        if unread:
            self._read_rows(db, unread)

    def _read_rows(self, db: apsw.Connection, numbers: set[int]) -> None:
        if not numbers:
            return
        self._rows |= dict.fromkeys(numbers)
        for n in numbers:
            self._states[n] = _OTHER
        for n, id_, simhash, session, *place in fetch(db, _PLACES, (to_json(numbers),)):
            full = (*place, session if place[0] == Tier.SESSION else None)
            self._rows[n] = _Row(id_, simhash, full)
            self._states[n] = _MEMORY
            self._simhashes[n] = int(simhash or "0", 16)

    def _forget_changed(self, db: apsw.Connection, path: Path | None) -> None:
        """Forget rows that changed since they were read, or all of another file."""
        [(last,)] = fetch(db, "SELECT total(seq) FROM sqlite_sequence WHERE name = 'changed'")
        changed: list[tuple[int]] = []
        if path == self._path and last > self._seq:
            changed = fetch(db, "SELECT n FROM changed WHERE seq > ?", (self._seq,))
        if path != self._path or len(changed) != last - self._seq:
            # A snapshot was built meanwhile, which removes what it contains.
            self._forget_all()
        for (n,) in changed:
            self._rows.pop(n, None)
            if n < len(self._states):
                self._states[n] = _UNREAD
        self._path, self._seq = path, int(last)

    def _forget_all(self) -> None:
        self._rows = {}
        self._states = bytearray()
        """Of each row, by its number."""
        self._simhashes = array("Q")


_MOST_ROWS = 20_000
"""About 5 MB. Simhashes are kept of all rows: 9 bytes each."""
_SCANNED = 8
"""Reading a row takes about this many times as long as reading a simhash in a scan of all."""


class SqliteDuplicates:
    """Implements the port DuplicateFinder."""

    _db: Database
    _columns: str
    _known_rows: KnownRows
    _word_rows: WordRows

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
        own = int(memory.simhash, 16)
        with self._db.read_transaction() as db:
            rows = fetch(db, _BY_BANDS, (to_json(bands), limit))
            near = [n for n, simhash in rows if (int(simhash, 16) ^ own).bit_count() <= most_bits]
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

    def count_texts(self, words: Sequence[str], memories: int) -> dict[str, int]:
        """Return in how many texts each of these words occurs."""
        with self._db.read_transaction() as db:
            counts = self._word_rows.count(db, words, memories)
            if counts is None:
                counts = dict(fetch(db, _COUNTS, (to_json(words),)))
        return counts

    def find_with_any_word(
        self,
        searches: Sequence[tuple[Memory, Sequence[str]]],
        limit: int,
        most_bits: Sequence[int] = (),
    ) -> list[dict[str, str]]:
        """Return the memories with any of the words, for each of many searches.

        A row that was read before is not read again until it changes.
        """
        with self._db.read_transaction() as db:
            matching = self._word_rows.find(db, [words for _, words in searches])
            if matching is None:
                matching = []
                for _, words in searches:
                    match = " OR ".join(quote_word(word) for word in words)
                    rows = fetch(db, _MATCHING, (match,)) if words else []
                    matching.append([n for (n,) in rows])
            simhashes = [int(memory.simhash or "0", 16) for memory, _ in searches]
            most = [
                most_bits[at] if most_bits and len(found) <= limit else _ALL_BITS
                for at, found in enumerate(matching)
            ]
            near = self._known_rows.find_near(db, self._db.path, matching, simhashes, most)
        results = []
        for (memory, _), kept in zip(searches, near, strict=True):
            place = memory.place
            same = [row for row in kept if row.place == place]
            results.append({row.id: row.simhash for row in same[:limit]})
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
_FIRST_BANDS = "SELECT n, simhash FROM bands WHERE band < 65536"
"""The simhash of each memory that has words, once: other bands have higher keys."""
_KNOWN_HASHES = """
SELECT m.content_hash FROM json_each(?) j
CROSS JOIN entries m ON m.content_hash = j.value AND m.origin = 'memory'
"""
_COUNTS = "SELECT word, memories FROM lexicon WHERE word IN (SELECT value FROM json_each(?))"
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
