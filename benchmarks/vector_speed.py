"""How fast search by meaning is: `python -m benchmarks.vector_speed [--sizes 10000 100000 1000000]
[--vaults FOLDER]`.

The yardstick is one query through MiniLM in full precision, taken in turn with ours. A million real
embeddings take hours, so the vectors of the large vaults are drawn around those of real texts;
everything else goes through the public interface. Up to 100,000 a memory has one vector, beyond it
has ten: 1,000,000 is 100,000 memories of ten pieces each.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import apsw
import numpy as np

from benchmarks import datasets, peer_tables
from benchmarks.peer_minilm import ROOT, Yardstick, environment
from benchmarks.speed_parts import BATCH, item
from benchmarks.tables import PAGE, rewrite
from benchmarks.texts import Writer, vocabulary
from benchmarks.timing import Times, interleaved, machine, seconds
from muisti import Muisti
from muisti.model import Filter
from muisti.ports import Embedded, Embedder, Matrix, Piece
from muisti.recall.retrieve import POOL
from muisti.remember.embed import hash_source

RESULTS = Path(__file__).parent / "results" / "vector_speed.json"
MODES = ("keyword", "vector", "hybrid")
CENTRES, SPREAD, STEP = 2000, 0.6, 2000
CODES = 48
"""Bytes that a scan reads of each vector: one bit for each of 384 dimensions."""
Found = dict[str, Any]


def run(sizes: Sequence[int], folder: Path, asked: int) -> Found:
    """Everything, as one dictionary of plain values."""
    source, words = vocabulary()
    found: Found = {"machine": machine(), "words": source, "sizes": {}}
    with Yardstick() as yardstick:
        found["yardstick"] = yardstick.about
        _say("embedding")
        found["embedding"] = embedding(folder, words, yardstick, asked)
        _say("saving with vectors")
        found["ingest"] = ingest(folder, words, 400)
        for size in sizes:
            _say(f"{size:,} vectors")
            found["sizes"][str(size)] = one_size(size, folder, words, yardstick, asked)
    return found


def embedding(folder: Path, words: Sequence[str], yardstick: Yardstick, asked: int) -> Found:
    """One query next to MiniLM's, and how many short and long texts a second."""
    writer = Writer(words, seed=5)
    texts = writer.texts(400)
    short, long = (
        [one.content for one in texts[:100]],
        [" ".join(one.content for one in texts[at : at + 5]) for at in range(0, 100, 5)],
    )
    with Muisti.open(folder / "embedding") as memory:
        embedder = _embedder(memory)
        embedder.embed_query("load the model")
        taken = interleaved(
            {"ours": embedder.embed_query, "minilm": yardstick}, writer.questions(texts, asked)
        )
        taken["minilm"] = yardstick.times()
        took = {
            "short": seconds(lambda: embedder.embed_documents(short)),
            "long": seconds(lambda: embedder.embed_documents(long)),
        }
        count = {"short": short, "long": long}
        documents = {
            name: {
                "per_second": len(count[name]) / took[name],
                "tokens_each": statistics.mean(map(embedder.count_tokens, count[name])),
                "tokens_per_second": sum(map(embedder.count_tokens, count[name])) / took[name],
            }
            for name in took
        }
        model = embedder.identity().model
    return {
        "model": model,
        "query": {name: one.summary() for name, one in taken.items()},
        "documents": documents,
    }


def ingest(folder: Path, words: Sequence[str], number: int) -> Found:
    """How many memories a second are saved, embedded and indexed, and how much of that the model
    itself takes.
    """
    texts = Writer(words, seed=9).texts(2 * number)
    found = {}
    with Muisti.open(folder / "ingest-batch", embed_on_save=False) as memory:
        run_, embed_ = _watch_model(memory)
        saving = seconds(lambda: memory.save_batch(map(item, texts[:number])))
        filling = seconds(memory.reindex_missing)
        found["batch"] = _shares(number, saving + filling, run_, embed_) | {
            "saving_share": saving / (saving + filling)
        }
    with Muisti.open(folder / "ingest-single") as memory:
        run_, embed_ = _watch_model(memory)
        took = seconds(
            lambda: [
                memory.save(one.content, title=one.title, kind="note") for one in texts[number:]
            ]
        )
        found["single"] = _shares(number, took, run_, embed_)
    return found


def _shares(number: int, took: float, run_: list[float], embed_: list[float]) -> Found:
    return {
        "per_second": number / took,
        "model_share": sum(run_) / took,
        "embedder_share": sum(embed_) / took,
    }


def _watch_model(memory: Muisti) -> tuple[list[float], list[float]]:
    """Seconds of every run of the model from now on, and of every call of the embedder, tokenizer
    included.
    """
    embedder: Any = _embedder(memory)
    embedder.embed_query("load the model")
    inner, runs, calls = (
        embedder._inner,
        _Clocked(embedder._inner._session),
        _Clocked(embedder._inner),
    )
    inner._session = runs
    embedder._inner = calls
    return runs.taken["run"], calls.taken["embed_documents"]


BY_WORDS = frozenset({"frequencies", "words_with", "words_near", "match", "literal", "words_of"})
"""What of an index searches by words."""


class _Clocked:
    """Passes everything on and notes how long it took, by name."""

    def __init__(
        self,
        inner: object,
        taken: dict[str, list[float]] | None = None,
        keyword: dict[str, list[float]] | None = None,
    ) -> None:
        """Keyword: where the time of calls that search by words is noted instead."""
        self._clocked = inner
        self.taken: dict[str, list[float]] = defaultdict(list) if taken is None else taken
        self._keyword = self.taken if keyword is None else keyword

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._clocked, name)
        if not callable(value):
            return value

        def clocked(*args: Any, **kwargs: Any) -> Any:
            start = time.perf_counter()
            try:
                return value(*args, **kwargs)
            finally:
                noted = self._keyword if name in BY_WORDS else self.taken
                noted[name].append(time.perf_counter() - start)

        return clocked


def one_size(
    size: int, folder: Path, words: Sequence[str], yardstick: Yardstick, asked: int
) -> Found:
    """A vault of this many vectors: searched in every way, compared with exact search, opened in a
    fresh process.
    """
    vault, ids, cost = filled(size, folder, words)
    writer = Writer(words, seed=13)
    questions = writer.questions(writer.texts(1000), asked)
    with Muisti.open(vault, record_recall=False) as memory:
        first = seconds(lambda: memory.search(questions[0]))
        actions: dict[str, Callable[[str], object]] = {
            mode: lambda q, mode=mode: memory.search(q, mode=mode)  # type: ignore[misc]
            for mode in MODES
        }
        interleaved(actions, questions[:15])  # warm all alike
        taken = interleaved({**actions, "minilm": yardstick}, questions)
        taken["minilm"] = yardstick.times()
        base = taken["minilm"]
        searched = {
            n: {"ratio": t.p50 / base.p50, "ratio_p95": t.p95 / base.p50, **t.summary()}
            for n, t in taken.items()
        }
        found = {
            "search": searched,
            "first_ms": first * 1000,
            "parts": parts_of(memory, questions),
            **cost,
        }
        found["scan"] = scan_and_recall(memory, size, ids, folder)
    found["fresh"] = [fresh(vault, questions[1]) for _ in range(3)]
    return found


def parts_of(memory: Muisti, questions: Sequence[str]) -> dict[str, float]:
    """Where the time of a hybrid search goes: medians in milliseconds, by the port that was asked."""
    services = memory._services
    taken: dict[str, dict[str, list[float]]] = {
        name: defaultdict(list) for name in ("embedding", "keyword", "vector", "rows")
    }
    kept = services.embedders, services.index, services.vectors
    embedder = _Clocked(services.embedders(None), taken["embedding"])
    services.embedders = lambda _: embedder  # type: ignore[assignment]
    services.index = _Clocked(services.index, taken["rows"], taken["keyword"])  # type: ignore[assignment]
    services.vectors = _Clocked(services.vectors, taken["vector"])  # type: ignore[assignment]
    whole = []
    sums: dict[str, list[float]] = defaultdict(list)
    for question in questions:
        whole.append(seconds(lambda question=question: memory.search(question)))  # type: ignore[misc]
        for part, methods in taken.items():
            for method, values in methods.items():
                sums[f"{part}.{method}"].append(sum(values))
            sums[part].append(
                sum(sum(values) for method, values in methods.items() if method != "snapshot")
            )
            methods.clear()
    services.embedders, services.index, services.vectors = kept
    rest = [all_ - sum(sums[part][at] for part in taken) for at, all_ in enumerate(whole)]
    return {
        name: statistics.median(values) * 1000
        for name, values in {**sums, "rest": rest, "whole": whole}.items()
    }


def filled(size: int, folder: Path, words: Sequence[str]) -> tuple[Path, list[str], Found]:
    """The vault with this many vectors, the ids of its memories in the order of the vectors, and
    what it costs on disk.
    """
    pieces = 1 if size <= 100_000 else 10
    vault, noted = folder / f"vectors-{size}", folder / f"vectors-{size}.json"
    if not noted.is_file():
        shutil.copytree(
            _texts(size // pieces, folder, words),
            vault,
            dirs_exist_ok=True,
            copy_function=_same_file,
        )
        around, ids = centres(folder), []
        Muisti.open(vault).close()  # after which the index is one file
        before = _index_bytes(vault)
        with Muisti.open(vault, embed_on_save=False) as memory:
            start = time.perf_counter()
            for block in vectors(size, pieces, around):
                ids += _put(memory, block, pieces)
            took = time.perf_counter() - start
        after = _index_bytes(vault)
        cost = {
            "memories": len(ids),
            "index_bytes": after,
            "bytes_per_vector": (after - before) / size,
            "put_per_second": size / took,
        }
        noted.write_text(json.dumps({"ids": ids, "cost": cost}), "utf-8")
    kept = json.loads(noted.read_text("utf-8"))
    return vault, kept["ids"], kept["cost"]


def _same_file(source: str, target: str) -> None:
    """Memories are linked: a file with another inode would be read again at the next open, a
    hundred thousand times.
    """
    (os.link if source.endswith(".md") else shutil.copy2)(source, target)


def _index_bytes(vault: Path) -> int:
    """Pages in use: what a merge of the words left free is not counted."""
    used = 0
    for path in (vault / ".muisti").glob("index-*.db"):
        db = apsw.Connection(str(path))
        used += (db.pragma("page_count") - db.pragma("freelist_count")) * db.pragma("page_size")
        db.close()
    return used


def _texts(number: int, folder: Path, words: Sequence[str]) -> Path:
    """A vault of texts without vectors."""
    vault, done = folder / f"texts-{number}", folder / f"texts-{number}.done"
    if not done.is_file():
        texts = Writer(words).texts(number)
        with Muisti.open(vault, embed_on_save=False) as memory:
            for at in range(0, number, BATCH):
                memory.save_batch(map(item, texts[at : at + BATCH]))
        done.touch()
    return vault


def _put(memory: Muisti, block: Matrix, pieces: int) -> list[str]:
    """Vectors for the next memories that have none."""
    services, embedder = memory._services, _embedder(memory)
    with services.store.lock():
        space = services.vectors.prepare(embedder.identity())
        waiting = services.index.get_many(
            services.vectors.find_missing(space, len(block) // pieces)
        )
        embedded = []
        for at, one in enumerate(waiting):
            ends = np.linspace(0, len(one.content), pieces + 1).astype(int).tolist()
            spans = tuple(Piece(start, end) for start, end in pairwise(ends))
            embedded.append(
                Embedded(
                    one.id,
                    hash_source(one),
                    space.identity,
                    spans,
                    block[at * pieces : (at + 1) * pieces],
                )
            )
        services.vectors.add(embedded)
    return [one.id for one in waiting]


def centres(folder: Path) -> Matrix:
    """Embeddings of real texts, of several sessions, if the question sets are here; else of made-up
    ones.
    """
    kept = folder / "centres.npy"
    if not kept.is_file():
        _say("embedding the centres")
        data = datasets.DEFAULT_FOLDER
        here = not datasets.missing(data, ["longmemeval_dev.json"])
        texts = (
            [one.text for one in datasets.longmemeval(data).documents]
            if here
            else [t.content for t in Writer(vocabulary()[1]).texts(CENTRES)]
        )
        with Muisti.open(folder / "embedding") as memory:
            np.save(
                kept,
                _embedder(memory).embed_documents(
                    [text[:500] for text in texts[:: max(1, len(texts) // CENTRES)]][:CENTRES]
                ),
            )
    loaded: Matrix = np.load(kept)
    return loaded


def vectors(size: int, pieces: int, around: Matrix) -> Iterator[Matrix]:
    """Unit vectors around the centres, a block at a time, the same in every run."""
    for start in range(0, size, STEP * pieces):
        random = np.random.default_rng((7, start))
        count = min(STEP * pieces, size - start)
        noise = random.standard_normal((count, around.shape[1]), dtype=np.float32) * np.float32(
            SPREAD / around.shape[1] ** 0.5
        )
        drawn = around[random.integers(0, len(around), count)] + noise
        yield drawn / np.linalg.norm(drawn, axis=1, keepdims=True)


def scan_and_recall(
    memory: Muisti, size: int, ids: Sequence[str], folder: Path, number: int = 100
) -> Found:
    """The nearest ten next to exact search in float32, and the scan's time next to that of copying
    what it reads.
    """
    around, pieces = centres(folder), size // len(ids)
    asked = next(vectors(size + STEP * pieces, pieces, around[::-1]))[
        : 50 * number : 50
    ]  # others, drawn alike
    space = next(space for space in memory._services.vectors.spaces() if space.serving)
    exact = _exact(vectors(size, pieces, around), asked, pieces)
    shared, pooled, took = [], [], []
    for query, best in zip(asked, exact, strict=True):
        start = time.perf_counter()
        hits = memory._services.vectors.find_nearest(space, query, Filter(), POOL)
        took.append(time.perf_counter() - start)
        found, wanted = [hit.memory_id for hit in hits], {ids[at] for at in best}
        shared.append(len(wanted.intersection(found[:10])) / 10)
        pooled.append(len(wanted.intersection(found)) / 10)
    codes = np.ones(size * CODES, np.uint8)
    target = np.empty_like(codes)
    copied = Times(tuple(seconds(lambda: np.copyto(target, codes)) for _ in range(50)))
    nearest = Times(tuple(took))
    return {
        "recall@10": statistics.mean(shared),
        "pooled": statistics.mean(pooled),
        "nearest": nearest.summary(),
        "copy_ms": copied.p50 * 1000,
        "to_copy": nearest.p50 / copied.p50,
        "bandwidth_gb_s": 2 * len(codes) / copied.p50 / 1e9,
        "codes_bytes": len(codes),
    }


def _exact(blocks: Iterator[Matrix], asked: Matrix, pieces: int) -> list[list[int]]:
    """Places of the ten memories with the nearest piece, by brute force."""
    scores = np.concatenate(
        [(block @ asked.T).reshape(-1, pieces, len(asked)).max(axis=1) for block in blocks]
    )
    return [np.argsort(-column)[:10].tolist() for column in scores.T]


_FRESH = """
import json, sys, time
start = time.perf_counter()
from muisti import Muisti
with Muisti.open(sys.argv[1], record_recall=False) as memory:
    results = memory.search(sys.argv[2])
    took = time.perf_counter() - start
    status = dict(line.split(":", 1) for line in open("/proc/self/status") if ":" in line)
    print(json.dumps({"seconds": took, "found": len(results), "mode": results.mode, "rss_mb": int(status["VmRSS"].split()[0]) / 1024}))
"""


def fresh(vault: Path, question: str) -> Found:
    """The first search of a process that has just started, the model's load included."""
    start = time.perf_counter()
    command = [sys.executable, "-c", _FRESH, str(vault), question]
    done = subprocess.run(
        command, check=True, capture_output=True, text=True, env=environment(), cwd=ROOT
    )
    found: Found = json.loads(done.stdout)
    return found | {"process_seconds": time.perf_counter() - start}


def _embedder(memory: Muisti) -> Embedder:
    embedder = memory._services.embedders(None)
    assert embedder is not None, "these settings have no embedder"
    return embedder


def _say(what: str) -> None:
    print(f"… {what}", file=sys.stderr, flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="benchmarks.vector_speed", description=__doc__.splitlines()[0] if __doc__ else ""
    )
    parser.add_argument(
        "--sizes",
        type=int,
        nargs="*",
        default=[10_000, 100_000, 1_000_000],
        help="vectors in the vaults",
    )
    parser.add_argument(
        "--questions", type=int, default=150, help="how many are asked at each size"
    )
    parser.add_argument(
        "--vaults", type=Path, help="keep the vaults here, and use those of an earlier run"
    )
    parser.add_argument("--json", type=Path, default=RESULTS, help="where the figures go")
    parser.add_argument(
        "--markdown", action="store_true", help=f"rewrite the tables in {PAGE.name}"
    )
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="muisti-vectors-") as temporary:
        if options.vaults:
            options.vaults.mkdir(parents=True, exist_ok=True)
            for name in ("embedding", "ingest-batch", "ingest-single"):
                shutil.rmtree(options.vaults / name, ignore_errors=True)
        found = run(options.sizes, options.vaults or Path(temporary), options.questions)
    tables = peer_tables.of_vectors(found)
    print("\n\n".join(table.text() for table in tables))
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(found, indent=2), "utf-8")
    if options.markdown:
        rewrite(PAGE, {"vector-speed": "\n\n".join(table.markdown() for table in tables)})
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
