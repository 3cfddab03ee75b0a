"""Replace a file only if nobody has changed it since it was read (contract B5: edits win).

Comparing before the replacement leaves a moment in which an edit would vanish. So the two files
exchange their names, and what was displaced is compared: an edit is put back.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from muisti.errors import Conflict

if TYPE_CHECKING:
    from muisti.storage.files.disk import Disk


def replace_unchanged(
    disk: Disk, temporary: Path, final: Path, *, expected: bytes, data: bytes
) -> None:
    """Replace a file by a finished one with `data`, if it has the expected bytes.

    Raises Conflict if it was changed, renamed or deleted meanwhile: it is as others left it then.
    After another error the displaced file may still have the temporary name.
    """
    try:
        disk.exchange(temporary, final)
    except FileNotFoundError:
        disk.discard(temporary)
        raise Conflict(
            f"{final.name} was renamed or deleted in the meantime; repeat the change"
        ) from None
    if has_bytes(disk, temporary, expected):
        disk.discard(temporary)
        return
    put_back(disk, temporary, final, data)
    raise Conflict(f"{final.name} was changed in the meantime; read it again and repeat the change")


def put_back(disk: Disk, displaced: Path, final: Path, data: bytes) -> None:
    """Give a displaced file its name again, in place of the one with `data`.

    If that one was edited too, it becomes a copy beside the file: both texts survive.
    """
    try:
        disk.exchange(displaced, final)
    except FileNotFoundError:  # renamed or deleted since: then there is nothing to take its place
        disk.publish(displaced, final)
        return
    if has_bytes(disk, displaced, data):
        disk.discard(displaced)
        return
    copy = final.with_name(f"{final.stem}.conflict-{os.urandom(4).hex()}{final.suffix}")
    disk.publish(displaced, copy)


def has_bytes(disk: Disk, path: Path, expected: bytes) -> bool:
    """Return whether a path is a regular file with these bytes."""
    with suppress(OSError):
        return disk.tree(path).read(path, len(expected))[0] == expected
    return False
