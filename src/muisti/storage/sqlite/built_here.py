"""Find out whether an index was built from the files beside it, on this machine (contract K6).

An index knows each file by inode and modification time. Those of a clone, a copy or an unpacked
archive are others, so that a folder `.muisti` that comes with them is noticed.
"""

from __future__ import annotations

import os
import re
import stat
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import apsw

from muisti.storage.sqlite.connect import POINTER

MAX_FILES = 1_000
MAX_STEPS = 200
"""Thousands of steps of SQLite's virtual machine: a hostile file must not take long."""
SAME_MOMENT_NS = 500_000_000
"""What muisti writes itself is in the index at once."""


class Origin(NamedTuple):
    """Where the index of a vault comes from."""

    built_here: bool
    """Whether it was built from these files."""
    written_here: bool = False
    """Whether muisti wrote the oldest of the files itself, rather than finding them there."""


def find_origin(root: Path) -> Origin:
    """Return where the index of a vault comes from. Changes nothing, and never raises."""
    with suppress(OSError, ValueError, TypeError, apsw.Error):
        return _compare(root, _read_rows(root / ".muisti"))
    return Origin(built_here=False)


def _read_rows(folder: Path) -> list[tuple[str, int, int, int, int]]:
    pointer = folder / POINTER
    if folder.is_symlink() or not stat.S_ISREG(pointer.lstat().st_mode):
        return []
    with pointer.open("rb") as file:
        name = file.read(200).decode("ascii").strip()
    if not re.fullmatch(r"index-[\w.-]+", name) or not stat.S_ISREG(
        (folder / name).lstat().st_mode
    ):
        return []
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    # Immutable: nothing is created beside it, and nothing is waited for.
    db = apsw.Connection(f"{(folder / name).absolute().as_uri()}?immutable=1", flags=flags)
    try:
        steps = iter(range(MAX_STEPS))
        db.set_progress_handler(lambda: next(steps, None) is None, 1_000)
        db.execute("PRAGMA trusted_schema=OFF")
        if db.execute("SELECT type FROM sqlite_schema WHERE name = 'seen'").fetchall() != [
            ("table",)
        ]:
            return []
        sql = "SELECT path, size, mtime_ns, inode, seen_ns FROM seen WHERE memory_id IS NOT NULL"
        return [
            (str(path), int(size), int(mtime_ns), int(inode), int(seen_ns))
            for path, size, mtime_ns, inode, seen_ns in db.execute(f"{sql} LIMIT {MAX_FILES}")
        ]
    finally:
        db.close()


def _compare(root: Path, rows: list[tuple[str, int, int, int, int]]) -> Origin:
    """Compare what the index knows of files with the files themselves."""
    same: list[tuple[int, int]] = []
    for path, size, mtime_ns, inode, seen_ns in rows:
        if os.path.isabs(path) or ".." in Path(path).parts:
            return Origin(built_here=False)
        with suppress(OSError):
            now = os.lstat(root / path)
            if (now.st_size, now.st_mtime_ns, now.st_ino) == (size, mtime_ns, inode):
                same.append((mtime_ns, seen_ns - mtime_ns))
    if not same or 2 * len(same) < len(rows):
        return Origin(built_here=False)
    from_future = any(lag < -SAME_MOMENT_NS for _, lag in same)
    return Origin(built_here=True, written_here=not from_future and min(same)[1] < SAME_MOMENT_NS)
