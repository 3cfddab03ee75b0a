"""A damaged, lost or foreign index: healed from the files or refused clearly, never a wrong or
empty answer.
"""

from __future__ import annotations

import random
import shutil
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import apsw
import pytest

from muisti import Muisti, bootstrap
from muisti.errors import IndexProblem, IndexTooNew, MuistiError
from muisti.ports import Clock
from tests.conftest import file_store
from tests.tiers import amount, sample, steps

from .crash import killed_at
from .invariants import State, check_found, check_rebuild, check_sound, state
from .test_index_locked import index_file

PAGE = 4096


def _fill(memory: Muisti) -> State:
    session = memory.start_session("apollo").id
    memory.save_batch(
        [{"content": f"Memory {n} about subject{n}", "keywords": [f"k{n}"]} for n in range(30)]
    )
    memory.save("A memory of a session", session_id=session)
    memory.reinforce(memory.list()[0].id, session_id=session)
    return state(memory)


def _zero_header(index: Path) -> None:
    index.write_bytes(bytes(100) + index.read_bytes()[100:])


def _truncate(index: Path) -> None:
    index.write_bytes(index.read_bytes()[: index.stat().st_size // 2 // PAGE * PAGE + 100])


def _empty(index: Path) -> None:
    index.write_bytes(b"")


def _garbage(index: Path) -> None:
    index.write_bytes(random.Random(5).randbytes(index.stat().st_size))


def _zero_pages(index: Path) -> None:
    index.write_bytes(index.read_bytes()[:PAGE] + bytes(index.stat().st_size - PAGE))


def _remove(index: Path) -> None:
    index.unlink()


DAMAGES = [_zero_header, _truncate, _empty, _garbage, _zero_pages, _remove]


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda d: d.__name__.strip("_"))
@pytest.mark.parametrize("sync_on_open", [True, False], ids=["sync", "no sync"])
def test_K2_damaged_while_closed(
    vault: Path, clock: Clock, damage: Callable[[Path], None], sync_on_open: bool
) -> None:
    with bootstrap.open(vault, clock=clock) as memory:
        held = _fill(memory)
    damage(index_file(vault))
    with bootstrap.open(vault, clock=clock, settings={"sync_on_open": sync_on_open}) as memory:
        assert state(memory) == held
        check_found(memory)
        check_sound(memory)
    check_rebuild(vault, clock)


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("damage", DAMAGES, ids=lambda d: d.__name__.strip("_"))
def test_K2_damaged_while_open(vault: Path, clock: Clock, damage: Callable[[Path], None]) -> None:
    """Whoever has it open answers rightly or heals; so does whoever comes next."""
    with bootstrap.open(vault, clock=clock) as memory, bootstrap.open(vault, clock=clock) as other:
        held = _fill(memory)
        other.list()
        file_store(memory).index.purge()  # all of it is in the file that is damaged now
        damage(index_file(vault))
        assert state(memory) == held
        assert state(other) == held
        saved = other.save("Saved after the damage")
        assert memory.get(saved.id) is not None
        check_found(memory)
        with bootstrap.open(vault, clock=clock) as later:
            check_found(later)
            check_sound(later)
    check_rebuild(vault, clock)


@pytest.mark.parametrize(
    "pointer",
    [b"", b"index-gone.db", b"\xff\xfe\x00", b"../../etc/passwd", b"lock", b"current", b"x" * 5000],
)
def test_K2_garbage_in_the_pointer(vault: Path, clock: Clock, pointer: bytes) -> None:
    with bootstrap.open(vault, clock=clock) as memory:
        held = _fill(memory)
        (vault / ".muisti" / "current").write_bytes(pointer)
        assert state(memory) == held
        (vault / ".muisti" / "current").write_bytes(pointer)
        with bootstrap.open(vault, clock=clock) as other:
            assert state(other) == held
            check_sound(other)
    assert (vault / ".muisti" / "lock").exists()
    check_rebuild(vault, clock)


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("what", ["current", "tmp", "lock", "."])
def test_B3_index_folder_removed_in_part_while_two_have_it_open(
    vault: Path, clock: Clock, what: str
) -> None:
    with bootstrap.open(vault, clock=clock) as memory, bootstrap.open(vault, clock=clock) as other:
        held = _fill(memory)
        gone = vault / ".muisti" / what
        shutil.rmtree(gone) if gone.is_dir() else gone.unlink()
        saved = other.save("Saved after the removal")
        assert memory.get(saved.id) is not None
        assert {row[0] for row in held} < {row[0] for row in state(memory)}
        check_found(other)
        check_sound(memory)
        check_sound(other)
    check_rebuild(vault, clock)


def remove_index(vault: Path) -> None:
    """Remove the folder of the index, though a thread may be writing into it."""
    for _ in range(100):
        with suppress(OSError):
            shutil.rmtree(vault / ".muisti")
        if not (vault / ".muisti").exists():
            return
    pytest.fail("the folder of the index cannot be removed")


def test_F_index_removed_just_before_a_recall_is_noted(vault: Path, clock: Clock) -> None:
    """The thread that notes recalls comes upon the missing index first: it must not leave an empty
    one behind.
    """
    with bootstrap.open(vault, clock=clock) as memory:
        held = _fill(memory)
        for _ in range(5):
            memory.search("subject7")
            remove_index(vault)
            time.sleep(
                0.08
            )  # longer than the recorder gathers; either order is right, this one is the rare one
            assert memory.search("subject7")
            assert state(memory) == held
        check_sound(memory)


def test_F_a_read_waits_for_a_thread_that_fills_the_new_index(vault: Path, clock: Clock) -> None:
    """The index is gone. Just before the read fills a new one, another thread takes the lock."""
    with bootstrap.open(vault, clock=clock) as memory:
        held = _fill(memory)
        store = file_store(memory)
        catch_up = store.catch_up
        is_held = threading.Event()

        def hold() -> None:
            with store.vault.lock():
                is_held.set()
                time.sleep(0.05)

        def catch_up_later(timeout: float | None) -> None:
            other = threading.Thread(target=hold)
            other.start()
            is_held.wait()
            catch_up(timeout)
            other.join()

        store.catch_up = catch_up_later
        remove_index(vault)
        assert memory.search("subject7", record=False)
        assert state(memory) == held


def test_F_a_new_index_whose_maker_died_is_not_taken_for_complete(
    vault: Path, clock: Clock
) -> None:
    """A process makes a new index and dies before it has filled it, at every step; another has the
    vault open.
    """
    with bootstrap.open(vault, clock=clock) as memory:
        held = _fill(memory)
    for k in steps(100):
        with bootstrap.open(vault, clock=clock) as memory:
            assert state(memory) == held
            answer = killed_at(k, vault, clock, _lose_index_and_look)
            assert state(memory) == held
            assert memory.search("subject7")
        if answer == "acknowledged":
            return


def _lose_index_and_look(memory: Muisti) -> None:
    (memory.root / ".muisti" / "current").unlink()
    memory.list()


def test_K2_lost_write_ahead_log(vault: Path, clock: Clock) -> None:
    """A process was killed, and its log is gone: the index is old, not wrong."""
    with bootstrap.open(vault, clock=clock) as memory:
        _fill(memory)
    killed_at(10_000, vault, clock, _work)
    log = index_file(vault).with_name(index_file(vault).name + "-wal")
    assert log.stat().st_size > 0
    log.unlink()
    with bootstrap.open(vault, clock=clock) as memory:
        assert {"Saved before the kill", "Changed before the kill"} <= {
            m.content for m in memory.list(limit=None)
        }
        assert all(m.content != "Memory 3 about subject3" for m in memory.list(limit=None))
        check_found(memory)
        check_sound(memory)
    check_rebuild(vault, clock)


def _work(memory: Muisti) -> None:
    by_content = {m.content: m.id for m in memory.list(limit=None)}
    memory.save("Saved before the kill")
    memory.update(by_content["Memory 4 about subject4"], content="Changed before the kill")
    memory.delete(by_content["Memory 3 about subject3"])
    memory.deemphasize(by_content["Memory 5 about subject5"])


def test_K2_newer_index_names_the_cure(vault: Path, clock: Clock) -> None:
    with bootstrap.open(vault, clock=clock) as memory:
        _fill(memory)
    before = index_file(vault).read_bytes()
    db = apsw.Connection(str(index_file(vault)))
    db.pragma("user_version", 9999)
    db.close()
    with pytest.raises(IndexTooNew, match=r"9999.*upgrade muisti.*\.muisti"):
        bootstrap.open(vault, clock=clock)
    assert index_file(vault).stat().st_size == len(before), "it is left for the muisti that made it"
    remove_index(vault)
    with bootstrap.open(vault, clock=clock) as memory:
        check_sound(memory)


TAMPERINGS = [
    "UPDATE entries SET content = 'Something else' WHERE n = 3",
    "UPDATE entries SET importance = 0.9 WHERE n = 3",
    "UPDATE entries SET deleted_at = 1 WHERE n = 3",
    "DELETE FROM entries WHERE n = 3",
    "DELETE FROM words WHERE n = 3",
    "DELETE FROM labels WHERE n = 3",
    "DELETE FROM seen WHERE path = (SELECT path FROM memories WHERE n = 3)",
    "UPDATE usage SET access_count = 99",
    "DELETE FROM usage",
    "UPDATE sessions SET status = 'completed'",
    "DELETE FROM uses",
    "UPDATE lexicon SET memories = memories + 1 WHERE n = 2",
    "INSERT INTO word_index (word_index) VALUES ('delete-all')",
    "UPDATE marks SET offset = 0",
    "UPDATE totals SET value = 0",
]


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("sql", TAMPERINGS)
def test_K2_verify_reports_tampering_and_reindex_cures_it(
    vault: Path, clock: Clock, sql: str
) -> None:
    with bootstrap.open(vault, clock=clock) as memory:
        _fill(memory)
        db = apsw.Connection(str(index_file(vault)))
        db.execute(sql)
        assert db.changes() or "word_index" in sql
        db.close()
        report = memory.verify(deep=True)
        assert not report.ok
        assert all(problem.reason for problem in report.problems)
        memory.reindex()
        check_sound(memory)
        check_found(memory)


@pytest.mark.parametrize("seed", range(amount(quick=1, all=3, long=40)))
def test_K2_flipped_bytes_on_every_page(vault: Path, clock: Clock, seed: int) -> None:
    """Some flips only change letters, which no database notices by itself: then `verify` does."""
    with bootstrap.open(vault, clock=clock) as memory:
        held = _fill(memory)
    chance = random.Random(seed)
    whole = index_file(vault).read_bytes()
    for page in sample(range(len(whole) // PAGE), 8):
        data = bytearray(whole)
        for _ in range(4):
            data[page * PAGE + chance.randrange(PAGE)] ^= 1 << chance.randrange(8)
        _check_flipped(vault, clock, bytes(data), held)


def _check_flipped(vault: Path, clock: Clock, data: bytes, held: State) -> None:
    index_file(vault).write_bytes(data)
    try:
        with bootstrap.open(vault, clock=clock) as memory:
            looked_at = index_file(vault).name
            wrong = state(memory) != held
            for n in (3, 17):
                wrong |= not any(
                    hit.memory.content == f"Memory {n} about subject{n}"
                    for hit in memory.search(f"subject{n}")
                )
            sound = memory.verify(deep=True).ok
            healed = (
                index_file(vault).name != looked_at
            )  # a later call, `verify` too, met the damage and rebuilt the index
            assert not wrong or healed or not sound, "a wrong answer that nothing tells of"
            memory.reindex()
            assert state(memory) == held
            check_sound(memory)
    except IndexTooNew:
        remove_index(vault)  # its version was flipped; the message says to do this
        bootstrap.open(vault, clock=clock).close()
    except MuistiError as error:
        assert isinstance(error, IndexProblem), error
        pytest.fail(f"not healed: {error}")
