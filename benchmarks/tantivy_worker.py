"""tantivy as a process that `search_scale` measures, in the peers' environment.

It gets the words of muisti's own tokenizer, joined by blanks, and splits at blanks. A search is an
OR of the question's words without stop words, ranked by BM25, and returns ten stored texts.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.workers import measure_folder, measure_memory, serve

HEAP = 100_000_000


class TantivyWorker:
    """One index with one segment or a few."""

    def __init__(self) -> None:
        import tantivy  # type: ignore[import-not-found]  # in the peers' environment only

        self._tantivy = tantivy
        builder = tantivy.SchemaBuilder()
        builder.add_text_field(
            "body", stored=True, tokenizer_name="whitespace", index_option="freq"
        )
        self._schema = builder.build()
        self._searcher: Any = None

    def build(self, words: str, folder: str) -> None:
        """Index a file with the words of one text in each line."""
        Path(folder).mkdir(parents=True)
        index = self._tantivy.Index(self._schema, path=folder)
        writer = index.writer(HEAP, 1)
        with Path(words).open(encoding="utf-8") as lines:
            for line in lines:
                writer.add_document(self._tantivy.Document(body=line.rstrip("\n")))
        writer.commit()
        writer.wait_merging_threads()
        index.reload()
        self._searcher = index.searcher()

    def search(self, words: list[str]) -> int:
        """Return how many texts were found and read."""
        query, should = self._tantivy.Query, self._tantivy.Occur.Should
        terms = [(should, query.term_query(self._schema, "body", word, "freq")) for word in words]
        found = self._searcher.search(query.boolean_query(terms), 10)
        return len([self._searcher.doc(address)["body"] for _, address in found.hits])

    def measure_memory(self) -> dict[str, float]:
        return measure_memory()

    def measure_disk(self, folder: str) -> int:
        return measure_folder(Path(folder))


if __name__ == "__main__":
    _worker = TantivyWorker()
    _names = [name for name in vars(TantivyWorker) if not name.startswith("_")]
    serve({name: getattr(_worker, name) for name in _names})
