"""Write planned changes: back up each file, then replace it atomically."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from muisti.filesystem import create_file, sync_folder
from muisti.surfaces.setup import install_record
from muisti.surfaces.setup.errors import ConfigurationProblem
from muisti.surfaces.setup.plan import Change, read_file

SUFFIX = ".muisti-backup"


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """One file that was written or removed."""

    path: Path
    backup: Path | None
    """The copy of the previous content."""


def apply(changes: Sequence[Change]) -> list[WrittenFile]:
    """Apply the changes and return the written files.

    Raises ConfigurationProblem, which names the files that were already written.
    """
    wanted = [change for change in changes if change.state != "same"]
    for change in wanted:
        _check_unchanged(change)
    done: list[WrittenFile] = []
    for change in wanted:
        try:
            done.append(_apply_change(change))
        except OSError as error:
            reason = f"cannot be written ({error.strerror or error}); it was not changed"
            if done:
                names = ", ".join(str(one.path) for one in done)
                reason += f". Already written: {names}; run the command again to finish"
            raise ConfigurationProblem(change.path, reason) from error
    return done


def _apply_change(change: Change) -> WrittenFile:
    # A file that is removed was created by muisti and holds nothing else: it needs no backup.
    backup = (
        None
        if change.old is None or change.new is None
        else _make_backup(change.target, change.old)
    )
    try:
        if change.new is None:
            _check_unchanged(change)
            change.target.unlink()
            for folder in change.before.folders if change.before else ():
                with suppress(OSError):  # it is not empty
                    os.rmdir(folder)
        else:
            _write(change, change.new)
    except BaseException:
        if backup is not None:
            backup.unlink(missing_ok=True)
        raise
    install_record.save_original_state(change.target, None if change.leaving else change.before)
    return WrittenFile(change.path, backup)


def _check_unchanged(change: Change) -> None:
    """Raises ConfigurationProblem if the file differs from what the plan was made from."""
    target, content = read_file(change.path)
    if target != change.target or content != change.old:
        raise ConfigurationProblem(
            change.path, "changed in the meantime, perhaps by the agent itself; try again"
        )


def _make_backup(target: Path, content: bytes) -> Path:
    """Copy the file to a new name beside it. Raises OSError."""
    mode = target.stat().st_mode & 0o777
    number = 1
    while True:
        backup = target.with_name(f"{target.name}{SUFFIX}{'' if number == 1 else f'-{number}'}")
        try:
            fd = create_file(backup, mode)
        except FileExistsError:
            number += 1
            continue
        _write_and_sync(fd, backup, content, mode)
        return backup


def _write(change: Change, content: bytes) -> None:
    """Replace the file atomically, with its permissions. Raises OSError, ConfigurationProblem."""
    target = change.target
    target.parent.mkdir(parents=True, exist_ok=True)
    old_stat = target.stat() if change.old is not None else None
    if old_stat is not None and not (old_stat.st_mode & 0o222 and os.access(target, os.W_OK)):
        raise PermissionError(13, "it is write-protected")
    temporary = target.with_name(f".{target.name}.muisti-{os.getpid()}")
    fd = create_file(temporary, 0o600 if old_stat or change.private else 0o666)
    try:
        _write_and_sync(
            fd, temporary, content, None if old_stat is None else old_stat.st_mode & 0o777
        )
        if old_stat is not None and hasattr(os, "chown"):
            with suppress(OSError):  # only root may change the owner
                os.chown(temporary, old_stat.st_uid, old_stat.st_gid)
        _check_unchanged(change)
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    with suppress(OSError):  # a folder cannot be synced everywhere
        sync_folder(target.parent)


def _write_and_sync(fd: int, path: Path, content: bytes, mode: int | None) -> None:
    with os.fdopen(fd, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    if mode is not None:
        os.chmod(path, mode)
