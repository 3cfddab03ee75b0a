"""Finds memories that say what a new one says. However many there are, few rows are looked at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import apsw

from muisti.model import Memory, Tier
from muisti.storage.sqlite.rows import FROM, VALID_UNTIL, Cell, columns, fetch, memory_of, quoted, to_int
from muisti.storage.sqlite.vector_spaces import as_json
from muisti.text.simhash import bands, far_apart, hamming
from muisti.text.tokens import tokenize

if TYPE_CHECKING:
    from muisti.storage.sqlite.connect import Database

NEAR = 3
"""Bits in which the fingerprints of near twins differ at most."""
FEW = 200
"""Memories that are looked at for the sake of their words, at most."""
MANY = 5000
"""Fingerprints that are compared, at most."""
TELLING = 8
"""Words, the rarest, that are looked for."""
READ = 20_000
"""Characters whose words are considered."""


class SqliteTwins:
    """Looks by content, by fingerprint and by the rarest words."""

    def __init__(self, database: Database) -> None:
        self._db = database
        self._columns = columns(database.salience)

    def twin(self, memory: Memory) -> Memory | None:
        """The memory that says exactly this where this one would be seen."""
        with self._db.reading() as db:
            time = f"m.valid_from IS ? AND m.valid_until IS ? AND (m.valid_until NOT NULL OR {_CURRENT})"
            same = f"m.content_hash = ? AND {_SAME_PLACE} AND {time}"
            sql = f"SELECT {self._columns} FROM {FROM} WHERE {same} ORDER BY m.created_at LIMIT 1"
            span = to_int(memory.valid_from), to_int(memory.valid_until)
            found = fetch(db, sql, (memory.content_hash, *_place(memory), *span))
        return memory_of(found[0]) if found else None

    def alike(self, memory: Memory, limit: int) -> list[Memory]:
        """Candidates, the nearest by fingerprint first."""
        with self._db.reading() as db:
            found = dict(_by_bands(db, memory)) | dict(_by_words(db, memory))
            length = memory.content.count(" ") + 1
            mine = memory.simhash
            near = {n: hamming(hash_, mine) for n, hash_ in found.items() if not far_apart(hash_, mine, length)}
            best = sorted(near, key=lambda n: (near[n], n))[:limit]
            if not best:
                return []
            sql = f"SELECT {self._columns}, m.n FROM {FROM} WHERE m.n IN (SELECT value FROM json_each(?)) AND {_CURRENT}"
            rows = fetch(db, sql, (as_json(best),))
        memories = {row[-1]: memory_of(row) for row in rows}
        return [memories[n] for n in best if n in memories]


_SAME_PLACE = "+m.project = ? AND +m.tier = ? AND m.deleted_at IS NULL AND (? IS NULL OR m.session_id = ?)"
_CURRENT = f"{VALID_UNTIL} IS NULL"
_BY_BANDS = f"SELECT DISTINCT n, simhash FROM bands WHERE band IN (SELECT value FROM json_each(?)) LIMIT {MANY}"
_BY_NUMBER = f"SELECT m.n, m.simhash FROM json_each(?) j JOIN memories m ON m.n = j.value WHERE {_SAME_PLACE}"
_BY_WORDS = f"""
SELECT m.n, m.simhash FROM word_index JOIN memories m ON m.n = word_index.rowid
WHERE word_index MATCH ? AND {_SAME_PLACE} LIMIT {FEW}
"""
_COUNTS = "SELECT word, memories FROM lexicon WHERE word IN (SELECT value FROM json_each(?)) ORDER BY memories, word LIMIT ?"


def _place(memory: Memory) -> tuple[Cell, ...]:
    session = memory.session_id if memory.tier is Tier.SESSION else None
    return memory.project, memory.tier.value, session, session


def _by_bands(db: apsw.Connection, memory: Memory) -> list[tuple[int, str]]:
    keys = bands(memory.simhash)
    rows = fetch(db, _BY_BANDS, (as_json(keys),)) if keys else []
    near = [n for n, hash_ in rows if hamming(hash_, memory.simhash) <= NEAR]
    return [(n, hash_) for n, hash_ in fetch(db, _BY_NUMBER, (as_json(near), *_place(memory)))] if near else []


def _by_words(db: apsw.Connection, memory: Memory) -> list[tuple[int, str]]:
    match = _match(db, list(dict.fromkeys(tokenize(memory.content[:READ]))))
    return [(n, hash_) for n, hash_ in fetch(db, _BY_WORDS, (match, *_place(memory)))] if match else []


def _match(db: apsw.Connection, found: Sequence[str]) -> str:
    """Any of the rarest words, as long as few memories have them; all of them together, if even the rarest is common."""
    counts = fetch(db, _COUNTS, (as_json(found), TELLING))
    chosen: list[str] = []
    total = 0
    for word, count in counts:
        if chosen and total + count > FEW:
            break
        chosen.append(word)
        total += count
    if total <= FEW:
        return " OR ".join(quoted(word) for word in chosen)
    return " AND ".join(quoted(word) for word, _ in counts)
