"""A cluster whose leader is killed while clients write (L5): `make test-cluster`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

from muisti import Muisti
from muisti.model.reports import DatabaseStatus
from tests.cluster.cluster import Cluster, Network, NoCluster
from tests.rest.conftest import until
from tests.tiers import LONG, amount

WRITERS = 8
KILLS = int(os.environ.get("MUISTI_KILLS") or amount(quick=1, all=1, long=10))
SECONDS = 240.0
"""How long a write may be retried: longer than an election takes on a busy machine."""


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """Three nodes on loopback."""
    with run_cluster() as cluster:
        yield cluster


@contextmanager
def run_cluster(network: Network | None = None) -> Iterator[Cluster]:
    """Run three nodes; skips the test where no cluster can run."""
    with tempfile.TemporaryDirectory(prefix="muisti-cluster-") as folder:
        Path(folder).chmod(0o755)  # `nobody` must reach it
        try:
            cluster = Cluster(Path(folder), network)
        except NoCluster as error:
            pytest.skip(f"no cluster: {error}")
        try:
            cluster.start()
            yield cluster
        finally:
            cluster.stop()


@contextmanager
def serve(dsn: str) -> Iterator[str]:
    """Run `muisti serve` on the cluster in a process of its own; its URL."""
    command = [sys.executable, "-m", "muisti", "serve", "--store", dsn, "--port", "0", "--json"]
    environment = {**os.environ, "MUISTI_EMBEDDER": "none", "MUISTI_LOCK_TIMEOUT": "5"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        told = ""
        while "}" not in told:
            line = process.stdout.readline()
            assert line, "the server did not start"
            told += line
        try:
            yield json.loads(told)["url"]
        finally:
            process.terminate()


class Writer(threading.Thread):
    """Saves texts, each until it is acknowledged."""

    def __init__(self, number: int, url: str, stop: threading.Event) -> None:
        super().__init__(daemon=True)
        self.number, self.url, self.stopping = number, url, stop
        self.acknowledged: dict[str, str] = {}
        self.refused: Counter[str] = Counter()
        self.without_retry_after = 0
        self.failure = ""

    def run(self) -> None:
        with httpx2.Client(base_url=self.url, timeout=60) as http:
            count = 0
            while not self.stopping.is_set() and not self.failure:
                count += 1
                self.save(http, f"Writer {self.number} noted the number {count} of its list")

    def save(self, http: httpx2.Client, text: str) -> None:
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            try:
                told = http.post("/api/memories", json={"content": text, "kind": "note"})
            except httpx2.TimeoutException:
                self.refused["timed out"] += 1
                continue
            if told.is_success:
                self.acknowledged[told.json()["id"]] = text
                return
            self.refused[f"{told.status_code} {told.json().get('type')}"] += 1
            if told.status_code != 503:
                self.failure = told.text
                return
            self.without_retry_after += "retry-after" not in told.headers
            time.sleep(0.2)
        self.failure = f"{text!r} was not acknowledged within {SECONDS:g} seconds"


def kill_leader(cluster: Cluster, wait_for_more: Callable[[], None]) -> None:
    """Kill the leader, wait for another one, and start the killed node again."""
    leader = cluster.wait_for_leader()
    cluster.kill(leader)
    cluster.wait_for_leader(other_than=leader)
    wait_for_more()
    cluster.start_node(leader)
    cluster.wait_for_replicas(2)


def cut_off_leader(cluster: Cluster, wait_for_more: Callable[[], None]) -> None:
    """Cut the leader off from all others, wait for another one, and connect it again."""
    assert cluster.network is not None
    leader = cluster.wait_for_leader()
    cluster.network.cut(leader.namespace)
    cluster.wait_for_leader(other_than=leader)
    wait_for_more()
    cluster.network.mend(leader.namespace)
    cluster.wait_for_replicas(2)


@pytest.mark.exhaustive
def test_L5_the_leader_is_killed_and_nothing_acknowledged_is_lost(cluster: Cluster) -> None:
    write_through(cluster, KILLS, kill_leader)


@pytest.mark.exhaustive
@pytest.mark.skipif(not LONG and not os.environ.get("MUISTI_KILLS"), reason="make test-cluster")
def test_L5_the_leader_is_cut_off_and_nothing_acknowledged_is_lost() -> None:
    try:
        network = Network()
    except NoCluster as error:
        pytest.skip(f"no cluster: {error}")
    try:
        with run_cluster(network) as cluster:
            write_through(cluster, 1, cut_off_leader)
    finally:
        network.close()


def write_through(
    cluster: Cluster, times: int, fail: Callable[[Cluster, Callable[[], None]], None]
) -> None:
    """Let clients write through two servers while the cluster fails; then look for each text."""
    stop = threading.Event()
    with serve(cluster.dsn) as first, serve(cluster.dsn) as second:
        writers = [Writer(number, (first, second)[number % 2], stop) for number in range(WRITERS)]
        for writer in writers:
            writer.start()

        def wait_for_more() -> None:
            """Wait until each writer was acknowledged more: both servers are back."""
            goals = [len(writer.acknowledged) + 3 for writer in writers]
            until(
                lambda: (
                    any(writer.failure for writer in writers)
                    or all(
                        len(w.acknowledged) >= goal for w, goal in zip(writers, goals, strict=True)
                    )
                ),
                SECONDS,
            )

        try:
            for _ in range(times):
                wait_for_more()
                fail(cluster, wait_for_more)
        finally:
            stop.set()
            for writer in writers:
                writer.join(SECONDS)
        assert [writer.failure for writer in writers if writer.failure] == []
        refused = sum((writer.refused for writer in writers), Counter())
        assert sum(writer.without_retry_after for writer in writers) == 0
        ready = httpx2.get(f"{first}/ready", timeout=30).json()
        assert ready["status"] == "ready", ready

    acknowledged = {key: text for writer in writers for key, text in writer.acknowledged.items()}
    with Muisti.open(cluster.dsn, embedder="none") as memory:
        found: dict[str, str] = {}
        while batch := memory.list(limit=500, offset=len(found)):
            found |= {one.id: one.content for one in batch}
        assert memory.verify(deep=True).ok
    lost = {key: text for key, text in acknowledged.items() if found.get(key) != text}
    assert lost == {}
    texts = Counter(found.values())
    assert [text for text, count in texts.items() if count > 1] == []  # retried, not doubled
    told = f"{len(acknowledged)} acknowledged, 0 lost, 0 doubled; refused: {refused}"
    print(f"{fail.__name__}, {times} times: {told}")


@pytest.mark.exhaustive
def test_L5_a_replica_serves_reads_within_its_lag(cluster: Cluster) -> None:
    cluster.wait_for_replicas(1)
    with Muisti.open(cluster.dsn, embedder="none", replica_lag=60) as memory:
        saved = memory.save("Reads of this text come from a replica")
        seen: list[DatabaseStatus] = []

        def read_from_a_replica() -> bool:
            """The primary serves reads until a replica has the schema and the tenant."""
            time.sleep(0.2)
            memory.save(f"Note {time.monotonic_ns()}")  # without writes a replica counts as behind
            found = memory.get_stats().database
            assert found is not None
            seen.append(found)
            return not found.is_primary  # of the server that counted

        until(read_from_a_replica, 120)
        assert seen[-1].read_lag_seconds is not None
        assert 0 <= seen[-1].read_lag_seconds <= 60
        until(lambda: [one.memory.id for one in memory.search("replica")] == [saved.id], 60)
    with Muisti.open(cluster.dsn, embedder="none", replica_lag=1e-9) as memory:
        assert memory.get(saved.id) is not None  # no replica is that fresh: the primary serves it
        status = memory.get_stats().database
        assert status is not None
        assert status.is_primary
        assert status.read_lag_seconds is None
        assert status.replicas == 2 or status.replicas == 1
