"""Work in the background is shared: each piece goes to one process, and none is lost."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from muisti import Muisti
from muisti.errors import EmbedderMisbehaved, EmbedderUnavailable, MuistiError
from muisti.models.embedders.hashing import HashingEmbedder
from muisti.remember import extraction_worker
from muisti.remember.embedding_worker import embed_missing
from muisti.remember.extracted import extract_redacted
from muisti.storage.postgres import claims
from muisti.storage.postgres.connect import fetch
from muisti.storage.postgres.vectors import PostgresVectors
from muisti.surfaces.setup.check_vault import check_vault
from tests.postgres.server import make_location
from tests.tiers import amount

POISON = "poisoned"


class Processes:
    """Several vaults on one database, each with claims of its own, as several processes have."""

    def __init__(self, closing: ExitStack, location: str, **settings: Any) -> None:
        self.location = location
        self._closing = closing
        self._settings = {"embedder": "hashing", "embed_on_save": False, **settings}

    def open(self) -> Muisti:
        return self._closing.enter_context(Muisti.open(self.location, **self._settings))

    def run(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """Run a statement on the rows of this vault."""
        with Muisti.open(self.location, embedder="none") as memory:
            database = memory._services.index._db  # type: ignore[attr-defined]
            with database.write_transaction() as db:
                return fetch(db, sql, values)

    def expire(self, table: str) -> None:
        """Let all claims run out, as if their processes were killed a minute ago."""
        self.run(f"UPDATE {table} SET claimed_until = now() RETURNING 1")


@pytest.fixture
def processes() -> Iterator[Processes]:
    with ExitStack() as closing:
        yield Processes(closing, make_location())


def vectors_of(memory: Muisti) -> PostgresVectors:
    vectors = memory._services.vectors
    assert isinstance(vectors, PostgresVectors)
    return vectors


def claim(memory: Muisti, limit: int) -> list[str]:
    vectors = vectors_of(memory)
    return vectors.claim_missing(vectors.spaces()[0], limit)


def fill(memory: Muisti, count: int) -> list[str]:
    """Save memories that are not embedded, and make the space of the model."""
    texts = [f"Memory number {number} about subject {number * 7}" for number in range(count)]
    saved = memory.save_batch(texts)
    memory._services.vectors.prepare(HashingEmbedder().identity())
    return [one.id for one in saved]


@pytest.fixture
def embedded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """All texts that any process embeds. The model fails for texts with a certain word."""
    found: list[str] = []
    original = HashingEmbedder.embed_documents

    def record(self: HashingEmbedder, texts: list[str]) -> Any:
        found.extend(texts)
        if any(POISON in text for text in texts):
            raise EmbedderMisbehaved("the model chokes on this text")
        return original(self, texts)

    monkeypatch.setattr(HashingEmbedder, "embed_documents", record)
    return found


def test_L4_a_text_is_claimed_by_one_process(processes: Processes) -> None:
    first, second = processes.open(), processes.open()
    ids = fill(first, 5)
    assert claim(first, 2) == ids[:2]
    assert claim(second, 9) == ids[2:]
    assert claim(first, 9) == claim(second, 9) == []
    space = vectors_of(first).spaces()[0]
    assert vectors_of(second).claim_missing(space, 9, ids) == []
    vectors_of(second).release(space, ids)  # only its own
    assert claim(first, 9) == ids[2:]
    processes.expire("unembedded")
    assert claim(second, 9) == ids


def test_L4_claims_are_released_also_while_they_are_renewed(
    processes: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = processes.open()
    ids = fill(memory, 2)
    held, go = threading.Event(), threading.Event()
    original = claims.Claims._change

    def wait_in_renewal(self: claims.Claims, *args: Any) -> list[tuple[Any, ...]]:
        rows = original(self, *args)
        if threading.current_thread().name == "muisti-unembedded":
            held.set()
            go.wait(60)
        return rows

    monkeypatch.setattr(claims.Claims, "_change", wait_in_renewal)
    with monkeypatch.context() as patch:
        patch.setattr(claims, "LEASE", 0.3)  # seconds until it is renewed for the first time
        assert claim(memory, 2) == ids
        assert held.wait(60)
    vectors = vectors_of(memory)
    arguments = vectors.spaces()[0], ids
    releasing = threading.Thread(target=vectors.release, args=arguments)
    releasing.start()
    releasing.join(0.2)  # it may wait
    go.set()
    releasing.join()
    assert processes.run("SELECT DISTINCT claimed_by FROM unembedded") == [("",)]


def test_L4_several_processes_embed_each_text_once(
    processes: Processes, embedded: list[str]
) -> None:
    workers = [processes.open() for _ in range(4)]
    count = len(fill(workers[0], amount(quick=60, all=400)))
    start = threading.Barrier(len(workers))
    errors: list[BaseException] = []

    def work(memory: Muisti) -> None:
        start.wait()
        try:
            memory.work()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(memory,)) for memory in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert len(embedded) == len(set(embedded)) == count
    assert workers[0].get_stats().waiting_count == 0
    assert workers[0].verify(deep=True).ok


def test_L4_saving_and_working_at_once_embeds_each_text_once(
    processes: Processes, embedded: list[str]
) -> None:
    saver = Processes(processes._closing, processes.location, embed_on_save=True).open()
    worker = processes.open()
    fill(saver, 1)
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            worker.work()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        for number in range(amount(quick=15, all=60)):
            saver.save(f"Fact {number}: the harbour has {number * 3} boats")
    finally:
        stop.set()
        thread.join()
    worker.work()
    assert len(embedded) == len(set(embedded))
    assert worker.get_stats().waiting_count == 0


def test_L4_only_the_text_that_fails_is_postponed_and_given_up(
    processes: Processes, embedded: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = processes.open()
    fill(memory, 3)
    memory.save(f"This one is {POISON}")
    assert memory.work().embedded == 4  # tried
    assert memory.get_stats().waiting_count == 1
    assert memory.problems() == []
    assert memory.work().embedded == 0  # not before the pause is over
    pauses = []
    for number in range(claims.MOST_ATTEMPTS - 1):
        sql = "SELECT extract(epoch FROM claimed_until - now())::float FROM unembedded"
        pauses.append(processes.run(sql)[0][0])
        processes.expire("unembedded")
        memory.save(f"A text that works, number {number}")
        memory.work()
    assert pauses == sorted(pauses)
    assert pauses[1] > 1.5 * pauses[0]
    processes.expire("unembedded")
    tried = len(embedded)
    assert memory.work().embedded == 0
    assert len(embedded) == tried
    [problem] = memory.problems()
    assert "1 text was not embedded" in problem.reason
    assert "chokes" in problem.reason
    assert memory.get_stats().problems == (problem,)
    found = [one for one in check_vault(processes.location) if "chokes" in one.what]
    assert [one.fix for one in found] == ["run `muisti worker --retry --once`"]
    monkeypatch.undo()  # the model is mended
    assert memory.retry_given_up() == 1
    assert memory.work().embedded == 1
    assert memory.problems() == []


def test_a_text_that_fails_does_not_keep_old_vectors_in_use(
    processes: Processes, embedded: list[str]
) -> None:
    memory = processes.open()
    fill(memory, 2)
    memory.save(f"This one is {POISON}")
    for number in range(claims.MOST_ATTEMPTS):
        memory.work()
        processes.expire("unembedded")
        memory.save(f"A text that works, number {number}")
    other = Processes(processes._closing, processes.location, chunk_size=100).open()
    for number in range(claims.MOST_ATTEMPTS):
        other.save(f"Another text that works, number {number}")
        other.work()
        processes.expire("unembedded")
    other.save("A further memory")
    other.work()
    [space] = other._services.vectors.spaces()
    assert "chunks-100" in space.identity.revision


def test_a_model_that_is_down_counts_for_no_text(
    processes: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = processes.open()
    ids = fill(memory, 3)

    def refuse(*_: object) -> None:
        raise EmbedderUnavailable("down")

    monkeypatch.setattr(HashingEmbedder, "embed_documents", refuse)
    for _ in range(claims.MOST_ATTEMPTS + 1):
        with pytest.raises(EmbedderUnavailable):
            memory.work()
    monkeypatch.undo()
    assert claim(processes.open(), 9) == ids


def test_stopping_gives_texts_back(processes: Processes, embedded: list[str]) -> None:
    memory = processes.open()
    ids = fill(memory, 20)
    stop = threading.Event()
    calls = 0

    def check() -> None:
        nonlocal calls
        calls += 1
        if calls == 5:
            stop.set()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        embed_missing(memory._services, between=check)
    left = claim(processes.open(), 99)
    assert 0 < len(left) <= len(ids)
    assert set(left) <= set(ids)
    assert memory.work(stop).embedded == 0


# -- Extraction


def test_L4_the_exchanges_of_one_server_are_shared(processes: Processes) -> None:
    first, second = processes.open(), processes.open()
    first._extraction_worker._start = lambda: None  # type: ignore[method-assign]  # too busy
    for number in range(20):
        first.extract_and_save("chat", f"I prefer tea number {number} over coffee.")
    assert second.work().extracted == 20 - extraction_worker.MOST_CLAIMED
    processes.expire("queue")  # the first one is killed
    assert second.work().extracted == extraction_worker.MOST_CLAIMED
    assert second.queue_status().waiting == 0
    assert len({one.content for one in second.list(limit=None)}) == 20


def test_L4_a_process_that_was_stopped_too_long_stores_nothing_twice(
    processes: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = processes.open(), processes.open()
    original = extract_redacted

    def interrupt(*args: Any) -> Any:
        monkeypatch.setattr(extraction_worker, "extract_redacted", original)
        processes.expire("queue")  # while it waited for the model, another process took over
        assert second.work().extracted == 1
        return original(*args)

    monkeypatch.setattr(extraction_worker, "extract_redacted", interrupt)
    first.extract_and_save("chat", "I prefer tea with lemon.")
    assert first.flush(60)
    assert len(first.list(limit=None)) == 1
    found = processes.run("SELECT count(*) FROM events WHERE name = 'extracted'")
    assert found == [(1,)]
    assert first.list(limit=None)[0].salience == second.list(limit=None)[0].salience


def test_L4_an_exchange_that_fails_is_tried_again_and_given_up(
    processes: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = processes.open()

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("a defect")

    monkeypatch.setattr(extraction_worker, "store_extracted", fail)
    memory.extract_and_save("chat", "I prefer tea with lemon.")
    tries = 0
    while memory.queue_status().given_up == 0:
        wait_until_free(memory)
        processes.expire("queue")
        memory.work()
        tries += 1
        assert tries < 20
    assert memory.queue_status().waiting == 0
    assert memory.flush(0)  # it no longer waits
    [problem] = memory.problems()
    assert "1 exchange was not extracted: it failed 5 times (a defect)" in problem.reason
    monkeypatch.undo()
    assert memory.retry_given_up() == 1
    assert memory.work().extracted == 1
    assert [one.content for one in memory.list()] == ["User prefers tea with lemon."]


def wait_until_free(memory: Muisti) -> None:
    worker = memory._extraction_worker
    done = threading.Event()
    while worker._queue.unfinished_tasks:
        done.wait(0.01)


def test_an_extractor_that_is_down_counts_for_no_exchange(processes: Processes) -> None:
    settings = {"extractor": "openai", "extractor_url": "http://127.0.0.1:9/v1",
                "extractor_model": "m", "extractor_timeout": 1, "extractor_retry": 3600}  # fmt: skip
    memory = Processes(processes._closing, processes.location, **settings).open()
    memory.extract_and_save("chat", "I prefer tea with lemon.")
    for _ in range(claims.MOST_ATTEMPTS + 2):
        wait_until_free(memory)
        processes.expire("queue")
        memory.resume_extraction()
    wait_until_free(memory)
    status = memory.queue_status()
    assert (status.waiting, status.given_up) == (1, 0)
    other = processes.open()  # with rules
    memory.close()
    processes.expire("queue")
    other.work()
    assert [one.content for one in other.list()] == ["User prefers tea with lemon."]


def test_a_full_queue_refuses(processes: Processes) -> None:
    memory = Processes(processes._closing, processes.location, extract_queue=10).open()
    memory._extraction_worker._start = lambda: None  # type: ignore[method-assign]
    accepted = [memory.extract_and_save("chat", f"I like tea {n}.") for n in range(12)]
    assert accepted == [True] * 10 + [False] * 2


# -- Maintenance


def test_L4_maintenance_runs_once_in_a_period(processes: Processes) -> None:
    servers = [processes.open() for _ in range(4)]
    start = threading.Barrier(len(servers))
    ran: list[bool] = []

    def run(memory: Muisti) -> None:
        start.wait()
        ran.append(memory.run_due_maintenance(3600) is not None)

    threads = [threading.Thread(target=run, args=(memory,)) for memory in servers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(ran) == [False, False, False, True]
    processes.run("UPDATE maintenance SET started_at = now() - interval '2 hours' RETURNING 1")
    assert [memory.run_due_maintenance(3600) is not None for memory in servers] == [
        True, False, False, False]  # fmt: skip


def test_L4_maintenance_that_fails_or_is_killed_is_due_again(
    processes: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = processes.open(), processes.open()

    def fail(**_: object) -> None:
        raise MuistiError("out of luck")

    monkeypatch.setattr(first, "upkeep", fail)
    with pytest.raises(MuistiError, match="out of luck"):
        first.run_due_maintenance(3600)
    assert second.run_due_maintenance(3600) is None  # not at once
    processes.expire("maintenance")
    first._services.store.work.begin_maintenance(3600)  # and then it is killed
    assert second.run_due_maintenance(3600) is None
    processes.expire("maintenance")
    assert second.run_due_maintenance(3600) is not None


def test_maintenance_of_a_folder_is_always_due(tmp_path: Any) -> None:
    with Muisti.open(tmp_path / "vault", embedder="none") as memory:
        assert memory.run_due_maintenance(3600) is not None
        assert memory.run_due_maintenance(3600) is not None
        assert memory.retry_given_up() == 0
        assert memory.work().embedded == 0


def test_D5_reindex_missing_waits_for_what_others_embed(processes: Processes) -> None:
    first, second = processes.open(), processes.open()
    first.save("A first text makes the space")
    second.reindex_missing()
    first.save_batch([f"Text {number} about thing{number}" for number in range(9)])
    vectors = vectors_of(first)
    [space] = vectors.spaces()
    claimed = vectors.claim_missing(space, 5)
    assert vectors.count_claimed(space) == len(claimed) == 5
    timer = threading.Timer(0.3, vectors.release, (space, claimed))
    timer.start()
    assert second.reindex_missing() == 9
    timer.join()
    assert second.get_stats().waiting_count == 0
