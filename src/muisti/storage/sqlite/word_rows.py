"""Which rows have a word, without reading the word index: saving asks for the rarest words.

Most rows are those of the snapshot, whose postings are mapped. The words of rows that changed since
it was made are kept here. The table `changed` numbers every change of a row: none is missed.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from muisti.logs import get_log
from muisti.storage.sqlite.rows import fetch
from muisti.storage.sqlite.vector_spaces import to_json

if TYPE_CHECKING:
    import apsw

    from muisti.storage.snapshot.source import Array
    from muisti.storage.sqlite.connect import Database

MOST_ROWS = 20_000
"""This many changed rows are kept, about 15 MB. With more, the word index is read."""
READ_AT_ONCE = 300
"""This many rows may be read for one new memory; more only for a batch, or if a few are new."""
DUE, DUE_SHARE = 1000, 0.25
"""A snapshot is built once this many memories were saved that could not use this, or this share of
all texts if that is more. Searches need newer ones and say so themselves; during a bulk load there
may be none, and a snapshot for every few thousand texts takes longer than saving them.
"""
_FIRST = 3
"""Importing numpy takes longer than reading the word index this many times."""


class WordRows:
    """The words of all rows of one index file. Thread-safe."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._guard = threading.Lock()
        self._key: tuple[Path | None, str] = (None, "")
        self._columns: Mapping[str, Array] = {}
        """Of the snapshot."""
        self._seq = -1
        """The last change that is included; -1: nothing is."""
        self._replaced: set[int] = set()
        """Rows of the snapshot that changed since."""
        self._replaced_places: Array | None = None
        """Their places, in order, once they are needed."""
        self._words: dict[int, set[str]] = {}
        """The words of rows that changed since, by row."""
        self._rows: dict[str, list[int]] = {}
        """The same by word."""
        self._uses = 0
        self._missed = 0
        """How many memories were saved without this since it was last usable."""
        self._rejected = ""
        """The snapshot that turned out to be damaged."""

    def clear(self) -> None:
        """Forget all rows."""
        with self._guard:
            self._forget(None, "")

    def count(
        self, db: apsw.Connection, words: Sequence[str], memories: int
    ) -> dict[str, int] | None:
        """Return in how many texts each word occurs; None: ask the index.

        `db` is in a read transaction. `memories`: how many new ones the words are of.
        """
        with self._guard, self._reject_damaged():
            if not self._update(db, memories):
                return None
            rows = self._rows
            counts = {word: len(rows[word]) for word in words if word in rows}
            for word, places in self._find_places(words).items():
                counts[word] = counts.get(word, 0) + len(places) - self._count_replaced(places)
            return {word: count for word, count in counts.items() if count}
        return None

    def find(
        self, db: apsw.Connection, searches: Sequence[Sequence[str]]
    ) -> list[list[int]] | None:
        """Return for each search the rows with any of its words, in order; None: ask the index."""
        with self._guard, self._reject_damaged():
            if not self._update(db, len(searches)):
                return None
            places = self._find_places({word for words in searches for word in words})
            replaced = self._replaced
            numbers = {
                word: [n for n in self._columns["n"][found].tolist() if n not in replaced]
                for word, found in places.items()
            }
            rows = self._rows
            return [
                sorted(
                    set[int]().union(
                        *[rows[word] for word in words if word in rows],
                        *[numbers[word] for word in words if word in numbers],
                    )
                )
                for words in searches
            ]
        return None

    @contextmanager
    def _reject_damaged(self) -> Iterator[None]:
        """Suppress what a damaged array causes, and use the snapshot no more."""
        try:
            yield
        except (IndexError, KeyError, ValueError) as error:
            self._forget(*self._key)
            self._rejected = self._key[1]
            self._database.snapshots.reject(error)

    def _find_places(self, words: Iterable[str]) -> dict[str, Array]:
        """Return the places in the snapshot of the texts that have these words."""
        if not self._columns or not len(self._columns["word_hash"]):
            return {}
        import numpy as np

        from muisti.storage.sqlite.snapshot.build import hash_word

        hashes, starts = self._columns["word_hash"], self._columns["word_start"]
        distinct = list(words)
        wanted = np.array([hash_word(word) for word in distinct], np.uint64)
        at = np.minimum(hashes.searchsorted(wanted), len(hashes) - 1)
        is_known = (hashes[at] == wanted).tolist()
        begin, end = starts[at].tolist(), starts[at + 1].tolist()
        postings = self._columns["posting_text"]
        return {
            word: postings[begin[place] : end[place]]
            for place, word in enumerate(distinct)
            if is_known[place]
        }

    def _count_replaced(self, places: Array) -> int:
        """Return how many of these texts of the snapshot changed since."""
        if not self._replaced or not len(places):
            return 0
        if self._replaced_places is None:
            numbers = sorted(self._replaced)
            self._replaced_places = self._columns["n"].searchsorted(numbers)
        at = places.searchsorted(self._replaced_places)
        at[at == len(places)] = 0
        return int((places[at] == self._replaced_places).sum())

    # -- Following the index

    def _update(self, db: apsw.Connection, memories: int) -> bool:
        """Include the rows that changed. Return whether everything is included now."""
        path = self._database.path
        name, base = db.execute("SELECT name, seq FROM snapshots").fetchone() or ("", 0)
        [(total,)] = fetch(db, "SELECT total(seq) FROM sqlite_sequence WHERE name = 'changed'")
        last = int(total)
        if self._key != (path, name):
            self._forget(path, name)
            self._uses = 0
        self._uses += 1
        if self._seq < 0:
            return self._load(db, name, base, last, memories)
        if last == self._seq:
            return True
        if last < self._seq:
            return False  # a transaction that began before another thread called this
        changed = [n for (n,) in fetch(db, _CHANGED, (self._seq, MOST_ROWS + 1))]
        if len(self._words) + len(changed) > MOST_ROWS:
            self._forget(path, name)
            return False
        self._read(db, changed)
        self._seq = last
        return True

    def _load(self, db: apsw.Connection, name: str, base: int, last: int, memories: int) -> bool:
        """Map the snapshot and read the rows that it lacks, unless there are too many."""
        if name and name == self._rejected:
            return False
        most = min(MOST_ROWS, READ_AT_ONCE * memories)
        if name and "numpy" not in sys.modules and self._uses + memories < _FIRST:
            return False
        [(texts,)] = fetch(db, "SELECT value FROM totals WHERE name = 'memories'")
        if name:
            found = fetch(db, _CHANGED, (base, most + 1))
        elif texts > most:
            found = None
        else:
            found = fetch(db, "SELECT n FROM words LIMIT ?", (most + 1,))
        if found is None or len(found) > most:
            self._missed += memories
            if self._missed > max(DUE, DUE_SHARE * texts):
                self._missed = 0
                self._database.snapshots.request_build()
            return False
        if name:
            from muisti.storage.sqlite.snapshot.file import UnusableSnapshot, map_snapshot

            assert self._database.path is not None
            folder, index = self._database.path.parent, self._database.path.name
            try:
                self._columns = map_snapshot(folder, name, index)[0]
            except UnusableSnapshot as error:
                get_log().debug(
                    "the words of new memories are sought without a snapshot: %s", error
                )
                return False
        self._read(db, [n for (n,) in found])
        self._seq = last
        return True

    def _read(self, db: apsw.Connection, numbers: Sequence[int]) -> None:
        """Read the words of these rows again."""
        for n in numbers:
            for word in self._words.pop(n, ()):
                self._rows[word].remove(n)
        known = self._columns.get("n")
        if known is not None and len(known):
            newest = int(known[-1])
            older = [n for n in numbers if n <= newest]
            at = known.searchsorted(older)
            self._replaced.update(
                n for n, place in zip(older, at, strict=True) if known[place] == n
            )
            self._replaced_places = None
        rows = self._rows
        for n, *fields in fetch(db, _WORDS, (to_json(numbers),)):
            self._words[n] = words = set(" ".join(fields).split())
            for word in words:
                if word in rows:
                    rows[word].append(n)
                else:
                    rows[word] = [n]

    def _forget(self, path: Path | None, name: str) -> None:
        self._key, self._seq, self._columns = (path, name), -1, {}
        self._replaced, self._words, self._rows = set(), {}, {}
        self._replaced_places = None


_CHANGED = "SELECT DISTINCT n FROM changed WHERE seq > ? LIMIT ?"
_WORDS = """
SELECT w.n, w.title, w.labels, w.body FROM json_each(?) j CROSS JOIN words w ON w.n = j.value
"""
