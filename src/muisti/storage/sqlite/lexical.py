"""Keyword search on FTS5."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from os.path import commonprefix
from typing import TYPE_CHECKING, Any

from muisti.ports import Frequencies, LexicalHit, Occurrences, Term
from muisti.storage.sqlite.rows import FROM_ENTRIES, fetch, quoted
from muisti.storage.sqlite.vector_spaces import as_json

if TYPE_CHECKING:
    from muisti.model import Filter
    from muisti.storage.sqlite.connect import Database

OVER = 4
"""How many times more are taken than are asked for, before the filter."""
_K1 = 1.2  # FTS5's own constant


class SqliteLexical:
    """Finds memories by their words."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def frequencies(self, words: Sequence[str]) -> Frequencies:
        """How many memories there are, and in how many each word stands."""
        marks = ", ".join("?" * len(words))
        with self._db.reading() as db:
            counts = dict(fetch(db, _COUNTS.format(marks=marks), words))
        return Frequencies(counts.pop("", 0), counts)

    def similar_words(self, word: str, limit: int) -> list[str]:
        """Indexed words that contain this one, the shortest first; failing those, other forms and spellings of it."""
        if len(word) < 3:
            return []
        with self._db.reading() as db:
            rows = fetch(
                db,
                f"{_WITH_PARTS} AND instr(word, ?) AND word <> ? ORDER BY length(word), memories DESC LIMIT ?",
                (_parts(word), word, word, limit),
            )
            if rows or len(word) < 5:
                return [found for (found,) in rows]
            near = fetch(db, _NEAR, _nearness(word))
        forms = [found for (found,) in near if found != word and (_one_slip(word, found) or _same_beginning(word, found))]
        return sorted(forms, key=lambda found: (abs(len(found) - len(word)), found))[:limit]

    def lexical(self, terms: Sequence[Term], where: Filter, limit: int) -> list[LexicalHit]:
        """The best memories by bm25, which SQLite counts downwards from zero; here larger is better."""
        sql, values = self._db.conditions(where)
        # The bm25 that no memory can exceed for this query: what makes scores comparable between queries.
        best = max(1e-6, sum(term.weight for term in terms)) * (_K1 + 1)
        with self._db.reading() as db:
            match = _match([term for term in terms if term.sought] or terms)
            # Most filters let most memories through: the best few are found first, and looked at one by one afterwards.
            rows = fetch(db, _BEST.format(condition=sql), (match, OVER * limit, *values, limit))
            if len(rows) < limit:
                rows = fetch(db, _SEARCH.format(condition=sql), (match, *values, limit))
        return [_hit(row, terms, best) for row in rows]

    def literal(self, text: str, where: Filter, limit: int) -> list[LexicalHit]:
        """A scan, for the rare query that has no words."""
        sql, values = self._db.conditions(where)
        with self._db.reading() as db:
            rows = fetch(
                db,
                f"SELECT m.id FROM {FROM_ENTRIES} "
                f"WHERE {sql} AND (instr(m.content, ?) OR instr(m.title, ?)) ORDER BY length(m.content), m.id LIMIT ?",
                (*values, text, text, limit),
            )
        same = frozenset((text,))
        return [LexicalHit(id_, 0.5, same, found=same) for (id_,) in rows]

    def occurrences(self, ids: Sequence[str], words: Sequence[str]) -> dict[str, Occurrences]:
        """How often these words stand in these memories, weighted as the index weighs its columns."""
        sql = "SELECT m.id, w.title, w.labels, w.body FROM json_each(?) j JOIN entries m ON m.id = j.value JOIN words w USING (n)"
        with self._db.reading() as db:
            rows = fetch(db, sql, (as_json(ids),))
        wanted = [(word, f" {word} ") for word in words]
        return {id_: _occurrences(columns, wanted) for id_, *columns in rows}

    def words_of(self, memory_id: str) -> dict[str, int]:
        """The words of one memory with their counts."""
        counts: dict[str, int] = {}
        with self._db.reading() as db:
            for row in db.execute(
                "SELECT w.title, w.labels, w.body FROM words w JOIN entries m USING (n) WHERE m.id = ?", (memory_id,)
            ):
                for word in " ".join(row).split():
                    counts[word] = counts.get(word, 0) + 1
        return counts


_COUNTS = """
SELECT '', value FROM totals WHERE name = 'memories' UNION ALL SELECT word, memories FROM lexicon WHERE word IN ({marks})
"""
_WITH_PARTS = "SELECT word FROM lexicon WHERE n IN (SELECT rowid FROM lexicon_parts WHERE lexicon_parts MATCH ?)"
# Another form of a word keeps its beginning (the first line); a word with one slip keeps its first half, or its last (the
# last line), or all but two letters in the middle that changed places. So few words have to be looked at one by one.
_NEAR = f"""
SELECT word FROM lexicon WHERE word >= ?1 AND word < ?1 || char(0x10ffff) AND length(word) BETWEEN ?2 - 4 AND ?2 + 4
UNION SELECT word FROM lexicon WHERE word >= ?3 AND word < ?3 || char(0x10ffff) AND length(word) BETWEEN ?2 - 1 AND ?2 + 1
    AND (substr(word, 1, length(?4)) = ?4 OR substr(word, -length(?5)) = ?5)
UNION {_WITH_PARTS.replace("?", "?6")} AND length(word) BETWEEN ?2 - 1 AND ?2 + 1
"""
_BEST = """
SELECT m.id, substr(m.content, 1, 80), best.rank,
    w.title, w.labels, w.body
FROM (SELECT rowid, rank FROM word_index WHERE word_index MATCH ? ORDER BY rank LIMIT ?) best
JOIN entries m ON m.n = best.rowid LEFT JOIN usage u ON u.id = m.id JOIN words w ON w.n = m.n
WHERE {condition} ORDER BY best.rank LIMIT ?
"""
_SEARCH = """
SELECT m.id, substr(m.content, 1, 80), word_index.rank,
    w.title, w.labels, w.body
FROM word_index JOIN entries m ON m.n = word_index.rowid LEFT JOIN usage u ON u.id = m.id JOIN words w ON w.n = m.n
WHERE word_index MATCH ? AND {condition} ORDER BY word_index.rank LIMIT ?
"""


_WEIGHTS = (3.0, 2.0, 1.0)  # of the columns, as in the schema


def _occurrences(columns: Sequence[str], wanted: Sequence[tuple[str, str]]) -> Occurrences:
    counts: dict[str, float] = {}
    length = 0
    for column, weight in zip(columns, _WEIGHTS, strict=True):
        if not column:
            continue
        length += column.count(" ") + 1
        spaced = f" {column.replace(' ', '  ')} "  # each word with blanks of its own, so that repeated words are counted
        for word, between in wanted:
            found = spaced.count(between)
            if found:
                counts[word] = counts.get(word, 0.0) + weight * found
    return Occurrences(length, counts)


def _nearness(word: str) -> tuple[str, int, str, str, str, str]:
    half = len(word) // 2
    return word[:5], len(word), word[: half - 1], word[:half], word[half + 1 :], _parts(word[min(half, len(word) - 3) :])


def _parts(word: str) -> str:
    """Matches all words that contain this one, and some others: as few sequences of three letters as cover it."""
    last = len(word) - 3
    return " AND ".join(quoted(word[at : at + 3]) for at in (*range(0, last, 3), last))


def _hit(row: Sequence[Any], terms: Sequence[Term], best: float) -> LexicalHit:
    id_, opening, score, *columns = row
    stored = f" {' '.join(columns)} "
    exact, loose, found = set(), set(), set()
    for term in terms:
        if f" {term.text} " in stored:
            exact.add(term.text)
        else:
            others = [other for other in term.alternatives if f" {other} " in stored]
            if others or (term.prefix and f" {term.text}" in stored):
                loose.add(term.text)
                found.update(others)
    matched = frozenset(exact | loose)
    share = min(1.0, -(score or 0.0) / best)
    return LexicalHit(id_, share, matched, frozenset(loose), matched | found, opening)


def _match(terms: Iterable[Term]) -> str:
    """An FTS5 expression in which every word is quoted: nothing that a person types is syntax."""
    words = [
        f"{quoted(word)}{' *' if term.prefix and word == term.text else ''}"
        for term in terms
        for word in (term.text, *term.alternatives)
    ]
    return " OR ".join(dict.fromkeys(words))


def _same_beginning(first: str, second: str) -> bool:
    """Whether two words look like forms of one: most of both is a common beginning."""
    common = len(commonprefix((first, second)))  # noqa: RUF071  # letters are what is meant here
    return common >= 5 and common >= 0.65 * max(len(first), len(second))


def _one_slip(first: str, second: str) -> bool:
    """Whether one letter changed, added, left out, or swapped with its neighbour turns one word into the other."""
    if abs(len(first) - len(second)) > 1:
        return False
    start = next((i for i, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), min(len(first), len(second)))
    a, b = first[start:], second[start:]
    swapped = len(a) > 1 and len(b) > 1 and a[0] == b[1] and a[1] == b[0] and a[2:] == b[2:]
    return a[1:] == b[1:] or a[1:] == b or a == b[1:] or swapped
