"""muisti as a process that `search_scale` measures: whichever checkout PYTHONPATH names."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import bare, scale_vaults
from benchmarks.datasets import Document
from benchmarks.texts import Text
from benchmarks.workers import measure_folder, measure_memory, serve

SIGNS = 384
NEAREST = 500


class MuistiWorker:
    """A vault; only what every version of muisti has in public is used to search it."""

    def __init__(self, cache_folder: str) -> None:
        self._cache = Path(cache_folder)
        self._memory: Any = None
        self._bare: Any = None
        self._texts: list[Document] = []

    def about(self) -> dict[str, object]:
        import muisti
        from muisti.storage.sqlite.migrations import NEWEST

        return {"source": muisti.__file__, "version": muisti.__version__, "schema": NEWEST}

    def build(self, size: int) -> str:
        """Build the vault unless it is kept; return its folder."""
        return str(scale_vaults.build_vault(self._cache, size))

    def copy(self, source: str, target: str) -> None:
        scale_vaults.copy_vault(Path(source), Path(target))

    def open(self, vault: str) -> None:
        from muisti import Muisti

        self._memory = Muisti.open(vault, record_recall=False)

    def open_close(self, vault: str) -> None:
        """Open a vault that has not changed, and close it."""
        self.open(vault)
        self.close()

    def walk(self, vault: str) -> int:
        """Look at every file and do nothing else."""
        return bare.walk(Path(vault))

    def open_drawn(self, vault: str, size: int) -> None:
        """Open it with drawn vectors for batches; a single save is embedded later."""
        self._memory = scale_vaults.open_with_drawn_vectors(
            Path(vault), self._cache, size, embed_on_save=False
        )

    def close(self) -> None:
        if self._memory is not None:
            self._memory.close()
            self._memory = None

    def search(self, question: str, mode: str) -> int:
        found = self._memory.search(question, mode=mode, limit=10)
        assert not found.degraded or mode == "keyword", found.degraded
        return len([result.memory.content for result in found])

    def first_search(self, vault: str, question: str, mode: str) -> float:
        """Open and search; return the processor time since this process began."""
        self.open(vault)
        self.search(question, mode)
        return time.process_time()

    def load_embedder(self) -> None:
        from muisti.models.embedders.factory import make_embedder

        self._bare = make_embedder("onnx")
        self._bare.embed_query("load the model")

    def embed(self, question: str) -> None:
        """Embed a question and do nothing else: the yardstick."""
        self._bare.embed_query(question)

    def make_codes(self, size: int) -> None:
        """Make random signs of as many vectors as the vault has memories."""
        self._codes = np.random.default_rng(1).integers(0, 2**63, (size, SIGNS // 64), np.uint64)

    def scan(self) -> int:
        """Find the nearest vectors by their signs and do nothing else: the least of a full scan."""
        distances = np.bitwise_count(self._codes ^ self._codes[0]).sum(axis=1, dtype=np.uint16)
        kept = min(NEAREST, len(distances) - 1)
        return len(np.argpartition(distances, kept)[:kept])

    def make_texts(self, start: int, count: int, folder: str) -> None:
        """Generate the texts that are saved next, and open the bare index; not measured."""
        self._texts = list(scale_vaults.make_documents(start + count, start))
        Path(folder, "files").mkdir(parents=True)
        self._bare_folder = Path(folder)
        self._bare_index = bare.BareIndex(self._bare_folder / "bare.db")

    def save(self, place: int) -> str:
        """Save one text; return its ID. Embedding is left for later."""
        return str(self._memory.save(self._texts[place].text).id)

    def save_bare(self, place: int) -> None:
        """Write a durable file and insert the text into FTS5 in a durable transaction."""
        text = self._texts[place].text
        bare.durable_write(self._bare_folder / "files" / f"{place}.md", text.encode())
        self._bare_index.insert(Text("", text))

    def save_batch(self, start: int, end: int) -> int:
        """Save generated texts in one batch; return how many."""
        saved = self._memory.save_batch(map(scale_vaults.to_item, self._texts[start:end]))
        self._memory.reindex_missing()
        return len(saved)

    def reindex(self) -> int:
        self._memory.reindex()
        return int(self._memory.get_stats().total_count)

    def delete(self, memory_id: str) -> bool:
        return bool(self._memory.delete(memory_id, hard=True))

    def measure_memory(self) -> dict[str, float]:
        return measure_memory()

    def measure_disk(self, vault: str) -> dict[str, int]:
        index = measure_folder(Path(vault, ".muisti"))
        return {"index": index, "all": measure_folder(Path(vault))}

    def split_words(self, question: str) -> list[str]:
        """Return the index words of a question, without stop words."""
        from muisti.recall.query import split_query

        return list(split_query(question))

    def write_words(self, size: int, path: str) -> None:
        """Write the index words of each text as a line, for another engine."""
        from muisti.text.tokens import tokenize

        with Path(path).open("w", encoding="utf-8") as file:
            for document in scale_vaults.make_documents(size):
                file.write(" ".join(tokenize(document.text)) + "\n")


def main() -> None:
    worker = MuistiWorker(sys.argv[1])
    names = [name for name in vars(MuistiWorker) if not name.startswith("_")]
    commands: dict[str, Callable[..., object]] = {name: getattr(worker, name) for name in names}
    serve(commands)


if __name__ == "__main__":
    main()
