"""How long writers wait for the vault's lock: in turn, and as chance has it.

Eight processes append to one conversation as fast as they can. In every second round the lock is
one that tries again after a random pause, as muisti's lock did before it had a queue. Each round
reports the distribution of the times that `append_message` took, and the throughput of all.
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
import time
from pathlib import Path
from typing import Any

from benchmarks.tables import Table
from benchmarks.timing import machine
from muisti import Muisti
from muisti.errors import VaultBusy
from muisti.storage.files import lock


def acquire_by_chance(self: lock.FileLock, patience: float, deadline: float) -> int:
    """Acquire the lock without a queue: whoever tries first after a release gets it."""
    pause = 0.0005
    while True:
        fd = self._try()
        if fd is not None:
            return fd
        if time.monotonic() >= deadline:
            raise VaultBusy(f"waited for over {patience:g} s")
        time.sleep(pause * random.uniform(0.5, 1.5))
        pause = min(pause * 1.5, 0.01)


def main(arguments: list[str] | None = None) -> int:
    """Measure and print; return 1 if the queue costs more than a tenth of the throughput."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--writers", type=int, default=8)
    parser.add_argument("--messages", type=int, default=100, help="of each writer in a round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--write", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.write:
        vault, count, kind = options.write
        return write(Path(vault), int(count), kind)
    rounds = [
        measure(kind, options.writers, options.messages)
        for _ in range(options.rounds)
        for kind in ("chance", "queue")
    ]
    ratios = [
        turn["per_second"] / chance["per_second"]
        for chance, turn in zip(rounds[::2], rounds[1::2], strict=True)
    ]
    found = {"machine": machine(), "rounds": rounds, "throughput": statistics.median(ratios)}
    if options.json:
        options.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    rows = tuple(tuple(map(_show, one.values())) for one in rounds)
    note = f"throughput with the queue / by chance: {found['throughput']:.2f}"
    title = f"append_message of {options.writers} processes, milliseconds"
    print(Table("lock", title, tuple(rounds[0]), rows, note).text())
    return 0 if statistics.median(ratios) >= 0.9 else 1


def _show(value: object) -> str:
    return f"{value:.1f}" if isinstance(value, float) else str(value)


def measure(kind: str, writers: int, count: int) -> dict[str, Any]:
    """Return the distribution of the times of all writers, in milliseconds."""
    with tempfile.TemporaryDirectory(prefix="muisti-lock-") as folder:
        Muisti.open(folder, embedder="none").close()
        command = [sys.executable, "-m", "benchmarks.lock", "--write", folder, str(count), kind]
        started = [
            subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            for _ in range(writers)
        ]
        for process in started:
            assert process.stdout is not None
            process.stdout.readline()
        begun = time.perf_counter()
        for process in started:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        answers = [process.communicate()[0] for process in started]
        seconds = time.perf_counter() - begun
    times = sorted(time for answer in answers for time in json.loads(answer))
    return {
        "lock": kind,
        "median": statistics.median(times),
        "p99": times[int(len(times) * 0.99)],
        "max": times[-1],
        "max/median": times[-1] / statistics.median(times),
        "per_second": writers * count / seconds,
        "load": os.getloadavg()[0],
    }


def write(vault: Path, count: int, kind: str) -> int:
    """Append messages, and print the milliseconds that each took."""
    if kind == "chance":
        lock.FileLock._acquire = acquire_by_chance  # type: ignore[method-assign]
    times = []
    with Muisti.open(vault, embedder="none", lock_timeout=600) as memory:
        print("ready", flush=True)
        sys.stdin.readline()
        for number in range(count):
            begun = time.perf_counter()
            memory.append_message("bench_lock", "user", f"message {number} of {os.getpid()}")
            times.append(1000 * (time.perf_counter() - begun))
    print(json.dumps(times))
    return 0


if __name__ == "__main__":
    sys.exit(main())
