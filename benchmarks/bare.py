"""What one would write without muisti: the references that its figures are compared with."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

import apsw

from benchmarks.texts import Text

# Not muisti's own list: a reference must not move when muisti does.
_STOP_WORDS = """
a about after again all also am an and any are as at be because been before being between both but by can could did do does
doing down during each few for from had has have having he her here hers him his how i if in into is it its just me more most my
no nor not now of off on once only or other our ours out over own same she should so some such than that the their them then
there these they this those through to too under until up very was we were what when where which while who whom why will with
would you your yours
"""
_STOPPED = frozenset(_STOP_WORDS.split())


def durable_write(path: Path, data: bytes) -> None:
    """One file that survives a power cut: temporary file, fsync, rename, fsync of the folder."""
    temporary = path.with_suffix(".tmp")
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        os.write(fd, data)
        os.fsync(fd)
    finally:
        os.close(fd)
    os.rename(temporary, path)
    _sync(path.parent)


def durable_writes(folder: Path, files: Sequence[tuple[str, bytes]]) -> None:
    """Many files with their fsyncs grouped."""
    for name, data in files:
        (folder / f"{name}.tmp").write_bytes(data)
    for name, _ in files:
        _sync(folder / f"{name}.tmp")
    for name, _ in files:
        os.rename(folder / f"{name}.tmp", folder / name)
    _sync(folder)


def _sync(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def walk(folder: Path) -> int:
    """scandir and stat of every Markdown file below a folder: the least that noticing a change can
    cost.
    """
    total = 0
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                total += walk(Path(entry.path)) if entry.name[0] != "." else 0
            elif entry.name.endswith(".md"):
                total += entry.stat(follow_symlinks=False).st_size > 0
    return total


class BareIndex:
    """A table with an FTS5 index, as a good programmer would write it."""

    def __init__(self, path: Path) -> None:
        self._db = apsw.Connection(str(path))
        self._db.pragma("journal_mode", "wal")
        self._db.pragma("synchronous", "full")
        self._db.pragma("cache_size", -16_000)  # as muisti's
        self._db.execute(
            """CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT, content TEXT, created_at INTEGER);
            CREATE VIRTUAL TABLE found USING fts5 (
                title, content, content = 'notes', content_rowid = 'id', tokenize = 'porter unicode61');
            INSERT INTO found (found, rank) VALUES ('rank', 'bm25(3.0, 1.0)');
            CREATE TRIGGER noted AFTER INSERT ON notes BEGIN
                INSERT INTO found (rowid, title, content) VALUES (new.id, new.title, new.content); END"""
        )

    def insert(self, *texts: Text) -> None:
        """One durable transaction."""
        with self._db:
            for text in texts:
                self._db.execute(
                    "INSERT INTO notes (title, content, created_at) VALUES (?, ?, 0)",
                    (text.title, text.content),
                )

    def merge(self) -> None:
        """One segment, which is the fastest that FTS5 gets."""
        self._db.execute("INSERT INTO found (found) VALUES ('optimize')")

    def search(self, question: str) -> list[tuple[object, ...]]:
        """Stop words out, the rest quoted and OR-ed."""
        words = re.findall(r"\w+", question.lower())
        return self._find([word for word in words if word not in _STOPPED] or words)

    def search_naively(self, question: str) -> list[tuple[object, ...]]:
        """All words OR-ed."""
        return self._find(re.findall(r"\w+", question.lower()))

    def _find(self, words: Sequence[str]) -> list[tuple[object, ...]]:
        rows = self._db.execute(
            """SELECT n.id, n.title, n.content, n.created_at, found.rank FROM found JOIN notes n ON n.id = found.rowid
            WHERE found MATCH ? ORDER BY found.rank LIMIT 10""",
            (" OR ".join(f'"{word}"' for word in dict.fromkeys(words)),),
        )
        return rows.fetchall()

    def close(self) -> None:
        self._db.close()
