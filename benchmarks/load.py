"""The server under load: `python -m benchmarks.load [--memories 10000] [--clients 32] [--seconds
60] [--embedder onnx]`.

Clients search (80 %), save (15 %) and update (5 %) over HTTP while two other processes save into
the same vault. Counted are errors and writes that were acknowledged and are not there afterwards;
measured are latencies, and the memory of the server at the beginning and at the end. Before that,
with one client: the same search over REST and in Python, in turn.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx2

from benchmarks.texts import Text, Writer, vocabulary
from benchmarks.timing import Times, interleaved, machine
from muisti import Muisti

RESULTS = Path(__file__).with_name("results") / "load.json"
OTHERS = 2
SEARCH, SAVE = 0.80, 0.95
"""Below the first a search, below the second a save, else an update."""
START = """
import sys
from muisti import Muisti
from muisti.surfaces.rest.config import ServerConfig
from muisti.surfaces.rest.server import serve

with Muisti.open(sys.argv[1], embedder=sys.argv[2]) as memory:
    config = ServerConfig(port=0, web_page=False, watch=sys.argv[3:] != ["still"])
    serve(memory, config, lambda ready: print(ready.base_url, flush=True))
"""


@dataclass
class Seen:
    """What one client saw."""

    took: dict[str, list[float]] = field(
        default_factory=lambda: {"search": [], "save": [], "update": []}
    )
    saved: dict[str, str] = field(default_factory=dict)
    """Which content each memory had last, as it was acknowledged."""
    errors: Counter[str] = field(default_factory=Counter)


@contextmanager
def server(vault: Path, embedder: str) -> Iterator[tuple[str, int]]:
    """A server in a process of its own: its address and its process."""
    process = subprocess.Popen(
        [sys.executable, "-c", START, str(vault), embedder], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        base = process.stdout.readline().strip()
        for _ in range(200):
            try:
                httpx2.get(f"{base}/ready", timeout=30)
                break
            except httpx2.TransportError:
                time.sleep(0.05)
        yield base, process.pid
    finally:
        process.terminate()
        process.wait(timeout=60)
        process.stdout.close()


def client(base: str, writer: Writer, questions: Sequence[str], until: float, seen: Seen) -> None:
    """One client, until the time is over."""
    chance = random.Random()
    with httpx2.Client(base_url=base, timeout=60) as http:
        while time.monotonic() < until:
            draw = chance.random()
            what = (
                "search" if draw < SEARCH else "save" if draw < SAVE or not seen.saved else "update"
            )
            start = time.perf_counter()
            try:
                if what == "search":
                    told = http.get("/api/search", params={"query": chance.choice(questions)})
                else:
                    text = writer.texts(1)[0].content
                    known = chance.choice(list(seen.saved)) if what == "update" else None
                    address = "/api/memories" if known is None else f"/api/memories/{known}"
                    told = http.request(
                        "POST" if known is None else "PATCH", address, json={"content": text}
                    )
                    if told.is_success:
                        seen.saved[told.json()["id"]] = told.json()["content"]
                if not told.is_success:
                    seen.errors[f"{what} {told.status_code} {told.json().get('type', '')}"] += 1
            except httpx2.HTTPError as error:
                seen.errors[f"{what} {type(error).__name__}"] += 1
            seen.took[what].append(time.perf_counter() - start)


def other(
    vault: str,
    number: int,
    words: Sequence[str],
    seconds: float,
    results: multiprocessing.Queue[dict[str, str]],
) -> None:
    """Another process that saves into the same vault."""
    saved: dict[str, str] = {}
    end = time.monotonic() + seconds
    with Muisti.open(vault, embedder="none") as memory:
        writer = Writer(words, seed=9000 + number)
        while time.monotonic() < end:
            one = memory.save(writer.texts(1)[0].content)
            saved[one.id] = one.content
            time.sleep(0.05)
    results.put(saved)


def resident(pid: int) -> float:
    """Megabytes that a process holds."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("VmRSS"))) / 1024


def loaded(
    vault: Path,
    base: str,
    pid: int,
    options: argparse.Namespace,
    questions: Sequence[str],
    words: Sequence[str],
) -> dict[str, object]:
    """All clients and the other processes at once."""
    context = multiprocessing.get_context("spawn")
    results: multiprocessing.Queue[dict[str, str]] = context.Queue()
    others = [
        context.Process(target=other, args=(str(vault), n, words, options.seconds, results))
        for n in range(OTHERS)
    ]
    for process in others:
        process.start()
    seen = [Seen() for _ in range(options.clients)]
    writers = [Writer(words, seed=1000 + number) for number in range(options.clients)]
    until = time.monotonic() + options.seconds
    threads = [
        threading.Thread(target=client, args=(base, writers[n], questions, until, one))
        for n, one in enumerate(seen)
    ]
    for thread in threads:
        thread.start()
    memory = []
    while time.monotonic() < until:
        time.sleep(options.seconds / 10)
        memory.append(round(resident(pid), 1))
    for thread in threads:
        thread.join()
    written = {id_: text for one in seen for id_, text in one.saved.items()}
    for _ in others:
        written |= results.get(timeout=120)
    for process in others:
        process.join()
    errors: Counter[str] = sum((one.errors for one in seen), Counter())
    took = {
        what: sorted(t for one in seen for t in one.took[what])
        for what in ("search", "save", "update")
    }
    every = sorted(time for times in took.values() for time in times)
    return {
        "requests": sum(map(len, took.values())),
        "per_second": sum(map(len, took.values())) / options.seconds,
        "errors": dict(errors),
        "written": len(written),
        "lost": _lost(vault, written),
        "server_mb": memory,
        "latency": {
            what: _quantiles(times) for what, times in {**took, "all": every}.items() if times
        },
    }


def _lost(vault: Path, written: dict[str, str]) -> int:
    """Acknowledged, and not there, or not so, in a vault whose index was made anew from the files."""
    with Muisti.open(vault, embedder="none") as memory:
        memory.sync()
        return sum(
            1
            for id_, text in written.items()
            if (found := memory.get(id_)) is None or found.content != text
        )


def _quantiles(times: Sequence[float]) -> dict[str, float]:
    p50, p99 = times[len(times) // 2], times[min(len(times) - 1, int(len(times) * 0.99))]
    return {"p50_ms": p50 * 1000, "p99_ms": p99 * 1000, "ratio": p99 / p50, "count": len(times)}


def compared(vault: Path, base: str, embedder: str, questions: Sequence[str]) -> dict[str, Times]:
    """The same search over REST and in Python, in turn."""
    with (
        Muisti.open(vault, embedder=embedder) as memory,
        httpx2.Client(base_url=base, timeout=60) as http,
    ):
        actions = {
            "python": memory.search,
            "rest": lambda query: http.get("/api/search", params={"query": query}),
        }
        interleaved(actions, questions[:20])  # whatever is slow the first time
        return interleaved(actions, questions)


def _prepared(vault: Path, texts: Sequence[Text], options: argparse.Namespace) -> Path:
    """The vault to begin with: embedding ten thousand texts takes longer than the whole run."""
    place = options.prepared or vault
    if not place.exists():
        with Muisti.open(place, embedder=options.embedder) as memory:
            memory.save_batch([{"content": text.content, "title": text.title} for text in texts])
    if place != vault:
        shutil.copytree(place, vault)
    return vault


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--embedder", default="onnx")
    parser.add_argument(
        "--prepared",
        type=Path,
        help="a vault with those memories, kept from run to run; a copy is used",
    )
    parser.add_argument(
        "--write", action="store_true", help="keep the figures in benchmarks/results"
    )
    options = parser.parse_args()
    _, words = vocabulary()
    writer = Writer(words)
    with tempfile.TemporaryDirectory(prefix="muisti-load-") as folder:
        texts = writer.texts(options.memories)
        vault = _prepared(Path(folder) / "vault", texts, options)
        questions = writer.questions(texts, 300)
        with server(vault, options.embedder) as (base, pid):
            side_by_side = compared(vault, base, options.embedder, questions)
            under_load = loaded(vault, base, pid, options, questions, words)
    ratio = side_by_side["rest"].p50 / side_by_side["python"].p50
    figures = {
        "options": {name: value for name, value in vars(options).items() if name != "prepared"},
        "search": {name: times.summary() for name, times in side_by_side.items()},
        "ratio": ratio,
    }
    found = {"machine": machine(), **figures, "load": under_load}
    if options.write:
        RESULTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
