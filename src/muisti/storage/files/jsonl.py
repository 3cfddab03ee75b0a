"""Append-only files of lines: reading from an offset, and a last line that a crash cut short.

However large a file is, only a part of it is in memory at a time.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from muisti.errors import VaultUnusable
from muisti.storage.files.atomic_write import AtomicWriter

try:  # `hashlib` loads OpenSSL, which takes as long as reading a small journal ten times
    from _sha2 import sha256  # type: ignore[import-not-found]
except ImportError:
    try:
        from _sha256 import sha256  # type: ignore[import-not-found]  # Python 3.11
    except ImportError:  # a Python that was built without them
        from hashlib import sha256

if TYPE_CHECKING:
    from muisti.filesystem import Tree
    from muisti.storage.files.disk import Disk

CORRUPT = ".corrupt"
MAX_READ = 16_000_000
"""The most bytes that are read at once, and the most bytes of a line. A longer one is skipped."""
MAX_REWRITTEN = 512_000_000
"""The most bytes of a file that can be rewritten, to remove lines from it."""
TOO_LONG = f"is longer than {MAX_READ} bytes"
_BLOCK = 1_000_000
TAIL = 256
"""How many bytes before an offset `read_tail` returns."""


class Lines(NamedTuple):
    """Complete lines of a file."""

    data: bytes
    start: int
    """The offset of the first line."""
    end: int
    """The offset after the last line, or after lines that were skipped."""
    is_complete: bool
    """Whether there are no more complete lines."""
    too_long: tuple[int, ...]
    """The offsets of lines that are too long."""


@contextmanager
def _open(tree: Tree, path: Path) -> Iterator[BinaryIO]:
    fd, _ = tree.open(path, os.O_RDONLY)
    with os.fdopen(fd, "rb") as file:
        yield file


def read_lines(tree: Tree, path: Path, offset: int) -> Lines:
    """Return the next complete lines from the offset. Lines that are too long are skipped."""
    too_long: list[int] = []
    with _open(tree, path) as file:
        size = os.fstat(file.fileno()).st_size
        while True:
            file.seek(offset)
            data = file.read(min(MAX_READ, max(0, size - offset)))
            is_complete = len(data) < MAX_READ
            length = data.rfind(b"\n") + 1
            if length or is_complete:
                end = offset + length
                return Lines(data[:length], offset, end, is_complete, tuple(too_long))
            too_long.append(offset)
            after = _find_line_end(file, offset + len(data))
            if after is None:
                return Lines(b"", offset, offset, True, tuple(too_long))
            offset = after


def _find_line_end(file: BinaryIO, offset: int) -> int | None:
    """Return the offset after the next line end; None if there is none."""
    file.seek(offset)
    while block := file.read(_BLOCK):
        end = block.find(b"\n")
        if end >= 0:
            return offset + end + 1
        offset += len(block)
    return None


def has_complete_line(tree: Tree, path: Path, offset: int) -> bool:
    """Return whether there is a line end after an offset."""
    with _open(tree, path) as file:
        return _find_line_end(file, offset) is not None


def read_all_lines(tree: Tree, path: Path) -> Iterator[Lines]:
    """Yield all complete lines of a file, a part at a time."""
    offset = 0
    while True:
        lines = read_lines(tree, path, offset)
        yield lines
        if lines.is_complete:
            return
        offset = lines.end


def hash_tail(tree: Tree, path: Path, offset: int) -> str:
    """Return a hash of the bytes before the offset, to notice that a file was rewritten."""
    return make_digest(read_tail(tree, path, offset))


def read_tail(tree: Tree, path: Path, offset: int) -> bytes:
    """Return the last bytes before an offset."""
    start = max(0, offset - TAIL)
    with _open(tree, path) as file:
        file.seek(start)
        return file.read(offset - start)


def make_digest(tail: bytes) -> str:
    """Return the hash of a file's last bytes."""
    return str(sha256(tail).hexdigest())[:16]


def read_torn_tail(tree: Tree, path: Path) -> tuple[int, bytes]:
    """Return where an incomplete last line begins, and the line; empty if all are complete.

    Raises VaultUnusable if it is too long.
    """
    with _open(tree, path) as file:
        start = file.seek(0, 2)
        tail = b""
        while start and b"\n" not in tail[:_BLOCK] and len(tail) <= MAX_READ:
            length = min(start, _BLOCK if tail else 1)
            start -= length
            file.seek(start)
            tail = file.read(length) + tail
    kept = tail.rfind(b"\n") + 1
    if len(tail) - kept > MAX_READ:
        name = "/".join(tree.split(path))
        raise VaultUnusable(f"{name}: its last line {TOO_LONG}: remove that line")
    return start + kept, tail[kept:]


def ends_with_newline(tree: Tree, path: Path) -> bool:
    """Return whether a file's last line is complete, or the file is empty."""
    with _open(tree, path) as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - 1))
        return file.read(1) in (b"\n", b"")


def quarantine_torn_tail(
    disk: Disk, path: Path, is_whole: Callable[[bytes], bool] | None = None
) -> bool:
    """Move a last line that a crash cut short to a `.corrupt` file. Return whether there was one.

    If `is_whole` says that only the line end is missing, as some programs leave it, append that.
    Raises UnsafeFile for a symbolic link, VaultUnusable if the line is too long.
    """
    tree = disk.tree(path)
    whole, tail = read_torn_tail(tree, path)
    if not tail:
        return False
    if is_whole is not None and is_whole(tail):
        disk.append(path, b"\n", durable=True)
        return False
    corrupt = path.with_name(path.name + CORRUPT)
    existed = tree.exists(corrupt)
    disk.append(corrupt, tail + b"\n", durable=True)
    if not existed:
        disk.sync_folder(path.parent)  # before truncating: a power cut must not lose both
    disk.truncate(path, whole)
    return True


def replace_file(disk: Disk, root: Path, path: Path, data: bytes, expected: bytes) -> None:
    """Replace the bytes of a vault's file atomically, or remove it if there are none left.

    Raises Conflict if the file has other bytes than expected: a person changed it meanwhile. A
    process that is killed leaves no removed text behind: the next one removes its temporary file.
    """
    writer = AtomicWriter(root, root / ".muisti" / "tmp", disk)
    writer.prepare()
    writer.replace(path.relative_to(root).as_posix(), data, expected)
    if not data:
        disk.remove(path)
        disk.sync_folder(path.parent)
