"""A server learns of what other processes write."""

from __future__ import annotations

import threading
from itertools import islice

from muisti import Muisti
from muisti.surfaces.rest.config import ServerConfig
from muisti.surfaces.rest.events import EventBroadcaster
from muisti.surfaces.rest.watcher import VaultWatcher
from tests.postgres.roles import run
from tests.postgres.server import make_location
from tests.rest.conftest import until


def test_changes_of_others_are_reported_and_own_ones_are_not() -> None:
    location = make_location()
    stop = threading.Event()
    with (
        Muisti.open(location, embedder="none") as memory,
        Muisti.open(location, embedder="none") as other,
    ):
        batches = memory.watch_files(stop).batches(settle=0.01, wake=0.2)
        assert next(batches) == set()
        memory.save("My own")
        with Muisti.open(make_location(), embedder="none") as stranger:
            stranger.save("Of another tenant")
        assert list(islice(batches, 5)) == [set()] * 5
        other.save("Of another")
        # Under load the notice may come later than the watch wakes up.
        assert {"rows"} in islice(batches, 100)
        stop.set()
        assert list(batches) == []


def test_only_changes_of_others_wake_a_server() -> None:
    location = make_location()
    name = f"watch_{location.rpartition('%3D')[2]}"
    is_listening = f"""SELECT 1 FROM pg_stat_activity
        WHERE application_name = '{name}' AND query LIKE 'LISTEN%'"""
    watched = f"{location}&application_name={name}"
    with (
        Muisti.open(watched, embedder="none") as memory,
        Muisti.open(location, embedder="none") as other,
        Muisti.open(make_location(), embedder="none") as stranger,
    ):
        found: list[set[str]] = []
        batches = memory.watch_files(threading.Event()).batches(settle=0.01, wake=3600)
        thread = threading.Thread(target=lambda: found.append(next(batches)))
        thread.start()
        until(lambda: run(location, is_listening))
        memory.save("My own")
        stranger.save("Of another tenant")
        other.save("Of another")
        thread.join()
        assert found == [{"rows"}]


def test_a_server_publishes_them() -> None:
    location = make_location()
    with (
        Muisti.open(location, embedder="none") as memory,
        Muisti.open(location, embedder="none") as other,
    ):
        events = EventBroadcaster(1)
        watcher = VaultWatcher(memory, events, ServerConfig(settle_seconds=0.01))
        watcher.start()
        try:

            def is_published() -> int:
                other.core_update("user", "name", "Ann")
                return events.published

            until(is_published)
        finally:
            watcher.stop()
