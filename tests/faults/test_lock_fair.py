"""Who waits for the vault's lock gets it in turn; who was killed or stopped while waiting does not
hold up the others; who waits for a stopped process says so.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from muisti import Muisti, bootstrap
from muisti.errors import VaultBusy
from muisti.storage.files import lock
from muisti.storage.files.lock import FairLock, FileLock
from tests.tiers import amount

WORKER = Path(__file__).with_name("lock_workers.py")
WRITERS = 8
GRANTS = amount(quick=25, all=100, long=500)


def start(folder: Path, name: str, count: int = 1) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, str(WORKER), str(folder), name, str(count)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def go(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("go\n")
    process.stdin.flush()


def finish(process: subprocess.Popen[str]) -> list[float]:
    out, _ = process.communicate(timeout=300)
    assert process.returncode == 0
    waits: list[float] = json.loads(out)
    return waits


def waiting(folder: Path) -> list[str]:
    queue = folder / "lock.waiting"
    return sorted(os.listdir(queue)) if queue.exists() else []


def wait_until(done: threading.Event, count: int, folder: Path) -> None:
    while len(waiting(folder)) < count and not done.wait(0.01):
        pass


def most_overtakes(order: list[list[str]]) -> int:
    """How often, while somebody waited, one and the same other came later and was served before."""
    arrived: dict[str, int] = {}
    overtakes: Counter[tuple[str, int, str]] = Counter()
    for at, (what, name) in enumerate(order):
        if what == "wait":
            arrived[name] = at
            continue
        mine = arrived.pop(name, at)
        overtakes.update((other, place, name) for other, place in arrived.items() if place < mine)
    return max(overtakes.values(), default=0)


def test_overtakes_are_counted() -> None:
    """The check itself can fail."""
    fair = ["wait a", "wait b", "grant a", "wait a", "grant b", "grant a"]
    unfair = ["wait a", "grant b", "wait b", "grant b", "grant b", "grant a"]
    assert most_overtakes([line.split() for line in fair]) == 0
    assert most_overtakes([line.split() for line in unfair]) == 3


def test_K1_no_process_is_overtaken_again_and_again(tmp_path: Path) -> None:
    """A few times may happen: a process may have the lock a few times in a row, and one that looked
    at the queue just before a place was taken goes first.
    """
    processes = [start(tmp_path, str(number), GRANTS) for number in range(WRITERS)]
    for process in processes:
        go(process)
    for process in processes:
        assert len(finish(process)) == GRANTS
    order = [line.split() for line in (tmp_path / "order").read_text().splitlines()]
    assert Counter(name for what, name in order if what == "grant") == {
        str(number): GRANTS for number in range(WRITERS)
    }
    assert most_overtakes(order) <= lock.BURST + 1
    assert not waiting(tmp_path)


def test_K1_no_thread_is_overtaken(tmp_path: Path) -> None:
    fair, order, ready = FairLock(), list[int](), threading.Barrier(WRITERS)

    def work(number: int) -> None:
        ready.wait()
        for _ in range(GRANTS):
            assert fair.acquire(300)
            order.append(number)
            fair.release()

    assert fair.acquire(0)
    threads = [threading.Thread(target=work, args=(number,)) for number in range(WRITERS)]
    for thread in threads:
        thread.start()
    while len(fair._waiting) < WRITERS:
        pass
    fair.release()
    for thread in threads:
        thread.join(300)
    # Nobody had a second turn before everybody had a first one.
    assert sorted(order[:WRITERS]) == list(range(WRITERS))
    assert Counter(order) == dict.fromkeys(range(WRITERS), GRANTS)


def test_a_thread_that_gives_up_leaves_the_queue() -> None:
    fair, given_up, served = FairLock(), [], []
    assert fair.acquire(0)
    impatient = threading.Thread(target=lambda: given_up.append(fair.acquire(0.01)))
    impatient.start()
    impatient.join(30)
    patient = threading.Thread(target=lambda: served.append(fair.acquire(30)))
    patient.start()
    assert fair.acquire(0), "it is re-entrant"
    fair.release()
    fair.release()
    patient.join(30)
    assert (given_up, served) == ([False], [True])


@pytest.mark.parametrize("what", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "stopped"])
def test_K1_who_was_killed_or_stopped_while_waiting_holds_up_nobody(
    tmp_path: Path, what: signal.Signals
) -> None:
    """All of the processes before the last one in the queue are gone; it is served nevertheless."""
    held, end = FileLock(tmp_path / "lock", 5), threading.Event()
    processes = []
    with held.hold():
        for number in range(4):
            processes.append(start(tmp_path, str(number)))
            go(processes[-1])
            wait_until(end, number + 1, tmp_path)
        for process in processes[:-1]:
            process.send_signal(what)
    finish(processes[-1])
    assert (tmp_path / "order").read_text().splitlines()[-1] == "grant 3"
    for process in processes[:-1]:
        process.send_signal(signal.SIGCONT)
        if what == signal.SIGSTOP:
            assert len(finish(process)) == 1, "it goes on where it stopped"
        else:
            process.communicate()
    assert not waiting(tmp_path)


def test_without_a_place_to_queue_it_waits_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "lock.waiting").write_text("not a folder")
    first, second, entered = FileLock(tmp_path / "lock", 5), FileLock(tmp_path / "lock", 60), []

    def work() -> None:
        with second.hold():
            entered.append(True)

    with first.hold():
        thread = threading.Thread(target=work)
        thread.start()
        with pytest.raises(VaultBusy), FileLock(tmp_path / "lock", 0.05).hold():
            pass
        assert not entered
    thread.join(60)
    assert entered


HOLDER = """
import sys
from muisti import bootstrap
memory = bootstrap.open(sys.argv[1])
with memory._services.store.lock():
    print("held", flush=True)
    sys.stdin.readline()
"""


@contextmanager
def stopped_holder(vault: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that was stopped while it held the vault."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(vault)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        process.send_signal(signal.SIGSTOP)
        try:
            yield process
        finally:
            process.send_signal(signal.SIGCONT)
            process.communicate("end\n")


def test_K1_a_process_is_stopped_while_it_holds_the_lock(
    vault: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Readers go on; writers wait, say for whom, and are served in turn when it goes on."""
    monkeypatch.setattr(lock, "NOTICE", 0.01)
    settings = {"lock_timeout": 0.3}
    with bootstrap.open(vault, settings=settings) as memory:
        saved = memory.save("The build server is in the basement")
        memory.flush()
        with stopped_holder(vault) as holder:
            _check_reads(memory, saved.id)
            for write in (
                lambda: memory.save("Nobody can write this yet"),
                lambda: memory.append_message("cli_1", "user", "nor this"),
                lambda: memory.core_update("user", "name", "nor this"),
            ):
                with pytest.raises(VaultBusy, match=f"process {holder.pid} has been writing"):
                    write()
        assert f"waiting for process {holder.pid}" in caplog.text
        assert caplog.records[0].levelno == logging.WARNING
        memory.save("Now it can be written")
        assert len(memory.list()) == 2


def _check_reads(memory: Muisti, saved: str) -> None:
    assert [hit.memory.id for hit in memory.search("build server", limit=1)] == [saved]
    assert memory.get(saved) is not None
    assert len(memory.list()) == 1
    assert "basement" in memory.context("build server", budget=500)
