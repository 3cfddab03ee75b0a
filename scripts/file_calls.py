"""Counts the file-system calls that one hand edit costs, in vaults of several sizes.

A part of `trace_calls.py`. The same numbers mean that the size of the vault does not matter.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from muisti import Muisti


def edit_one(memory: Muisti, root: Path) -> str:
    """Change the body of one memory as an editor does; return its path."""
    path = str(memory.list(limit=1)[0].file_path)
    text = (root / path).read_text("utf-8")
    (root / path).write_text(text + "\nA line that somebody added.\n", "utf-8")
    stamp = (root / path).stat().st_mtime - 1  # older than the check, so that it counts as settled
    os.utime(root / path, (stamp, stamp))
    return path


class CountedEntry:
    """An entry of a folder that counts how often it is asked for its status."""

    def __init__(self, entry: os.DirEntry[str], counts: Counter[str]) -> None:
        self._entry = entry
        self._counts = counts

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        """As os.DirEntry does."""
        self._counts["stat of a folder's entry"] += 1
        return self._entry.stat(follow_symlinks=follow_symlinks)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._entry, name)

    def __fspath__(self) -> str:
        return self._entry.path


class CountedScan:
    """A listing that counts its entries."""

    def __init__(self, listing: Any, counts: Counter[str]) -> None:
        self._listing = listing
        self._counts = counts

    def __iter__(self) -> Iterator[CountedEntry]:
        return self

    def __next__(self) -> CountedEntry:
        entry = next(self._listing)
        self._counts["entries of folders"] += 1
        return CountedEntry(entry, self._counts)

    def __enter__(self) -> CountedScan:
        return self

    def __exit__(self, *_: object) -> None:
        self._listing.close()

    def close(self) -> None:
        """As the listing does."""
        self._listing.close()


@contextmanager
def counting(edited: str) -> Iterator[Counter[str]]:
    """Count what is asked of the file system. Only the reads include those of SQLite."""
    counts: Counter[str] = Counter()
    before = {name: getattr(os, name) for name in ("stat", "lstat", "fstat", "scandir", "listdir")}

    def counted(name: str) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            counts[name] += 1
            result = before[name](*args, **kwargs)
            return CountedScan(result, counts) if name == "scandir" else result

        return call

    reads = read_calls()
    for name in before:
        setattr(os, name, counted(name))
    opened.append((counts, os.path.basename(edited)))
    try:
        yield counts
    finally:
        opened.clear()
        for name, function in before.items():
            setattr(os, name, function)
        counts["read, with SQLite's"] = read_calls() - reads


def read_calls() -> int:
    """How often this process has read from files; 0 where the system does not tell."""
    try:
        return int(re.findall(r"syscr: (\d+)", Path("/proc/self/io").read_text())[0])
    except OSError:
        return 0


opened: list[tuple[Counter[str], str]] = []
"""Who counts now: hooks of the interpreter cannot be taken out again."""


def note_open(event: str, arguments: tuple[Any, ...]) -> None:
    """Count opened files."""
    if event == "open" and opened:
        counts, target = opened[0]
        counts["open"] += 1
        path = arguments[0]  # a number, if an open file is wrapped
        if isinstance(path, str | os.PathLike) and os.path.basename(os.fspath(path)) == target:
            counts["open of the edited file"] += 1


def large_vault(root: Path, files: int) -> None:
    """Write memories as files, which is quicker than saving them."""
    for number in range(files):
        folder = root / ("facts" if number % 2 else "projects/apollo/notes")
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"2026-01-01_memory_{number}.md"
        head = f"id: 019b0000-0000-7000-8000-{number:012d}\ncreated_at: 2026-01-01T00:00:00Z"
        body = f"Memory number {number} is about topic {number % 97}."
        path.write_text(f"---\n{head}\n---\n\n{body}\n")
        os.utime(path, (1_767_225_600, 1_767_225_600))


def count_hand_edit(files: int, *, named: bool) -> Counter[str]:
    """What one hand edit costs in a vault of so many files."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "vault")
        root.mkdir()
        (root / "muisti.toml").write_text("")
        large_vault(root, files)
        with Muisti.open(root, embedder="none") as memory:
            memory.sync()
            path = edit_one(memory, root)
            with counting(path) as counts:
                report = memory.sync(paths=[path] if named else None)
        assert report.changed == 1, report
    return counts


def print_counts(sizes: Sequence[int]) -> None:
    """A table: calls by size of the vault."""
    sys.addaudithook(note_open)
    for named in (True, False):
        found = [count_hand_edit(size, named=named) for size in sizes]
        call = "sync(paths=[the file])" if named else "sync()"
        print(f"\n== File-system calls for one hand edit, {call}")
        print(f"{'':28}" + "".join(f"{f'{size} files':>14}" for size in sizes))
        for name in sorted(set().union(*found)):
            print(f"{name:28}" + "".join(f"{counts[name]:>14}" for counts in found))
