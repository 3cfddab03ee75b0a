"""The server under load: `python -m benchmarks.load [--memories 10000] [--clients 32] [--seconds
60] [--embedder onnx] [--bare]`.

Clients search (80 %), save (15 %) and update (5 %) over HTTP while two other processes save into
the same vault. Counted are errors and writes that were acknowledged and are not there afterwards;
measured are latencies, and the memory of the server at the beginning and at the end. Before that,
with one client: the same search over REST and in Python, in turn.

With `--bare`, the same clients only search, in turn with requests that do nothing but embed the
query (`/bare`, the same process and HTTP stack): new queries and repeated ones over REST, and new
ones over MCP. The ratio is what the engine and its waiting add. `--prepared` takes any vault, such
as one with a hundred thousand memories of `benchmarks.vector_speed`.
"""

from __future__ import annotations

import argparse
import itertools
import json
import multiprocessing
import os
import random
import shutil
import statistics
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
FRESH = 20_000
"""Queries of which each is asked once."""
SEARCH, SAVE = 0.80, 0.95
"""Below the first a search, below the second a save, else an update."""
START = """
import sys
from fastapi import APIRouter
from muisti import Muisti
from muisti.models.embedders.guarded import GuardedEmbedder
from muisti.surfaces.rest import app, server
from muisti.surfaces.rest.concurrency import ThreadedRoute
from muisti.surfaces.rest.config import ServerConfig
from muisti.surfaces.rest.server import serve

def with_bare(memory, config):
    made = app.create_app(memory, config)
    router = APIRouter(route_class=ThreadedRoute)

    @router.get("/bare")
    def bare(query: str) -> int:
        embedder = memory._services.embedders(None)
        return len(embedder._inner.embed_query(query))  # past the cache of queries

    made.include_router(router)
    return made

server.create_app = with_bare
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


_MCP_HEADERS = {"accept": "application/json, text/event-stream"}
ASK = {
    "bare": lambda http, query: http.get("/bare", params={"query": query}),
    "search": lambda http, query: http.get("/api/search", params={"query": query}),
    "mcp": lambda http, query: http.post("/mcp", json=_tool_call(query), headers=_MCP_HEADERS),
}


def _tool_call(query: str) -> dict[str, object]:
    call = {"name": "memory_search", "arguments": {"query": query}}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}


def beside_bare(
    base: str, pid: int, clients: int, seconds: float, fresh: Sequence[str], rounds: int = 4
) -> dict[str, object]:
    """Requests that search beside requests that only embed, in turn, from many clients at once.

    Each query of `fresh` is asked once, then with a number, so that none is embedded twice;
    "repeated" asks the same hundred again and again.
    """
    unasked = (f"{query} {turn or ''}" for turn in itertools.count() for query in fresh)
    kinds = {
        "bare": lambda: next(unasked),
        "search": lambda: next(unasked),
        "repeated": itertools.cycle(fresh[:100]).__next__,
        "mcp": lambda: next(unasked),
    }
    took: dict[str, list[float]] = {kind: [] for kind in kinds}
    used: dict[str, list[float]] = {kind: [] for kind in kinds}
    errors: Counter[str] = Counter()
    guard = threading.Lock()

    def ask(kind: str, until: float) -> None:
        action = ASK["search" if kind == "repeated" else kind]
        with httpx2.Client(base_url=base, timeout=60) as http:
            while True:
                with guard:
                    query = kinds[kind]()
                start = time.perf_counter()
                told = action(http, query)
                took[kind].append(time.perf_counter() - start)
                if not told.is_success or '"isError":true' in told.text:
                    errors[f"{kind} {told.status_code} {told.text[:100]}"] += 1
                if time.monotonic() >= until:
                    return

    with httpx2.Client(base_url=base, timeout=60) as http:
        for action in ASK.values():  # whatever is slow the first time
            action(http, "the first question")
    for _ in range(rounds):
        for kind in kinds:
            before, asked = cpu_seconds(pid), len(took[kind])
            until = time.monotonic() + seconds / rounds
            threads = [threading.Thread(target=ask, args=(kind, until)) for _ in range(clients)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            used[kind].append((cpu_seconds(pid) - before) / (len(took[kind]) - asked))
    return {**_compare_with_bare(took, used, seconds), "errors": dict(errors)}


def _compare_with_bare(
    took: dict[str, list[float]], used: dict[str, list[float]], seconds: float
) -> dict[str, object]:
    figures = {
        kind: {
            "per_second": len(times) / seconds,
            "cpu_ms": 1000 * statistics.median(used[kind]),
            **_quantiles(sorted(times)),
        }
        for kind, times in took.items()
    }
    bare = figures["bare"]
    ratios = {
        kind: {
            "throughput": one["per_second"] / bare["per_second"],
            "p99": one["p99_ms"] / bare["p99_ms"],
            "cpu": one["cpu_ms"] / bare["cpu_ms"],
        }
        for kind, one in figures.items()
    }
    return {"requests": figures, "ratio_to_bare": ratios}


def cpu_seconds(pid: int) -> float:
    """Seconds of CPU time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def private_mb(pid: int) -> float:
    """Megabytes that a process does not share with others."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private_")) / 1024


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
    parser.add_argument(
        "--bare", action="store_true", help="only search, beside requests that only embed"
    )
    options = parser.parse_args()
    _, words = vocabulary()
    writer = Writer(words)
    with tempfile.TemporaryDirectory(prefix="muisti-load-") as folder:
        texts = writer.texts(options.memories)
        vault = _prepared(Path(folder) / "vault", texts, options)
        questions = writer.questions(texts, 300)
        if options.bare:
            fresh = [*dict.fromkeys(writer.questions(texts, FRESH))]
            with server(vault, options.embedder) as (base, pid):
                found = beside_bare(base, pid, options.clients, options.seconds, fresh)
                found["private_mb"] = private_mb(pid)
            _tell(found, options, RESULTS.with_name(f"load_bare_{options.memories}.json"))
            return
        with server(vault, options.embedder) as (base, pid):
            side_by_side = compared(vault, base, options.embedder, questions)
            under_load = loaded(vault, base, pid, options, questions, words)
    ratio = side_by_side["rest"].p50 / side_by_side["python"].p50
    search = {name: times.summary() for name, times in side_by_side.items()}
    _tell({"search": search, "ratio": ratio, "load": under_load}, options, RESULTS)


def _tell(figures: dict[str, object], options: argparse.Namespace, results: Path) -> None:
    """Print the figures, and keep them if asked to."""
    asked = {name: value for name, value in vars(options).items() if name != "prepared"}
    load = {"load_average": os.getloadavg()}
    found = {"machine": machine(), **load, "options": asked, **figures}
    if options.write:
        results.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
