"""The server is killed and restarted under eight writers: nothing acknowledged is lost."""

from __future__ import annotations

import signal
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from muisti import Muisti
from muisti.errors import MuistiError, StoreUnavailable, VaultBusy
from tests.postgres.server import NoServer, Server
from tests.rest.conftest import until
from tests.tiers import amount

WRITERS = 8


@pytest.fixture
def server() -> Iterator[Server]:
    """A server of its own, with fsync."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)  # `nobody` must reach it
        try:
            server = Server(Path(folder), options={})
            server.create()
            server.start()
        except NoServer as error:
            pytest.skip(f"no PostgreSQL server: {error}")
        try:
            yield server
        finally:
            server.stop()


def test_L4_nothing_acknowledged_is_lost(server: Server) -> None:
    acknowledged: list[str] = []
    errors: list[MuistiError] = []
    stop = threading.Event()
    vaults = [
        Muisti.open(server.dsn, embedder="none", merge_duplicates=False, lock_timeout=60)
        for _ in range(2)
    ]

    def write(number: int) -> None:
        memory, count = vaults[number % len(vaults)], 0
        while not stop.is_set():
            count += 1
            try:
                saved = memory.save(f"Memory {count} of writer {number}")
                acknowledged.append(saved.id)
            except MuistiError as error:
                errors.append(error)
                stop.wait(0.05)

    def wait_for_more(count: int) -> None:
        goal = len(acknowledged) + count
        until(lambda: len(acknowledged) >= goal)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(WRITERS)]
    for thread in threads:
        thread.start()
    try:
        for turn in range(amount(quick=1, all=4)):
            wait_for_more(20)
            # At once, as a crash would, and in turn as an administrator restarts it.
            server.stop(signal.SIGINT if turn % 2 else signal.SIGQUIT)
            server.start()
        wait_for_more(20)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    # On a busy machine a writer may wait for the others longer than the lock's time-out.
    told = (StoreUnavailable, VaultBusy)
    assert [error for error in errors if not isinstance(error, told)] == []
    with Muisti.open(server.dsn, embedder="none") as memory:
        found = list(memory.list(limit=1000))
        while more := memory.list(limit=1000, offset=len(found)):
            found += more
        assert set(acknowledged) <= {one.id for one in found}
        assert len({one.content for one in found}) == len(found)  # each was saved at most once
        assert len(set(acknowledged)) == len(acknowledged)
        assert memory.verify(deep=True).ok
    for vault in vaults:
        vault.close()
