"""Exchanges that wait for extraction: each is claimed by one process, and never lost."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime

import pytest

from muisti import Muisti
from muisti.model import Exchange
from muisti.storage.postgres import claims as claims_module
from muisti.storage.postgres.connect import Database
from muisti.storage.postgres.queue import PostgresQueue
from muisti.surfaces.rest import watcher as watcher_module
from muisti.surfaces.rest.config import ServerConfig
from muisti.surfaces.rest.events import EventBroadcaster
from muisti.surfaces.rest.watcher import VaultWatcher
from tests.conftest import FakeClock
from tests.postgres.server import make_location
from tests.rest.conftest import until


def an_exchange(number: int) -> Exchange:
    return Exchange(
        id=f"0195f000-0000-7000-8000-{number:012}",
        at=datetime(2026, 3, 10, tzinfo=UTC),
        session_id="s",
        user="I prefer tabs over spaces, always.",
        assistant="Noted.\0",
    )


@pytest.fixture
def queues(clock: FakeClock) -> Iterator[list[PostgresQueue]]:
    """Those of three processes."""
    location = make_location()
    with ExitStack() as closing:
        made = []
        for _ in range(3):
            database = Database(location, clock, timeout=10)
            closing.callback(database.close)
            made.append(PostgresQueue(database))
            closing.callback(made[-1].close)
        yield made


def expire(queue: PostgresQueue) -> None:
    """Let the claims of a process run out, as if it were killed."""
    with queue._db.write_transaction() as db:
        db.execute(
            "UPDATE queue SET claimed_until = now() WHERE claimed_by = %s", (queue.claims.owner,)
        )


def test_a_claim_that_ran_out_goes_to_one_other_process(queues: list[PostgresQueue]) -> None:
    first, second, third = queues
    for number in (2, 1):
        first.put(an_exchange(number))
    assert second.take_over() == []
    expire(first)
    assert second.take_over() == [an_exchange(1), an_exchange(2)]
    assert third.take_over() == []
    assert (first.holds(an_exchange(1).id), second.holds(an_exchange(1).id)) == (False, True)
    first.done(an_exchange(1).id)  # it is no longer its own
    assert third.status().waiting == 2
    second.done(an_exchange(1).id)
    assert third.status().waiting == 1


def test_closing_gives_claims_back(queues: list[PostgresQueue]) -> None:
    first, second, _ = queues
    first.put(an_exchange(1))
    first.close()
    assert second.take_over() == [an_exchange(1)]


def test_claims_are_renewed(queues: list[PostgresQueue], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claims_module, "LEASE", 0.6)
    first, second, _ = queues
    first.put(an_exchange(1))
    first.claims._closed.wait(1.5)
    assert second.take_over() == []


def test_forgetting_leaves_what_another_process_works_on(queues: list[PostgresQueue]) -> None:
    first, second, _ = queues
    first.put(an_exchange(1))
    assert second.discard(lambda _: True) == 1
    assert first.status().waiting == 1
    assert first.discard(lambda _: True, dry_run=True) == 1
    assert first.discard(lambda _: True) == 1
    assert first.status().waiting == 0


def test_what_a_killed_process_accepted_a_server_continues(monkeypatch: pytest.MonkeyPatch) -> None:
    location = make_location()
    code = f"""
import os
from muisti.storage.postgres import claims, queue
claims.LEASE = 0.5
from muisti import Muisti
memory = Muisti.open({location!r}, embedder="none")
memory._services.store.queue.put(queue.Exchange(**{vars_of(an_exchange(1))}))
os._exit(9)
"""
    done = subprocess.run([sys.executable, "-c", code], check=False)
    assert done.returncode == 9
    monkeypatch.setattr(watcher_module, "RESUME_SECONDS", 0.1)
    with Muisti.open(location, embedder="none") as memory:
        watcher = VaultWatcher(memory, EventBroadcaster(1), ServerConfig())
        watcher.start()
        try:
            until(lambda: memory.queue_status().waiting == 0)
        finally:
            watcher.stop()
        memory.flush()
        assert [one.content for one in memory.list()] == ["User prefers tabs over spaces, always."]


def vars_of(exchange: Exchange) -> str:
    """Return the arguments of an exchange, as Python code."""
    values = {name: getattr(exchange, name) for name in ("id", "session_id", "user", "assistant")}
    at = "__import__('datetime').datetime(2026, 3, 10, tzinfo=__import__('datetime').UTC)"
    return f"{{**{values!r}, 'at': {at}}}"
