"""Memory systems behind one small interface; runs in the peers' environment: `python -m
benchmarks.peer_stores NAME TASK FOLDER`.

All get the same texts and the same embedder: muisti's default, the same file through the same ONNX
Runtime. For speed the documents' vectors are drawn instead of computed (the model would be nine
tenths of every figure), the questions' are not.
"""

from __future__ import annotations

import json
import os
import sys
import time
import zlib
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from benchmarks import datasets
from benchmarks.texts import Writer, vocabulary
from benchmarks.timing import Times, interleaved, seconds
from muisti.models.embedders.factory import make_embedder
from muisti.ports import Embedder, Identity, Matrix, Vector

BATCH = 1000


class Drawn:
    """The default embedder; documents get a vector drawn by their text, if so wanted."""

    def __init__(self, *, real: bool) -> None:
        inner = make_embedder("onnx")
        assert inner is not None
        self._inner, self._real, self.max_tokens = inner, real, inner.max_tokens
        self._centres = np.random.default_rng(7).standard_normal(
            (2000, inner.identity().dimensions), dtype=np.float32
        )

    def identity(self) -> Identity:
        return self._inner.identity()

    def is_ready(self) -> bool:
        return self._inner.is_ready()

    def understands(self, text: str) -> float:
        return self._inner.understands(text)

    def count_tokens(self, text: str) -> int:
        return self._inner.count_tokens(text)

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        return (
            self._inner.embed_documents(texts)
            if self._real
            else np.stack([self._drawn(text) for text in texts])
        )

    def _drawn(self, text: str) -> Vector:
        random = np.random.default_rng(zlib.crc32(text.encode()))
        drawn = self._centres[random.integers(len(self._centres))] + random.standard_normal(
            self._centres.shape[1], dtype=np.float32
        )
        unit: Vector = drawn / np.linalg.norm(drawn)
        return unit

    def embed_query(self, text: str) -> Vector:
        return self._inner.embed_query(text)

    def close(self) -> None:
        self._inner.close()


class Store(Protocol):
    """A system that remembers texts under a key and finds them again."""

    def add(self, keys: Sequence[str], documents: Sequence[datasets.Document]) -> None: ...

    def search(self, question: str, limit: int) -> list[str]:
        """Keys, best first."""
        ...

    def close(self) -> None: ...


class Ours:
    """muisti with its defaults."""

    def __init__(self, folder: Path, embedder: Embedder) -> None:
        from muisti import Muisti

        self._memory = Muisti.open(folder / "vault", record_recall=False, embed_on_save=False)
        self._memory._services.embedders = lambda _: embedder  # type: ignore[assignment]
        self._keys: dict[str, str] = {}
        self._noted = folder / "keys.json"
        if self._noted.is_file():
            self._keys = json.loads(self._noted.read_text("utf-8"))

    def add(self, keys: Sequence[str], documents: Sequence[datasets.Document]) -> None:
        saved = self._memory.save_batch(
            {"content": d.text, "created_at": d.at, "session_id": d.group or None}
            for d in documents
        )
        self._memory.reindex_missing()
        self._keys |= {memory.id: key for memory, key in zip(saved, keys, strict=True)}

    def search(self, question: str, limit: int) -> list[str]:
        return [
            self._keys[result.memory.id] for result in self._memory.search(question, limit=limit)
        ]

    def close(self) -> None:
        self._noted.write_text(json.dumps(self._keys), "utf-8")
        self._memory.close()


class Chroma:
    """A collection of chromadb in a folder, with cosine."""

    def __init__(self, folder: Path, embedder: Embedder) -> None:
        import chromadb  # type: ignore[import-not-found]  # in the peers' environment only

        self._embedder = embedder
        self._found = chromadb.PersistentClient(
            path=str(folder / "chroma")
        ).get_or_create_collection(
            "memories", configuration={"hnsw": {"space": "cosine"}}, embedding_function=None
        )

    def add(self, keys: Sequence[str], documents: Sequence[datasets.Document]) -> None:
        texts = [document.text for document in documents]
        self._found.add(
            ids=list(keys), documents=texts, embeddings=self._embedder.embed_documents(texts)
        )

    def search(self, question: str, limit: int) -> list[str]:
        vector = self._embedder.embed_query(question)
        found: list[str] = self._found.query(query_embeddings=[vector], n_results=limit)["ids"][0]
        return found

    def close(self) -> None:
        pass


class Mem0:
    """mem0 as its guide for local use has it: qdrant in a folder; `infer=False`, for there is no
    LLM.
    """

    def __init__(self, folder: Path, embedder: Embedder) -> None:
        os.environ.setdefault("OPENAI_API_KEY", "none")  # it makes a client that is never used
        os.environ["MEM0_DIR"] = str(folder / "home")
        import mem0  # type: ignore[import-not-found]  # in the peers' environment only

        store = {
            "path": str(folder / "qdrant"),
            "on_disk": True,
            "embedding_model_dims": embedder.identity().dimensions,
        }
        self._memory = mem0.Memory.from_config(
            {
                "vector_store": {"provider": "qdrant", "config": store},
                "history_db_path": str(folder / "history.db"),
                "embedder": {
                    "provider": "openai",
                    "config": {"embedding_dims": store["embedding_model_dims"]},
                },
            }
        )
        self._embedder = embedder
        self._memory.embedding_model = self

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        """What mem0 calls its embedder with."""
        row = (
            self._embedder.embed_query(text)
            if memory_action == "search"
            else self._embedder.embed_documents([text])[0]
        )
        found: list[float] = row.tolist()
        return found

    def add(self, keys: Sequence[str], documents: Sequence[datasets.Document]) -> None:
        for key, document in zip(keys, documents, strict=True):
            self._memory.add(document.text, user_id="u", infer=False, metadata={"key": key})

    def search(self, question: str, limit: int) -> list[str]:
        found = self._memory.search(question, filters={"user_id": "u"}, top_k=limit, threshold=0.0)
        return [result["metadata"]["key"] for result in found["results"]]

    def close(self) -> None:
        self._memory.vector_store.client.close()


STORES: dict[str, Any] = {"muisti": Ours, "chromadb": Chroma, "mem0": Mem0}


def speed(name: str, folder: Path, number: int, asked: int) -> dict[str, Any]:
    """Texts in, questions next to the bare embedding of the same questions, bytes on disk."""
    writer = Writer(vocabulary()[1])
    texts = writer.texts(number)
    embedder = Drawn(real=False)
    store: Store = STORES[name](folder, embedder)
    at = datetime(2026, 1, 1, tzinfo=UTC)
    documents = [
        datasets.Document(f"d{place}", "", f"{one.title}. {one.content}", at)
        for place, one in enumerate(texts)
    ]
    took = 0.0
    for start in range(0, number, BATCH):
        batch = documents[start : start + BATCH]
        took += seconds(lambda some=batch: store.add([one.key for one in some], some))  # type: ignore[misc]
    drawing = seconds(lambda: embedder.embed_documents([one.text for one in documents]))
    questions = writer.questions(texts, asked)
    for question in questions[:10]:
        store.search(question, 10)
    taken = interleaved(
        {"search": lambda question: store.search(question, 10), "embedding": embedder.embed_query},
        questions,
    )
    store.close()
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    return {
        "per_second": number / (took - drawing),
        "bytes_each": size / number,
        **{name: times.summary() for name, times in taken.items()},
        "to_embedding": taken["search"].p50 / taken["embedding"].p50,
    }


def quality(name: str, folder: Path, conversation: int) -> dict[str, Any]:
    """LoCoMo, one conversation, by the protocol of `benchmarks.quality`."""
    store: Store = STORES[name](folder, Drawn(real=True))
    asked = datasets.locomo(datasets.DEFAULT_FOLDER)[conversation]
    start = time.perf_counter()
    store.add([document.key for document in asked.documents], asked.documents)
    took = time.perf_counter() - start
    shares: dict[int, list[float]] = {5: [], 10: []}
    times = []
    for question in asked.questions:
        began = time.perf_counter()
        ranking = store.search(question.text, 10)
        times.append(time.perf_counter() - began)
        for k, values in shares.items():
            values.append(len(question.gold.intersection(ranking[:k])) / len(question.gold))
    store.close()
    found = {f"recall@{k}": sum(values) / len(values) for k, values in shares.items()}
    return {
        "conversation": asked.name,
        "documents": len(asked.documents),
        "questions": len(times),
        "per_second": len(asked.documents) / took,
        **found,
        **Times(tuple(times)).summary(),
    }


def first(name: str, folder: Path) -> dict[str, Any]:
    """One search of what `speed` left; whoever started this process takes the time."""
    store: Store = STORES[name](folder, Drawn(real=True))
    found = store.search("What did we decide about the meeting?", 10)
    answered = time.time()
    store.close()
    return {"found": len(found), "answered": answered}


def main() -> None:
    name, task, folder, *rest = sys.argv[1:]
    Path(folder).mkdir(parents=True, exist_ok=True)
    tasks: dict[str, Any] = {"speed": speed, "quality": quality, "first": first}
    print("\n" + json.dumps(tasks[task](name, Path(folder), *map(int, rest))))


if __name__ == "__main__":
    main()
