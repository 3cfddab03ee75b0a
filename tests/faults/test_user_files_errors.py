"""Errors of the disk in the files beside the vault: the spool of hooks, their log, and the record of
`muisti install`. Each file is whole, old or new, and nothing is left lying about.
"""

from __future__ import annotations

import errno
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from muisti.surfaces.hooks import log, spool
from muisti.surfaces.hooks.paths import get_state_folder
from muisti.surfaces.setup import install_record
from muisti.surfaces.setup.contents import OriginalState
from tests.tiers import sample

CALLS = {"open", "os.rename", "os.mkdir", "os.remove"}
ERRORS = (errno.EIO, errno.ENOSPC, errno.EACCES, errno.EMFILE)
MOST = 20


def _add_entry() -> None:
    spool.add_entry(spool.new_entry("claude-code", "vault", "", "session"))


def _record_run() -> None:
    from datetime import UTC, datetime

    log.record(log.Run(datetime.now(UTC), "stop", "codex", "", "", 1.0, "ok", ""))


def _record_install() -> None:
    before = OriginalState(new=True, folders=(), empty={}, glue=None)
    install_record.save_original_state(Path(f"/config/{time.time_ns()}"), before)


ACTIONS = {"spool": _add_entry, "log": _record_run, "record": _record_install}


def _failing_at(k: int, code: int, folder: Path, act: Callable[[], None], *, forever: bool) -> str:
    """Do it in a process whose k-th call on a file below the folder fails. Return what came."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        left = [k]

        def hook(event: str, arguments: tuple[object, ...]) -> None:
            if event in CALLS and str(folder) in str(arguments[0]):
                left[0] -= 1
                if left[0] == 0 or (forever and left[0] < 0):
                    raise OSError(code, os.strerror(code), str(arguments[0]))

        said = "done"
        try:
            sys.addaudithook(hook)
            act()
            said = "done" if left[0] <= 0 else "end"
        except OSError:
            said = "OSError"
        except BaseException as error:
            said = repr(error)
        finally:
            os.write(writing, said.encode())
            os._exit(0)
    os.close(writing)
    with open(reading, "rb") as pipe:
        answer = pipe.read().decode()
    os.waitpid(child, 0)
    return answer


@pytest.mark.parametrize("name", sorted(ACTIONS))
def test_K2_errors_in_files_of_the_user(name: str) -> None:
    act, folder = ACTIONS[name], get_state_folder()
    act()
    for code in sample(ERRORS, 1):
        for forever in (False, True):
            for k in range(1, MOST):
                said = _failing_at(k, code, folder, act, forever=forever)
                assert said in ("done", "end", "OSError"), said
                _check_whole(folder, is_broken=forever)
                if said == "end":
                    break
            else:
                pytest.fail(f"{name} did not end within {MOST} calls")
    act()
    _check_whole(folder, is_broken=False)


def _check_whole(folder: Path, *, is_broken: bool) -> None:
    for path in [path for path in folder.rglob("*") if path.is_file()]:
        if path.suffix == ".json":
            assert isinstance(json.loads(path.read_text()), dict)
        elif path.suffix == ".jsonl":
            for line in path.read_text().splitlines():
                json.loads(line)
        else:
            assert is_broken, f"{path.name} was left"  # it could not be removed, either
            path.unlink()
