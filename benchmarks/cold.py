"""What a command or a hook costs in a process of its own: `python -m benchmarks.cold [--vault FOLDER]
[--size 10000] [--large FOLDER] [--files 100000] [--runs 15] [--quick]`.

With the warm process and without it, as ratios to `python -c pass` in turn with it: of the time
that the caller waits, and of the processor time of the command's own process. Then a search in a
vault with so many files that the command answers before it looks at them, and what a bare walk
over them takes. Bytecode is written first, as an installation does. `--vault` and `--large` keep
the vaults between runs, the former with its vectors.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Sequence
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
WALK = """
import os, sys
def walk(folder):
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                if not entry.name.startswith("."):
                    walk(entry.path)
            else:
                entry.stat(follow_symlinks=False)
walk(sys.argv[1])
"""


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
    commands: dict[str, tuple[list[str], dict[str, str]]],
    questions: Sequence[str],
    runs: int,
    settle: Callable[[], object] = lambda: None,
) -> dict[str, dict[str, float]]:
    """Run each command in turn; return its median times and ratios to the first one.

    Settle: what to wait for before each of them.
    """
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
    names = list(commands)
    for turn in range(runs + 1):
        question = questions[turn % len(questions)]
        for place in range(len(names)):
            name = names[(turn + place) % len(names)]
            command, environment = commands[name]
            settle()
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
    said = {"session_id": str(uuid.uuid4()), "cwd": "/", "prompt": question}
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
        hook = [*MAIN, "hook", "UserPromptSubmit", "--agent", "claude-code", "--vault", str(vault)]
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


def measure_large(vault: Path, size: int, runs: int, *, is_quick: bool) -> dict[str, Any]:
    """Measure a search by keyword that answers first, in turn with a walk over the files."""
    _, words = vocabulary()
    writer = Writer(words)
    texts = writer.texts(size)
    with bootstrap.open(
        vault, settings={"embedder": "none", "merge_duplicates": False, "propose_links": False}
    ) as memory:
        for start in range(memory.get_stats().total_count, size, 500):
            part = texts[start : start + 500]
            memory.save_batch([{"content": one.content, "title": one.title} for one in part])
    questions = writer.questions(texts, runs + 1)
    environment = {**os.environ, "MUISTI_WARM": "0", "MUISTI_EMBEDDER": "none"}
    if is_quick:
        environment["MUISTI_SYNC_FIRST_BELOW"] = str(size - 1)
    search = [*MAIN, "search", "--vault", str(vault), "--mode", "keyword", "QUESTION"]
    look = "from pathlib import Path; from muisti.surfaces.cli.sync_process import sync_all; "
    actions = {
        "python -c pass": ([sys.executable, "-c", "pass"], environment),
        "bare walk": ([sys.executable, "-c", WALK, str(vault)], environment),
        "muisti search, which answers first": (search, environment),
        "the check after it": (
            [sys.executable, "-P", "-c", f"{look}sync_all(Path({str(vault)!r}))"],
            environment,
        ),
    }
    with tempfile.TemporaryDirectory(prefix="muisti-cold-") as state:
        environment["MUISTI_STATE"] = state
        said = subprocess.run(
            [*search[:-1], questions[0]],
            capture_output=True,
            check=True,
            env=environment,
            cwd="/",
        )
        assert b"checked in the background" in said.stderr, "it looked at the files first"
        times = measure(actions, questions, runs, lambda: _wait_for_check(vault))
    return {"files": size, "times": times}


def _wait_for_check(vault: Path) -> None:
    """Wait until no process that a command left behind looks at the files any more."""
    until = time.monotonic() + WAIT_SECONDS
    while any(_is_check(path, vault) for path in Path("/proc").glob("[0-9]*/cmdline")):
        assert time.monotonic() < until, "the check does not end"
        time.sleep(0.1)


def _is_check(path: Path, vault: Path) -> bool:
    try:
        command = path.read_bytes()
    except OSError:  # the process has ended
        return False
    return b"sync_process" in command and os.fsencode(vault) in command


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
    parser.add_argument("--large", type=Path, help="a large vault that is kept between runs")
    parser.add_argument("--files", type=int, default=100_000, help="files in the large vault")
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--quick", action="store_true", help="few runs: to see that it works")
    options = parser.parse_args(arguments)
    size, files, runs = options.size, options.files, options.runs
    if options.quick:
        size, files, runs = 300, 300, 2
    with tempfile.TemporaryDirectory(prefix="muisti-cold-") as folder:
        vault = (options.vault or Path(folder) / "vault").absolute()
        found = run(vault, size, runs, is_quick=options.quick)
        vault = (options.large or Path(folder) / "large").absolute()
        found["large"] = measure_large(vault, files, runs, is_quick=options.quick)
    for times in (found["times"], found["large"]["times"]):
        for name, values in times.items():
            print(f"{name:36} {values['ratio']:5.1f}×  (cpu {values['cpu_ratio']:4.1f}×, "
                  f"{values['wall_ms']:.0f} ms)")  # fmt: skip
    if not options.quick:
        RESULTS.parent.mkdir(parents=True, exist_ok=True)
        RESULTS.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
