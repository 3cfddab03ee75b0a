"""Keyword search: bm25 as FTS5 counts it, so that both indexes give the same scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import log

from muisti.model import Filter
from muisti.ports.search import Frequencies, Term, WordMatch, Words
from muisti.recall.matching import K1
from muisti.storage.memory.reader import OPENING
from muisti.storage.memory.tables import Tables, check_text
from muisti.storage.memory.view import View

B = 0.75
"""The constant of bm25 that says how much long texts lose."""
LEAST_IDF = 1e-6
"""What a word of every second text counts for."""


class MemoryWords:
    """Finds texts by their words."""

    view: Callable[[], View]

    def frequencies(self, words: Sequence[str]) -> Frequencies:
        """How many texts there are, and in how many each word occurs."""
        tables = self.view().tables
        counts = {word: len(tables.postings[word]) for word in words}
        return Frequencies(
            len(tables.lengths), {word: count for word, count in counts.items() if count}
        )

    def find_words_containing(self, part: str, limit: int) -> list[str]:
        """Indexed words that contain this one, the shortest first, then the most common."""
        check_text(part)
        postings = self.view().tables.postings
        found = [word for word in postings if part in word and part != word]
        return sorted(found, key=lambda word: (len(word), -len(postings[word]), word))[:limit]

    def find_similar_words(self, word: str) -> list[str]:
        """Indexed words that share a part of this one and are about as long."""
        check_text(word)
        length, half = len(word), len(word) // 2
        # Another form of a word keeps its beginning; a word with one typo keeps its first half, or
        # its last, or all but two letters in the middle that changed places.
        first, last = word[:half], word[half + 1 :]
        ending = _trigrams(word[min(half, length - 3) :])

        def is_near(other: str) -> bool:
            off = abs(len(other) - length)
            if off <= 4 and other.startswith(word[:5]):
                return True
            if off > 1:
                return False
            if other.startswith(word[: half - 1]) and (
                other.startswith(first) or other.endswith(last)
            ):
                return True
            return all(part in other for part in ending)

        return [other for other in self.view().tables.postings if is_near(other)]

    def match(self, terms: Sequence[Term], where: Filter, limit: int) -> list[WordMatch]:
        """The best texts by bm25."""
        view = self.view()
        tables = view.tables
        sought = [term for term in terms if term.sought] or terms
        scores: dict[str, float] = {}
        for word, is_prefix in _phrases(sought):
            occurrences = _with_prefix(tables, word) if is_prefix else tables.postings[word]
            for id_, score in _bm25(tables, occurrences).items():
                scores[id_] = scores.get(id_, 0.0) + score
        best = sorted(scores, key=lambda id_: (-scores[id_], tables.entries[id_].number))
        found: list[WordMatch] = []
        for id_ in best:
            entry = tables.entries[id_]
            if len(found) == limit:
                break
            if view.allows(where, entry):
                found.append(
                    WordMatch(id_, scores[id_], entry.words, entry.memory.content[:OPENING])
                )
        return found

    def match_literal(self, text: str, where: Filter, limit: int) -> list[str]:
        """Ids of texts with these characters, the shortest first."""
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

    def get_words(self, ids: Sequence[str]) -> dict[str, Words]:
        """The index words of these texts."""
        entries = self.view().tables.entries
        return {
            id_: entries[id_].words for id_ in ids if id_ in entries and entries[id_].is_indexed
        }


def _trigrams(word: str) -> list[str]:
    """As few parts of three letters as cover a word."""
    last = len(word) - 3
    return [word[at : at + 3] for at in (*range(0, last, 3), last)]


def _phrases(terms: Sequence[Term]) -> list[tuple[str, bool]]:
    """Each word that is looked for, once, and whether it may be the beginning of a longer one."""
    found: dict[tuple[str, bool], None] = {}
    for term in terms:
        found[term.text, term.prefix] = None
        found |= dict.fromkeys((word, False) for word in term.alternatives if word != term.text)
    return list(found)


def _with_prefix(tables: Tables, prefix: str) -> dict[str, float]:
    """How often words occur that begin like this."""
    found: dict[str, float] = {}
    for word in tables.postings:
        if prefix and word.startswith(prefix):
            for id_, times in tables.postings[word].items():
                found[id_] = found.get(id_, 0.0) + times
    return found


def _bm25(tables: Tables, occurrences: Mapping[str, float]) -> dict[str, float]:
    """What each text gains by a word that occurs so often in these texts."""
    if not occurrences:
        return {}
    texts = len(tables.lengths)
    average = tables.total_length / texts
    idf = log((texts - len(occurrences) + 0.5) / (len(occurrences) + 0.5))
    idf = idf if idf > 0 else LEAST_IDF
    scores = {}
    for id_, times in occurrences.items():
        tempered = times + K1 * (1 - B + B * tables.lengths[id_] / average)
        scores[id_] = idf * times * (K1 + 1) / tempered
    return scores
