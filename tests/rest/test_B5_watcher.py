"""A running server picks up external changes, publishes them and runs maintenance (B5, G4)."""

from __future__ import annotations

import json
import queue
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

from muisti import Muisti
from muisti.model import UpkeepReport
from tests.conftest import FakeClock, Opener
from tests.rest.conftest import check_problem, served, until

Heard = queue.Queue[tuple[str, dict[str, object]]]
PATIENT = httpx2.Timeout(30)


@contextmanager
def listening(base: str) -> Iterator[Heard]:
    """The events of the server, as they arrive."""
    heard: Heard = queue.Queue()
    ready = threading.Event()

    def listen() -> None:
        name = ""
        with httpx2.stream("GET", f"{base}/api/events", timeout=PATIENT) as stream:
            for line in stream.iter_lines():
                ready.set()
                if line.startswith("event: "):
                    name = line[7:]
                elif line.startswith("data: "):
                    heard.put((name, json.loads(line[6:])))

    thread = threading.Thread(target=listen, daemon=True)
    thread.start()
    assert ready.wait(10)
    time.sleep(0.3)  # watching begins in a thread of its own
    yield heard


def found(base: str, query: str) -> list[str]:
    told = httpx2.get(
        f"{base}/api/search", params={"query": query, "mode": "keyword"}, timeout=PATIENT
    ).json()
    return [one["memory"]["content"] for one in told["results"]]


@pytest.fixture
def live(memory: Muisti) -> Iterator[str]:
    with served(memory, watch=True, settle_seconds=0.1) as base:
        yield base


def test_B5_an_external_edit_is_indexed_and_published(live: str, memory: Muisti) -> None:
    one = memory.save("Redis holds the sessions")
    path = memory.root / str(one.file_path)
    with listening(live) as heard:
        begun = time.monotonic()
        path.write_text(path.read_text().replace("Redis", "Valkey"))
        until(lambda: found(live, "Valkey"), 5)
        assert time.monotonic() - begun <= 60
        told = heard.get(timeout=60)
        while not told[1].get("changed"):
            told = heard.get(timeout=60)
        assert told[0] == "changed"
        assert one.file_path in list(told[1]["files"])  # type: ignore[call-overload]


def test_B5_a_new_file_and_a_deleted_one(live: str, memory: Muisti) -> None:
    one = memory.save("Redis holds the sessions")
    memory.save_batch([f"Note number {n} is about topic {n}" for n in range(10)])
    with listening(live):
        (memory.root / "facts").mkdir(exist_ok=True)
        (memory.root / "facts" / "mine.md").write_text("The office is in Oulu\n")
        (memory.root / str(one.file_path)).unlink()
        until(lambda: found(live, "office") and not found(live, "Redis"), 5)


def test_B5_a_checkout_of_hundreds_is_one_batch(live: str, memory: Muisti) -> None:
    folder = memory.root / "notes"
    folder.mkdir(exist_ok=True)
    with listening(live) as heard:
        for n in range(300):
            (folder / f"note{n}.md").write_text(f"Note number {n} tells of topic{n}\n")
        until(lambda: memory.get_stats().total_count == 300, 20)
        until(lambda: found(live, "topic299"), 5)
        time.sleep(0.5)
        batches = []
        while not heard.empty():
            batches.append(heard.get())
    assert sum(int(str(told["added"])) for _, told in batches) == 300
    assert len(batches) <= 6
    assert all(len(told["files"]) <= 50 for _, told in batches)  # type: ignore[arg-type]


def test_B5_writes_of_the_server_are_published_too(live: str) -> None:
    with listening(live) as heard:
        made = httpx2.post(
            f"{live}/api/memories", json={"content": "Redis holds the sessions"}, timeout=PATIENT
        ).json()
        name, told = heard.get(timeout=60)
        assert (name, told["added"]) == ("changed", 0)
        assert told["files"] == [made["filePath"]]


def test_B5_a_vault_that_disappears_and_returns(live: str, memory: Muisti) -> None:
    memory.save("Redis holds the sessions")
    away = memory.root.with_name("away")
    with listening(live) as heard:
        shutil.move(memory.root, away)
        told = heard.get(timeout=60)
        while told[0] != "problem":
            told = heard.get(timeout=60)
        assert "is gone" in str(told[1]["detail"])
        check_problem(httpx2.get(f"{live}/api/stats", timeout=PATIENT), 503, "vault-not-found")
        assert not memory.root.exists()
        shutil.move(away, memory.root)
        assert found(live, "Redis")
        (memory.root / "facts").mkdir(exist_ok=True)
        (memory.root / "facts" / "mine.md").write_text("The office is in Oulu\n")
        until(lambda: found(live, "office"), 10)


def test_G4_maintenance_runs_automatically(opened: Opener, clock: FakeClock) -> None:
    memory = opened(embedder="none", evict_above=1)
    one = memory.save("Redis holds the sessions")
    clock.forward(days=40)
    with served(memory, watch=True, maintenance_after=2.0):
        until(memory.list_archive, 10)
    assert [found.id for found in memory.list_archive()] == [one.id]


def test_B5_event_subscribers_do_not_block_shutdown(memory: Muisti) -> None:
    with served(memory, watch=True) as base, listening(base):
        begun = time.monotonic()
    assert time.monotonic() - begun < 60


def test_B5_the_number_of_event_subscribers_is_limited(memory: Muisti) -> None:
    with served(memory, watch=True, listeners=1) as base, listening(base):
        check_problem(httpx2.get(f"{base}/api/events", timeout=PATIENT), 503, "too-many-listeners")


def test_B5_a_folder_moved_into_the_vault_is_indexed(
    live: str, memory: Muisti, tmp_path: Path
) -> None:
    away = tmp_path / "away" / "facts"
    away.mkdir(parents=True)
    (away / "mine.md").write_text("The office is in Oulu\n")
    with listening(live) as heard:
        shutil.move(away, memory.root / "facts")
        name, told = heard.get(timeout=60)
    assert (name, told["added"]) == ("changed", 1)
    assert found(live, "Oulu")


def test_G4_maintenance_runs_in_a_vault_without_files(monkeypatch: pytest.MonkeyPatch) -> None:
    with Muisti.open(":memory:", embedder="none") as memory:
        memory.save("Redis holds the sessions")
        done: list[UpkeepReport] = []
        upkeep = memory.upkeep

        def noted() -> UpkeepReport:
            done.append(upkeep())
            return done[-1]

        monkeypatch.setattr(memory, "upkeep", noted)
        monkeypatch.setattr(memory, "sync", lambda **_: pytest.fail("there is nothing to sync"))
        with served(memory, watch=True, maintenance_after=0.0) as url:
            assert httpx2.get(f"{url}/api/stats", timeout=60).json()["totalCount"] == 1
            until(lambda: done)
