"""Every error of the disk at every step of every verb, once and for ever: a clear error, nothing
half, reads go on, and then it works again.

In `make test-long` all distinct cases run, else a sample; `MUISTI_SEED=N` repeats a sample.
"""

from __future__ import annotations

import errno
import os
import random
import re
import shutil
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from muisti import Muisti, bootstrap
from muisti.errors import MuistiError
from muisti.storage.clock import SystemClock
from muisti.storage.files.disk import Disk
from tests.tiers import amount

from .invariants import check_files_whole, check_rebuild, check_sound
from .kills import check_contents
from .operations import VERBS, Contents, Writer, observe
from .starve import FailingDisk

SHORT = 0
"""Half of the bytes are written, then the disk is full."""
ERRORS = (errno.EIO, errno.ENOSPC, errno.EACCES, errno.EMFILE, SHORT)
CASES = amount(quick=8, all=150, long=10**6)
QUIET = {"sync_on_open": False}


class Case(NamedTuple):
    verb: str
    step: str
    occurrence: int
    error: int
    forever: bool

    def __str__(self) -> str:
        error = errno.errorcode.get(self.error, "short write")
        how = "for ever" if self.forever else "once"
        return f"{self.verb}: {error} at {self.step} number {self.occurrence}, {how}"


class CountingDisk(Disk):
    """Counts the steps of each kind while it is on."""

    def __init__(self) -> None:
        self.on = False
        self.counts: Counter[str] = Counter()

    def step(self, what: str, path: Path) -> None:
        self.counts[what] += self.on


class CaseDisk(FailingDisk):
    """Fails at one step of a case."""

    def __init__(self, case: Case) -> None:
        super().__init__(case.error or errno.ENOSPC, forever=case.forever)
        self.case = case
        self.is_short = case.error == SHORT

    def step(self, what: str, path: Path) -> None:
        if self.failed and self.forever and self.left:
            self._fail(path)
        if what == self.case.step and self.left and not self.is_short:
            self.left -= 1
            if not self.left:
                self.left = int(self.forever)
                self._fail(path)

    def _fail(self, path: Path) -> None:
        self.failed += 1
        raise OSError(self.code, os.strerror(self.code), str(path))

    def _write_all(self, fd: int, data: bytes, path: Path) -> None:
        if self.is_short and self.left:
            self.left -= 1
            if not self.left:
                self.left = int(self.forever)
                os.write(fd, data[: len(data) // 2])
                self._fail(path)
        super()._write_all(fd, data, path)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A vault in which every verb has something to do."""
    folder = tmp_path_factory.mktemp("errors")
    (folder / "files").mkdir()
    environment = pytest.MonkeyPatch()
    environment.setenv("MUISTI_EMBEDDER", "none")
    with bootstrap.open(folder / "vault") as memory:
        memory.save("A bystander about the build server", kind="note")
        writer = Writer(0, 1, random.Random(1), {}, folder / "files")
        for verb in ("save", "batch", "delete", "core_update", "session", "message", "batch"):
            operation = writer.make(memory, verb)
            assert operation is not None
            operation.act()
            memory.flush()
            writer.contents = observe(memory)
    environment.undo()
    return folder


def _copy(template: Path, to: Path) -> Path:
    shutil.copytree(template, to)
    return to / "vault"


def _make(memory: Muisti, verb: str, contents: Contents, folder: Path) -> Any:
    """The same operation every time."""
    operation = Writer(0, 100, random.Random(7), contents, folder).make(memory, verb)
    assert operation is not None, f"{verb} has nothing to do"
    return operation


def list_cases(template: Path, folder: Path) -> list[Case]:
    """Do each verb once, and count the steps that can fail."""
    cases = []
    for verb in VERBS:
        disk, vault = CountingDisk(), _copy(template, folder / verb)
        with bootstrap.open(vault, disk=disk, settings=QUIET) as memory:
            operation = _make(memory, verb, observe(memory), folder / verb / "files")
            disk.on = True
            operation.act()
            memory.flush()
            disk.on = False
        shutil.rmtree(folder / verb)
        cases += [
            Case(verb, step, number, error, forever)
            for step, count in sorted(disk.counts.items())
            for number in range(1, count + 1)
            for error in ERRORS
            for forever in (False, True)
            if error != SHORT or step == "write"
        ]
    return cases


def test_K2_every_error_at_every_step(
    template: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    seed = int(os.environ.get("MUISTI_SEED", "0")) or random.SystemRandom().randrange(1, 10**9)
    cases = list_cases(template, tmp_path)
    assert {case.verb for case in cases} >= set(VERBS) - {"sync", "reindex"}
    total, chance = len(cases), random.Random(seed)
    if total > CASES:
        cases = chance.sample(cases, CASES)
    failed = 0
    for number, case in enumerate(cases):
        vault = _copy(template, tmp_path / "starved")
        try:
            failed += _starve(vault, case, rebuild=number % 10 == 0)
        except Exception as error:
            error.add_note(f"{case}; seed {seed}")
            raise
        shutil.rmtree(vault.parent)
    with capsys.disabled():
        print(f"\nseed {seed}: {len(cases)} of {total} errors injected, {failed} were reported")
    assert failed > len(cases) / 2


def _starve(vault: Path, case: Case, *, rebuild: bool) -> bool:
    """Run one case. Return whether the call reported an error."""
    disk = CaseDisk(case)
    with bootstrap.open(vault, disk=disk, settings=QUIET) as memory:
        expected = observe(memory)
        operation = _make(memory, case.verb, expected, vault.parent / "files")
        expected |= operation.given
        disk.left = case.occurrence
        error = _call(operation.act)
        check_files_whole(vault)
        assert observe(memory), "reads go on"
        assert memory.search("build server")[0].memory.content.startswith("A bystander")
        memory.flush()
        disk.left = 0
        memory.sync()  # what could be neither finished nor undone is finished now
        memory.resume_extraction()
        memory.flush()
        pending = {
            "begin": operation.changes, "verb": case.verb, "stepwise": operation.stepwise,
        }  # fmt: skip
        found = observe(memory)
        if error is None and operation.act is not None and case.verb != "extract":
            for key, value in operation.changes.items():
                assert found.get(key) == value, f"acknowledged, but {key} is {found.get(key)}"
        check_contents(found, expected, [pending])
        again = _make(memory, "save", expected, vault.parent / "files")
        again.act()
        memory.sync()
        check_sound(memory)
    if rebuild:
        check_rebuild(vault, SystemClock())
    return error is not None


def _call(act: Callable[[], object]) -> MuistiError | None:
    try:
        answer = act()
    except MuistiError as error:
        text = str(error)
        assert re.search(r"[/.][\w-]+|the index", text), f"names no file: {text}"
        assert ";" in text or "`" in text, f"names no fix: {text}"
        return error
    with suppress(AttributeError):
        return None if not answer.problems else MuistiError("; ".join(map(str, answer.problems)))  # type: ignore[attr-defined]
    return MuistiError("refused") if answer is False else None
