"""A snapshot together with the rows that changed since it was made. Searches run on it.

Each text has a place: those of the snapshot come first, then the recent ones in the order in which
they were read. A text that changed again gets a new place, and its old one is no longer alive.
A table is never changed once it is in use: `extend` returns a new one, which shares the lists of
recent rows but counts more of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from math import log
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from muisti.ports.search import Frequencies
from muisti.recall.matching import FIELD_WEIGHTS, K1
from muisti.recall.speaker import find_speaker
from muisti.storage.snapshot.build import (
    COLUMNS,
    NO_WORDS,
    REPLACED,
    Row,
    hash_word,
)
from muisti.storage.snapshot.scope import Mask, check_scope
from muisti.storage.vector_codes import decode_vectors

if TYPE_CHECKING:
    from muisti.model import Filter
    from muisti.storage.snapshot.source import Array, SnapshotSource

B = 0.75
"""The constant of bm25 for the length of a text."""
MAX_RANGES = 1000
"""The places of the postings are cached for this many words."""
FEW = 8
"""Up to this many postings for each text are scanned; more are searched for the texts."""
MOST_NAMES = 10_000
"""With more speakers, their names are not kept in memory."""
Places = NDArray[np.int64]
Scores = NDArray[np.float64]


class RecentRows:
    """The rows that changed since the snapshot. Only ever appended to."""

    def __init__(self, first_speaker: int) -> None:
        self.first_speaker = first_speaker
        """The number of the first of `speakers`: lower ones are those of the snapshot."""
        self.columns: dict[str, Array] = {name: np.zeros(64, COLUMNS[name]) for name in COLUMNS}
        """With spare capacity."""
        self.count = 0
        self.speakers: list[str] = []
        self.names: set[str] = set()
        """The distinct ones of `speakers`; and those of the snapshot, once they are needed."""
        self.has_all_names = False
        self.counts: list[Counter[str]] = []
        """The weighted counts of the words of each row."""
        self.postings: dict[str, list[int]] = {}
        """The rows that have a word."""
        self.vector_count = 0
        self.vector_places: Places = np.zeros(0, np.int64)
        """The place of each vector's text; with spare capacity, as `pieces` and `vectors`."""
        self.pieces: NDArray[np.int64] = np.zeros((0, 2), np.int64)
        """The ends of the piece of the text."""
        self.vectors: NDArray[np.float32] = np.zeros((0, 0), np.float32)

    def append(self, row: Row) -> int:
        """Add a row. Return its number of words."""
        at = self.count
        if at == len(self.columns["n"]):
            self.columns = {
                name: np.concatenate([column, np.zeros_like(column)])
                for name, column in self.columns.items()
            }
        words: Counter[str] = Counter()
        length = 0
        for text, weight in zip((row.title, row.labels, row.body), FIELD_WEIGHTS, strict=True):
            split = text.split()
            length += len(split)
            for word in split:
                words[word] += int(weight)
        speaker = find_speaker(row.opening)
        number = 0
        if speaker:
            self.speakers.append(speaker)
            self.names.add(speaker)
            number = self.first_speaker + len(self.speakers) - 1
        cells = row.describe(lambda name: 0 if name is None else hash_word(name), number)
        for name, cell in zip(COLUMNS, (*cells, length, len(split)), strict=True):
            self.columns[name][at] = cell
        self.counts.append(words)
        for word in words:
            self.postings.setdefault(word, []).append(at)
        self.count = at + 1
        return length

    def append_vectors(
        self,
        places: Sequence[int],
        pieces: Sequence[tuple[int, int]],
        vectors: NDArray[np.float32],
    ) -> None:
        """Add vectors, with the places of their texts and the ends of the pieces."""
        start, end = self.vector_count, self.vector_count + len(places)
        if not start:
            self.vectors = np.zeros((0, vectors.shape[1]), np.float32)
        if end > len(self.vectors):
            self.vector_places = _grow(self.vector_places, start, 2 * end)
            self.pieces = _grow(self.pieces, start, 2 * end)
            self.vectors = _grow(self.vectors, start, 2 * end)
        self.vector_places[start:end] = places
        self.pieces[start:end] = pieces
        self.vectors[start:end] = vectors
        self.vector_count = end


def _grow(column: NDArray[Any], count: int, room: int) -> NDArray[Any]:
    """Return an array with the first rows of this one, and room for more."""
    grown = np.zeros((room, *column.shape[1:]), column.dtype)
    grown[:count] = column[:count]
    return grown


class Matches(NamedTuple):
    """Texts that have any of some words."""

    places: Places
    """The place of a text is here once for each word that it has."""
    scores: Scores
    """bm25, by place."""
    words: int
    """How many of the words any text has."""

    def choose_best(self, count: int | None) -> tuple[Places, Scores]:
        """Return the `count` best texts, and some more, in no order; None: all."""
        places = self.places
        if count is not None and len(places) > count * self.words:
            scores = self.scores[places]
            last = len(places) - count * self.words
            places = places[scores >= np.partition(scores, last)[last]]
        ordered = places.copy()
        ordered.sort()
        is_first = np.ones(len(ordered), bool)
        is_first[1:] = ordered[1:] != ordered[:-1]
        distinct: Places = ordered[is_first]
        return distinct, self.scores[distinct]


class SearchTable:
    """What searching needs, as one state of the index has it."""

    def __init__(self, columns: Mapping[str, Array], space: int | None, tokens: int) -> None:
        self.columns = columns
        self.space = space
        """The vector space that it has the vectors of."""
        self.size = len(columns["n"])
        """The number of texts in the snapshot."""
        self.recent_rows = RecentRows(len(columns["speaker_end"]))
        self.recent_count = 0
        self.vector_count = 0
        self._recent_places: dict[int, int] = {}
        self.alive: Mask | None = None
        """Which places count; None: all of the snapshot, and there are no others."""
        self._texts = int((columns["flags"] & NO_WORDS == 0).sum())
        """The number of texts in the word index, for bm25."""
        self._tokens = tokens
        self._ranges: dict[str, tuple[int, int]] = {}
        """Where the postings of words are in the snapshot: a query asks for a word repeatedly."""
        self._names: dict[int, str] = {}
        """The names of speakers that were decoded."""
        self._changed_sessions: frozenset[int] = frozenset()
        self._replaced: frozenset[int] = frozenset()
        """Rows that a changed row supersedes, or did."""

    def extend(self, source: SnapshotSource, numbers: Sequence[int]) -> SearchTable:
        """Return a table in which these rows are as the index has them now."""
        new = SearchTable.__new__(SearchTable)
        new.__dict__.update(self.__dict__)
        recent = self.recent_rows
        alive = self.alive
        if alive is None:
            alive = np.ones(self.size + self.recent_count, bool)
        rows = [row for some in source.read_rows(numbers) for row in some]
        alive = np.concatenate([alive, np.ones(len(rows), bool)])
        new._recent_places = places = dict(self._recent_places)
        replaced = self.find_places(numbers)
        replaced = replaced[replaced >= 0]
        alive[replaced] = False
        new._texts -= int((self.take("flags", replaced) & NO_WORDS == 0).sum())
        new._tokens -= int(self.take("length", replaced).sum())
        sessions = {*self._changed_sessions, *self.take("session", replaced).tolist()}
        for n in numbers:
            places.pop(n, None)
        for row in rows:
            places[row.n] = self.size + recent.count
            new._tokens += recent.append(row)
            new._texts += row.flags & NO_WORDS == 0
            sessions.add(0 if row.session_id is None else hash_word(row.session_id))
        new.alive = alive
        new._changed_sessions = frozenset(sessions - {0})
        new._replaced = self._replaced.union(source.find_superseded(numbers))
        new.recent_count = recent.count
        if self.space is not None and rows:
            new._read_vectors(source, numbers)
        return new

    def _read_vectors(self, source: SnapshotSource, numbers: Sequence[int]) -> None:
        assert self.space is not None
        rows = [row for some in source.read_vectors(self.space, numbers) for row in some]
        if rows:
            places = [self._recent_places[n] for n, *_ in rows]
            pieces = [(first, last) for *_, first, last in rows]
            vectors = decode_vectors(rows, len(self.columns["centre"]))
            self.recent_rows.append_vectors(places, pieces, vectors)
        self.vector_count = self.recent_rows.vector_count

    def find_places(self, numbers: Sequence[int]) -> Places:
        """Return the places of rows by their numbers; -1 for those that are not here."""
        wanted = np.array(numbers, np.int64)
        base = self.columns["n"]
        found = np.searchsorted(base, wanted)
        known = found < self.size
        known[known] = base[found[known]] == wanted[known]
        places = np.where(known, found, -1)
        if self.alive is not None:
            for at, n in enumerate(numbers):
                places[at] = self._recent_places.get(n, places[at])
            is_dead = places >= 0
            is_dead[is_dead] = ~self.alive[places[is_dead]]
            places[is_dead] = -1
        return places

    def take(self, name: str, places: Places) -> Array:
        """Return the values of a column at places."""
        base = self.columns[name]
        if not self.recent_count:
            return base[places]
        is_recent = places >= self.size
        if not is_recent.any():
            return base[places]
        recent = self.recent_rows.columns[name]
        if not self.size:
            return recent[places]
        values = base[np.where(is_recent, 0, places)]
        values[is_recent] = recent[places[is_recent] - self.size]
        return values

    def find_numbers(self, places: Sequence[int]) -> list[int]:
        """Return the row numbers of texts."""
        numbers: list[int] = self.take("n", np.array(places, np.int64)).tolist()
        return numbers

    def get_speaker(self, number: int) -> str:
        """Return the name of a speaker."""
        first = self.recent_rows.first_speaker
        if number >= first:
            return self.recent_rows.speakers[number - first]
        name = self._names.get(number)
        if name is None:
            start = int(self.columns["speaker_end"][number - 1]) if number else 0
            stored = self.columns["speaker_name"][start : int(self.columns["speaker_end"][number])]
            name = stored.tobytes().decode("utf-8", "replace")
            if len(self._names) < MOST_NAMES:
                self._names[number] = name
        return name

    def list_speakers(self) -> Set[str] | None:
        """Return the names of all speakers, and maybe of some more; None if there are too many."""
        recent = self.recent_rows
        if recent.first_speaker > MOST_NAMES:
            return None
        if not recent.has_all_names:
            recent.names.update(map(self.get_speaker, range(recent.first_speaker)))
            recent.has_all_names = True
        return recent.names

    def find_replaced(self, places: Places) -> Places:
        """Return those of these places that another memory may supersede."""
        is_replaced = self.take("flags", places) & REPLACED > 0
        if self._replaced:
            is_replaced |= np.isin(self.take("n", places), list(self._replaced))
        return places[is_replaced]

    # -- Words

    def _find_ranges(self, words: Sequence[str]) -> list[tuple[int, int]]:
        """Return where the postings of words begin and end in the snapshot."""
        hashes, starts = self.columns["word_hash"], self.columns["word_start"]
        if not len(hashes):
            return [(0, 0)] * len(words)
        known = self._ranges
        missing = [word for word in words if word not in known]
        if missing:
            if len(known) > MAX_RANGES:
                known, missing = {}, list(words)
            wanted = np.array([hash_word(word) for word in missing], np.uint64)
            at = np.minimum(hashes.searchsorted(wanted), len(hashes) - 1)
            begin = starts[at]
            end = np.where(hashes[at] == wanted, starts[at + 1], begin)
            known.update(zip(missing, zip(begin.tolist(), end.tolist(), strict=True), strict=True))
            self._ranges = known
        return [known[word] for word in words]

    def count_texts(self, words: Sequence[str]) -> Frequencies | None:
        """Return how many texts are indexed, and in how many each word occurs.

        None if rows changed since the snapshot: the index knows.
        """
        if self.alive is not None:
            return None
        ranges = zip(words, self._find_ranges(words), strict=True)
        counts = {word: end - begin for word, (begin, end) in ranges if begin < end}
        return Frequencies(self._texts, counts)

    def match(self, words: Sequence[str]) -> Matches:
        """Return all texts that have any of these words, with bm25.

        As FTS5 computes it: the counts of a word are weighted by field, lengths are not.
        """
        ranges = self._find_ranges(words)
        text, count = self.columns["posting_text"], self.columns["posting_count"]
        places = np.concatenate([text[:0], *(text[a:b] for a, b in ranges)], dtype=np.int64)
        counts = np.concatenate([count[:0], *(count[a:b] for a, b in ranges)], dtype=np.float64)
        having = [end - begin for begin, end in ranges]
        if self.alive is not None:
            places, counts, having = self._update(words, places, counts, having)
        weights = [
            max(1e-6, log((self._texts - count + 0.5) / (count + 0.5))) * (K1 + 1)
            for count in having
        ]
        average = self._tokens / max(1, self._texts)
        dampened = self.take("length", places) * (K1 * B / max(average, 1e-9))
        dampened += counts
        dampened += K1 * (1 - B)
        counts *= np.array(weights).repeat(having)
        counts /= dampened
        scores: Scores = np.zeros(self.size + self.recent_count)
        np.add.at(scores, places, counts)
        return Matches(places, scores, sum(map(bool, having)))

    def _update(
        self, words: Sequence[str], places: Places, counts: Scores, having: Sequence[int]
    ) -> tuple[Places, Scores, list[int]]:
        """Return the postings of words without rows that changed, and with recent ones."""
        recent = self.recent_rows
        number = np.repeat(np.arange(len(words)), having)
        found = [
            (self.size + at, recent.counts[at][word], place)
            for place, word in enumerate(words)
            for at in recent.postings.get(word, ())
            if at < self.recent_count
        ]
        new = np.array(found, np.int64).reshape(-1, 3)
        places = np.concatenate([places, new[:, 0]])
        counts = np.concatenate([counts, new[:, 1]])
        number = np.concatenate([number, new[:, 2]])
        assert self.alive is not None
        living = np.flatnonzero(self.alive[places])
        living = living[np.argsort(number[living], kind="stable")]
        kept: list[int] = np.bincount(number[living], minlength=len(words)).tolist()
        return places[living], counts[living], kept

    def count_words(
        self, texts: Places, positions: NDArray[np.int32], words: Sequence[str]
    ) -> dict[str, Scores]:
        """Return how often words occur in texts: a column for each word that any text has.

        `positions` has the position of each text, by place; for other places the number of texts.
        The columns have one more number, which is 0.
        """
        count = len(texts)
        posting_text, posting_count = self.columns["posting_text"], self.columns["posting_count"]
        counts = np.zeros((len(words), count + 1))
        ranges = self._find_ranges(words)
        few = [row for row, (begin, end) in enumerate(ranges) if end - begin < FEW * count]
        if few:
            at = np.concatenate([posting_text[slice(*ranges[row])] for row in few])
            times = np.concatenate([posting_count[slice(*ranges[row])] for row in few])
            rows = np.array(few).repeat([ranges[row][1] - ranges[row][0] for row in few])
            counts[rows, positions[at]] = times
        if len(few) < len(words):
            ordered = np.sort(texts).astype(np.uint32)
            for row in set(range(len(words))).difference(few):
                having = posting_text[slice(*ranges[row])]
                at = np.minimum(having.searchsorted(ordered), len(having) - 1)
                same = having[at] == ordered
                times = posting_count[slice(*ranges[row])][at[same]]
                counts[row, positions[ordered[same]]] = times
        if self.recent_count:
            for position in np.flatnonzero(texts >= self.size).tolist():
                recent = self.recent_rows.counts[int(texts[position]) - self.size]
                counts[:, position] = [recent.get(word, 0) for word in words]
        counts[:, count] = 0.0
        used = np.logical_or.reduce(counts, axis=1).nonzero()[0].tolist()
        return {words[row]: counts[row] for row in used}

    # -- Scope

    def is_in_scope(self, places: Places, where: Filter) -> Mask:
        """Return which texts the scope of a filter accepts; see `has_only_scope`."""
        return check_scope(self.take, places, where)

    # -- Neighbours

    def find_sides(self, places: Places) -> tuple[Places, Mask | None]:
        """Return the places of the neighbours of texts in their sessions, a row for each text.

        Right before, before that, right after, after that; -1 for a missing one. Also return which
        texts are of sessions that changed since the snapshot: their neighbours must be read from
        the index. None: no session did.
        """
        beside = self.columns["beside"]
        if self.alive is None:
            return beside[places], None
        sessions = self.take("session", places)
        is_recent = places >= self.size
        changed = is_recent & (sessions > 0)
        if self._changed_sessions:
            changed |= np.isin(sessions, np.array(list(self._changed_sessions), np.uint64))
        return beside[np.where(is_recent, -1, places)], changed
