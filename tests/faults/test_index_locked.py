"""Another program holds the index: files are saved, the answer says so, and the index catches up."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
import pytest

from muisti import Muisti, bootstrap
from muisti.errors import IndexBusy
from muisti.ports import Clock

from .invariants import check_found, check_rebuild, check_sound, everything
from .scenarios import TARGET

IMPATIENT = {"index_timeout": 0.2}


def index_file(vault: Path) -> Path:
    return vault / ".muisti" / (vault / ".muisti" / "current").read_text()


@contextmanager
def held(vault: Path) -> Iterator[None]:
    """Another connection that has begun to write and does not end."""
    peer = apsw.Connection(str(index_file(vault)))
    peer.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        peer.execute("ROLLBACK")
        peer.close()


@pytest.fixture
def impatient(vault: Path, clock: Clock) -> Iterator[Muisti]:
    with bootstrap.open(vault, clock=clock, settings=IMPATIENT) as memory:
        memory.save("A bystander about the build server", kind="note")
        yield memory


def test_K2_save_while_the_index_is_locked(impatient: Muisti, vault: Path, clock: Clock) -> None:
    with held(vault):
        saved = impatient.save(TARGET)
        assert saved.index_pending
        assert (vault / str(saved.file_path)).read_text().endswith(f"{TARGET}\n")
    found = impatient.search(TARGET)
    assert [hit.memory.id for hit in found][:1] == [saved.id]
    assert not found[0].memory.index_pending
    check_sound(impatient)
    impatient.close()
    check_rebuild(vault, clock)


def test_K2_every_change_stands_while_the_index_is_locked(impatient: Muisti, vault: Path) -> None:
    ids = [
        memory.id for memory in impatient.save_batch([f"Item {n} of the batch" for n in range(6)])
    ]
    operations = [
        lambda: impatient.update(ids[0], content="Changed while locked"),
        lambda: impatient.update(ids[1], kind="decision"),
        lambda: impatient.delete(ids[2]),
        lambda: impatient.delete(ids[3], hard=True),
        lambda: impatient.deemphasize(ids[4], 0.5),
    ]
    for operation in operations:
        with held(vault):
            operation()
        check_sound(impatient)
    living = {memory.id: memory for memory in impatient.list()}
    assert living[ids[0]].content == "Changed while locked"
    assert living[ids[1]].kind == "decision"
    assert living[ids[4]].salience == 0.5
    assert not {ids[2], ids[3]} & living.keys()
    assert impatient.restore(ids[2]).content == "Item 2 of the batch"


def test_K2_another_process_sees_what_is_pending(
    impatient: Muisti, vault: Path, clock: Clock
) -> None:
    with held(vault):
        saved = impatient.save(TARGET)
    with bootstrap.open(vault, clock=clock) as other:
        assert other.get(saved.id) is not None
    assert impatient.save(TARGET).id == saved.id
    assert len(everything(impatient)) == 2


def test_K2_readers_answer_while_the_index_is_locked(impatient: Muisti, vault: Path) -> None:
    with held(vault):
        check_found(impatient)


def test_F_what_is_pending_is_never_silently_missing(impatient: Muisti, vault: Path) -> None:
    """While the index stays locked, an answer either has the new memory or says that the index is
    busy.
    """
    with held(vault):
        saved = impatient.save(TARGET)
        with pytest.raises(IndexBusy, match="try again"):
            assert saved.id in [hit.memory.id for hit in impatient.search(TARGET)]
            raise IndexBusy("try again: it was found all the same")


@pytest.mark.parametrize("operation", ["reindex", "verify", "sync"])
def test_K2_upkeep_meets_a_locked_index(impatient: Muisti, vault: Path, operation: str) -> None:
    """A clear answer or success; never a broken index."""
    with held(vault):
        try:
            getattr(impatient, operation)()
        except IndexBusy as error:
            assert "try again" in str(error)
    check_sound(impatient)
    check_found(impatient)


def test_K2_saving_goes_on_while_the_index_is_locked(impatient: Muisti, vault: Path) -> None:
    with held(vault):
        pending = [impatient.save(f"Saved while it was locked, number {n}") for n in range(3)]
        assert all(memory.index_pending for memory in pending)
        with pytest.raises(IndexBusy, match="try again"):
            impatient.search("locked")
    assert len(impatient.search("locked")) == 3
    check_sound(impatient)


def test_B6_text_that_a_reader_kept_in_the_log_goes_with_the_next_change(
    impatient: Muisti, vault: Path
) -> None:
    secret = impatient.save("The combination is xyzzyplugh")
    reader = apsw.Connection(str(index_file(vault)))
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM memories").fetchall()
    assert impatient.delete(secret.id, hard=True)
    reader.execute("ROLLBACK")
    reader.close()
    impatient.save("Something else")
    left = b"".join(path.read_bytes() for path in (vault / ".muisti").rglob("*") if path.is_file())
    assert b"xyzzyplugh" not in left.lower()
