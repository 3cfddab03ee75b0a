"""Writes the words of texts, and the counts that bm25 is computed from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from muisti.ports.rows import Words
from muisti.recall.bm25 import count_length, count_occurrences
from muisti.storage.postgres.connect import Connection, fetch
from muisti.storage.postgres.rows import format_numbers, format_words


def replace_words(
    db: Connection, removed: Sequence[int], added: Mapping[int, Words | None]
) -> None:
    """Replace the words of rows. Texts whose words stay the same are not written again.

    Removed: the rows that lose their words. Added: the words by row, also of rows in `removed`;
    None if a text is not in the word index.
    """
    sql = "SELECT n, title, labels, body FROM words WHERE n = ANY(%s)"
    before = {n: Words(*cells) for n, *cells in fetch(db, sql, (list(removed),))} if removed else {}
    after = {n: words for n, words in added.items() if words is not None}
    gone = {n: words for n, words in before.items() if after.get(n) != words}
    new = {n: words for n, words in after.items() if before.get(n) != words}
    if not gone and not new:
        return
    counts: Counter[str] = Counter()
    if gone:
        words_of = {n: set(" ".join(words).split()) for n, words in gone.items()}
        for found in words_of.values():
            counts.subtract(found)
        numbers = list(gone)
        db.execute(
            "DELETE FROM postings WHERE word = ANY(%s) AND n = ANY(%s)", (list(counts), numbers)
        )
        db.execute("DELETE FROM words WHERE n = ANY(%s)", (numbers,))
    if new:
        _insert(db, new, counts)
    _count(db, {word: change for word, change in counts.items() if change})
    texts = len(new) - len(gone)
    length = sum(map(count_length, new.values())) - sum(map(count_length, gone.values()))
    db.execute(
        """INSERT INTO totals (texts, length) VALUES (%s, %s) ON CONFLICT (tenant) DO UPDATE
           SET texts = totals.texts + excluded.texts, length = totals.length + excluded.length""",
        (texts, length),
    )


def _insert(db: Connection, rows: Mapping[int, Words], counts: Counter[str]) -> None:
    lengths = {n: count_length(words) for n, words in rows.items()}
    fields = [list(column) for column in zip(*rows.values(), strict=True)]
    db.execute(
        """INSERT INTO words (n, title, labels, body, length)
           SELECT * FROM unnest(%s::bigint[], %s::text[], %s::text[], %s::text[], %s::integer[])""",
        (list(rows), *fields, list(lengths.values())),
    )
    postings: list[tuple[str, int, float, int]] = []
    for n, words in rows.items():
        occurrences = count_occurrences(words)
        counts.update(occurrences.keys())
        postings += [(word, n, times, lengths[n]) for word, times in occurrences.items()]
    postings.sort()  # neighbours in the table are neighbours in the index
    if postings:
        found, *numbers = zip(*postings, strict=True)
        db.execute(
            """INSERT INTO postings (word, n, times, length)
               SELECT * FROM unnest(%s::text[], %s::bigint[], %s::real[], %s::integer[])""",
            (format_words(found), *map(format_numbers, numbers)),
        )


def _count(db: Connection, counts: Mapping[str, int]) -> None:
    """Add to the number of texts with each word. Words that occur in none are deleted."""
    if not counts:
        return
    words = sorted(counts)
    found = fetch(
        db,
        """INSERT INTO lexicon AS l (word, texts) SELECT * FROM unnest(%s::text[], %s::integer[])
           ON CONFLICT (tenant, word) DO UPDATE SET texts = l.texts + excluded.texts
           RETURNING word, texts""",
        (format_words(words), format_numbers(counts[word] for word in words)),
    )
    lost = [word for word, texts in found if texts <= 0]
    if lost:
        db.execute("DELETE FROM lexicon WHERE word = ANY(%s)", (lost,))
        parts = sorted({part for word in lost for part in split_parts(word)})
        db.execute(
            "DELETE FROM lexicon_parts WHERE part = ANY(%s) AND word = ANY(%s)", (parts, lost)
        )
    # A word that was in the lexicon before has its parts already.
    fresh = [word for word, texts in found if texts == counts[word] > 0]
    pairs = sorted({(part, word) for word in fresh for part in split_parts(word)})
    if pairs:
        db.execute(
            """INSERT INTO lexicon_parts (part, word)
               SELECT * FROM unnest(%s::text[], %s::text[]) ON CONFLICT DO NOTHING""",
            tuple(map(format_words, zip(*pairs, strict=True))),
        )


def split_parts(word: str) -> Iterable[str]:
    """Return all runs of three characters of a word."""
    return (word[at : at + 3] for at in range(len(word) - 2))
