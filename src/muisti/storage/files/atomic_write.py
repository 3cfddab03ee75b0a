"""Atomic writes: a temporary file is written and synced, then gets its name in one step."""

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
"""A path relative to the vault, and the bytes to write there."""


class AtomicWriter:
    """Writes whole files. After a crash, `recover` finishes or removes what is half written."""

    def __init__(self, root: Path, work: Path, disk: Disk) -> None:
        self._root = root
        self._work = work
        self._disk = disk

    def prepare(self) -> None:
        """Create the working folder, with a .gitignore for it and the index beside it."""
        if not self._work.is_dir():
            self._disk.make_folder(self._work)
            ignore = self._work.parent / ".gitignore"
            if not ignore.exists():
                with suppress(FileExistsError):
                    self._disk.write_unsynced(ignore, b"*\n")

    def create(self, planned: Sequence[NewFile]) -> None:
        """Create files, all or none. Never replaces a file that exists."""
        with disk_errors(self._root):
            for folder in self._list_folders([path for path, _ in planned]):
                self._disk.make_folder(folder)
            if len(planned) == 1:
                self._create_one(*planned[0])
            elif planned:
                self._create_all(planned)

    def replace(self, path: str, data: bytes) -> None:
        """Replace a file's bytes."""
        with disk_errors(path):
            temporary = self._make_name()
            self._disk.write_new(temporary, data)
            try:
                self._disk.replace(temporary, self._root / path)
            except BaseException:
                self._disk.discard(temporary)
                raise
            self._disk.sync_folder((self._root / path).parent)

    def has_incomplete_writes(self) -> bool:
        """Return whether there are temporary files."""
        with suppress(OSError), os.scandir(self._work) as entries:
            return next(entries, None) is not None
        return False

    def recover(self) -> None:
        """Finish complete batches of a crashed process, and remove its other temporary files."""
        with disk_errors(self._work):
            if not self._work.is_dir():
                return
            for left in list(self._work.iterdir()):
                if (left / _MANIFEST).is_file():
                    paths: list[str] = json.loads((left / _MANIFEST).read_bytes())
                    for number, path in enumerate(paths):
                        staged, final = left / f"{number}.md", self._root / path
                        is_published = staged.exists() and final.exists() and final.samefile(staged)
                        if final.exists() and not is_published:
                            # Another file took the name since: publish this one beside it.
                            stem = path.removesuffix(".md")
                            paths[number] = f"{stem}_{uuid.uuid4().hex[:12]}.md"
                    self._publish_all(left, paths)
                self._remove(left)

    def _create_one(self, path: str, data: bytes) -> None:
        temporary, final = self._make_name(), self._root / path
        self._disk.write_new(temporary, data)
        try:
            self._disk.publish(temporary, final)
        except BaseException:
            self._disk.discard(temporary)
            raise
        try:
            self._disk.sync_folder(final.parent)
        except BaseException:
            self._disk.discard(final)  # perhaps not durable, so it must not exist
            raise

    def _create_all(self, planned: Sequence[NewFile]) -> None:
        """Stage all files, then a manifest: from then on `recover` finishes the batch."""
        paths = [path for path, _ in planned]
        staging = self._make_name()
        staged = [staging / f"{number}.md" for number in range(len(planned))]
        self._disk.make_folder(staging)
        try:
            for file, (_, data) in zip(staged, planned, strict=True):
                self._disk.write_unsynced(file, data)
            for file in staged:
                self._disk.sync_file(file)
            self._disk.write_new(staging / "draft", json.dumps(paths).encode())
            self._disk.move(staging / "draft", staging / _MANIFEST)
            self._disk.sync_folder(staging)
            self._publish_all(staging, paths)
        except BaseException:
            self._disk.discard(staging / _MANIFEST)  # first, or `recover` would finish the batch
            for file, path in zip(staged, paths, strict=True):
                final = self._root / path
                with suppress(OSError):
                    if final.samefile(file):
                        self._disk.discard(final)
            self._remove(staging)
            raise
        self._remove(staging)

    def _publish_all(self, staging: Path, paths: Sequence[str]) -> None:
        """Link every staged file to its path. They stay, so that this can be repeated or undone."""
        for number, path in enumerate(paths):
            staged, final = staging / f"{number}.md", self._root / path
            if staged.exists() and not (final.exists() and final.samefile(staged)):
                self._disk.make_folder(final.parent)
                self._disk.publish(staged, final, keep=True)
        for folder in self._list_folders(paths):
            self._disk.sync_folder(folder)

    def _remove(self, left: Path) -> None:
        """Remove a temporary file, or a folder with its files, the manifest first."""
        if left.is_dir() and not left.is_symlink():
            for file in sorted(left.iterdir(), key=lambda file: file.name != _MANIFEST):
                self._disk.discard(file)
            with suppress(OSError):
                left.rmdir()
        else:
            self._disk.discard(left)

    def _list_folders(self, paths: Sequence[str]) -> list[Path]:
        return list(dict.fromkeys((self._root / path).parent for path in paths))

    def _make_name(self) -> Path:
        return self._work / uuid.uuid4().hex
