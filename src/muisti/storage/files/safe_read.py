"""Read the bytes of a file that may be a memory."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

from muisti.errors import BrokenFile
from muisti.filesystem import Tree, UnsafeFile

if TYPE_CHECKING:
    from muisti.settings import Settings

MAX_HEAD = 64 * 1024
"""Characters of front matter."""
MAX_FILE = 4 * MAX_HEAD + 64
"""Bytes that a file may have beyond the largest content, for its front matter."""


def read_bytes(tree: Tree, path: str, settings: Settings) -> tuple[bytes, os.stat_result]:
    """Return a file's bytes and its status, both of the same file even if it is replaced meanwhile.

    Raises BrokenFile for a link, a named pipe or a device, and for a file that is larger than a
    memory can be.
    """
    try:
        return tree.read(path, settings.max_content_bytes + MAX_FILE)
    except FileNotFoundError:
        is_escaped = "\\x" in path
        reason = "has a name that is not UTF-8: rename it" if is_escaped else "no longer exists"
        raise BrokenFile(path, reason) from None
    except UnsafeFile as error:
        if error.errno == errno.EFBIG:
            raise BrokenFile(path, f"{error.reason}, or raise max_content_bytes") from error
        if error.path != path:  # a folder on the way
            raise BrokenFile(path, f"cannot be read: {error}") from error
        raise BrokenFile(path, error.reason) from error
    except OSError as error:
        raise BrokenFile(
            path, f"cannot be read ({error.strerror}): check its permissions"
        ) from error


def hash_bytes(data: bytes) -> str:
    """Return the SHA-256 of a file's bytes, by which a later change is noticed."""
    import hashlib  # slow to import, and a search reads no file

    return hashlib.sha256(data).hexdigest()
