"""Rename without overwriting: exchange two names, or take a name only if it is free.

Python has no function for either, so the system's is called: `renameat2` on Linux,
`renameatx_np` on macOS. Some file systems have neither; the caller then does what comes nearest.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable
from functools import cache

Folder = int | None
"""A descriptor to which a name is relative; None: the name is a whole path."""

_HERE = {"linux": -100, "darwin": -2}
"""AT_FDCWD, the descriptor for a whole path."""
_EXCHANGE, _EXCLUSIVE = "exchange", "exclusive"
_FLAGS = {
    "linux": {_EXCLUSIVE: 1, _EXCHANGE: 2},
    "darwin": {_EXCHANGE: 2, _EXCLUSIVE: 4},
}
_UNSUPPORTED = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP}


def exchange_names(name: str, folder: Folder, other: str, other_folder: Folder) -> bool:
    """Give each of two files the name of the other, atomically. Return False if not supported.

    Raises OSError, FileNotFoundError if one of them does not exist.
    """
    return _rename(name, folder, other, other_folder, _EXCHANGE)


def rename_exclusive(name: str, folder: Folder, new: str, new_folder: Folder) -> bool:
    """Rename a file unless the new name is taken, atomically. Return False if not supported.

    Raises OSError, FileExistsError if the name is taken.
    """
    return _rename(name, folder, new, new_folder, _EXCLUSIVE)


def _rename(name: str, folder: Folder, new: str, new_folder: Folder, how: str) -> bool:
    call = _load_call()
    if call is None:
        return False
    import ctypes  # only writers need it, and hooks start with every prompt

    here = _HERE[sys.platform]
    failed = call(
        ctypes.c_int(here if folder is None else folder),
        os.fsencode(name),
        ctypes.c_int(here if new_folder is None else new_folder),
        os.fsencode(new),
        ctypes.c_uint(_FLAGS[sys.platform][how]),
    )
    if not failed:
        return True
    number = ctypes.get_errno()
    if number in _UNSUPPORTED:
        return False
    raise OSError(number, os.strerror(number), name, None, new)


@cache
def _load_call() -> Callable[..., int] | None:
    """Return the function of the C library; None if it has none."""
    import ctypes

    names = {"linux": "renameat2", "darwin": "renameatx_np"}
    if sys.platform not in names:
        return None
    try:
        library = ctypes.CDLL(None, use_errno=True)
        return getattr(library, names[sys.platform])  # type: ignore[no-any-return]
    except (OSError, AttributeError):  # an old C library
        return None
