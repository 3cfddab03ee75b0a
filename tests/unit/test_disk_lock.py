"""The operating system's errors in our words; the lock across threads and processes."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from muisti.errors import VaultBusy, VaultError, VaultFull, VaultNotFound, VaultReadOnly
from muisti.storage.files.disk import Disk, disk_errors
from muisti.storage.files.lock import FileLock


@pytest.mark.parametrize(
    ("code", "error", "cure"),
    [
        (errno.ENOSPC, VaultFull, "free some space"),
        (errno.EDQUOT, VaultFull, "free some space"),
        (errno.EROFS, VaultReadOnly, "make it writable"),
        (errno.EACCES, VaultReadOnly, "make it writable"),
        (errno.EPERM, VaultReadOnly, "make it writable"),
        (errno.ENOENT, VaultNotFound, "still there"),
        (errno.EIO, VaultError, "Input/output error"),
        (errno.ENOTDIR, VaultError, "Not a directory"),
    ],
)
def test_errors_of_the_system(code: int, error: type[VaultError], cure: str) -> None:
    with pytest.raises(error, match=f"^some/path: .*{cure}") as raised, disk_errors("some/path"):
        raise OSError(code, os.strerror(code))
    assert type(raised.value) is error
    assert isinstance(raised.value.__cause__, OSError)


def test_an_error_without_a_number_and_no_error() -> None:
    with pytest.raises(VaultError, match="odd"), disk_errors("x"):
        raise OSError("odd")
    with pytest.raises(ZeroDivisionError), disk_errors("x"):
        raise ZeroDivisionError


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    disk, new, old = Disk(), tmp_path / "new", tmp_path / "old"
    old.write_text("old")
    disk.write_new(new, b"new")
    for attempt in (
        lambda: disk.write_new(old, b"x"),
        lambda: disk.publish(new, old),
        lambda: disk.move(new, old),
    ):
        with pytest.raises(FileExistsError):
            attempt()
    assert (old.read_text(), new.read_text()) == ("old", "new")
    disk.replace(new, old)
    assert old.read_text() == "new"
    assert not new.exists()


def test_links_are_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("x")
    (tmp_path / "link").symlink_to(outside)
    with pytest.raises(OSError, match="symbolic link"):
        Disk().append(tmp_path / "link", b"y", durable=False)
    with pytest.raises(FileExistsError):
        Disk().write_new(tmp_path / "link", b"y")
    assert outside.read_text() == "x"


class FullDisk(Disk):
    """A disk that takes the first bytes and then is full."""

    def _write_all(self, fd: int, data: bytes, path: Path) -> None:
        os.write(fd, data[:3])
        raise OSError(errno.ENOSPC, "full")


def test_a_write_that_fails_leaves_nothing(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"line\n")
    with pytest.raises(OSError, match="full"):
        FullDisk().write_new(tmp_path / "file", b"content")
    with pytest.raises(OSError, match="full"):
        FullDisk().append(log, b"second\n", durable=True)
    assert log.read_bytes() == b"line\n"
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["log"]


def test_files_and_folders_are_private(tmp_path: Path) -> None:
    Disk().make_folder(tmp_path / "a" / "b")
    Disk().write_new(tmp_path / "a" / "b" / "c", b"")
    Disk().append(tmp_path / "a" / "log", b"x", durable=False)
    modes = [
        oct(path.stat().st_mode & 0o777)
        for path in (tmp_path / "a", tmp_path / "a" / "b" / "c", tmp_path / "a" / "log")
    ]
    assert modes == ["0o700", "0o600", "0o600"]


# -- The lock


def test_the_lock_is_reentrant_and_is_released(tmp_path: Path) -> None:
    lock = FileLock(tmp_path / "lock", 5)
    with lock.hold(), lock.hold():
        pass
    with pytest.raises(ZeroDivisionError), lock.hold():
        raise ZeroDivisionError
    with FileLock(tmp_path / "lock", 0).hold():
        pass


def test_two_threads_take_turns(tmp_path: Path) -> None:
    lock, inside, most = FileLock(tmp_path / "lock", 30), [], []

    def work() -> None:
        for _ in range(25):
            with lock.hold():
                inside.append(1)
                most.append(len(inside))
                inside.pop()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1] * 100


@pytest.mark.parametrize("timeout", [0, 0.05])
def test_a_thread_does_not_wait_for_ever(tmp_path: Path, timeout: float) -> None:
    lock, refused = FileLock(tmp_path / "lock", timeout), []

    def attempt() -> None:
        with pytest.raises(VaultBusy, match="another thread"), lock.hold():
            pass
        refused.append(True)

    with lock.hold():
        thread = threading.Thread(target=attempt)
        thread.start()
        thread.join(20)
    assert refused == [True]


HOLDER = """
import sys
from pathlib import Path
from muisti.storage.files.lock import FileLock
with FileLock(Path(sys.argv[1]), 5).hold():
    print("held", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def holder(tmp_path: Path):
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path / "lock")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_another_process_is_named(tmp_path: Path, holder: subprocess.Popen[str]) -> None:
    with (
        pytest.raises(VaultBusy, match=f"process {holder.pid} has been writing") as raised,
        FileLock(tmp_path / "lock", 0.05).hold(),
    ):
        pass
    assert "0.05 s" in str(raised.value)
    assert "try again" in str(raised.value)


def test_a_process_that_lets_go_or_dies_leaves_no_lock(
    tmp_path: Path, holder: subprocess.Popen[str]
) -> None:
    holder.kill()
    holder.wait()
    with FileLock(tmp_path / "lock", 5).hold():
        pass


def test_a_lock_file_that_is_deleted_protects_again_from_the_next_holder_on(
    tmp_path: Path, holder: subprocess.Popen[str]
) -> None:
    (tmp_path / "lock").unlink()
    first = FileLock(tmp_path / "lock", 5)
    with first.hold():
        assert (tmp_path / "lock").exists()
        with (
            pytest.raises(VaultBusy, match=f"process {os.getpid()} "),
            FileLock(tmp_path / "lock", 0).hold(),
        ):
            pass


def test_whoever_waits_for_a_deleted_file_locks_the_one_that_is_there(tmp_path: Path) -> None:
    path, entered = tmp_path / "lock", threading.Event()
    first, second = FileLock(path, 5), FileLock(path, 20)

    def wait() -> None:
        with second.hold():
            assert path.exists()
            with pytest.raises(VaultBusy), FileLock(path, 0).hold():
                pass
            entered.set()

    with first.hold():
        thread = threading.Thread(target=wait)
        thread.start()
        path.unlink()
    thread.join(30)
    assert entered.is_set()
