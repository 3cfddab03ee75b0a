"""Append-only files of lines: reading from an offset, and a last line that a crash cut short."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from muisti.errors import VaultUnusable
from muisti.storage.files.disk import Disk

CORRUPT = ".corrupt"
_TAIL = 256


def read_complete_lines(path: Path, offset: int) -> bytes:
    """Return the bytes from the offset to the last line end; none if there is no file."""
    with suppress(FileNotFoundError), path.open("rb") as file:
        file.seek(offset)
        data = file.read()
        return data[: data.rfind(b"\n") + 1]
    return b""


def hash_tail(path: Path, offset: int) -> str:
    """Return a hash of the bytes before the offset, to notice that a file was rewritten."""
    start = max(0, offset - _TAIL)
    with path.open("rb") as file:
        file.seek(start)
        return hashlib.sha256(file.read(offset - start)).hexdigest()[:16]


def ends_with_newline(path: Path) -> bool:
    """Return whether a file's last line is complete, or the file is empty."""
    with path.open("rb") as file:
        size = file.seek(0, 2)
        if size == 0:
            return True
        file.seek(size - 1)
        return file.read(1) == b"\n"


def quarantine_torn_tail(
    disk: Disk, path: Path, is_whole: Callable[[bytes], bool] | None = None
) -> bool:
    """Move a last line that a crash cut short to a `.corrupt` file. Return whether there was one.

    If `is_whole` says that only the line end is missing, as some programs leave it, append that.
    Raises VaultUnusable for a symbolic link.
    """
    if path.is_symlink():
        raise VaultUnusable(f"{path} is a symbolic link; muisti does not write through links")
    if ends_with_newline(path):
        return False
    whole = len(read_complete_lines(path, 0))
    with path.open("rb") as file:
        file.seek(whole)
        tail = file.read()
    if is_whole is not None and is_whole(tail):
        disk.append(path, b"\n", durable=True)
        return False
    corrupt = path.with_name(path.name + CORRUPT)
    existed = corrupt.exists()
    disk.append(corrupt, tail + b"\n", durable=True)
    if not existed:
        disk.sync_folder(path.parent)  # before truncating: a power cut must not lose both
    disk.truncate(path, whole)
    return True


def replace_file(disk: Disk, path: Path, data: bytes) -> None:
    """Replace a file's bytes atomically, or remove the file if there are none left."""
    if not data:
        disk.remove(path)
    else:
        temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}.tmp")
        disk.write_new(temporary, data)
        try:
            disk.replace(temporary, path)
        except BaseException:
            disk.discard(temporary)
            raise
    disk.sync_folder(path.parent)
