"""The same kills from outside: strace ends the process at its k-th system call, SQLite's own ones
included.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from muisti import bootstrap
from muisti.storage.clock import SystemClock
from tests.tiers import LONG, amount

from .invariants import (
    State,
    check_files_whole,
    check_found,
    check_rebuild,
    check_sound,
    leaks,
    state,
)

VICTIM = Path(__file__).with_name("victim.py")
CALLS = [
    "write",
    "pwrite64",
    "fsync",
    "fdatasync",
    "rename",
    "linkat",
    "unlink",
    "ftruncate",
    "openat",
]
SAMPLES = amount(quick=1, all=4)
strace = shutil.which("strace")

pytestmark = pytest.mark.exhaustive(keep=1)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if strace is None:
        pytest.skip("strace is not installed: `apt install strace`")
    if subprocess.run(
        [strace, "-o", os.devnull, "true"], capture_output=True, check=False
    ).returncode:
        pytest.skip("strace may not trace here (a container without ptrace?)")
    vault = tmp_path_factory.mktemp("syscalls") / "vault"
    with bootstrap.open(vault) as memory:
        memory.save("Victim, as it was", kind="fact")
        memory.save_batch([f"Bystander {n}" for n in range(3)])
    return vault


@pytest.fixture(scope="module")
def states(template: Path) -> list[State]:
    """What the vault holds after each operation."""
    found = []
    for steps in range(8):
        copy = template.with_name(f"after-{steps}")
        shutil.copytree(template, copy)
        subprocess.run([sys.executable, VICTIM, copy, str(steps)], check=True, capture_output=True)
        with bootstrap.open(copy) as memory:
            found.append(state(memory))
        shutil.rmtree(copy)
    return found


def _run(vault: Path, *options: str, log: str = os.devnull) -> list[int]:
    """Run the victim under strace; answers which operations it said were done."""
    assert strace is not None
    said = subprocess.run(
        [strace, "-f", "-qq", "-o", log, *options, sys.executable, "-B", VICTIM, vault],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in said.stderr, said.stderr
    return [int(line) for line in said.stdout.split()]


def _count(template: Path, call: str) -> int:
    copy, log = template.with_name(f"counted-{call}"), template.with_name(f"{call}.log")
    shutil.copytree(template, copy)
    assert len(_run(copy, "-e", f"trace={call}", log=str(log))) == 7
    shutil.rmtree(copy)
    return len(re.findall(rf"^\d+ +{call}\(", log.read_text(), re.MULTILINE))


@pytest.mark.exhaustive
@pytest.mark.parametrize("call", CALLS)
def test_K2_killed_at_a_system_call(template: Path, states: list[State], call: str) -> None:
    total = _count(template, call)
    assert total, f"the victim makes no call {call}"
    step = 1 if LONG else max(1, total // SAMPLES)
    for k in range(total, 0, -step):
        vault = template.with_name(f"killed-{call}")
        shutil.copytree(template, vault)
        done = _run(vault, "-e", f"trace={call}", "-e", f"inject={call}:signal=SIGKILL:when={k}")
        try:
            _check(vault, states, len(done))
        except Exception as error:
            error.add_note(f"killed at {call} number {k} of {total}, after {len(done)} answers")
            raise
        shutil.rmtree(vault)


def _check(vault: Path, states: list[State], done: int) -> None:
    check_files_whole(vault)
    with bootstrap.open(vault) as memory:
        assert state(memory) in states[done : done + 2]
        check_found(memory)
        check_sound(memory)
    check_rebuild(vault, SystemClock())
    assert done < 6 or not leaks(vault, ["a memory that is new"])


@pytest.mark.parametrize("call", ["fsync", "fdatasync", "pwrite64"])
@pytest.mark.parametrize("error", ["EIO", "ENOSPC"])
def test_K2_a_system_call_fails(template: Path, states: list[State], call: str, error: str) -> None:
    """What fails is reported or comes right; whatever was said to be done is done. A failed fsync
    is not repeated.
    """
    total = _count(template, call)
    step = 1 if LONG else max(1, total // SAMPLES)
    for k in range(total, 0, -step):
        vault = template.with_name(f"failed-{call}-{error}")
        shutil.copytree(template, vault)
        done = _failed(vault, call, error, k)
        check_files_whole(vault)
        with bootstrap.open(vault) as memory:
            assert state(memory) in states[done : done + 2]
            check_found(memory)
            check_sound(memory)
        check_rebuild(vault, SystemClock())
        shutil.rmtree(vault)


def _failed(vault: Path, call: str, error: str, k: int) -> int:
    """Like _run, but the victim may end with one of muisti's errors, and with no other."""
    assert strace is not None
    said = subprocess.run(
        [strace, "-f", "-qq", "-o", os.devnull, "-e", f"trace={call}", "-e", f"inject={call}:error={error}:when={k}",
         sys.executable, "-B", VICTIM, vault], capture_output=True, text=True, check=False,
    )  # fmt: skip
    last = said.stderr.strip().splitlines()[-1:] if "Traceback" in said.stderr else []
    assert not last or last[0].startswith("muisti.errors."), said.stderr
    return len(said.stdout.split())
