"""A vault that cannot be written: search works, saving says why not. And a disk that is really
full.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from muisti import Muisti, bootstrap
from muisti.errors import MuistiError, VaultFull, VaultReadOnly
from muisti.ports import Clock

from .invariants import check_found, check_sound, everything, state

NOBODY = 65534
as_root = pytest.mark.skipif(
    sys.platform != "linux" or os.getuid() != 0,
    reason="only root can become somebody who may not write",
)


def as_nobody(act: Callable[[], object]) -> None:
    """Do something as a user who owns nothing, in a process of its own."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reading)
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            act()
        except BaseException:
            os.write(writing, traceback.format_exc().encode())
        finally:
            os._exit(0)
    os.close(writing)
    with open(reading, "rb") as pipe:
        said = pipe.read().decode()
    os.waitpid(child, 0)
    assert not said, said


@pytest.fixture
def readable(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A vault that everybody may read and only its owner may write; `tmp_path` is closed to others
    from above.
    """
    folder = Path(f"/tmp/muisti-read-only-{os.getpid()}-{os.urandom(4).hex()}")
    folder.mkdir()
    (folder / "tmp").mkdir(mode=0o777)
    (folder / "tmp").chmod(0o777)
    monkeypatch.setenv("TMPDIR", str(folder / "tmp"))
    monkeypatch.setattr("tempfile.tempdir", None)
    with bootstrap.open(folder / "vault", clock=clock) as memory:
        memory.save_batch([f"Memory {n} about subject{n}" for n in range(5)])
        memory.delete(memory.save("In the trash").id)
    _open_to_all(folder)
    yield folder / "vault"
    shutil.rmtree(folder)


def _open_to_all(folder: Path) -> None:
    for path in (folder, *folder.rglob("*")):
        if path.name != "tmp" or path.parent != folder:
            path.chmod(0o755 if path.is_dir() else 0o644)


def _read_and_fail_to_write(vault: Path, clock: Clock, count: int = 6) -> None:
    with bootstrap.open(vault, clock=clock) as memory:
        found = everything(memory)
        assert len(found) == count
        check_found(memory)
        one = next(m for m in found if m.content.startswith("Memory 1"))
        trashed = next(m for m in found if m.deleted_at)
        calls: list[Callable[[], object]] = [
            lambda: memory.save("New"),
            lambda: memory.save_batch(["New", "Newer"]),
            lambda: memory.save(one.content),
            lambda: memory.update(one.id, content="Changed"),
            lambda: memory.delete(one.id),
            lambda: memory.delete(one.id, hard=True),
            lambda: memory.restore(trashed.id),
            lambda: memory.reinforce(one.id),
            lambda: memory.start_session("apollo"),
        ]
        for call in calls:
            with pytest.raises(VaultReadOnly, match=r"writ"):
                call()
            check_found(memory)
        assert len(everything(memory)) == count


@as_root
def test_K2_search_works_where_nothing_can_be_written(readable: Path, clock: Clock) -> None:
    before = {path: path.stat().st_mtime_ns for path in readable.rglob("*")}
    as_nobody(lambda: _read_and_fail_to_write(readable, clock))
    assert {path: path.stat().st_mtime_ns for path in readable.rglob("*")} == before
    with bootstrap.open(readable, clock=clock) as memory:
        check_sound(memory)


@as_root
def test_K2_edits_are_seen_where_nothing_can_be_written(readable: Path, clock: Clock) -> None:
    """The index is older than the files: an edit, a file without front matter, a moved one, a
    deleted one.
    """
    edited = next(readable.glob("notes/*memory_1_*.md"))
    edited.write_text(edited.read_text().replace("subject1", "anothersubject"))
    (readable / "notes" / "by hand.md").write_text("By hand, about handicraft.\n")
    (readable / "facts").mkdir()
    next(readable.glob("notes/*memory_2_*.md")).rename(readable / "facts" / "moved.md")
    next(readable.glob("notes/*memory_3_*.md")).unlink()
    _open_to_all(readable)

    def look() -> None:
        with bootstrap.open(readable, clock=clock) as memory:
            assert memory.search("anothersubject")
            assert memory.search("handicraft")
            assert memory.search("subject2")
            assert not [
                hit for hit in memory.search("subject3") if "Memory 3" in hit.memory.content
            ]
        _read_and_fail_to_write(readable, clock, count=6)

    as_nobody(look)


@as_root
@pytest.mark.parametrize("index", ["unreadable", "missing", "damaged"])
def test_K2_no_usable_index_where_nothing_can_be_written(
    readable: Path, clock: Clock, index: str
) -> None:
    folder = readable / ".muisti"
    if index == "missing":
        shutil.rmtree(folder)
    elif index == "damaged":
        (folder / (folder / "current").read_text()).write_bytes(b"garbage" * 1000)
    else:
        folder.chmod(0o700)
    as_nobody(lambda: _read_and_fail_to_write(readable, clock))


@as_root
def test_K2_unreadable_file_is_reported(readable: Path, clock: Clock) -> None:
    closed = next(readable.glob("notes/*memory_1_*.md"))
    closed.chmod(0o600)
    os.utime(closed)

    def look() -> None:
        with bootstrap.open(readable, clock=clock) as memory:
            assert memory.search("subject2")
            assert [p.path for p in memory.sync().problems] == [
                closed.relative_to(readable).as_posix()
            ]

    as_nobody(look)


@as_root
def test_K2_only_a_folder_is_read_only(readable: Path, clock: Clock) -> None:
    """The vault is somebody's, but one kind's folder is not: the others work."""
    for path in (readable, *readable.rglob("*")):
        os.chown(path, NOBODY, NOBODY)
    os.chown(readable / "notes", 0, 0)

    def work() -> None:
        with bootstrap.open(readable, clock=clock) as memory:
            with pytest.raises(VaultReadOnly, match="notes|writable"):
                memory.save("A new note", kind="note")
            saved = memory.save("A new fact", kind="fact")
            assert memory.get(saved.id)
            check_found(memory)
            memory.sync()
            check_sound(memory)

    as_nobody(work)


@as_root
def test_K2_nothing_is_written_where_the_lock_cannot_be_had(readable: Path, clock: Clock) -> None:
    """The folder of the index is somebody else's, all else could be written: but nobody else would
    know of it.
    """
    (readable / "manuals").mkdir()
    (readable / "manuals" / "printer.md").write_text("How to mend the printer.")
    with bootstrap.open(readable, clock=clock) as memory:
        memory.core_update("user", "name", "Anna")
        memory.append_message("telegram_1", "user", "Hello there")
        memory.index_path(readable / "manuals")
        session = memory.start_session("apollo").id
    for path in (readable, *readable.rglob("*")):
        os.chown(path, NOBODY, NOBODY)
    os.chown(readable / ".muisti", 0, 0)
    (readable / ".muisti").chmod(0o755)
    before = {path: path.stat().st_mtime_ns for path in readable.rglob("*")}

    def work() -> None:
        _read_and_fail_to_write(readable, clock)
        with bootstrap.open(readable, clock=clock) as memory:
            calls: list[Callable[[], object]] = [
                lambda: memory.core_update("user", "name", "Maija"),
                lambda: memory.core_delete("user", "name"),
                lambda: memory.append_message("telegram_1", "user", "Hello again"),
                lambda: memory.append_message("telegram_2", "user", "Hello"),
                lambda: memory.session_break("telegram_1"),
                lambda: memory.end_session(session),
                lambda: memory.forget_path(readable / "manuals"),
            ]
            for call in calls:
                with pytest.raises(VaultReadOnly, match="is not writable"):
                    call()
            assert memory.core_get().user == {"name": "Anna"}

    as_nobody(work)
    assert {path: path.stat().st_mtime_ns for path in readable.rglob("*")} == before


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", disk], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("no small disk can be mounted here")
    yield disk
    subprocess.run(["umount", "-l", disk], check=True)


@as_root
@pytest.mark.parametrize("spare", [0, 4096, 3 * 4096, 16 * 4096])
def test_K2_a_disk_that_is_really_full(small_disk: Path, clock: Clock, spare: int) -> None:
    with bootstrap.open(small_disk / "vault", clock=clock) as memory:
        _fill_up(memory, small_disk, spare)
        before = state(memory)
        refused = pending = 0
        for n in range(40):
            try:
                pending += memory.save(f"One more, number {n}: " + f"text{n} " * 300).index_pending
            except VaultFull as error:
                refused += 1
                assert "space" in str(error)
        assert refused
        try:
            assert set(before) <= set(state(memory))
            check_found(memory)
        except VaultFull:
            assert pending, "only what is saved but not indexed yet is worth an error"
        (small_disk / "ballast").unlink()
        memory.save("Saved after space was made")
        assert memory.search("after space was made")
        memory.sync()
        check_sound(memory)


def _fill_up(memory: Muisti, disk: Path, spare: int) -> None:
    memory.save_batch([f"Memory {n} about subject{n}" for n in range(10)])
    with (disk / "ballast").open("wb", buffering=0) as ballast:
        try:
            while True:
                ballast.write(bytes(4096))
        except OSError:
            pass
        ballast.truncate(max(0, ballast.tell() - spare))


@as_root
def test_K2_a_full_disk_can_be_opened_and_read(small_disk: Path, clock: Clock) -> None:
    """Even when the index has to be brought up to date first, or a file given an id."""
    vault = small_disk / "vault"
    with bootstrap.open(vault, clock=clock) as memory:
        memory.save_batch([f"Memory {n} about subject{n}" for n in range(10)])
    edited = next(vault.glob("notes/*memory_1_*.md"))
    edited.write_text(edited.read_text().replace("subject1", "anothersubject"))
    (vault / "notes" / "by hand.md").write_text("By hand, about handicraft.\n")
    with (
        (small_disk / "ballast").open("wb", buffering=0) as ballast,
        pytest.raises(OSError, match="space"),
    ):
        while True:
            ballast.write(bytes(4096))
    try:
        with bootstrap.open(vault, clock=clock) as memory:
            check_found(memory)
    except MuistiError as error:
        assert isinstance(error, VaultFull), error
    (small_disk / "ballast").unlink()
    with bootstrap.open(vault, clock=clock) as memory:
        assert memory.search("handicraft")
        assert memory.search("anothersubject")
        check_sound(memory)
