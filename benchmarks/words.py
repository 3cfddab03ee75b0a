"""Engines for keyword search on the same words: `python -m benchmarks.words [--sizes 10000,100000]`.

FTS5 as the index has it, the postings of a search snapshot, and tantivy if it is installed (`pip
install tantivy`). All get the words of our tokenizer. For each: time to build, bytes, the time of a
query that fetches 200 row numbers with scores, how many of FTS5's first ten it finds, and the time
until one more text is found, durably.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from benchmarks.texts import Writer, vocabulary
from benchmarks.timing import machine
from muisti.recall.query import split_query
from muisti.storage.snapshot.table import SearchTable
from muisti.storage.sqlite.connect import connect
from muisti.storage.sqlite.migrate import migrate
from muisti.storage.sqlite.snapshot.build import SqliteSource, build_snapshot
from muisti.storage.sqlite.snapshot.file import map_snapshot
from muisti.text.tokens import tokenize

TAKE = 200
Hits = list[tuple[int, float]]


class Engine(Protocol):
    """One engine under test."""

    def search(self, words: Sequence[str]) -> Hits:
        """Return the best row numbers with scores."""
        ...

    def add(self, number: int, words: str) -> None:
        """Add one text, so that the next search finds it."""
        ...


class Fts5:
    """The table of the index: its words, and FTS5 over them."""

    def __init__(self, folder: Path, texts: Iterator[str]) -> None:
        self.path = folder / "index-00000000.db"
        self.db = connect(self.path, 5)
        migrate(self.db)
        self.db.execute("PRAGMA synchronous = off")
        with self.db:
            for number, words in enumerate(texts, start=1):
                self._insert(number, words)
        with self.db:
            self.db.execute("INSERT INTO word_index (word_index) VALUES ('optimize')")
        self.db.execute("PRAGMA synchronous = normal")

    def _insert(self, number: int, words: str) -> None:
        self.db.execute(_ENTRY, (number, str(number), str(number)))
        self.db.execute("INSERT INTO words VALUES (?, '', '', ?)", (number, words))

    def add(self, number: int, words: str) -> None:
        with self.db:
            self._insert(number, words)

    def search(self, words: Sequence[str]) -> Hits:
        match = " OR ".join(f'"{word}"' for word in words)
        sql = f"""SELECT rowid, -rank FROM word_index WHERE word_index MATCH ?
                  ORDER BY rank LIMIT {TAKE}"""
        return [(int(n), float(score)) for n, score in self.db.execute(sql, (match,))]


_ENTRY = """INSERT INTO entries (n, id, project, tier, kind, sector, created_at, updated_at, source,
path, title, content_hash, content, source_hash)
VALUES (?, ?, '', 'project', 'note', 'semantic', 0, 0, 'user', ?, '', '', '', '')"""


class Postings:
    """The postings of a snapshot, with added rows on top."""

    def __init__(self, folder: Path, index: Fts5) -> None:
        self.path = folder / "snapshot-00000000.bin"
        self._index = index
        self._seq = build_snapshot(index.db, self.path, index.path.name)
        columns, values = map_snapshot(folder, self.path.name, index.path.name)
        self._table = SearchTable(columns, values["space"], values["tokens"])

    def add(self, number: int, words: str) -> None:
        self._index.add(number, words)
        self._table = self._table.extend(SqliteSource(self._index.db), [number])

    def search(self, words: Sequence[str]) -> Hits:
        places, scores = self._table.match(words).choose_best(TAKE)
        order = np.argsort(-scores)[:TAKE]
        numbers = self._table.take("n", places[order]).tolist()
        return list(zip(numbers, scores[order].tolist(), strict=True))


class Tantivy:
    """A side-car in a folder of its own."""

    def __init__(self, folder: Path, texts: Iterator[str]) -> None:
        import tantivy

        self._tantivy: Any = tantivy
        self.path = folder / "tantivy"
        self.path.mkdir()
        builder = tantivy.SchemaBuilder()
        builder.add_unsigned_field("n", stored=True, fast=True)
        builder.add_text_field("body", tokenizer_name="whitespace", index_option="freq")
        self._index = tantivy.Index(builder.build(), path=str(self.path))
        self._writer = self._index.writer(200_000_000, 1)
        for number, words in enumerate(texts, start=1):
            self._writer.add_document(self._make(number, words))
        self._writer.commit()
        self._index.reload()

    def _make(self, number: int, words: str) -> Any:
        document = self._tantivy.Document()
        document.add_unsigned("n", number)
        document.add_text("body", words)
        return document

    def add(self, number: int, words: str) -> None:
        self._writer.add_document(self._make(number, words))
        self._writer.commit()
        self._index.reload()

    def search(self, words: Sequence[str]) -> Hits:
        t = self._tantivy
        schema = self._index.schema
        parts = [
            (t.Occur.Should, t.Query.term_query(schema, "body", word, "freq")) for word in words
        ]
        searcher = self._index.searcher()
        hits = searcher.search(t.Query.boolean_query(parts), TAKE).hits
        return [(searcher.doc(address)["n"][0], score) for score, address in hits]


def measure(size: int, words: Sequence[str], queries: int) -> dict[str, dict[str, float]]:
    """Return the figures of each engine."""
    writer = Writer(words)

    def texts() -> Iterator[str]:
        for text in Writer(words).texts(size):
            yield " ".join(tokenize(text.content))

    asked = [split_query(question) for question in writer.questions(writer.texts(1000), queries)]
    found: dict[str, dict[str, float]] = {}
    # tantivy's threads may still write while the folder is removed.
    with tempfile.TemporaryDirectory(prefix="muisti-words-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        fts5, took = _timed(lambda: Fts5(folder, texts()))
        first = [{n for n, _ in fts5.search(one)[:10]} for one in asked]
        found["FTS5"] = _figures(fts5, asked, first, took, fts5.path, size)
        postings, took = _timed(lambda: Postings(folder, fts5))
        found["postings"] = _figures(postings, asked, first, took, postings.path, size)
        try:
            side_car, took = _timed(lambda: Tantivy(folder, texts()))
        except ImportError:
            return found
        found["tantivy"] = _figures(side_car, asked, first, took, side_car.path, size)
    return found


def _timed(make: Callable[[], Any]) -> tuple[Any, float]:
    start = time.process_time()
    return make(), time.process_time() - start


def _figures(
    engine: Engine,
    asked: Sequence[Sequence[str]],
    first: Sequence[set[int]],
    build: float,
    path: Path,
    size: int,
) -> dict[str, float]:
    times, shared = [], []
    for words, expected in zip(asked, first, strict=True):
        start = time.process_time()
        hits = engine.search(words)
        times.append(time.process_time() - start)
        if expected:
            shared.append(len(expected & {n for n, _ in hits[:10]}) / len(expected))
    increments = []
    for number in range(10):
        start = time.perf_counter()
        engine.add(size + 1 + number + 100 * (type(engine).__name__ == "Postings"), "zzz added")
        engine.search(["zzz"])
        increments.append(time.perf_counter() - start)
    files = [path] if path.is_file() else [*path.iterdir()]
    return {
        "build_s": build,
        "mb": sum(os.stat(file).st_size for file in files) / 1e6,
        "query_ms": statistics.median(times) * 1000,
        "same_ten": statistics.mean(shared) if shared else 1.0,
        "add_ms": statistics.median(increments) * 1000,
    }


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="10000,100000")
    parser.add_argument("--queries", type=int, default=200)
    options = parser.parse_args(arguments)
    _, words = vocabulary()
    print(json.dumps(machine()))
    for size in map(int, options.sizes.split(",")):
        for name, figures in measure(size, words, options.queries).items():
            cells = " ".join(f"{key}={value:.3g}" for key, value in figures.items())
            print(f"{size:>9,} {name:<9} {cells}", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
