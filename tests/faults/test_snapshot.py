"""A search snapshot is disposable: damaged, stale, foreign or missing, the answers are the same."""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import pytest

from muisti import Muisti, bootstrap
from muisti.storage.sqlite.snapshot import build, file, keeper
from tests.faults.invariants import copy_vault
from tests.tiers import amount

WORDS = "apple pear plum cherry fig grape lemon melon peach quince olive walnut".split()
QUESTIONS = ("apple with plum", "who likes quince", "melon", "walnut and olive oil", "xyzzy")
MODES: tuple[Literal["keyword", "hybrid"], ...] = ("keyword", "hybrid")
LATER = datetime(2040, 1, 1, tzinfo=UTC)
SETTINGS = {"embedder": "hashing", "record_recall": False}


def texts(count: int) -> list[str]:
    return [
        f"Note {n}: {WORDS[n % 12]} goes with {WORDS[n * 5 % 12]} in dish {n}" for n in range(count)
    ]


def open_vault(vault: Path) -> Muisti:
    return bootstrap.open(vault, settings=SETTINGS)


def answers(memory: Muisti) -> list[list[tuple[object, ...]]]:
    """Ask at one time: the recency of a memory counts."""
    return [
        [
            (hit.memory.id, round(hit.score, 9), hit.why)
            for hit in memory.search(query, mode=mode, asked_at=LATER)
        ]
        for query in QUESTIONS
        for mode in MODES
    ]


def snapshots(vault: Path) -> list[Path]:
    return sorted((vault / ".muisti").glob("*.bin"))


@pytest.fixture
def vault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A vault that is large enough for a snapshot, which is built on demand."""
    monkeypatch.setattr(keeper, "SMALL", 20)
    vault = tmp_path / "vault"
    with open_vault(vault) as memory:
        memory.save_batch(
            [{"content": text, "session_id": f"s{len(text) % 7}"} for text in texts(60)]
        )
        memory.reindex_missing()
    return vault


def build_now(memory: Muisti) -> None:
    memory._services.index._db.snapshots.build()  # type: ignore[attr-defined]


def wait(memory: Muisti) -> None:
    memory._services.index._db.snapshots.wait()  # type: ignore[attr-defined]


def test_E3_answers_are_those_of_fts5(vault: Path) -> None:
    with open_vault(vault) as memory:
        expected = answers(memory)
        wait(memory)
        assert snapshots(vault)
        assert answers(memory) == expected


def test_E3_recent_changes_are_on_top(vault: Path, tmp_path: Path) -> None:
    """Saved, updated, deleted and restored after the snapshot: as if there were none."""
    copies = []
    for name in ("with", "without"):
        copy = copy_vault(vault, tmp_path / name)
        copies.append(copy)
        with open_vault(copy) as memory:
            if name == "with":
                build_now(memory)
            else:
                memory._services.index._db.snapshots._background = False  # type: ignore[attr-defined]
            ids = [one.id for one in memory.list(limit=None, order="asc")]
            assert answers(memory)
            memory.update(ids[3], content="Now it is apple with plum and quince")
            memory.delete(ids[5])
            memory.delete(ids[6])
            memory.restore(ids[6])
            memory.reindex_missing()
    found = []
    for copy in copies:
        with open_vault(copy) as memory:
            memory._services.index._db.snapshots._background = False  # type: ignore[attr-defined]
            found.append(answers(memory))
    assert [len(snapshots(copy)) for copy in copies] == [1, 0]
    assert [[hit[0] for hit in one] for one in found[0]] == [
        [hit[0] for hit in one] for one in found[1]
    ]


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def empty(path: Path) -> None:
    os.truncate(path, 0)


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[20] ^= 0xFF
    path.write_bytes(data)


def remove(path: Path) -> None:
    path.unlink()


def link(path: Path) -> None:
    target = path.with_name("elsewhere")
    path.rename(target)
    path.symlink_to(target)


def fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def garble(path: Path) -> None:
    """Only the header is as it was: the damage is noticed when an array is read."""
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(8000)
        file.write(b"\xff" * (size - 8000))


@pytest.mark.parametrize("damage", [cut, empty, flip, garble, remove, link, fifo])
def test_K2_a_damaged_snapshot_is_never_used(vault: Path, damage: Callable[[Path], None]) -> None:
    with open_vault(vault) as memory:
        build_now(memory)
        expected = answers(memory)
    (path,) = snapshots(vault)
    damage(path)
    with open_vault(vault) as memory:
        assert answers(memory) == expected
        wait(memory)
        assert answers(memory) == expected
        assert memory.verify(deep=True).ok
    assert path not in snapshots(vault)


@pytest.mark.parametrize("part", ["version", "index"])
def test_K2_a_snapshot_of_another_version_or_index_is_never_used(
    vault: Path, part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_vault(vault) as memory, monkeypatch.context() as patch:
        expected = answers(memory)
        wait(memory)
        if part == "version":
            patch.setattr(file, "VERSION", file.VERSION + 1)
            build_now(memory)
        else:
            original = build.build_snapshot
            patch.setattr(
                build,
                "build_snapshot",
                lambda db, path, index, stop: original(db, path, "index-00000000.db", stop),
            )
            build_now(memory)
    with open_vault(vault) as memory:
        memory._services.index._db.snapshots._background = False  # type: ignore[attr-defined]
        assert memory._services.index._db.snapshots._table is None  # type: ignore[attr-defined]
        assert answers(memory) == expected
        assert memory._services.index._db.snapshots._table is None  # type: ignore[attr-defined]


def test_B6_nothing_of_a_hard_deleted_memory_remains(vault: Path) -> None:
    with open_vault(vault) as memory:
        build_now(memory)
        secret = memory.save("Zanzibarquux is the secret ingredient of dish 7")
        build_now(memory)
        assert memory.search("zanzibarquux", mode="keyword")[0].memory.id == secret.id
        before = snapshots(vault)
        memory.delete(secret.id, hard=True)
        assert not set(before) & set(snapshots(vault))
        assert not any(hit.memory.id == secret.id for hit in memory.search("zanzibarquux"))
        wait(memory)
        word = build.hash_word("zanzibarquux").to_bytes(8, "little")
        for path in (vault / ".muisti").rglob("*"):
            if path.is_file():
                data = path.read_bytes()
                assert b"anzibarquux" not in data, path
                assert word not in data, path


@pytest.mark.exhaustive
def test_B6_a_snapshot_that_was_being_built_is_dropped(
    vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A text is permanently deleted between the reading for a snapshot and its registration."""
    with open_vault(vault) as memory:
        doomed = memory.save("Zanzibarquux is the secret ingredient of dish 7")
        database = memory._services.index._db  # type: ignore[attr-defined]
        original = build.build_snapshot

        def build_slowly(*args: object) -> int:
            seq = original(*args)  # type: ignore[arg-type]
            memory.delete(doomed.id, hard=True)
            return seq

        monkeypatch.setattr(build, "build_snapshot", build_slowly)
        database.snapshots.build()
        assert snapshots(vault) == []


def _build_and_die(vault: str, step: str) -> None:
    def die(*_: object) -> None:
        os._exit(9)

    target = file.SnapshotWriter
    setattr(target, step, die)
    memory = open_vault(Path(vault))
    build_now(memory)


@pytest.mark.parametrize("step", ["write", "finish", "close"])
def test_K2_a_process_that_dies_while_it_builds(vault: Path, step: str) -> None:
    with open_vault(vault) as memory:
        expected = answers(memory)
        wait(memory)
    process = multiprocessing.get_context("fork").Process(
        target=_build_and_die, args=(str(vault), step)
    )
    process.start()
    process.join()
    assert process.exitcode == 9
    with open_vault(vault) as memory:
        assert answers(memory) == expected
        build_now(memory)
        assert answers(memory) == expected
    assert len(snapshots(vault)) == 1, "what the dead process left is gone"


def _save_and_search(vault: str, name: str) -> None:
    with open_vault(Path(vault)) as memory:
        for n in range(12):
            saved = memory.save(f"{name} number {n} likes kumquat{name}{n} very much")
            found = memory.search(f"kumquat{name}{n}", mode="keyword")
            assert found[0].memory.id == saved.id, (name, n)
            if n % 4 == 0:
                build_now(memory)


def test_K1_several_processes_build_and_search(vault: Path) -> None:
    """Each finds at once what it saved, whoever built the snapshot meanwhile."""
    context = multiprocessing.get_context("spawn")
    processes = [
        context.Process(target=_save_and_search, args=(str(vault), name)) for name in ("ann", "bob")
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0]
    with open_vault(vault) as memory:
        for name in ("ann", "bob"):
            for n in range(12):
                found = memory.search(f"kumquat{name}{n}", mode="keyword")
                assert f"{name} number {n}" in found[0].memory.content
        assert memory.verify(deep=True).ok


def test_K2_a_full_disk_while_building(vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> int:
        raise OSError(28, "No space left on device")

    with open_vault(vault) as memory:
        monkeypatch.setattr(file.SnapshotWriter, "write", fail)
        expected = answers(memory)
        wait(memory)
        assert answers(memory) == expected
        assert snapshots(vault) == []


def test_K1_searches_while_texts_are_deleted_for_good(
    vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A permanent deletion drops the table of the process while other threads search in it."""
    monkeypatch.setattr(keeper, "SMALL", 1000)
    errors: list[Exception] = []
    done = threading.Event()

    def search(memory: Muisti) -> None:
        while not done.is_set():
            try:
                memory.search("apple with plum", mode="keyword")
            except Exception as error:
                errors.append(error)
                return

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with open_vault(vault) as memory:
            threads = [threading.Thread(target=search, args=(memory,)) for _ in range(3)]
            for thread in threads:
                thread.start()
            for number in range(amount(quick=20, all=60, long=400)):
                memory.delete(memory.save(f"A secret of apples {number}").id, hard=True)
            done.set()
            for thread in threads:
                thread.join()
    finally:
        done.set()
        sys.setswitchinterval(interval)
    assert errors == []
