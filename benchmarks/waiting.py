"""How long a search takes while thousands of chunks wait to be embedded (contract E11).

Two vaults have the same memories. In one of them all have vectors, in the other most have none, so
that a thread embeds them while searches run. Each round asks both the same questions, each in a
process of its own: the thread of one must not slow the other down. Between two questions there is a
pause in which the thread goes on, as there is with people and agents.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.texts import Text, Writer, vocabulary
from benchmarks.timing import machine
from muisti import Muisti
from muisti.ports import Embedded, Piece
from muisti.remember.embed import hash_source

EMBEDDED = 1000
"""Memories that have vectors in both vaults."""
PAUSE = 0.05
"""Seconds between two questions."""
LIMIT = 1.5
"""The promise: a search with chunks waiting takes at most this many times as long."""


def main(arguments: list[str] | None = None) -> int:
    """Measure, print, and return 1 if the promise is broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chunks", type=int, default=10_000, help="chunks that wait")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--questions", type=int, default=30, help="in each round")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--ask", nargs=2, metavar=("VAULT", "QUESTIONS"), help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.ask:
        vault, questions = map(Path, options.ask)
        print(json.dumps(ask(vault, json.loads(questions.read_text("utf-8")))))
        return 0
    with tempfile.TemporaryDirectory(prefix="muisti-waiting-") as folder:
        found = run(Path(folder), options.chunks, options.rounds, options.questions)
    if options.json:
        options.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(found, indent=2))
    return 0 if found["ratio"] <= LIMIT else 1


def run(folder: Path, chunks: int, rounds: int, questions: int) -> dict[str, Any]:
    """Return the figures of all rounds."""
    writer = Writer(vocabulary()[1])
    texts = writer.texts(EMBEDDED + chunks)
    complete, waiting = make_vaults(folder, texts)
    ratios = []
    medians: dict[str, list[float]] = {"complete": [], "waiting": []}
    degraded = ""
    for turn in range(rounds):
        asked = folder / "questions.json"
        asked.write_text(json.dumps(writer.questions(texts[:EMBEDDED], questions)), "utf-8")
        vaults = [("complete", complete), ("waiting", waiting)]
        for name, vault in vaults if turn % 2 else reversed(vaults):
            command = [sys.executable, "-m", "benchmarks.waiting", "--ask", vault, asked]
            output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            answer = json.loads(output)
            medians[name].append(statistics.median(answer["seconds"]))
            if name == "waiting":
                degraded = degraded or answer["degraded"]
        ratios.append(medians["waiting"][-1] / medians["complete"][-1])
    return {
        "machine": machine(),
        "chunks": chunks,
        "ratio": statistics.median(ratios),
        "ratios": ratios,
        "milliseconds": {
            name: 1000 * statistics.median(values) for name, values in medians.items()
        },
        "degraded": degraded,
    }


def make_vaults(folder: Path, texts: list[Text]) -> tuple[Path, Path]:
    """Return two vaults with these texts: one with vectors for all, one with a few vectors."""
    complete, waiting = folder / "complete", folder / "waiting"
    with Muisti.open(complete, embedder="none") as memory:
        for start in range(0, len(texts), 1000):
            memory.save_batch([text.content for text in texts[start : start + 1000]])
    shutil.copytree(complete, waiting)
    _add_vectors(complete, len(texts))
    _add_vectors(waiting, EMBEDDED)
    return complete, waiting


def _add_vectors(vault: Path, number: int) -> None:
    """Give memories random vectors: the time to search them is the same."""
    random = np.random.default_rng(7)
    with Muisti.open(vault, embed_on_save=False) as memory:
        services = memory._services
        embedder = services.embedders(None)
        assert embedder is not None
        with services.store.lock():
            space = services.vectors.prepare(embedder.identity())
            ids = services.vectors.find_missing(space, number)
            embedded = []
            for found in services.index.get_many(ids):
                vector = random.standard_normal((1, space.identity.dimensions)).astype(np.float32)
                vector /= np.linalg.norm(vector)
                pieces = (Piece(0, len(found.content)),)
                embedded.append(
                    Embedded(found.id, hash_source(found), space.identity, pieces, vector)
                )
            services.vectors.add(embedded)


def ask(vault: Path, questions: list[str]) -> dict[str, object]:
    """Return the seconds of each search and what the first says is missing."""
    with Muisti.open(vault, record_recall=False) as memory:
        degraded = memory.search("which model is loaded now?").degraded
        seconds = []
        for question in questions:
            time.sleep(PAUSE)
            start = time.perf_counter()
            memory.search(question)
            seconds.append(time.perf_counter() - start)
    return {"seconds": seconds, "degraded": degraded}


if __name__ == "__main__":
    sys.exit(main())
