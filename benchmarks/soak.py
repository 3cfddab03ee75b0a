"""A server under mixed load for half an hour: memory, descriptors, threads and the write-ahead log
must not grow: `python -m benchmarks.soak [--seconds 1800]`.

Clients search, save, update, append messages and delete over HTTP, and another process writes into
the same vault. The vault keeps its size: each client has a few memories, which it changes and
replaces. The first third is the warm-up. After that a straight line is fitted to each figure; its
growth from the first to the last sample must stay within a limit.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import httpx2

from benchmarks.load import server
from benchmarks.tables import Table
from benchmarks.timing import machine
from muisti import Muisti

CLIENTS = 4
OWN = 25
"""Memories of one client."""
LIMITS = {"memory MB": 16.0, "descriptors": 4.0, "threads": 2.0, "log MB": 6.0}
"""By how much each figure may grow after the warm-up. The allocator of C keeps some memory, and
SQLite lets the log grow to 4 MB before it starts again at the beginning."""
OTHER = """
import itertools, sys, time
from muisti import Muisti
with Muisti.open(sys.argv[1], embedder="none") as memory:
    for number in itertools.count():
        kept = memory.save(f"The other process was here, number {number % 50}")
        memory.search("other process")
        time.sleep(0.2)
"""
Sample = dict[str, float]


def main(arguments: list[str] | None = None) -> int:
    """Run, print a table, and return 1 if something grew or failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=1800)
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="muisti-soak-") as folder:
        samples, counts = run(Path(folder) / "vault", options.seconds)
    table, ok = judge(samples)
    print(table.text())
    print(", ".join(f"{name} {count}" for name, count in sorted(counts.items())))
    if options.json:
        found = {"machine": machine(), "samples": samples, "counts": counts}
        options.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    failed = sum(count for name, count in counts.items() if name.startswith("error"))
    return 0 if ok and not failed else 1


def run(vault: Path, seconds: float) -> tuple[list[Sample], Counter[str]]:
    """Return what was measured, and how often each request was made."""
    Muisti.open(vault, embedder="none").close()
    stop, counts = threading.Event(), Counter[str]()
    samples: list[Sample] = []
    with server(vault, "none") as (base, process):
        other = subprocess.Popen([sys.executable, "-c", OTHER, str(vault)])
        clients = [
            threading.Thread(target=work, args=(base, number, stop, counts))
            for number in range(CLIENTS)
        ]
        for client in clients:
            client.start()
        begun = time.monotonic()
        while (now := time.monotonic() - begun) < seconds:
            samples.append({"seconds": now, **measure(process, vault)})
            time.sleep(max(0.2, seconds / 300))
        stop.set()
        for client in clients:
            client.join(60)
        other.kill()
        other.wait()
    return samples, counts


def work(base: str, number: int, stop: threading.Event, counts: Counter[str]) -> None:
    """Be one client until told to stop."""
    chance, own = random.Random(number), list[str]()
    with httpx2.Client(base_url=f"{base}/api", timeout=60) as client:
        for turn in range(10**9):
            if stop.is_set():
                return
            # As many words as a person uses: the caches of words are full after the warm-up.
            text = f"Client {number} noted {turn % 1000}: bay {chance.randrange(2000)} is open"
            choice = chance.random()
            if len(own) < OWN:
                what, answer = "save", client.post("/memories", json={"content": text})
                if answer.is_success:
                    own.append(answer.json()["id"])
            elif choice < 0.6:
                what, answer = "search", client.get("/search", params={"query": f"bay {turn}"})
            elif choice < 0.8:
                change = {"content": text}
                path = f"/memories/{chance.choice(own)}"
                what, answer = "update", client.patch(path, json=change)
            elif choice < 0.9:
                gone = own.pop(chance.randrange(len(own)))
                what = "delete"
                answer = client.delete(f"/memories/{gone}", params={"hard": "true"})
            else:
                message = {"role": "user", "content": text}
                path = f"/conversations/soak_{number}/messages"
                what, answer = "message", client.post(path, json=message)
            counts[what if answer.is_success else f"error {what} {answer.status_code}"] += 1


def measure(process: int, vault: Path) -> Sample:
    """Return the figures of a process and of its index."""
    status = Path(f"/proc/{process}/status").read_text("ascii", "replace")
    fields = dict(line.split(":", 1) for line in status.splitlines())
    logs = (vault / ".muisti").glob("*.db-wal")
    return {
        "memory MB": int(fields["VmRSS"].split()[0]) / 1024,
        "descriptors": float(len(os.listdir(f"/proc/{process}/fd"))),
        "threads": float(fields["Threads"]),
        "log MB": sum(path.stat().st_size for path in logs) / 1e6,
    }


def judge(samples: Sequence[Sample]) -> tuple[Table, bool]:
    """Return the table of all figures, and whether none of them grew."""
    steady = samples[len(samples) // 3 :]
    rows, ok = [], True
    times = [sample["seconds"] for sample in steady]
    for name, limit in LIMITS.items():
        values = [sample[name] for sample in steady]
        slope = statistics.linear_regression(times, values).slope
        growth = slope * (times[-1] - times[0])
        ok = ok and growth <= limit
        shown = (samples[0][name], values[0], values[-1], max(values), growth, limit)
        verdict = "flat" if growth <= limit else "GROWS"
        rows.append((name, *(f"{value:.1f}" for value in shown), verdict))
    head = ("figure", "start", "warm", "end", "highest", "growth", "limit", "")
    return Table("soak", f"{times[-1]:.0f} s of mixed load", head, tuple(rows)), ok


if __name__ == "__main__":
    sys.exit(main())
