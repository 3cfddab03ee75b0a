"""How fast memories are taken in: `python -m benchmarks.ingest [--texts 2500] [--old CHECKOUT]`.

Real turns of conversations. Everything is durable: each memory is a file that was synced, with its
duplicates looked for, its journal line and its rows in the index. Next to each figure is what it
costs without muisti, in the same run: synced files and one SQLite transaction. With vectors, that
are given and take no time of a model, it is next to chromadb, if `.venv-peers` has that (`--peers`
names another interpreter). With `--old`, another checkout of muisti runs in turn with this one.

Every part is a process of its own. All parts run in turn, `--rounds` times, and each figure is the
least of them: what other programs take away on a busy machine is in none of the least.

The vaults are deleted after the last part. A file system may avoid the inodes of files that were
just deleted: on ext4 without a journal, creating a file right after many were deleted beside it
took .5 ms instead of .02. So `--folder` should name a folder where nothing else deletes many files.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import bare
from benchmarks.datasets import DEFAULT_FOLDER, Document, locomo, longmemeval, missing
from benchmarks.texts import Text, Writer, vocabulary
from muisti.ports import Matrix

BATCH = 500
SINGLE = 200
CENTRES = 500
PEERS = Path(__file__).resolve().parents[1] / ".venv-peers" / "bin" / "python"
_FILES = ("locomo_dev.json", "longmemeval_dev.json")


@dataclass(frozen=True)
class Cost:
    """What one memory takes, in milliseconds."""

    cpu: float
    wall: float


def load_texts(count: int, folder: Path = DEFAULT_FOLDER) -> list[str]:
    """Return turns of conversations, each once; generated texts without the data."""
    if missing(folder, _FILES):
        return [text.content for text in Writer(vocabulary()[1]).texts(count)]
    stores = [*locomo(folder), longmemeval(folder)]
    texts = dict.fromkeys(document.text for store in stores for document in store.documents)
    return list(texts)[:count]


def measure(action: Callable[[], object], count: int, embedder: Any = None) -> Cost:
    """Run an action once and return its cost for each of so many memories.

    The processor time of the embedder is taken out.
    """
    cpu, wall = time.process_time(), time.perf_counter()
    action()
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    if embedder is not None:
        cpu -= embedder.take_seconds()
    return Cost(cpu / count * 1000, wall / count * 1000)


def run_muisti(texts: Sequence[str], folder: Path, embedder: Any = None) -> dict[str, Cost]:
    """Save all texts but some in batches, those one by one, and rebuild the index."""
    from muisti import Muisti  # of the checkout on the path

    many, few = texts[:-SINGLE], texts[-SINGLE:]
    settings = {"embedder": "none"} if embedder is None else {}
    with Muisti.open(folder / "vault", **settings) as memory:
        if embedder is not None:
            from benchmarks.scale_vaults import GivenEmbedders

            memory._services.embedders = GivenEmbedders(embedder)  # type: ignore[assignment]
        memory.save("The first memory loads what is loaded on first use")
        parts = [many[at : at + BATCH] for at in range(0, len(many), BATCH)]
        batch = measure(lambda: [memory.save_batch(part) for part in parts], len(many), embedder)
        single = measure(lambda: [memory.save(text) for text in few], len(few), embedder)
        reindex = measure(memory.reindex, len(texts), embedder)
    return {"batch": batch, "single": single, "reindex": reindex}


def run_bare(texts: Sequence[str], folder: Path) -> dict[str, Cost]:
    """Write the same number of files of about the same size, and insert the texts into FTS5."""
    rows = [Text(text[:40], text) for text in texts]
    files = [(f"{number}.md", f"{text}{' ' * 300}".encode()) for number, text in enumerate(texts)]
    index = bare.BareIndex(folder / "bare.db")
    many, few = range(len(texts) - SINGLE), range(len(texts) - SINGLE, len(texts))

    def write_batches() -> None:
        for start in range(0, len(many), BATCH):
            part = slice(start, min(start + BATCH, len(many)))
            bare.durable_writes(folder, files[part])
            index.insert(*rows[part])

    def write_singly() -> None:
        for number in few:
            name, data = files[number]
            bare.durable_write(folder / name, data)
            index.insert(rows[number])

    found = {"batch": measure(write_batches, len(many)), "single": measure(write_singly, len(few))}
    index.close()
    return found


def make_given_embedder() -> Any:
    """Return the default embedder with vectors that are drawn, and the time that drawing takes."""
    from benchmarks.scale_vaults import DrawnEmbedder
    from muisti.models.embedders.factory import make_embedder

    class GivenEmbedder(DrawnEmbedder):
        seconds = 0.0

        def embed_documents(self, texts: Sequence[str]) -> Matrix:
            start = time.thread_time()
            rows = super().embed_documents(texts)
            self.seconds += time.thread_time() - start
            return rows

        def take_seconds(self) -> float:
            taken, self.seconds = self.seconds, 0.0
            return taken

    inner = make_embedder("onnx")
    assert inner is not None
    centres = np.random.default_rng(5).standard_normal((CENTRES, 384)).astype(np.float32)
    return GivenEmbedder(inner, centres / np.linalg.norm(centres, axis=1, keepdims=True))


def run_chroma(texts: Sequence[str], folder: Path) -> dict[str, Cost]:
    """Add the same batches, and then single texts, to chromadb with the same vectors."""
    from benchmarks.peer_stores import Chroma
    from benchmarks.scale_vaults import FIRST_DAY

    embedder = make_given_embedder()
    store = Chroma(folder, embedder)
    rows = [Document(f"t{number}", "", text, FIRST_DAY) for number, text in enumerate(texts)]
    store.add(
        [Document("first", "", "The first text loads what is loaded on first use", FIRST_DAY)]
    )
    many, few = rows[:-SINGLE], rows[-SINGLE:]

    def add_in_parts(documents: Sequence[Document], size: int) -> None:
        for at in range(0, len(documents), size):
            store.add(documents[at : at + size])

    batch = measure(lambda: add_in_parts(many, BATCH), len(many), embedder)
    single = measure(lambda: add_in_parts(few, 1), len(few), embedder)
    return {"batch": batch, "single": single}


def run_vectors(texts: Sequence[str], folder: Path) -> dict[str, Cost]:
    """Run muisti as `run_muisti`, with the same vectors as chromadb."""
    return run_muisti(texts, folder, make_given_embedder())


RUNS: dict[str, Callable[[Sequence[str], Path], dict[str, Cost]]] = {
    "muisti": run_muisti,
    "vectors": run_vectors,
    "bare": run_bare,
    "chromadb": run_chroma,
}


@dataclass(frozen=True)
class Part:
    """One of the things that run in turn."""

    what: str
    python: Path = Path(sys.executable)
    source: Path = Path(__file__).resolve().parents[1]
    """The checkout whose muisti runs."""

    def run(self, count: int, folder: Path) -> dict[str, Cost]:
        """Run it in a process of its own, which leaves its vault in this folder."""
        environment = {**os.environ, "PYTHONPATH": str(self.source / "src")}
        command = [str(self.python), "-m", "benchmarks.ingest", "--only", self.what]
        done = subprocess.run(
            [*command, "--texts", str(count), "--folder", str(folder)],
            check=True,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
            cwd=Path(__file__).resolve().parents[1],
        )
        last = done.stdout.splitlines()[-1]  # libraries print to stdout as well
        return {name: Cost(**cost) for name, cost in json.loads(last).items()}


def choose_parts(old: Path | None, peers: Path) -> dict[str, Part]:
    """Return what runs, by the name that the table has for it."""
    parts = {"new": Part("muisti"), "vectors": Part("vectors"), "bare": Part("bare")}
    if old is not None:
        parts["old"] = Part("muisti", source=old.resolve())
    if peers.is_file():
        parts["chromadb"] = Part("chromadb", python=peers)
    return parts


def run_in_turn(
    parts: dict[str, Part], count: int, rounds: int, folder: Path
) -> dict[str, dict[str, Cost]]:
    """Run all parts so many times and return the least of each figure."""
    found: dict[str, dict[str, Cost]] = {}
    for _ in range(rounds):
        for name, part in parts.items():
            for figure, cost in part.run(count, folder).items():
                best = found.setdefault(name, {}).setdefault(figure, cost)
                least = Cost(min(best.cpu, cost.cpu), min(best.wall, cost.wall))
                found[name][figure] = least
    return found


def describe(found: dict[str, dict[str, Cost]]) -> str:
    """Return a line for each figure, with its ratios to the references.

    The ratio to chromadb is that of speeds: 1 is as fast, less is slower.
    """
    lines = [
        "| | CPU ms | wall ms | per CPU second | to files + SQLite | old / new | to chromadb |"
    ]
    lines.append("|---|---|---|---|---|---|---|")
    for part, label in (("new", ""), ("vectors", ", with vectors")):
        for name, cost in found[part].items():
            reference = found["bare"].get(name)
            old = found.get("old", {}).get(name) if part == "new" else None
            peer = found.get("chromadb", {}).get(name) if part == "vectors" else None
            beside = earlier = peers = "–"
            if reference is not None:
                cpu, wall = cost.cpu / reference.cpu, cost.wall / reference.wall
                beside = f"{cpu:.2f}× CPU, {wall:.2f}× wall"
            if old is not None:
                earlier = f"{old.cpu / cost.cpu:.2f}×"
            if peer is not None:
                peers = f"{peer.cpu / cost.cpu:.2f}× CPU, {peer.wall / cost.wall:.2f}× wall"
            lines.append(
                f"| {name}{label} | {cost.cpu:.3f} | {cost.wall:.3f} | {1000 / cost.cpu:,.0f} "
                f"| {beside} | {earlier} | {peers} |"
            )
    for part in ("bare", "chromadb"):
        for name, cost in found.get(part, {}).items():
            speed = f"{1000 / cost.cpu:,.0f}"
            line = f"| {part}: {name} | {cost.cpu:.3f} | {cost.wall:.3f} | {speed} | – | – | – |"
            lines.append(line)
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.ingest", description=__doc__)
    parser.add_argument("--texts", type=int, default=2500, help="how many memories")
    parser.add_argument("--rounds", type=int, default=3, help="how often all run in turn")
    parser.add_argument("--old", type=Path, help="another checkout to compare with")
    parser.add_argument("--peers", type=Path, default=PEERS, help="a Python that has chromadb")
    parser.add_argument("--folder", type=Path, help="where the vaults are created")
    parser.add_argument("--only", choices=RUNS, help="run one part here, and print JSON")
    options = parser.parse_args(arguments)
    if options.texts <= SINGLE:
        parser.error(f"--texts must be more than {SINGLE}: so many are saved one by one")
    if options.only:
        texts = load_texts(options.texts)
        # A vault in a folder that is given stays: the caller deletes it.
        with tempfile.TemporaryDirectory(prefix="muisti-ingest-") as own:
            place = tempfile.mkdtemp(dir=options.folder) if options.folder else own
            costs = RUNS[options.only](texts, Path(place))
        print(json.dumps({name: asdict(cost) for name, cost in costs.items()}))
        return 0
    before = os.getloadavg()[0]
    parts = choose_parts(options.old, options.peers)
    with tempfile.TemporaryDirectory(prefix="muisti-ingest-", dir=options.folder) as folder:
        found = run_in_turn(parts, options.texts, options.rounds, Path(folder))
    load = f"load {before:.1f} to {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
    print(f"{options.texts} texts, least of {options.rounds} rounds, {load}\n\n{describe(found)}")
    if "chromadb" not in found:
        print(f"\nwithout chromadb: {options.peers} is missing; `make bench-peers` creates it")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
