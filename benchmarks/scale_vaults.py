"""Vaults of ten thousand to a million memories, kept between runs.

The first memories are real turns of conversations with real vectors; the others are generated, all
different, of real words and as long as the real ones, with vectors drawn around the real ones.
Without the question sets all of it is generated.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import zlib
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import apsw
import numpy as np

from benchmarks import datasets
from benchmarks.datasets import Document
from benchmarks.texts import Writer, vocabulary
from muisti import Muisti
from muisti.bootstrap import identify_folder
from muisti.models.embedders.factory import make_embedder
from muisti.ports import Embedder, Identity, Matrix
from muisti.remember.derive import derive_title
from muisti.remember.identity import make_id
from muisti.storage.sqlite.migrations import NEWEST

BATCH = 1000
SPREAD = 0.6
"""How far a drawn vector is from the real one; the cosine of the two is about .86."""
NOISES = 4096
READ = 500
"""Characters of a real text that its vector is made of: what one chunk holds, more or less."""
IN_SESSION = 20
BULK = 200_000
FIRST_DAY = datetime(2023, 1, 1, tzinfo=UTC)


@cache
def load_real() -> tuple[tuple[Document, ...], tuple[str, ...]]:
    """Return the turns of the question sets, and the questions; empty without the data."""
    folder = datasets.DEFAULT_FOLDER
    if datasets.missing(folder, ["locomo_dev.json", "longmemeval_dev.json"]):
        return (), ()
    stores = [*datasets.locomo(folder), datasets.longmemeval(folder)]
    documents = tuple(
        Document(f"{store.name}/{one.key}", f"{store.name}-{one.group}", one.text, one.at)
        for store in stores
        for one in store.documents
    )
    questions = dict.fromkeys(one.text for store in stores for one in store.questions)
    return documents, tuple(questions)


def make_documents(number: int, start: int = 0) -> Iterator[Document]:
    """Yield the texts of a vault: those of a small one are the first of a large one."""
    real = load_real()[0]
    yield from real[start:number]
    lengths = [len(one.text.split()) for one in real] or None
    writer = Writer(vocabulary()[1], lengths=lengths)
    for place in range(len(real), number):
        text = writer.text()
        if place >= start:
            at = FIRST_DAY + timedelta(minutes=place)
            content = f"{text.title}. {text.content}"
            yield Document(f"g{place}", f"generated-{place // IN_SESSION}", content, at)


def make_questions(number: int) -> list[list[str]]:
    """Return three lists of different questions that are about as long, each in the same order.

    No question is embedded twice: a cache of queries must not help.
    """
    questions = list(load_real()[1])
    if not questions:
        writer = Writer(vocabulary()[1], seed=13)
        questions = list(dict.fromkeys(writer.questions(writer.texts(500), 4 * number)))
    groups = [islice(sorted(questions, key=len), start, None, 3) for start in range(3)]
    triples = list(zip(*groups, strict=False))
    random.Random(3).shuffle(triples)
    return [list(column) for column in zip(*triples[:number], strict=True)]


def load_vectors(cache_folder: Path, size: int) -> Matrix:
    """Return the vectors of the real texts of a vault, or of generated ones; embedded once."""
    texts = [one.text[:READ] for one in load_real()[0][:size] or make_documents(min(size, 500))]
    kept = cache_folder / f"vectors-{len(texts)}.npy"
    if not kept.is_file():
        embedder = make_embedder("onnx", threads=2)
        assert embedder is not None
        cache_folder.mkdir(parents=True, exist_ok=True)
        partial = kept.with_name("part.npy")
        np.save(partial, embedder.embed_documents(texts))
        partial.rename(kept)
    loaded: Matrix = np.load(kept)
    return loaded


class DrawnEmbedder:
    """The default embedder, but for documents: a real text has its vector, another a drawn one."""

    def __init__(self, inner: Embedder, real: Matrix) -> None:
        self._inner = inner
        self._real = real
        known = load_real()[0][: len(real)]
        self._known = {one.text: place for place, one in enumerate(known)}
        noise = np.random.default_rng(7).standard_normal((NOISES, real.shape[1]), np.float32)
        self._noise = noise * np.float32(SPREAD / real.shape[1] ** 0.5)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def identity(self) -> Identity:
        return self._inner.identity()

    def is_ready(self) -> bool:
        return True

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        """Return the same vector for the same text in every run."""
        hashes = np.array([zlib.crc32(text.encode()) for text in texts], np.int64)
        drawn = self._real[hashes % len(self._real)] + self._noise[hashes // 8191 % NOISES]
        for row, text in enumerate(texts):
            if text in self._known:
                drawn[row] = self._real[self._known[text]]
        unit: Matrix = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
        return unit


class GivenEmbedders:
    """Stands for the embedders of the settings."""

    fallback = ""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    def __call__(self, identity: Identity | None) -> Embedder:
        return self._embedder

    def name(self, model: str) -> str:
        return "onnx"

    def knows_query(self, text: str) -> bool:
        return False

    def forget_queries(self) -> None:
        """Do nothing: no query is embedded twice."""

    def close(self) -> None:
        self._embedder.close()


def open_with_drawn_vectors(vault: Path, cache_folder: Path, size: int, **settings: Any) -> Muisti:
    """Open a vault whose documents get drawn vectors, so that saving takes no time of the model."""
    inner = make_embedder("onnx")
    assert inner is not None
    memory = Muisti.open(vault, record_recall=False, **settings)
    embedder: Any = DrawnEmbedder(inner, load_vectors(cache_folder, size))
    memory._services.embedders = GivenEmbedders(embedder)  # type: ignore[assignment]
    return memory


def to_item(document: Document) -> dict[str, object]:
    """Return a document as `save_batch` takes it."""
    return {
        "content": document.text,
        "created_at": document.at,
        "session_id": document.group,
    }


# Vaults on disk -----------------------------------------------------------------------------------


def find_vault(cache_folder: Path, size: int, newest: int = NEWEST) -> Path:
    """Return a kept vault of this size that an index of schema `newest` can open; maybe none yet."""
    kept = {
        int(done.stem.rpartition("-")[2]): done.with_suffix("")
        for done in cache_folder.glob(f"vault-{size}-*.done")
    }
    fitting = [schema for schema in kept if schema <= newest]
    return kept[max(fitting)] if fitting else cache_folder / f"vault-{size}-{newest}"


def build_vault(cache_folder: Path, size: int, bulk: int = BULK) -> Path:
    """Return the kept vault of this size; build it with this muisti if there is none.

    Beyond `bulk` memories the files are written as muisti would write them, and indexed when the
    vault is opened; up to it they are saved.
    """
    vault = find_vault(cache_folder, size)
    done = vault.with_name(f"{vault.name}.done")
    if done.is_file():
        return vault
    shutil.rmtree(vault, ignore_errors=True)
    if size > bulk:
        Muisti.open(vault).close()
        shutil.rmtree(vault / ".muisti")  # an index that is missing is built in one go
        write_files(vault, size)
    # The texts are different, and looking for duplicates would take half of the time.
    plain = {"merge_duplicates": False, "propose_links": False}
    with open_with_drawn_vectors(vault, cache_folder, size, **plain) as memory:
        documents = make_documents(size if size <= bulk else 0)
        while batch := list(islice(documents, BATCH)):
            memory.save_batch(map(to_item, batch))
        memory.reindex_missing()
        stored = memory.get_stats().total_count
    # Some short real turns are equal ("Thanks!") and become one memory.
    assert 0.95 * size <= stored <= size, f"{stored:,} of {size:,} memories are in the index"
    done.touch()
    return vault


def write_files(vault: Path, size: int) -> None:
    """Write the files of memories without the engine, which would take an hour for a million."""
    folder = vault / "notes"
    folder.mkdir(exist_ok=True)
    for place, document in enumerate(make_documents(size)):
        at = f"{document.at:%Y-%m-%dT%H:%M:%SZ}"
        fields = {
            "id": make_id(document.at),
            "title": json.dumps(derive_title(document.text), ensure_ascii=False),
            "kind": "note",
            "sector": "semantic",
            "session_id": document.group,
            "source": "user",
            "importance": "0.5",
            "created_at": at,
            "updated_at": at,
        }
        lines = "".join(f"{name}: {value}\n" for name, value in fields.items())
        text = f"---\n{lines}---\n\n{document.text}\n"
        (folder / f"{document.at:%Y-%m-%d}_{place}.md").write_text(text, "utf-8")


def copy_vault(source: Path, target: Path) -> None:
    """Copy a vault with its index, as if it had been filled there.

    Memories are hard links: muisti replaces files and never writes into them, and a file with
    another inode would be read again. The index is told that it belongs to the copy.
    """
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(
        source,
        target,
        copy_function=lambda old, new: (os.link if old.endswith(".md") else shutil.copy2)(old, new),
    )
    for path in (target / ".muisti").glob("index-*.db"):
        db = apsw.Connection(str(path))
        owner = identify_folder(target)
        db.execute("UPDATE totals SET value = ? WHERE name = 'owner'", (owner,))
        db.close()
