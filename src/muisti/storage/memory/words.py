"""Keyword search with the bm25 of FTS5, so that both indexes return the same scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from muisti.model import Filter
from muisti.ports.rows import Words
from muisti.ports.search import Frequencies, Term, WordCounts, WordMatch
from muisti.recall.bm25 import B
from muisti.recall.matching import K1, count_words
from muisti.recall.query import compute_idf
from muisti.storage.checked_values import check_text
from muisti.storage.memory.reader import OPENING
from muisti.storage.memory.tables import Tables
from muisti.storage.memory.view import View


class MemoryWords:
    """Implements the port WordIndex."""

    view: Callable[[], View]

    def frequencies(self, words: Sequence[str]) -> Frequencies:
        """Return how many texts are indexed, and in how many each word occurs."""
        tables = self.view().tables
        counts = {word: len(tables.postings[word]) for word in words}
        return Frequencies(
            len(tables.lengths), {word: count for word, count in counts.items() if count}
        )

    def find_words_containing(self, part: str, limit: int) -> list[str]:
        """Return other indexed words that contain this one, the shortest first."""
        check_text(part)
        postings = self.view().tables.postings
        found = [word for word in postings if part in word and part != word]
        return sorted(found, key=lambda word: (len(word), -len(postings[word]), word))[:limit]

    def find_similar_words(self, word: str) -> list[str]:
        """Return indexed words of similar length that share part of this one."""
        check_text(word)
        length, half = len(word), len(word) // 2
        # Another form of a word keeps its beginning. A word with one typo keeps its first or last
        # half, or all but two swapped letters in the middle.
        first, last = word[:half], word[half + 1 :]
        second_half = word[min(half, length - 3) :]
        end = len(second_half) - 3
        ending = [second_half[at : at + 3] for at in (*range(0, end, 3), end)]  # trigrams

        def is_near(other: str) -> bool:
            difference = abs(len(other) - length)
            if difference <= 4 and other.startswith(word[:5]):
                return True
            if difference > 1:
                return False
            has_half = other.startswith(first) or other.endswith(last)
            if has_half and other.startswith(word[: half - 1]):
                return True
            return all(part in other for part in ending)

        return [other for other in self.view().tables.postings if is_near(other)]

    def match(self, terms: Sequence[Term], where: Filter, limit: int) -> list[WordMatch]:
        """Return the best texts by bm25."""
        view = self.view()
        tables = view.tables
        sought = [term for term in terms if term.sought] or terms
        scores: dict[str, float] = {}
        words: dict[tuple[str, bool], None] = {}  # each word once, and whether it is a prefix
        for term in sought:
            words[term.text, term.prefix] = None
            words |= dict.fromkeys((word, False) for word in term.alternatives if word != term.text)
        for word, is_prefix in words:
            occurrences = _count_prefix(tables, word) if is_prefix else tables.postings[word]
            for id_, score in _compute_bm25(tables, occurrences).items():
                scores[id_] = scores.get(id_, 0.0) + score
        best = sorted(scores, key=lambda id_: (-scores[id_], -tables.entries[id_].created_at, id_))
        found: list[WordMatch] = []
        for id_ in best:
            entry = tables.entries[id_]
            if len(found) == limit:
                break
            if view.allows(where, entry):
                found.append(WordMatch(id_, scores[id_], entry.memory.content[:OPENING]))
        return found

    def match_literal(self, text: str, where: Filter, limit: int) -> list[str]:
        """Return the IDs of texts with exactly these characters, the shortest first."""
        check_text(text)
        view = self.view()
        found = [
            entry.memory
            for entry in view.tables.entries.values()
            if (text in entry.memory.content or text in entry.memory.title)
            and view.allows(where, entry)
        ]
        found.sort(key=lambda memory: (len(memory.content), memory.id))
        return [memory.id for memory in found[:limit]]

    def count_words(self, ids: Sequence[str], words: Sequence[str]) -> WordCounts:
        """Return how often these words occur in these texts."""
        found = self.get_words(ids)
        return count_words([found.get(id_) for id_ in ids], words)

    def get_words(self, ids: Sequence[str]) -> dict[str, Words]:
        """Return the index words of these texts by ID."""
        entries = self.view().tables.entries
        return {
            id_: entries[id_].words for id_ in ids if id_ in entries and entries[id_].is_indexed
        }


def _count_prefix(tables: Tables, prefix: str) -> dict[str, float]:
    """Return how often words with this prefix occur, by text."""
    found: dict[str, float] = {}
    for word in tables.postings:
        if prefix and word.startswith(prefix):
            for id_, times in tables.postings[word].items():
                found[id_] = found.get(id_, 0.0) + times
    return found


def _compute_bm25(tables: Tables, occurrences: Mapping[str, float]) -> dict[str, float]:
    """Return the score that one word adds to each text. Occurrences: how often it occurs."""
    if not occurrences:
        return {}
    texts = len(tables.lengths)
    average = tables.total_length / texts
    idf = compute_idf(len(occurrences), texts)
    scores = {}
    for id_, times in occurrences.items():
        tempered = times + K1 * (1 - B + B * tables.lengths[id_] / average)
        scores[id_] = idf * times * (K1 + 1) / tempered
    return scores
