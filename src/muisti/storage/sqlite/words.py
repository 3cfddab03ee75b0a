"""Keyword search on FTS5."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from muisti.ports.columns import UnusableColumns
from muisti.ports.rows import Words
from muisti.ports.search import Frequencies, Term, WordCounts, WordMatch
from muisti.recall.matching import count_words
from muisti.storage.sqlite.rows import FROM_ENTRIES, fetch, quote_word
from muisti.storage.sqlite.vector_spaces import to_json

if TYPE_CHECKING:
    import apsw

    from muisti.model import Filter
    from muisti.storage.snapshot.search import SnapshotSearch
    from muisti.storage.sqlite.connect import Database

OVERSAMPLE = 4
"""How many times `limit` is fetched before the filter is applied."""


class SqliteWords:
    """Implements the port WordIndex."""

    _db: Database

    def open_columns(self) -> SnapshotSearch | None:
        """Return what searches in the snapshot; None without one."""
        raise NotImplementedError

    def frequencies(self, words: Sequence[str]) -> Frequencies:
        """Return how many texts are indexed, and in how many each word occurs."""
        search = self.open_columns()
        counted = search.count_texts(words) if search is not None else None
        if counted is not None:
            return counted
        with self._db.read_transaction() as db:
            counts = dict(fetch(db, _COUNTS, (to_json(words),)))
        return Frequencies(counts.pop("", 0), counts)

    def find_words_containing(self, part: str, limit: int) -> list[str]:
        """Return other indexed words that contain this one, the shortest first."""
        sql = f"""{_WITH_PARTS} AND instr(word, ?) AND word <> ?
                  ORDER BY length(word), memories DESC, word LIMIT ?"""
        with self._db.read_transaction() as db:
            return [word for (word,) in fetch(db, sql, (_make_trigrams(part), part, part, limit))]

    def find_similar_words(self, word: str) -> list[str]:
        """Return indexed words of similar length that share part of this one."""
        half = len(word) // 2
        ending = _make_trigrams(word[min(half, len(word) - 3) :])
        values = (word[:5], len(word), word[: half - 1], word[:half], word[half + 1 :], ending)
        with self._db.read_transaction() as db:
            return [found for (found,) in fetch(db, _NEAR, values)]

    def match(self, terms: Sequence[Term], where: Filter, limit: int) -> list[WordMatch]:
        """Return the best texts by bm25. SQLite returns negative values; here larger is better."""
        sought = [term for term in terms if term.sought] or terms
        with self._db.read_transaction():
            if not any(term.prefix for term in sought):
                search = self.open_columns()
                with suppress(UnusableColumns):
                    if search is not None:
                        found = search.match(terms, where, limit)
                        numbers = search.get_numbers(list(found))
                        return self._read_openings(list(found.values()), numbers, where)
            return self._match_in_fts5(sought, where, limit)

    def _read_openings(
        self, scores: Sequence[float], numbers: Sequence[int], where: Filter
    ) -> list[WordMatch]:
        """Return those of these rows that match the filter; `scores` are their bm25."""
        condition, values = self._db.conditions(where)
        with self._db.read_transaction() as db:
            rows = fetch(db, _OPENINGS.format(condition=condition), (to_json(numbers), *values))
        openings = {n: (id_, opening) for n, id_, opening in rows}
        return [
            WordMatch(openings[n][0], score, openings[n][1])
            for n, score in zip(numbers, scores, strict=True)
            if n in openings
        ]

    def _match_in_fts5(self, terms: Sequence[Term], where: Filter, limit: int) -> list[WordMatch]:
        sql, values = self._db.conditions(where)
        words: dict[str, None] = {}  # quoted, so that nothing a user types is FTS5 syntax
        for term in terms:
            for word in (term.text, *term.alternatives):
                is_prefix = term.prefix and word == term.text
                words[quote_word(word) + (" *" if is_prefix else "")] = None
        match = " OR ".join(words)
        with self._db.read_transaction() as db:
            # Most filters match most texts: find the best first, then apply the filter.
            best = _find_best(db, match, OVERSAMPLE * limit)
            rows = fetch(db, _BEST.format(condition=sql), (json.dumps(best), *values, limit))
            if len(rows) < limit:
                rows = fetch(db, _SEARCH.format(condition=sql), (match, *values, limit))
        return [WordMatch(id_, -(rank or 0.0), opening) for id_, opening, rank in rows]

    def match_literal(self, text: str, where: Filter, limit: int) -> list[str]:
        """Return the IDs of texts with exactly these characters. Scans all texts."""
        condition, values = self._db.conditions(where)
        sql = f"""SELECT m.id FROM {FROM_ENTRIES}
                  WHERE {condition} AND (instr(m.content, ?) OR instr(m.title, ?))
                  ORDER BY length(m.content), m.id LIMIT ?"""
        with self._db.read_transaction() as db:
            rows = fetch(db, sql, (*values, text, text, limit))
        return [id_ for (id_,) in rows]

    def count_words(self, ids: Sequence[str], words: Sequence[str]) -> WordCounts:
        """Return how often these words occur in these texts."""
        found = self.get_words(ids)
        return count_words([found.get(id_) for id_ in ids], words)

    def get_words(self, ids: Sequence[str]) -> dict[str, Words]:
        """Return the index words of these texts."""
        read = self._db.held.rows if self._db.held.db is not None else {}
        if ids and all(id_ in read for id_ in ids):
            found = {id_: read[id_][1] for id_ in ids}
            return {id_: words for id_, words in found.items() if words is not None}
        with self._db.read_transaction() as db:
            return {id_: Words(*words) for id_, *words in fetch(db, _WORDS_OF, (to_json(ids),))}


_COUNTS = """
SELECT '', value FROM totals WHERE name = 'memories'
UNION ALL SELECT word, memories FROM lexicon WHERE word IN (SELECT value FROM json_each(?))
"""
_WORDS_OF = """
SELECT m.id, w.title, w.labels, w.body
FROM json_each(?) j JOIN entries m ON m.id = j.value JOIN words w USING (n)
"""
_WITH_PARTS = """SELECT word FROM lexicon
WHERE n IN (SELECT rowid FROM lexicon_parts WHERE lexicon_parts MATCH ?)"""
# Another form of a word keeps its beginning (first SELECT). A word with one typo keeps its first or
# last half, or all but two swapped letters in the middle (the others).
_NEAR = f"""
SELECT word FROM lexicon WHERE word >= ?1 AND word < ?1 || char(0x10ffff)
    AND length(word) BETWEEN ?2 - 4 AND ?2 + 4
UNION SELECT word FROM lexicon WHERE word >= ?3 AND word < ?3 || char(0x10ffff)
    AND length(word) BETWEEN ?2 - 1 AND ?2 + 1
    AND (substr(word, 1, length(?4)) = ?4 OR substr(word, -length(?5)) = ?5)
UNION {_WITH_PARTS.replace("?", "?6")} AND length(word) BETWEEN ?2 - 1 AND ?2 + 1
ORDER BY word
"""
# Texts of the same rank are in an order that a rebuilt index has too: row numbers differ there.
_OPENINGS = """
SELECT m.n, m.id, substr(m.content, 1, 80)
FROM json_each(?) best JOIN entries m ON m.n = best.value LEFT JOIN usage u ON u.id = m.id
WHERE {condition}
"""
_BEST = """
SELECT m.id, substr(m.content, 1, 80), best.value ->> 1 AS score
FROM json_each(?) best JOIN entries m ON m.n = best.value ->> 0
LEFT JOIN usage u ON u.id = m.id
WHERE {condition} ORDER BY score, m.created_at DESC, m.id LIMIT ?
"""
_SEARCH = """
SELECT m.id, substr(m.content, 1, 80), word_index.rank
FROM word_index JOIN entries m ON m.n = word_index.rowid
LEFT JOIN usage u ON u.id = m.id
WHERE word_index MATCH ? AND {condition}
ORDER BY word_index.rank, m.created_at DESC, m.id LIMIT ?
"""


def _find_best(db: apsw.Connection, match: str, limit: int) -> list[tuple[int, float]]:
    """Return the rows with the best ranks, and all that have the same rank as the last one."""
    sql = "SELECT rowid, rank FROM word_index WHERE word_index MATCH ? ORDER BY rank LIMIT ?"
    found = fetch(db, sql, (match, limit + 1))
    if len(found) > limit and found[limit][1] == found[limit - 1][1]:
        sql = "SELECT rowid, rank FROM word_index WHERE word_index MATCH ? AND rank <= ?"
        return fetch(db, sql, (match, found[limit][1]))
    return found[:limit]


def _make_trigrams(word: str) -> str:
    """Return an FTS5 expression that matches words that contain this one, and some others."""
    last = len(word) - 3
    return " AND ".join(quote_word(word[at : at + 3]) for at in (*range(0, last, 3), last))
