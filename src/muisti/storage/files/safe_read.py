"""Read the bytes of a file that may be a memory."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from muisti.errors import BrokenFile
from muisti.settings import Settings
from muisti.storage.files import frontmatter

MAX_FILE = 4 * frontmatter.MAX_HEAD + 64
"""Bytes that a file may have beyond the largest content, for its front matter."""


def read_bytes(root: Path, path: str, settings: Settings) -> tuple[bytes, os.stat_result]:
    """Return a file's bytes and its status, both of the same file even if it is replaced meanwhile.

    Raises BrokenFile for a symbolic link, and for a file that is larger than a memory can be.
    """
    limit = settings.max_content_bytes + MAX_FILE
    try:
        fd = os.open(root / path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        is_escaped = "\\x" in path
        reason = "has a name that is not UTF-8: rename it" if is_escaped else "no longer exists"
        raise BrokenFile(path, reason) from None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise BrokenFile(
                path, "is a symbolic link, which muisti does not follow: put the file itself there"
            ) from error
        raise BrokenFile(
            path, f"cannot be read ({error.strerror}): check its permissions"
        ) from error
    with open(fd, "rb") as file:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            raise BrokenFile(path, "is not a regular file")
        data = file.read(limit + 1)
    if len(data) > limit:
        raise BrokenFile(
            path,
            f"has {status.st_size} bytes, the limit is {limit}:"
            " make it shorter, or raise max_content_bytes",
        )
    return data, status
