"""Write all changed files of a file system to its disk with one call: `syncfs` of Linux.

`fsync` makes the disk empty its cache for every file. For many new files, one call for all takes a
fraction of the time. Python has no function for it.
"""

from __future__ import annotations

import os
import re
import sys
from functools import cache
from typing import Any

MOST_UNWRITTEN = 64_000_000
"""Bytes that all programs have changed and no disk has yet: the call may have to wait for them."""
_OLDEST_LINUX = (5, 8)
"""Earlier versions do not report that a file could not be written."""
_TYPES = {0xEF53, 0x58465342, 0x9123683E}
"""ext4, XFS, Btrfs. Others, as those of a network, may do nothing and still report success."""


def sync_file_system(folder: int) -> bool:
    """Write everything in the file system of an open folder to the disk.

    Return False if that cannot be relied on, or may take long; then nothing was done. Raises
    OSError, also for a file that could not be written since the folder was opened.
    """
    library = _load_library()
    if library is None or _read_type(library, folder) not in _TYPES:
        return False
    if _count_unwritten() > MOST_UNWRITTEN:
        return False
    if library.syncfs(folder):
        import ctypes

        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return True


@cache
def _load_library() -> Any:
    """Return the C library; None if it, or the system, lacks the call."""
    version = re.match(r"(\d+)\.(\d+)", os.uname().release) if sys.platform == "linux" else None
    if version is None or (int(version[1]), int(version[2])) < _OLDEST_LINUX:
        return None
    import ctypes  # only writers need it

    library = ctypes.CDLL(None, use_errno=True)
    return library if hasattr(library, "syncfs") and hasattr(library, "fstatfs") else None


def _read_type(library: Any, folder: int) -> int:
    """Return the number of the type of a file system, with which its status begins."""
    import ctypes

    status = (ctypes.c_long * 64)()
    return 0 if library.fstatfs(folder, status) else status[0] & 0xFFFFFFFF


def _count_unwritten() -> int:
    """Return how many bytes of changed files are in memory only, or are being written."""
    try:
        with open("/proc/meminfo", "rb") as file:
            sizes = re.findall(rb"^(?:Dirty|Writeback): *(\d+) kB", file.read(), re.MULTILINE)
    except OSError:
        sizes = []
    return 1024 * sum(map(int, sizes)) if sizes else MOST_UNWRITTEN + 1
