"""Processes that are measured from outside: each waits for a command, runs it, says how long it took.

What is compared runs in processes of its own, so that neither shares memory, caches or modules with
another, and yet in turn: the caller sends the same question to one after the other. The process
takes the time itself, so that pipes do not count.
"""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from benchmarks.timing import Times

ROOT = Path(__file__).resolve().parents[1]
COLLECT_EVERY = 50
"""Commands between two collections of garbage, which count for nobody."""


@dataclass(frozen=True)
class Answer:
    """What a command returned, and the seconds that it took: on the clock and of the processor."""

    result: Any
    wall: float
    cpu: float


@dataclass(frozen=True)
class Spent:
    """What one command took, many times."""

    wall: Times
    cpu: Times

    @classmethod
    def of(cls, answers: Sequence[Answer]) -> Spent:
        return cls(
            Times(tuple(answer.wall for answer in answers)),
            Times(tuple(answer.cpu for answer in answers)),
        )

    def summary(self) -> dict[str, float]:
        """For JSON; milliseconds."""
        return {
            "p50_ms": self.wall.p50 * 1000,
            "p95_ms": self.wall.p95 * 1000,
            "cpu_p50_ms": self.cpu.p50 * 1000,
            "cpu_p95_ms": self.cpu.p95 * 1000,
            "runs": len(self.wall.seconds),
        }


class Failed(Exception):
    """A worker's process ended, or its command raised."""


class Worker:
    """A process that runs a module of this package which calls `serve`."""

    def __init__(
        self,
        module: str,
        *arguments: str | Path,
        python: str | Path = sys.executable,
        source: Path = ROOT / "src",
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Source: where `muisti` is imported from, which may be another checkout."""
        outside = {name: v for name, v in os.environ.items() if not name.startswith("MUISTI_")}
        outside |= {"PYTHONPATH": str(source), "OMP_NUM_THREADS": "1", **(environment or {})}
        self.started = time.perf_counter()
        self._process = subprocess.Popen(
            [str(python), "-m", f"benchmarks.{module}", *map(str, arguments)],
            cwd=ROOT,
            env=outside,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, command: str, **arguments: Any) -> Answer:
        """Run a command in the process. Raises Failed."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps([command, arguments]) + "\n")
            self._process.stdin.flush()
        except (BrokenPipeError, ValueError):
            raise Failed(f"the process ended before {command} ({self._process.wait()})") from None
        for line in self._process.stdout:
            if line.startswith(_MARK):
                reply = json.loads(line.removeprefix(_MARK))
                if "error" in reply:
                    raise Failed(reply["error"])
                return Answer(reply["result"], reply["wall"], reply["cpu"])
        raise Failed(f"the process ended during {command} ({self._process.wait()})")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    def close(self) -> None:
        """End the process."""
        if self._process.stdin:
            with suppress(BrokenPipeError):  # it has ended by itself
                self._process.stdin.close()
        if self._process.stdout:
            self._process.stdout.close()
        self._process.wait()


_MARK = "answer: "
"""Libraries print to stdout as well."""


def serve(commands: Mapping[str, Callable[..., object]]) -> None:
    """Run commands from stdin until it is closed."""
    gc.disable()  # what one command leaves behind must not be paid for by the next
    for number, line in enumerate(sys.stdin):
        name, arguments = json.loads(line)
        wall, cpu = time.perf_counter(), time.process_time()
        try:
            result = commands[name](**arguments)
        except Exception as error:
            reply: dict[str, object] = {"error": f"{type(error).__name__}: {error}"[:500]}
        else:
            cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
            reply = {"result": result, "wall": wall, "cpu": cpu}
        print(_MARK + json.dumps(reply), flush=True)
        if number % COLLECT_EVERY == COLLECT_EVERY - 1:
            gc.collect()


def measure_memory() -> dict[str, float]:
    """Return this process's memory in MB: private (its own pages), and all that is resident."""
    sizes = {}
    with open("/proc/self/smaps_rollup", encoding="utf-8") as lines:
        for line in lines:
            name, *value = line.split()
            if value and value[-1] == "kB":
                sizes[name.rstrip(":")] = int(value[0]) / 1024
    return {
        "private_mb": sizes["Private_Clean"] + sizes["Private_Dirty"],
        "anonymous_mb": sizes["Anonymous"],
        "resident_mb": sizes["Rss"],
    }


def measure_folder(folder: Path) -> int:
    """Return the bytes of all files in a folder, each counted once."""
    files = [path.lstat() for path in folder.rglob("*") if not path.is_dir()]
    return sum({status.st_ino: status.st_size for status in files}.values())
