"""The things whose speed is measured, each next to its bare reference in the same run."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path

from benchmarks import bare
from benchmarks.texts import Text
from benchmarks.timing import Times, best_of, interleaved, seconds
from muisti import Muisti

CLI = "muisti.surfaces.cli.main"
BATCH = 1000
Figures = dict[str, float | str]


def item(text: Text) -> dict[str, str]:
    """A text as `save_batch` takes it. The kind is said, so that all files are in one folder as in
    the reference.
    """
    return {"content": text.content, "title": text.title, "kind": "note"}


def save_one_by_one(memory: Muisti, folder: Path, texts: Sequence[Text]) -> dict[str, Times]:
    """A durable save next to a durable file write of about as many bytes, and next to an insert
    into FTS5.
    """
    files, index, number = folder / "files", bare.BareIndex(folder / "bare.db"), count()
    files.mkdir()
    actions: dict[str, Callable[[Text], object]] = {
        "save": lambda text: memory.save(text.content, title=text.title, kind="note"),
        "file": lambda text: bare.durable_write(
            files / f"{next(number)}.md", (f"{text.title}\n\n{text.content}" + " " * 300).encode()
        ),
        "insert": index.insert,
    }
    taken = interleaved(actions, texts)
    index.close()
    return taken


def save_in_batches(memory: Muisti, folder: Path, texts: Sequence[Text]) -> dict[str, Times]:
    """`save_batch` next to grouped file writes and to one FTS5 transaction; seconds a text."""
    files, index, number = folder / "batches", bare.BareIndex(folder / "batches.db"), count()
    files.mkdir()
    actions: dict[str, Callable[[Sequence[Text]], object]] = {
        "save": lambda batch: memory.save_batch(item(text) for text in batch),
        "file": lambda batch: bare.durable_writes(
            files,
            [
                (f"{next(number)}.md", (f"{t.title}\n\n{t.content}" + " " * 300).encode())
                for t in batch
            ],
        ),
        "insert": lambda batch: index.insert(*batch),
    }
    size = min(BATCH, max(1, len(texts) // 3))
    batches = [texts[at : at + size] for at in range(0, len(texts) - size + 1, size)]
    taken = interleaved(actions, batches)
    index.close()
    return {name: Times(tuple(s / size for s in times.seconds)) for name, times in taken.items()}


def search(vault: Path, index: bare.BareIndex, questions: Sequence[str]) -> dict[str, Times]:
    """Ours next to both bare queries. Noting what was recalled happens off the request's path:
    measured apart.
    """
    with Muisti.open(vault, record_recall=False) as memory:
        actions: dict[str, Callable[[str], object]] = {
            "muisti": memory.search,
            "compact": memory.search_compact,
            "bare": index.search,
            "naive": index.search_naively,
        }
        interleaved(actions, questions[: len(questions) // 4])  # warm the caches of all alike
        taken = interleaved(actions, questions)
    with Muisti.open(vault) as memory:
        noted = interleaved(
            {"noting": memory.search, "bare_beside": index.search}, questions[: len(questions) // 2]
        )
    return taken | noted


def upkeep(vault: Path, runs: int) -> Figures:
    """Opening and rebuilding, next to a bare walk over the same files."""
    first = seconds(lambda: Muisti.open(vault).close())
    opened, walked = [], []
    for _ in range(runs):
        opened.append(seconds(lambda: Muisti.open(vault).close()))
        walked.append(seconds(lambda: bare.walk(vault)))
    with Muisti.open(vault) as memory:
        total = memory.get_stats().total_count
        rebuilt = seconds(memory.reindex)
        size = memory.get_stats().index_size_bytes
    text = sum(path.stat().st_size for path in vault.rglob("*.md"))
    return {
        "memories": total,
        "first_open_ms": first * 1000,
        "open_ms": best_of(opened) * 1000,
        "walk_ms": best_of(walked) * 1000,
        "open_ratio": best_of(opened) / best_of(walked),
        "reindex_per_second": total / rebuilt,
        "index_bytes_per_memory": size / total,
        "index_to_files_ratio": size / text,
    }


def cold_start(vaults: dict[int, Path], question: str, runs: int) -> dict[str, Times] | str:
    """The command line next to an interpreter that does nothing; or why it was not measured."""
    if importlib.util.find_spec(CLI) is None:
        return f"skipped: there is no {CLI} yet"
    commands = {"python": ["-c", "pass"], "version": ["-m", CLI, "--version"]}
    commands |= {
        f"search {size}": ["-m", CLI, "search", question] for size in vaults if size <= 10_000
    }
    with tempfile.TemporaryDirectory(prefix="muisti-home-") as home:
        outside = {
            name: value for name, value in os.environ.items() if not name.startswith("MUISTI_")
        }

        def run(name: str) -> None:
            vault = {"MUISTI_VAULT": str(vaults[int(name.split()[1])])} if " " in name else {}
            subprocess.run(
                [sys.executable, *commands[name]],
                env={**outside, "HOME": home, "MUISTI_WARM": "0", **vault},
                cwd=home,
                check=True,
                capture_output=True,
            )

        try:
            for name in commands:
                run(name)
        except subprocess.CalledProcessError as error:
            return f"skipped: `{' '.join(error.cmd[1:])}` failed: {error.stderr.decode(errors='replace').strip()[-200:]}"
        actions: dict[str, Callable[[int], object]] = {
            name: lambda _, name=name: run(name)  # type: ignore[misc]
            for name in commands
        }
        return interleaved(actions, range(runs))
