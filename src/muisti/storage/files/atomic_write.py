"""How files get into the vault: written aside, brought to the disk, then given their name in one step."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from muisti.storage.files.disk import Disk, disk_errors

_MANIFEST = "manifest.json"

NewFile = tuple[str, bytes]
"""A path below the vault, and the bytes that are to be there."""


class AtomicWriter:
    """Writes whole files. What a crash leaves in its working folder, `recover` finishes or sweeps."""

    def __init__(self, root: Path, work: Path, disk: Disk) -> None:
        self._root = root
        self._work = work
        self._disk = disk

    def prepare(self) -> None:
        """Make the working folder. Whatever the vault's own .gitignore says, what is beside the files is not for git."""
        if not self._work.is_dir():
            self._disk.make_folder(self._work)
            ignore = self._work.parent / ".gitignore"
            if not ignore.exists():
                with suppress(FileExistsError):
                    self._disk.write_unsynced(ignore, b"*\n")

    def create(self, planned: Sequence[NewFile]) -> None:
        """Make new files, all or none; never over a file that exists."""
        with disk_errors(self._root):
            for folder in self._folders([path for path, _ in planned]):
                self._disk.make_folder(folder)
            if len(planned) == 1:
                self._create_one(*planned[0])
            elif planned:
                self._create_all(planned)

    def replace(self, path: str, data: bytes) -> None:
        """Put other bytes in the place of a file."""
        with disk_errors(path):
            temporary = self._temporary()
            self._disk.write_new(temporary, data)
            try:
                self._disk.replace(temporary, self._root / path)
            except BaseException:
                self._disk.discard(temporary)
                raise
            self._disk.sync_folder((self._root / path).parent)

    def has_incomplete_writes(self) -> bool:
        """Whether there are temporary files."""
        with suppress(OSError), os.scandir(self._work) as entries:
            return next(entries, None) is not None
        return False

    def recover(self) -> None:
        """Carry complete batches to their end, and sweep what else a crashed process left."""
        with disk_errors(self._work):
            if not self._work.is_dir():
                return
            for left in list(self._work.iterdir()):
                if (left / _MANIFEST).is_file():
                    paths: list[str] = json.loads((left / _MANIFEST).read_bytes())
                    self._give_names(
                        left,
                        [
                            self._unless_taken(left / f"{n}.md", path)
                            for n, path in enumerate(paths)
                        ],
                    )
                self._sweep(left)

    def _create_one(self, path: str, data: bytes) -> None:
        temporary, final = self._temporary(), self._root / path
        self._disk.write_new(temporary, data)
        try:
            self._disk.publish(temporary, final)
        except BaseException:
            self._disk.discard(temporary)
            raise
        try:
            self._disk.sync_folder(final.parent)
        except BaseException:
            self._disk.discard(final)  # not known to be durable, so not acknowledged, so not there
            raise

    def _create_all(self, planned: Sequence[NewFile]) -> None:
        """Stage all files, then a manifest: from there on a crash does not undo the batch, its successor finishes it."""
        paths = [path for path, _ in planned]
        staging = self._temporary()
        self._disk.make_folder(staging)
        try:
            staged = [staging / f"{number}.md" for number in range(len(planned))]
            for file, (_, data) in zip(staged, planned, strict=True):
                self._disk.write_unsynced(file, data)
            for file in staged:
                self._disk.sync_file(file)
            self._disk.write_new(staging / "draft", json.dumps(paths).encode())
            self._disk.move(staging / "draft", staging / _MANIFEST)
            self._disk.sync_folder(staging)
            self._give_names(staging, paths)
        except BaseException:
            self._take_back(staging, paths)
            raise
        self._sweep(staging)

    def _give_names(self, staging: Path, paths: Sequence[str]) -> None:
        """Link every staged file to its place. Staged files stay until the end, so that this can be repeated or undone."""
        for number, path in enumerate(paths):
            staged, final = staging / f"{number}.md", self._root / path
            if staged.exists() and not (final.exists() and final.samefile(staged)):
                self._disk.make_folder(final.parent)
                self._disk.publish(staged, final, keep=True)
        for folder in self._folders(paths):
            self._disk.sync_folder(folder)

    def _take_back(self, staging: Path, paths: Sequence[str]) -> None:
        """Undo a batch that failed: the manifest first, or a successor would finish it."""
        self._disk.discard(staging / _MANIFEST)
        for number, path in enumerate(paths):
            staged, final = staging / f"{number}.md", self._root / path
            with suppress(OSError):
                if final.samefile(staged):
                    self._disk.discard(final)
        self._sweep(staging)

    def _unless_taken(self, staged: Path, path: str) -> str:
        """The path, or one beside it if somebody else has put a file there since."""
        final = self._root / path
        if not final.exists() or (staged.exists() and final.samefile(staged)):
            return path
        return f"{path.removesuffix('.md')}_{uuid.uuid4().hex[:12]}.md"

    def _sweep(self, left: Path) -> None:
        if left.is_dir() and not left.is_symlink():
            for file in sorted(left.iterdir(), key=lambda file: file.name != _MANIFEST):
                self._disk.discard(file)
            with suppress(OSError):
                left.rmdir()
        else:
            self._disk.discard(left)

    def _folders(self, paths: Sequence[str]) -> list[Path]:
        return list(dict.fromkeys((self._root / path).parent for path in paths))

    def _temporary(self) -> Path:
        return self._work / uuid.uuid4().hex
