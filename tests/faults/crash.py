"""Kills a process at the k-th thing it does to the disk or to the index."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

from muisti import Muisti, bootstrap
from muisti.ports import Clock
from muisti.storage.files.disk import Disk
from tests.conftest import file_store

ACKNOWLEDGED, KILLED = "acknowledged", "killed"
_FILE_CALLS = {"os.rename", "os.remove", "os.link", "os.mkdir", "os.rmdir", "os.truncate"}


class Failpoint:
    """Counts what happens; at the k-th thing the process is no more. Sleeps until armed."""

    def __init__(self, at: int) -> None:
        self.left = at
        self.armed = False

    def hit(self, what: str) -> None:
        """Something is about to happen: `what` names the step."""
        if self.armed:
            self.left -= 1
            if self.left == 0:
                os.kill(os.getpid(), signal.SIGKILL)


class KillingDisk(Disk):
    def __init__(self, point: Failpoint) -> None:
        self.point = point

    def step(self, what: str, path: Path) -> None:
        self.point.hit(what)


def killed_at(k: int, vault: Path, clock: Clock, act: Callable[[Muisti], object]) -> str:
    """Run an operation in a process that dies at its k-th step, or, if it has fewer, right after it
    has answered.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _live_and_die(k, vault, clock, act, writing)
    os.close(writing)
    with open(reading, "rb") as pipe:
        said = pipe.read().decode()
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status), f"the child failed at step {k}:\n{said}"
    assert os.WTERMSIG(status) == signal.SIGKILL
    return ACKNOWLEDGED if said == ACKNOWLEDGED else KILLED


def _live_and_die(
    k: int, vault: Path, clock: Clock, act: Callable[[Muisti], object], answer: int
) -> None:
    try:
        point = Failpoint(k)
        memory = bootstrap.open(
            vault, clock=clock, disk=KillingDisk(point), settings={"sync_on_open": False}
        )
        watch_index(memory, point)
        watch_files(point)
        point.armed = True
        act(memory)
        point.armed = False
        os.write(answer, ACKNOWLEDGED.encode())
        os.kill(os.getpid(), signal.SIGKILL)  # nobody closes anything
    except BaseException:
        os.write(answer, traceback.format_exc().encode())
    finally:
        os._exit(1)


def watch_index(memory: Muisti, point: Failpoint) -> None:
    """Die before and after each transaction of the index."""
    index = file_store(memory).index
    write = index.write

    def watched(*changes: object) -> None:
        point.hit("index")
        write(*changes)
        point.hit("indexed")

    index.write = watched  # type: ignore[method-assign, assignment]


def watch_files(point: Failpoint) -> None:
    """Die before every change of a name that Python makes, those of the index's own files included."""

    def hook(event: str, _: tuple[object, ...]) -> None:
        if event in _FILE_CALLS:
            point.hit(event)

    sys.addaudithook(hook)
