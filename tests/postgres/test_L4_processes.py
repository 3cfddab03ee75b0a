"""Several processes on one database: workers that are killed or stopped, and two servers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from typing import Any

import pytest

from muisti import Muisti
from tests.embed_server import good, serving, slow
from tests.postgres.server import make_location
from tests.rest.conftest import client_of, until
from tests.tiers import amount

WORKER = """
import sys
from muisti.storage.postgres import claims
claims.LEASE = {lease}
sys.argv = ["muisti", "worker", *{options!r}]
from muisti.surfaces.cli.main import main
main()
"""


def start_worker(
    location: str, *options: str, lease: float = 60.0, **variables: str
) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WORKER.format(lease=lease, options=list(options))],
        env={**os.environ, "MUISTI_STORE": location, "MUISTI_EMBEDDER": "hashing", **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.fixture
def location() -> str:
    return make_location()


def save_many(location: str, count: int) -> None:
    with Muisti.open(location, embedder="none") as memory:
        memory.save_batch([f"Memory {n} about subject {n * 7}" for n in range(count)])


def count_waiting(location: str) -> int:
    with Muisti.open(location, embedder="hashing", embed_on_save=False) as memory:
        return memory.get_stats().waiting_count


@pytest.mark.exhaustive
def test_L4_worker_once_does_what_waits_and_exits(location: str) -> None:
    save_many(location, 5)
    with Muisti.open(location, embedder="none") as memory:
        memory._extraction_worker._start = lambda: None  # type: ignore[method-assign]
        memory.extract_and_save("chat", "I prefer tea with lemon.")
        memory._extraction_worker.finish = lambda patience: None  # type: ignore[method-assign]
    worker = start_worker(location, "--once", "--json")
    out, err = worker.communicate(timeout=120)
    assert worker.returncode == 0, err
    assert json.loads(out) == {"extracted": 1, "embedded": 6, "waiting": 0, "given_up": 0}
    assert count_waiting(location) == 0


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_L4_a_worker_that_is_told_to_stop_gives_back_what_it_has(
    location: str, how: signal.Signals
) -> None:
    save_many(location, 3)
    with serving() as server:
        server.script = [good, *[slow] * 20]
        variables = {"MUISTI_EMBEDDER": "openai", "MUISTI_EMBEDDER_URL": server.url + "/v1",
                     "MUISTI_MODEL": "m"}  # fmt: skip
        worker = start_worker(location, **variables)
        until(lambda: len(server.requests) >= 2)  # the first one asks for the dimensions
        worker.send_signal(how)
        _, err = worker.communicate(timeout=120)
        server.released.set()
    assert worker.returncode == 0, err
    assert "Traceback" not in err
    assert "Stopped." in err
    with Muisti.open(location, embedder="hashing") as memory:  # at once, not after a minute
        assert memory.work().embedded == 3


@pytest.mark.exhaustive
def test_L4_what_a_killed_worker_had_another_does(location: str) -> None:
    save_many(location, 3)
    with serving() as server:
        server.script = [good, *[slow] * 20]
        variables = {"MUISTI_EMBEDDER": "openai", "MUISTI_EMBEDDER_URL": server.url + "/v1",
                     "MUISTI_MODEL": "m"}  # fmt: skip
        killed = start_worker(location, lease=5.0, **variables)
        until(lambda: len(server.requests) >= 2)
        killed.kill()
        killed.communicate()
        server.script = []
        settings: dict[str, Any] = {
            "embedder": "openai", "embedder_url": server.url + "/v1", "model": "m"}  # fmt: skip
        with Muisti.open(location, embed_on_save=False, **settings) as memory:
            assert memory.work().embedded < 3  # not yet
            until(lambda: memory.work().embedded and not memory.get_stats().waiting_count)
        server.released.set()


@pytest.mark.exhaustive
def test_L4_a_worker_waits_for_a_database_that_restarts(location: str) -> None:
    """Its connections are cut; it goes on by itself."""
    save_many(location, 1)
    worker = start_worker(location)
    try:
        until(lambda: count_waiting(location) == 0)
        import psycopg

        with psycopg.connect(location, autocommit=True) as db:
            db.execute(
                """SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()
                   AND application_name = 'muisti' AND query LIKE 'LISTEN%'"""
            )
        save_many(location, 4)
        until(lambda: count_waiting(location) == 0)
    finally:
        worker.terminate()
        _, err = worker.communicate(timeout=60)
    assert worker.returncode == 0, err


def at_once(calls: list[Callable[[], Any]]) -> list[Any]:
    """Run calls in threads that begin together, and return what they return."""
    start = threading.Barrier(len(calls))

    def run(call: Callable[[], Any]) -> Any:
        start.wait()
        return call()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))


def test_L4_two_servers_decide_duplicates_and_updates_in_the_database(location: str) -> None:
    with ExitStack() as closing:
        servers = [
            closing.enter_context(
                client_of(closing.enter_context(Muisti.open(location, embedder="none")))
            )
            for _ in range(2)
        ]
        for one in servers:  # two applications in one process must not build their schemas at once
            assert one.get("/openapi.json").status_code == 200
        for number in range(amount(quick=5, all=25)):
            body = {"content": f"Server {number} runs in rack {number}, at the north wall."}
            made = at_once([partial(one.post, "/api/memories", json=body) for one in servers * 2])
            assert {one.status_code for one in made} <= {200, 201}
            [memory_id] = {one.json()["id"] for one in made}
            path = f"/api/memories/{memory_id}"
            tag = {"If-Match": servers[0].get(path).headers["etag"]}
            changed = at_once(
                [
                    partial(one.patch, path, json={"title": f"Title {at}"}, headers=tag)
                    for at, one in enumerate(servers)
                ]
            )
            assert sorted(one.status_code for one in changed) == [200, 412]
            kept = next(one for one in changed if one.status_code == 200).json()["title"]
            assert {one.get(path).json()["title"] for one in servers} == {kept}
