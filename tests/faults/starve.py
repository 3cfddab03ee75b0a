"""Disks that fail."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from muisti.storage.files.disk import Disk


class FailingDisk(Disk):
    """Fails at the k-th step after it was armed: once, or from then on."""

    def __init__(self, code: int, *, forever: bool) -> None:
        self.code = code
        self.forever = forever
        self.left = 0
        self.failed = 0

    def arm(self, at: int) -> None:
        self.left, self.failed = at, 0

    def mend(self) -> None:
        self.left = 0

    def step(self, what: str, path: Path) -> None:
        if self.left == 1:
            self.failed += 1
            if not self.forever:
                self.left = 0
            raise OSError(self.code, os.strerror(self.code), str(path))
        self.left -= self.left > 1


class ShortDisk(FailingDisk):
    """Writes half of what it is given at the k-th write, then has no space left."""

    def step(self, what: str, path: Path) -> None:
        """Only writes fail."""

    def _write_all(self, fd: int, data: bytes, path: Path) -> None:
        if self.left == 1:
            self.failed += 1
            if not self.forever:
                self.left = 0
            os.write(fd, data[: len(data) // 2])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        self.left -= self.left > 1
        super()._write_all(fd, data, path)
