"""The list of trusted vaults survives a failing disk: it is whole, and nothing is trusted by
accident (contracts K2, K6).
"""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from muisti.errors import VaultError
from muisti.storage.files.consent import ConsentList
from muisti.storage.files.disk import Disk
from tests import tiers


class Failing(Disk):
    """Fails at the k-th step, and from then on if told so."""

    def __init__(self, at: int, code: int, *, forever: bool) -> None:
        self.left, self.code, self.forever = at, code, forever
        self.failed = False

    def step(self, what: str, path: Path) -> None:
        self.left -= 1
        if self.left == 0 or (self.forever and self.left < 0):
            self.failed = True
            raise OSError(self.code, os.strerror(self.code), str(path))


def make_vault(path: Path) -> Path:
    path.mkdir()
    (path / "muisti.toml").write_text("")
    return path


@pytest.mark.parametrize("forever", [False, True])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EACCES], ids=errno.errorcode.get)
@pytest.mark.parametrize("action", ["add", "remove", "repair"])
def test_K2_K6_every_failing_step(tmp_path: Path, action: str, code: int, forever: bool) -> None:
    for at in tiers.steps(40):
        folder = tmp_path / f"{action}-{at}"
        folder.mkdir()
        first, second = make_vault(folder / "first"), make_vault(folder / "second")
        plain = ConsentList(folder / "data")
        plain.add(first)
        if action == "repair":
            plain.path.write_text("{")
        disk = Failing(at, code, forever=forever)
        failing = ConsentList(folder / "data", disk)
        try:
            if action == "remove":
                failing.remove(first)
            else:
                failing.add(second)
            acknowledged = True
        except VaultError:
            acknowledged = False
        if acknowledged:
            assert plain.has(first) == (action == "add")
            assert plain.has(second) == (action != "remove")
        elif action != "repair":
            assert plain.has(first) or action == "remove"
            plain.list()  # old or new, and whole
        assert not list((folder / "data").glob(".*json-*")) or forever
        plain.add(second)
        assert plain.has(second)
        if not disk.failed:
            return
    pytest.fail("there are more steps than were tried")
