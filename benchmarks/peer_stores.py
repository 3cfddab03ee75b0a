"""Memory systems behind one small interface; each is a process of the peers' environment that
`benchmarks.peers` measures: `python -m benchmarks.peer_stores NAME CACHE`.

All get the same texts and the same embedder: muisti's default, the same file through the same ONNX
Runtime. The vectors of documents are prepared (see `scale_vaults`), because the model would be nine
tenths of every figure, unless a command says otherwise; those of questions never are.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, Protocol

from benchmarks import datasets
from benchmarks.datasets import Document
from benchmarks.scale_vaults import (
    DrawnEmbedder,
    GivenEmbedders,
    copy_vault,
    find_vault,
    load_vectors,
    make_documents,
    to_item,
)
from benchmarks.workers import measure_folder, measure_memory, serve
from muisti.models.embedders.factory import make_embedder

DIMENSIONS = 384
QUALITY_TEXTS = 3000
"""The real turns of LoCoMo are among so many of the first texts."""


class Store(Protocol):
    """A system that remembers texts under a key and finds them again."""

    def add(self, documents: Sequence[Document]) -> None: ...

    def search(self, question: str) -> list[str]:
        """Return the keys of ten documents, best first."""
        ...

    def close(self) -> None: ...


class Ours:
    """muisti with its defaults."""

    def __init__(self, folder: Path, embedder: Any) -> None:
        from muisti import Muisti

        self._memory = Muisti.open(folder / "vault", record_recall=False)
        self._memory._services.embedders = GivenEmbedders(embedder)  # type: ignore[assignment]
        self._noted = folder / "keys.json"
        self._keys: dict[str, str] = {}
        if self._noted.is_file():
            self._keys = json.loads(self._noted.read_text("utf-8"))

    def add(self, documents: Sequence[Document]) -> None:
        saved = self._memory.save_batch(map(to_item, documents))
        for document, memory in zip(documents, saved, strict=True):
            self._keys[memory.id] = document.key

    def search(self, question: str) -> list[str]:
        found = self._memory.search(question, limit=10)
        assert found.mode == "hybrid", found.degraded
        return [self._keys.get(result.memory.id, result.memory.id) for result in found]

    def close(self) -> None:
        self._noted.write_text(json.dumps(self._keys), "utf-8")
        self._memory.close()


class Chroma:
    """A collection of chromadb in a folder, by cosine."""

    def __init__(self, folder: Path, embedder: Any) -> None:
        import chromadb  # type: ignore[import-not-found]  # in the peers' environment only

        self._embedder = embedder
        client = chromadb.PersistentClient(path=str(folder / "chroma"))
        self._collection = client.get_or_create_collection(
            "memories", configuration={"hnsw": {"space": "cosine"}}, embedding_function=None
        )

    def add(self, documents: Sequence[Document]) -> None:
        texts = [document.text for document in documents]
        self._collection.add(
            ids=[document.key for document in documents],
            documents=texts,
            embeddings=self._embedder.embed_documents(texts),
        )

    def search(self, question: str) -> list[str]:
        vector = self._embedder.embed_query(question)
        found = self._collection.query(query_embeddings=[vector], n_results=10)
        keys: list[str] = found["ids"][0]
        return keys

    def close(self) -> None:
        pass


class Lance:
    """A table of LanceDB with its full-text index, searched by both: `query_type="hybrid"`."""

    def __init__(self, folder: Path, embedder: Any) -> None:
        import lancedb  # type: ignore[import-not-found]  # in the peers' environment only
        import pyarrow as pa  # type: ignore[import-not-found]

        self._embedder = embedder
        vectors = pa.list_(pa.float32(), DIMENSIONS)
        columns = [("key", pa.string()), ("text", pa.string()), ("vector", vectors)]
        self._schema = pa.schema(columns)
        database = lancedb.connect(str(folder / "lance"))
        self._table = database.create_table("memories", schema=self._schema, exist_ok=True)

    def add(self, documents: Sequence[Document]) -> None:
        import pyarrow as pa

        texts = [document.text for document in documents]
        vectors = pa.array(self._embedder.embed_documents(texts).ravel())
        rows = {
            "key": [document.key for document in documents],
            "text": texts,
            "vector": pa.FixedSizeListArray.from_arrays(vectors, DIMENSIONS),
        }
        self._table.add(pa.table(rows, schema=self._schema))
        if not self._table.list_indices():
            from lancedb.index import FTS  # type: ignore[import-not-found]

            self._table.create_index("text", config=FTS())
        self._table.optimize()  # new texts are not in the index before

    def search(self, question: str) -> list[str]:
        vector = self._embedder.embed_query(question)
        query = self._table.search(query_type="hybrid").vector(vector).text(question)
        return [row["key"] for row in query.limit(10).to_list()]

    def close(self) -> None:
        pass


class Mem0:
    """mem0 as its guide for local use has it: qdrant in a folder; `infer=False`, as there is no
    LLM.
    """

    def __init__(self, folder: Path, embedder: Any) -> None:
        os.environ.setdefault("OPENAI_API_KEY", "none")  # it makes a client that is never used
        os.environ["MEM0_DIR"] = str(folder / "home")
        import mem0  # type: ignore[import-not-found]  # in the peers' environment only

        store = {
            "path": str(folder / "qdrant"),
            "on_disk": True,
            "embedding_model_dims": DIMENSIONS,
        }
        self._memory = mem0.Memory.from_config(
            {
                "vector_store": {"provider": "qdrant", "config": store},
                "history_db_path": str(folder / "history.db"),
                "embedder": {"provider": "openai", "config": {"embedding_dims": DIMENSIONS}},
            }
        )
        self._embedder = embedder
        self._memory.embedding_model = self

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        """What mem0 calls its embedder with."""
        if memory_action == "search":
            row = self._embedder.embed_query(text)
        else:
            row = self._embedder.embed_documents([text])[0]
        vector: list[float] = row.tolist()
        return vector

    def add(self, documents: Sequence[Document]) -> None:
        for document in documents:
            metadata = {"key": document.key}
            self._memory.add(document.text, user_id="u", infer=False, metadata=metadata)

    def search(self, question: str) -> list[str]:
        found = self._memory.search(question, filters={"user_id": "u"}, top_k=10, threshold=0.0)
        return [result["metadata"]["key"] for result in found["results"]]

    def close(self) -> None:
        self._memory.vector_store.client.close()


class MemSearch:
    """memsearch: Markdown files, indexed into Milvus Lite and searched by both."""

    def __init__(self, folder: Path, embedder: Any) -> None:
        import memsearch.core  # type: ignore[import-not-found]  # in the peers' environment only

        self.model_name, self.dimension, self.batch_size = "bge-small", DIMENSIONS, 256
        self._embedder, self._is_searching = embedder, False
        self._files = folder / "files"
        self._files.mkdir(parents=True, exist_ok=True)
        memsearch.core.get_provider = lambda *_, **__: self
        uri = str(folder / "milvus.db")
        self._memory = memsearch.core.MemSearch([str(self._files)], milvus_uri=uri)

    async def embed(self, texts: list[str]) -> list[list[float]]:
        """What memsearch calls its embedder with."""
        if self._is_searching:
            return [self._embedder.embed_query(text).tolist() for text in texts]
        own = [
            text.partition("\n")[2].strip() if text.startswith("## ") else text for text in texts
        ]
        rows: list[list[float]] = self._embedder.embed_documents(own).tolist()
        return rows

    def add(self, documents: Sequence[Document]) -> None:
        """Add a file for each session with a section for each text, as its agents write notes.

        Adding a file takes longer the more there are: with one for each text, 3,000 took minutes.
        """
        self._is_searching = False
        for group, some in groupby(documents, key=lambda document: document.group):
            turns = list(some)
            name = f"{group}-{turns[0].key}".replace("/", "_")
            path = self._files / f"{name}.md"
            sections = [f"## {turn.key}\n\n{turn.text.replace('#', ' ')}\n" for turn in turns]
            path.write_text("\n".join(sections), "utf-8")
            asyncio.run(self._memory.index_file(path))

    def search(self, question: str) -> list[str]:
        self._is_searching = True
        found = asyncio.run(self._memory.search(question, top_k=10))
        return [str(one["heading"]) for one in found]

    def close(self) -> None:
        self._memory.close()


STORES: dict[str, Any] = {
    "muisti": Ours,
    "chromadb": Chroma,
    "lancedb": Lance,
    "memsearch": MemSearch,
    "mem0": Mem0,
}


class PeerWorker:
    """One system in a folder."""

    def __init__(self, name: str, cache: Path) -> None:
        self._name, self._cache = name, cache
        self._store: Store | None = None
        self._texts: list[Document] = []
        self._bare = make_embedder("onnx")

    def open(self, folder: str, size: int, real: bool = False) -> None:
        """Real: documents are embedded by the model."""
        Path(folder).mkdir(parents=True, exist_ok=True)
        inner = make_embedder("onnx")
        assert inner is not None
        embedder = inner if real else DrawnEmbedder(inner, load_vectors(self._cache, size))
        self._store = STORES[self._name](Path(folder), embedder)

    def copy(self, folder: str, size: int) -> bool:
        """Start with a copy of muisti's kept vault of this size; return whether there is one."""
        vault = find_vault(self._cache, size)
        if self._name != "muisti" or not vault.with_name(f"{vault.name}.done").is_file():
            return False
        Path(folder).mkdir(parents=True, exist_ok=True)
        copy_vault(vault, Path(folder, "vault"))
        return True

    def make_texts(self, start: int, end: int) -> None:
        """Make the texts that are added next, which is not measured."""
        self._texts = list(make_documents(end, start))

    def add(self, start: int, end: int) -> None:
        """Add some of the texts, which are counted from 0."""
        assert self._store is not None
        self._store.add(self._texts[start:end])

    def search(self, question: str) -> list[str]:
        assert self._store is not None
        return self._store.search(question)

    def first_search(self, folder: str, size: int, question: str) -> float:
        """Open and search; return the processor time since this process began."""
        self.open(folder, size, real=True)
        assert self.search(question)
        return time.process_time()

    def embed(self, question: str) -> None:
        """Embed a question and do nothing else."""
        assert self._bare is not None
        self._bare.embed_query(question)

    def measure_quality(self, folder: str, conversation: int) -> dict[str, Any]:
        """LoCoMo, one conversation, by the protocol of `benchmarks.quality`."""
        self.open(folder, QUALITY_TEXTS)
        asked = datasets.locomo(datasets.DEFAULT_FOLDER)[conversation]
        assert self._store is not None
        self._store.add(asked.documents)
        shares = []
        for question in asked.questions:
            found = question.gold.intersection(self._store.search(question.text))
            shares.append(len(found) / len(question.gold))
        return {"questions": len(shares), "recall@10": sum(shares) / len(shares)}

    def measure_memory(self) -> dict[str, float]:
        return measure_memory()

    def measure_disk(self, folder: str) -> int:
        return measure_folder(Path(folder))

    def close(self) -> None:
        if self._store is not None:
            self._store.close()
            self._store = None


def main() -> None:
    worker = PeerWorker(sys.argv[1], Path(sys.argv[2]))
    names = [name for name in vars(PeerWorker) if not name.startswith("_")]
    serve({name: getattr(worker, name) for name in names})


if __name__ == "__main__":
    main()
