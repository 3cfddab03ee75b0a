"""Processes that do random operations and are killed, and what they leave behind.

Each process is forked from this one, which has everything loaded, so that a kill costs little. It
says through a pipe what it is about to do and what is done, and notes in shared memory at which
step it is. It dies at a chosen step of a chosen verb, the one that was hit least so far, or by a
signal from outside at a random moment.
"""

from __future__ import annotations

import json
import mmap
import os
import random
import signal
import struct
import time
import traceback
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from muisti import bootstrap
from muisti.errors import Conflict, IndexBusy, VaultBusy

from .crash import Failpoint, KillingDisk, watch_files, watch_index
from .operations import VERBS, Contents, Operation, Writer

STEPS = [
    "", "create", "write", "fsync", "publish", "replace", "move", "remove", "mkdir", "append",
    "truncate", "index", "indexed", "os.rename", "os.remove", "os.link", "os.mkdir", "os.rmdir",
    "os.truncate",
]  # fmt: skip
ANY = "any"
_PLACE = struct.Struct("<HHI")
Cell = tuple[str, str]


@dataclass
class Plan:
    """Which operations a process does, and how it dies at the last of them."""

    verbs: list[str]
    step: str = ""
    """The kind of step to die at, or any; "": killed from outside."""
    occurrence: int = 1


@dataclass
class Histogram:
    """Where processes died."""

    cells: Counter[Cell] = field(default_factory=Counter)
    seen: Counter[Cell] = field(default_factory=Counter)
    """How often each step was announced: the cells that can be aimed at."""
    runs: Counter[str] = field(default_factory=Counter)
    """How often each verb was completed."""
    aims: Counter[Cell] = field(default_factory=Counter)
    outside: int = 0
    """Deaths before the first step of an operation, or after its acknowledgement."""

    @property
    def kills(self) -> int:
        return self.outside + sum(self.cells.values())

    def __str__(self) -> str:
        lines = [
            f"{self.kills} kills, {sum(self.cells.values())} between the first step and the answer"
        ]
        for verb in VERBS:
            counts = {step: self.cells[verb, step] for step in STEPS if self.seen[verb, step]}
            shown = "  ".join(f"{step} {count}" for step, count in counts.items())
            lines.append(f"  {verb:<12} {shown}")
        return "\n".join(lines)


class Point(Failpoint):
    """Notes each step in shared memory, and dies at the one that was planned."""

    def __init__(self, place: mmap.mmap, pipe: IO[bytes]) -> None:
        super().__init__(0)
        self.place = place
        self.pipe = pipe
        self.verb = self.count = 0
        self.step = ""
        self.left = 0
        self.steps: set[str] = set()

    def begin(self, verb: str, step: str = "", occurrence: int = 0) -> None:
        self.verb, self.count, self.step, self.left = VERBS.index(verb) + 1, 0, step, occurrence
        self.steps = set()
        self.place[: _PLACE.size] = _PLACE.pack(self.verb, 0, 0)

    def end(self) -> None:
        self.verb = 0
        self.place[: _PLACE.size] = _PLACE.pack(0, 0, 0)

    def hit(self, what: str) -> None:
        if not self.verb:
            return
        self.count += 1
        self.steps.add(what)
        self.place[: _PLACE.size] = _PLACE.pack(self.verb, STEPS.index(what), self.count)
        if self.step in (what, ANY):
            self.left -= 1
            if self.left == 0:
                os.kill(os.getpid(), signal.SIGKILL)


class Process:
    """One forked writer."""

    def __init__(
        self, number: int, first: int, seed: int, vault: Path, contents: Contents, plan: Plan
    ) -> None:
        self.plan = plan
        self.place = mmap.mmap(-1, _PLACE.size)
        reading, writing = os.pipe()
        self.id = os.fork()
        if self.id == 0:
            os.close(reading)
            with open(writing, "wb", buffering=0) as pipe:
                self._work(number, first, seed, vault, contents, pipe)
        os.close(writing)
        self._pipe = open(reading, "rb")  # noqa: SIM115
        self.pending: dict[str, Any] | None = None
        self.error = ""

    def _work(
        self, number: int, first: int, seed: int, vault: Path, contents: Contents, pipe: IO[bytes]
    ) -> None:
        try:
            signal.alarm(120)
            point = Point(self.place, pipe)
            memory = bootstrap.open(
                vault, disk=KillingDisk(point), settings={"sync_on_open": False}
            )
            watch_index(memory, point)
            watch_files(point)
            writer = Writer(number, first, random.Random(seed), contents, vault.parent / "files")
            # If the step is not reached, more operations follow: the first that writes is killed.
            more = writer.chance.choices(VERBS, k=4) if self.plan.step else []
            for at, verb in enumerate([*self.plan.verbs, *more]):
                operation = writer.make(memory, verb) or writer.make(memory, "save")
                assert operation is not None
                _say(pipe, begin=operation, verb=operation.verb)
                if at < len(self.plan.verbs) - 1:
                    point.begin(operation.verb)
                elif at == len(self.plan.verbs) - 1:
                    point.begin(operation.verb, self.plan.step, self.plan.occurrence)
                else:
                    point.begin(operation.verb, ANY, writer.chance.randrange(1, 6))
                try:
                    operation.act()
                except (VaultBusy, IndexBusy, Conflict):
                    break  # not acknowledged
                point.end()
                writer.contents |= {k: v for k, v in operation.changes.items() if v is not None}
                for key, value in operation.changes.items():
                    if value is None:
                        writer.contents.pop(key, None)
                _say(pipe, done=True, steps=sorted(point.steps), verb=operation.verb)
            os.kill(os.getpid(), signal.SIGKILL)  # nobody closes anything
        except BaseException:
            _say(pipe, error=traceback.format_exc())
        finally:
            os._exit(1)

    def follow(self, contents: Contents, histogram: Histogram, chance: random.Random) -> None:
        """Read what it says until it is dead; from outside, kill it somewhere in its last verb."""
        begun = 0
        for line in self._pipe:
            said = json.loads(line)
            self.error = said.get("error", "")
            if "begin" in said:
                contents.update(said["given"])
                self.pending = said
                begun += 1
                if begun == len(self.plan.verbs) and not self.plan.step:
                    self._kill(chance)
            elif "done" in said:
                assert self.pending is not None
                settle(contents, self.pending["begin"])
                self.pending = None
                histogram.runs[said["verb"]] += 1
                histogram.seen.update((said["verb"], step) for step in said["steps"])
        self._pipe.close()
        _, status = os.waitpid(self.id, 0)
        assert not self.error, self.error
        assert os.WIFSIGNALED(status), status
        assert os.WTERMSIG(status) == signal.SIGKILL, f"ended by signal {os.WTERMSIG(status)}"
        verb, step, count = _PLACE.unpack(self.place[: _PLACE.size])
        if verb and count:
            histogram.cells[VERBS[verb - 1], STEPS[step]] += 1
            histogram.seen[VERBS[verb - 1], STEPS[step]] += 1
        else:
            histogram.outside += 1
        self.place.close()

    def _kill(self, chance: random.Random) -> None:
        time.sleep(chance.uniform(0, 0.02))
        if chance.random() < 0.3:  # stopped, while others may wait for it
            os.kill(self.id, signal.SIGSTOP)
            time.sleep(chance.uniform(0, 0.01))
            if chance.random() < 0.5:
                os.kill(self.id, signal.SIGCONT)
                time.sleep(chance.uniform(0, 0.01))
        os.kill(self.id, signal.SIGKILL)


def _say(pipe: IO[bytes], **what: Any) -> None:
    if isinstance(what.get("begin"), Operation):
        operation = what["begin"]
        what |= {
            "begin": operation.changes, "stepwise": operation.stepwise, "given": operation.given,
        }  # fmt: skip
    pipe.write(json.dumps(what).encode() + b"\n")


def settle(contents: Contents, changes: dict[str, str | None]) -> None:
    """What was acknowledged is the case."""
    for key, value in changes.items():
        if value is None:
            contents.pop(key, None)
        else:
            contents[key] = value


def choose(histogram: Histogram, chance: random.Random) -> Plan:
    """A plan to die where it has happened least; a fifth of all are killed from outside."""
    before = chance.choices(VERBS, k=chance.randrange(2))
    if chance.random() < 0.2:
        return Plan([*before, chance.choice(VERBS)])
    known = {verb for verb, _ in histogram.seen}
    if unknown := [verb for verb in VERBS if verb not in known]:
        return Plan([*before, chance.choice(unknown)], ANY, chance.randrange(1, 9))
    cells = sorted(
        histogram.seen,  # some are rarely reached: those are not tried for ever
        key=lambda cell: (histogram.cells[cell] + histogram.aims[cell] / 5, chance.random()),
    )
    verb, step = cells[0] if chance.random() < 0.7 else chance.choice(cells)
    histogram.aims[verb, step] += 1
    return Plan([*before, verb], step, chance.choice([1, 1, 1, 1, 2, 2, 3]))


def check_contents(found: Contents, expected: Contents, pending: Sequence[dict[str, Any]]) -> None:
    """A and C: what was acknowledged is there; what was not is there as a whole or not at all.

    Afterwards `expected` is what was found.
    """
    open_keys: dict[str, str | None] = {}
    for one in pending:
        changes = one["begin"]
        done = {key: found.get(key) == value for key, value in changes.items()}
        undone = {key: found.get(key) == expected.get(key) for key in changes}
        if one["stepwise"]:
            whole = all(done[key] or undone[key] for key in changes)
        else:
            whole = all(done.values()) or all(undone.values())
        before = {key: expected.get(key) for key in changes}
        now = {key: found.get(key) for key in changes}
        assert whole, f"{one['verb']} is half done: {before} was to become {changes} and is {now}"
        open_keys |= changes
    lost = {k: v for k, v in expected.items() if k not in open_keys and found.get(k) != v}
    more = {k: v for k, v in found.items() if k not in open_keys and k not in expected}
    assert not lost, f"acknowledged: {lost}; found: { {key: found.get(key) for key in lost} }"
    assert not more, f"nobody wrote: {more}"
    expected.clear()
    expected.update(found)
