"""What a command or a hook costs in a process of its own: `python -m benchmarks.cold [--vault FOLDER]
[--size 10000] [--runs 15] [--quick]`.

With the warm process and without it, as ratios to `python -c pass` in turn with it: of the time
that the caller waits, and of the processor time of the command's own process. Bytecode is written
first, as an installation does. `--vault` keeps the vault, with its vectors, between runs.
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
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from benchmarks.texts import Writer, vocabulary
from benchmarks.timing import machine
from muisti import bootstrap
from muisti.surfaces.warm import client

RESULTS = Path(__file__).parent / "results" / "cold.json"
MAIN = [sys.executable, "-P", "-c", "from muisti.surfaces.cli.main import main; main()"]
WAIT_SECONDS = 120.0


def fill(vault: Path, size: int, *, is_quick: bool) -> list[str]:
    """Save and embed texts, unless the vault has them already. Return questions about them."""
    _, words = vocabulary()
    writer = Writer(words)
    texts = writer.texts(size)
    settings: dict[str, str | bool] = {"merge_duplicates": False, "propose_links": False}
    if is_quick:
        settings["embedder"] = "hashing"
    with bootstrap.open(vault, settings={**settings, "embed_on_save": False}) as memory:
        if memory.get_stats().total_count < size:
            for start in range(0, size, 500):
                part = texts[start : start + 500]
                memory.save_batch([{"content": one.content, "title": one.title} for one in part])
        memory.reindex_missing()
    return writer.questions(texts, 200)


def measure(
    commands: dict[str, tuple[list[str], dict[str, str]]], questions: Sequence[str], runs: int
) -> dict[str, dict[str, float]]:
    """Run each command in turn; return its median times and ratios to the first one."""
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
    names = list(commands)
    for turn in range(runs + 1):
        question = questions[turn % len(questions)]
        for place in range(len(names)):
            name = names[(turn + place) % len(names)]
            command, environment = commands[name]
            times = _run(command, environment, question)
            if turn:  # the first writes bytecode
                taken[name].append(times)
    found = {
        name: {
            "wall_ms": statistics.median(wall for wall, _ in times) * 1000,
            "cpu_ms": statistics.median(cpu for _, cpu in times) * 1000,
        }
        for name, times in taken.items()
    }
    bare = found[names[0]]
    for values in found.values():
        values["ratio"] = values["wall_ms"] / bare["wall_ms"]
        values["cpu_ratio"] = values["cpu_ms"] / bare["cpu_ms"]
    return found


def _run(command: list[str], environment: dict[str, str], question: str) -> tuple[float, float]:
    said = {"session_id": f"s{random.random()}", "cwd": "/", "prompt": question}
    arguments = [question if word == "QUESTION" else word for word in command]
    start = time.perf_counter()
    process = subprocess.Popen(
        arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env=environment, cwd="/",
    )  # fmt: skip
    assert process.stdin is not None
    with suppress(BrokenPipeError), process.stdin as stdin:
        stdin.write(json.dumps(said).encode())
    assert process.stdout is not None
    assert process.stderr is not None
    with process.stdout, process.stderr:
        process.stdout.read()
        process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, arguments
    return wall, usage.ru_utime + usage.ru_stime


def run(vault: Path, size: int, runs: int, *, is_quick: bool) -> dict[str, Any]:
    """Measure everything, and stop the warm process."""
    questions = fill(vault, size, is_quick=is_quick)
    with tempfile.TemporaryDirectory(prefix="muisti-cold-") as state:
        os.environ["MUISTI_STATE"] = state
        for name in ("CI", "PYTHONDONTWRITEBYTECODE", "MUISTI_WARM"):
            os.environ.pop(name, None)
        if is_quick:
            os.environ["MUISTI_EMBEDDER"] = "hashing"
        warm = dict(os.environ)
        cold = {**warm, "MUISTI_WARM": "0"}
        search = [*MAIN, "search", "--vault", str(vault), "QUESTION"]
        hook = [*MAIN, "hook", "UserPromptSubmit", "--vault", str(vault)]
        _run(search, warm, questions[0])  # starts the warm process
        until = time.monotonic() + WAIT_SECONDS
        while not _is_warm(vault):
            assert time.monotonic() < until, "no warm process"
            time.sleep(0.1)
        try:
            found = measure(
                {
                    "python -c pass": ([sys.executable, "-c", "pass"], warm),
                    "muisti search, warm": (search, warm),
                    "muisti search --mode keyword, cold": ([*search, "--mode", "keyword"], cold),
                    "muisti search, cold": (search, cold),
                    "UserPromptSubmit, warm": (hook, warm),
                    "UserPromptSubmit, cold": (hook, cold),
                },
                questions,
                runs,
            )
            status = client.ask(str(vault), {"do": "status"}, 10.0)
            assert int(str(status["answered"])) >= 2 * runs, "the warm process was not used"
        finally:
            with suppress(client.NoAnswer):
                client.ask(str(vault), {"do": "leave"}, 10.0)
    return {"machine": machine(), "memories": size, "runs": runs, "times": found}


def _is_warm(vault: Path) -> bool:
    try:
        client.ask(str(vault), {"do": "status"}, 1.0)
    except client.NoAnswer:
        return False
    return True


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures and keep them."""
    parser = argparse.ArgumentParser(prog="benchmarks.cold", description=__doc__)
    parser.add_argument("--vault", type=Path, help="a vault that is kept between runs")
    parser.add_argument("--size", type=int, default=10_000, help="memories in the vault")
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--quick", action="store_true", help="few runs: to see that it works")
    options = parser.parse_args(arguments)
    size, runs = (300, 2) if options.quick else (options.size, options.runs)
    with tempfile.TemporaryDirectory(prefix="muisti-cold-") as folder:
        vault = (options.vault or Path(folder) / "vault").absolute()
        found = run(vault, size, runs, is_quick=options.quick)
    for name, values in found["times"].items():
        print(f"{name:36} {values['ratio']:5.1f}×  (cpu {values['cpu_ratio']:4.1f}×, "
              f"{values['wall_ms']:.0f} ms)")  # fmt: skip
    if not options.quick:
        RESULTS.parent.mkdir(parents=True, exist_ok=True)
        RESULTS.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
