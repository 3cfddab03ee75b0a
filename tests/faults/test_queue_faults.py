"""kill -9, a full or broken disk, damaged files: each exchange that was accepted is made memories
of exactly once (I1, K2).
"""

from __future__ import annotations

import errno
import random
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from muisti import Muisti, bootstrap
from muisti.ports import Clock
from muisti.storage.files.queue import FileQueue
from tests.tiers import LONG, steps

from .crash import ACKNOWLEDGED, killed_at
from .invariants import check_files_whole, check_sound
from .queues import (
    AGAIN,
    DECIDED,
    MOVED,
    TEA,
    check_once,
    events,
    exchange,
    finish,
    learnt,
    note,
)
from .starve import FailingDisk, ShortDisk

# kill -9 in the middle, again and again -----------------------------------------------------------

TALKER = """
import sys
from muisti import Muisti
vault, first, last = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
memory = Muisti.open(vault, embedder="none")
for n in range(first, last):
    assert memory.extract_and_save("chat%d" % (n // 20), "Remember that subject%d is stored in cabinet %d." % (n, n))
    print(n, flush=True)
print("all", flush=True)
memory.flush()
memory.close()
print("done", flush=True)
"""


def talk_until_killed(vault: Path, first: int, last: int, after: int) -> tuple[list[int], bool]:
    """Let a process accept exchanges and end it after so many; answers those that it acknowledged
    and whether it came to its end.
    """
    command = [sys.executable, "-W", "error", "-c", TALKER, str(vault), str(first), str(last)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    told: list[int] = []
    for line in process.stdout:
        if line.strip().isdigit():
            told.append(int(line))
        if len(told) >= after:
            process.kill()
            break
    told += [int(line) for line in process.stdout if line.strip().isdigit()]
    process.stdout.close()
    return told, process.wait() == 0


@pytest.mark.exhaustive
def test_K2_I1_killed_again_and_again(vault: Path) -> None:
    count, chance = (1000, random.Random(1)) if LONG else (100, random.Random(2))
    told: list[int] = []
    kills = 0
    first = 0
    while first < count:
        here, ended = talk_until_killed(vault, first, count, chance.randint(1, count // 4))
        told += here
        kills += not ended
        first = (
            here[-1] if here else first
        ) + 2  # the one after the last may have been accepted, but nobody was told
    assert kills >= 3
    left = sum(path.stat().st_size > 0 for path in (vault / ".queue").glob("*.jsonl"))
    with finish(vault) as memory:
        found = {one.content: one for one in memory.list(limit=None, include_deleted=True)}
        assert len(found) == len(memory.list(limit=None, include_deleted=True)), "none twice"
        assert {learnt(n) for n in told} <= set(found), f"of {left} queues"
        assert len(told) <= len(found) <= len(told) + kills
        assert {(one.importance, one.access_count, one.deleted_at) for one in found.values()} == {
            (0.9, 0, None)
        }
        assert len(events(vault)) == len(found)
        check_sound(memory)
    check_once(vault)


def test_K2_I1_the_heir_was_open_while_the_other_died(vault: Path, clock: Clock) -> None:
    """Its index lacks the file that the other wrote last: it must not write that file again."""

    def learn(memory: Muisti) -> None:
        assert memory.extract_and_save("chat", note(k))
        memory.flush()

    with bootstrap.open(vault, clock=clock) as heir:
        for k in steps(30):
            killed_at(k, vault, clock, learn)
            heir.resume_extraction()
            heir.flush()
            heir.sync()
            assert heir.verify().problems == ()
    with finish(vault, clock) as memory:
        check_sound(memory)


def test_K2_I1_killed_while_it_does_what_another_left(vault: Path) -> None:
    """The heir dies too, and its heir."""
    with bootstrap.open(vault):
        pass
    waiting = FileQueue(vault)
    for n in range(40):
        waiting.put(exchange(n))
    waiting.close()
    for after in (1, 3, 2):
        talk_until_killed(vault, 100 * after, 100 * after + 50, after)
    with finish(vault) as memory:
        found = Counter(one.content for one in memory.list(limit=None))
        assert {learnt(n) for n in range(40)} <= set(found)
        assert set(found.values()) == {1}
        check_sound(memory)
    check_once(vault)


@pytest.mark.exhaustive
def test_K1_I1_many_take_over_at_once(vault: Path) -> None:
    with bootstrap.open(vault):
        pass
    for n in range(0, 40, 10):
        waiting = FileQueue(vault)
        for m in range(n, n + 10):
            waiting.put(exchange(m))
        waiting.close()
    command = [sys.executable, "-W", "error", "-c", TALKER, str(vault)]
    heirs = [
        subprocess.Popen([*command, str(n), str(n + 5)], stdout=subprocess.PIPE)
        for n in range(100, 130, 10)
    ]
    for heir in heirs:
        out, _ = heir.communicate(timeout=120)
        assert out.endswith(b"done\n")
    check_once(vault)
    with finish(vault) as memory:
        assert len(events(vault)) == 40 + 15
        assert Counter(one.content for one in memory.list(limit=None)) == Counter(
            learnt(n)
            for n in (*range(40), *(first + n for first in (100, 110, 120) for n in range(5)))
        )
        check_sound(memory)


# At every step ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Talk:
    """Exchanges, a vault to begin with, and what must be there in the end."""

    name: str
    texts: tuple[str, ...]
    expected: Callable[[dict[str, float], list[str]], None]
    """Is given the contents with their importance, and the texts that were acknowledged."""
    prepare: Callable[[Path, Clock], None] = lambda vault, clock: None
    settings: str = ""

    def act(self, memory: Muisti) -> None:
        for text in self.texts:
            if memory.extract_and_save(
                "chat", text, speaker="User" if "subject" in text else "Anna"
            ):
                with (memory.root.parent / "told").open("a") as told:
                    told.write(f"{text}\n")
            memory.flush()
        memory.resume_extraction()
        memory.flush()

    def template(self, vault: Path, clock: Clock) -> Path:
        with bootstrap.open(vault, clock=clock) as memory:
            memory.save("A bystander about the build server", kind="note")
        (vault / "muisti.toml").write_text(self.settings)
        self.prepare(vault, clock)
        return vault


def _fresh(found: dict[str, float], told: list[str]) -> None:
    assert {learnt(n) for n in range(3) if note(n) in told} <= set(found)
    assert all(found.get(learnt(n), 0.9) == 0.9 for n in range(3))


def _moved_before(vault: Path, clock: Clock) -> None:
    with bootstrap.open(vault, clock=clock) as memory:
        memory.extract_and_save("before", MOVED, speaker="Anna")
        memory.flush()


def _raised_once(found: dict[str, float], told: list[str]) -> None:
    importance = found["Anna moved to Turku in February 2026."]
    assert importance in (0.69, AGAIN), (
        importance
    )  # a crash may come before it matters more, but it never does so twice


def _tea_before(vault: Path, clock: Clock) -> None:
    with bootstrap.open(vault, clock=clock) as memory:
        memory.extract_and_save("chat", TEA, speaker="Anna")
        memory.flush()


def _replaced(found: dict[str, float], told: list[str]) -> None:
    kept = set(found) & {
        "Anna prefers tea with lemon.",
        "We decided to use PostgreSQL for the shop.",
    }
    assert len(kept) == 1, "so many are kept of a session, and no more"
    assert not told or "We decided to use PostgreSQL for the shop." in kept


def _left_before(vault: Path, clock: Clock) -> None:
    for numbers in ((7, 8), (9,)):
        waiting = FileQueue(vault)
        for n in numbers:
            waiting.put(exchange(n))
        waiting.close()


def _all_left(found: dict[str, float], told: list[str]) -> None:
    assert {learnt(n): 0.9 for n in (7, 8, 9)}.items() <= found.items()


TALKS = [
    Talk("fresh", (note(0), note(1)), _fresh),
    Talk("said again", (MOVED,), _raised_once, _moved_before),
    Talk("replace", (DECIDED,), _replaced, _tea_before, "extract_per_session = 1\n"),
    Talk("left over", (), _all_left, _left_before),
]


@pytest.fixture(params=TALKS, ids=lambda one: one.name)
def talk(request: pytest.FixtureRequest) -> Talk:
    assert isinstance(request.param, Talk)
    return request.param


def _check(talk: Talk, vault: Path, clock: Clock) -> None:
    file = vault.parent / "told"
    told = file.read_text().splitlines() if file.exists() else []
    file.unlink(missing_ok=True)
    check_files_whole(vault)
    with finish(vault, clock) as memory:
        everything = memory.list(limit=None)
        found = {one.content: one.importance for one in everything}
        assert len(found) == len(everything), "a memory is there twice"
        talk.expected(found, told)
        assert len(events(vault)) >= len(told)
        memory.sync()
        check_sound(memory)
    check_once(vault)


@pytest.mark.exhaustive(keep=1)
def test_K2_I1_killed_at_every_step(talk: Talk, tmp_path: Path, clock: Clock) -> None:
    template = talk.template(tmp_path / "template", clock)
    for k in steps(300):
        vault = Path(shutil.copytree(template, tmp_path / "killed"))
        answer = killed_at(k, vault, clock, talk.act)
        try:
            _check(talk, vault, clock)
        except BaseException as error:
            error.add_note(f"{talk.name} was killed at step {k}")
            raise
        shutil.rmtree(vault)
        if answer == ACKNOWLEDGED:
            assert k > 5, "the failpoints were not reached"
            return
    pytest.fail("it did not end")


FAULTS = [
    pytest.param(
        kind(code, forever=forever),
        id=f"{kind.__name__}-{errno.errorcode[code]}-{'forever' if forever else 'once'}",
    )
    for kind, code, forever in [
        (FailingDisk, errno.EIO, False),
        (FailingDisk, errno.ENOSPC, True),
        (ShortDisk, errno.ENOSPC, False),
        *(
            [
                (FailingDisk, errno.EIO, True),
                (FailingDisk, errno.ENOSPC, False),
                (ShortDisk, errno.ENOSPC, True),
            ]
            if LONG
            else ()
        ),
    ]
]


@pytest.mark.parametrize("disk", FAULTS)
def test_K2_I1_an_error_at_every_step(
    talk: Talk, disk: FailingDisk, tmp_path: Path, clock: Clock
) -> None:
    template = talk.template(tmp_path / "template", clock)
    for k in steps(300):
        vault = Path(shutil.copytree(template, tmp_path / "starved"))
        try:
            with bootstrap.open(
                vault, clock=clock, disk=disk, settings={"sync_on_open": False}
            ) as memory:
                disk.arm(k)
                talk.act(memory)  # never raises
                disk.mend()
            _check(talk, vault, clock)
        except BaseException as error:
            error.add_note(f"{talk.name} was to fail at step {k}")
            raise
        shutil.rmtree(vault)
        if not disk.failed:
            assert k > 2, "the disk was not used"
            return
    pytest.fail("it did not end")


def test_K2_I1_a_disk_that_was_full_for_a_while(vault: Path, clock: Clock) -> None:
    """What was accepted before is done once there is room, without a restart."""
    disk = FailingDisk(errno.ENOSPC, forever=True)
    with bootstrap.open(vault, clock=clock, disk=disk) as memory:
        for n in range(5):
            assert memory.extract_and_save("chat", note(n))
        disk.arm(1)
        memory.flush()
        assert not memory.extract_and_save("chat", note(5))
        disk.mend()
        assert memory.extract_and_save("chat", note(6))
        memory.flush()
        assert {one.content for one in memory.list()} == {learnt(n) for n in (0, 1, 2, 3, 4, 6)}
        memory.sync()  # removes temporary files that this disk refused to remove
        check_sound(memory)
    check_once(vault)
