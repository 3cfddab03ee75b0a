"""Keyword search on postings, with the bm25 of FTS5."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from muisti.ports.rows import Words
from muisti.ports.search import Frequencies, Term, WordCounts, WordMatch
from muisti.recall.bm25 import B
from muisti.recall.matching import K1
from muisti.recall.query import compute_idf
from muisti.storage.postgres.connect import Connection, Database, fetch
from muisti.storage.postgres.rows import decode_text
from muisti.storage.postgres.word_rows import split_parts

if TYPE_CHECKING:
    from muisti.model import Filter
    from muisti.storage.postgres.filters import Condition

OVERSAMPLE = 4
"""How many times `limit` is fetched before the filter is applied."""
UNIT = float(2**36)
"""Scores are added as whole numbers of this part. Otherwise sums would depend on the order of the
words, and texts of equal score would change places.
"""
LAST = "\U0010ffff"
"""Comes after every other character."""


class PostgresWords:
    """Implements the port WordIndex."""

    _db: Database

    def make_condition(self, where: Filter) -> Condition:
        """Return the condition for a filter. Call within a transaction."""
        raise NotImplementedError

    def frequencies(self, words: Sequence[str]) -> Frequencies:
        """Return how many texts are indexed, and in how many each word occurs."""
        with self._db.read_transaction() as db:
            counts = dict(fetch(db, _COUNTS, (list(words),)))
        return Frequencies(counts.pop("", 0), counts)

    def find_words_containing(self, part: str, limit: int) -> list[str]:
        """Return other indexed words that contain this one, the shortest first."""
        parts = list(set(split_parts(part)))
        sql = f"""SELECT word FROM lexicon WHERE word IN ({_WITH_PARTS})
                  AND strpos(word, %s) > 0 AND word <> %s
                  ORDER BY length(word), texts DESC, word LIMIT %s"""
        with self._db.read_transaction() as db:
            values = (parts, len(parts), part, part, limit)
            return [word for (word,) in fetch(db, sql, values)]

    def find_similar_words(self, word: str) -> list[str]:
        """Return indexed words of similar length that share part of this one."""
        half = len(word) // 2
        ending = list(set(split_parts(word[min(half, len(word) - 3) :])))
        values = {
            "start": word[:5],
            "after_start": word[:5] + LAST,
            "short": word[: half - 1],
            "after_short": word[: half - 1] + LAST,
            "first": word[:half],
            "second": word[half + 1 :],
            "length": len(word),
            "parts": ending,
            "count": len(ending),
        }
        with self._db.read_transaction() as db:
            return [found for (found,) in fetch(db, _NEAR, values)]

    def match(self, terms: Sequence[Term], where: Filter, limit: int) -> list[WordMatch]:
        """Return the best texts by bm25."""
        found = self.find_matches(terms, where, limit)
        return [WordMatch(id_, score, decode_text(opening)) for _, id_, opening, score in found]

    def find_matches(
        self, terms: Sequence[Term], where: Filter, limit: int
    ) -> list[tuple[int, str, str, float]]:
        """Return number, ID, opening and bm25 of the best texts."""
        sought = [term for term in terms if term.sought] or terms
        words: dict[tuple[str, bool], None] = {}  # each word once, and whether it is a prefix
        for term in sought:
            words[term.text, term.prefix] = None
            words |= dict.fromkeys((word, False) for word in term.alternatives if word != term.text)
        with self._db.read_transaction() as db:
            if any(is_prefix for _, is_prefix in words):
                scored, asked = _SCORES_OF_GROUPS, self._list_groups(db, list(words))
            else:
                scored, asked = _SCORES, [[word for word, _ in words]]
            if not asked:
                return []
            condition, values = self.make_condition(where)
            # Most filters match most texts: find the best first, then apply the filter.
            most = OVERSAMPLE * limit
            sql = _BEST.format(
                scored=f"{scored} ORDER BY score DESC LIMIT {most:d}", condition=condition
            )
            rows = fetch(db, sql, (*asked, *values, limit))
            count, lowest = rows[0][4:] if rows else (most, 0.0)
            if count >= most and (len(rows) < limit or rows[-1][3] <= lowest):
                sql = _BEST.format(scored=scored, condition=condition)
                rows = fetch(db, sql, (*asked, *values, limit))
        return [(n, id_, opening, score / UNIT) for n, id_, opening, score, *_ in rows]

    def _list_groups(self, db: Connection, words: Sequence[tuple[str, bool]]) -> list[Any]:
        """Return the values of _SCORES_OF_GROUPS; empty if no text has any of these words.

        Words that begin with the same prefix are a group, and count as one word.
        """
        row = fetch(db, "SELECT texts, length FROM totals")
        texts, length = row[0] if row else (0, 0)
        known = dict(fetch(db, _COUNTS, ([word for word, _ in words],)))
        groups: list[int] = []
        listed: list[str] = []
        idfs: list[float] = []
        for at, (word, is_prefix) in enumerate(words):
            if not is_prefix:
                count = known.get(word, 0)
                found = [word] if count else []
            else:
                found = [one for (one,) in fetch(db, _PREFIX, (word, word + LAST))] if word else []
                [(count,)] = fetch(db, _TEXTS_WITH, (found,))
            listed += found
            groups += [at] * len(found)
            idfs += [compute_idf(count, texts)] * len(found)
        return [length / texts, listed, idfs, groups] if texts and listed else []

    def match_literal(self, text: str, where: Filter, limit: int) -> list[str]:
        """Return the IDs of texts with exactly these characters. Scans all texts."""
        with self._db.read_transaction() as db:
            condition, values = self.make_condition(where)
            sql = f"""SELECT m.id FROM entries m LEFT JOIN usage u ON u.id = m.id
                      WHERE {condition} AND (strpos(m.content, %s) > 0 OR strpos(m.title, %s) > 0)
                      ORDER BY length(m.content), m.id LIMIT %s"""
            return [id_ for (id_,) in fetch(db, sql, (*values, text, text, limit))]

    def count_words(self, ids: Sequence[str], words: Sequence[str]) -> WordCounts:
        """Return how often these words occur in these texts."""
        with self._db.read_transaction() as db:
            rows = fetch(db, _COUNTED, (list(words), list(ids)))
        lengths = {id_: (length, body) for id_, length, body, _, _ in rows}
        found: dict[str, dict[str, float]] = {}
        for id_, _, _, word, times in rows:
            if word is not None:
                found.setdefault(word, {})[id_] = times
        counts = {
            word: {place: times[id_] for place, id_ in enumerate(ids) if id_ in times}
            for word, times in found.items()
        }
        known = [lengths.get(id_, (-1, -1)) for id_ in ids]
        return WordCounts([length for length, _ in known], [body for _, body in known], counts)

    def get_words(self, ids: Sequence[str]) -> dict[str, Words]:
        """Return the index words of these texts by ID."""
        known = self._db.transaction.rows if self._db.transaction is not None else {}
        if all(id_ in known for id_ in ids):
            rows = {id_: known[id_][-3:] for id_ in ids}
            return {id_: Words(*words) for id_, words in rows.items() if words[0] is not None}
        sql = """SELECT m.id, w.title, w.labels, w.body FROM entries m JOIN words w USING (n)
                 WHERE m.id = ANY(%s)"""
        with self._db.read_transaction() as db:
            return {id_: Words(*words) for id_, *words in fetch(db, sql, (list(ids),))}


_COUNTS = """
SELECT '', texts FROM totals UNION ALL SELECT word, texts FROM lexicon WHERE word = ANY(%s)
"""
_COUNTED = """
SELECT m.id, w.length, w.body_length, p.word, p.times
FROM entries m JOIN words w ON w.n = m.n
LEFT JOIN postings p ON p.n = m.n AND p.word = ANY(%s) WHERE m.id = ANY(%s)
"""
_WITH_PARTS = """SELECT word FROM lexicon_parts WHERE part = ANY(%s)
    GROUP BY word HAVING count(*) = %s"""
_NEAR_PARTS = """SELECT word FROM lexicon_parts WHERE part = ANY(%(parts)s)
    GROUP BY word HAVING count(*) = %(count)s"""
# Another form of a word keeps its beginning (first SELECT). A word with one typo keeps its first or
# last half, or all but two swapped letters in the middle (the others).
_NEAR = f"""
SELECT word FROM lexicon WHERE word >= %(start)s AND word < %(after_start)s
    AND length(word) BETWEEN %(length)s - 4 AND %(length)s + 4
UNION SELECT word FROM lexicon WHERE word >= %(short)s AND word < %(after_short)s
    AND length(word) BETWEEN %(length)s - 1 AND %(length)s + 1
    AND (starts_with(word, %(first)s) OR right(word, length(%(second)s)) = %(second)s)
UNION {_NEAR_PARTS} AND length(word) BETWEEN %(length)s - 1 AND %(length)s + 1
"""
_PREFIX = "SELECT word FROM lexicon WHERE word >= %s AND word < %s"
_TEXTS_WITH = "SELECT count(DISTINCT n) FROM postings WHERE word = ANY(%s)"
_BM25 = f"""sum(round(w.idf * p.times * {K1 + 1!r}::float8 / (p.times + {K1!r}::float8
    * ({1 - B!r}::float8 + {B!r}::float8 * p.length / w.average)) * {UNIT!r}::float8)) AS score"""
_SCORES = f"""
SELECT p.n, {_BM25} FROM (
    SELECT l.word, t.length::float8 / t.texts AS average, GREATEST(1e-6,
        ln((GREATEST(t.texts - l.texts, 0) + 0.5::float8) / (l.texts + 0.5::float8))) AS idf
    FROM totals t, lexicon l WHERE l.word = ANY(%s) AND t.texts > 0
) w JOIN postings p ON p.word = w.word GROUP BY p.n
"""
_SCORES_OF_GROUPS = f"""
SELECT p.n, {_BM25} FROM (
    SELECT o.n, w.grp, max(w.idf) AS idf, sum(o.times::float8) AS times, max(o.length) AS length,
        max(a.average) AS average
    FROM (SELECT %s::float8 AS average) a,
    unnest(%s::text[], %s::float8[], %s::integer[]) w (word, idf, grp)
    JOIN postings o ON o.word = w.word GROUP BY o.n, w.grp
) p, LATERAL (SELECT p.idf, p.average) w GROUP BY p.n
"""
_BEST = """
WITH best AS MATERIALIZED ({scored})
SELECT m.n, m.id, left(m.content, 80), s.score, (SELECT count(*) FROM best),
    (SELECT min(score) FROM best)
FROM best s JOIN entries m ON m.n = s.n
LEFT JOIN usage u ON u.id = m.id WHERE {condition}
ORDER BY s.score DESC, m.created_at DESC, m.id LIMIT %s
"""
