"""Files of lines that are only ever appended to: how far they were read, and a last line that a crash cut short."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from muisti.errors import VaultUnusable
from muisti.storage.files.disk import Disk

CORRUPT = ".corrupt"
_TAIL = 256


def read_complete_lines(path: Path, offset: int) -> bytes:
    """What follows the offset, up to the last line end."""
    with suppress(FileNotFoundError), path.open("rb") as file:
        file.seek(offset)
        data = file.read()
        return data[: data.rfind(b"\n") + 1]
    return b""


def hash_tail(path: Path, offset: int) -> str:
    """Stands for what came right before the offset: whether a file was only added to is told by this."""
    start = max(0, offset - _TAIL)
    with path.open("rb") as file:
        file.seek(start)
        return hashlib.sha256(file.read(offset - start)).hexdigest()[:16]


def ends_with_newline(path: Path) -> bool:
    """Whether the last line of a file is whole, or there is none."""
    with path.open("rb") as file:
        size = file.seek(0, 2)
        if size == 0:
            return True
        file.seek(size - 1)
        return file.read(1) == b"\n"


def quarantine_torn_tail(
    disk: Disk, path: Path, is_whole: Callable[[bytes], bool] | None = None
) -> bool:
    """A line that a crash cut short goes to a file beside; what is whole stays. Answers whether there was one.

    A last line that `is_whole` finds nothing missing from but its end, as other programs and editors leave it, gets that.
    Raises VaultUnusable for a link: what it leads to is not ours to cut.
    """
    if path.is_symlink():
        raise VaultUnusable(f"{path} is a link to another place; nothing is written through links")
    if ends_with_newline(path):
        return False
    whole = len(read_complete_lines(path, 0))
    with path.open("rb") as file:
        file.seek(whole)
        tail = file.read()
    if is_whole is not None and is_whole(tail):
        disk.append(path, b"\n", durable=True)
        return False
    beside = path.with_name(path.name + CORRUPT)
    existed = beside.exists()
    disk.append(beside, tail + b"\n", durable=True)
    if not existed:
        disk.sync_folder(path.parent)  # before the tail is cut off: a power cut must not take both
    disk.truncate(path, whole)
    return True
