"""Atomic writes: a temporary file is written and synced, then gets its name in one step."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from muisti.storage.files.disk import Disk, disk_errors
from muisti.storage.files.guarded_replace import put_back, replace_unchanged
from muisti.storage.files.safe_read import hash_bytes

_MANIFEST = "manifest.json"
_MAX_MANIFEST = 64_000_000
_MAX_REPLACED = 512_000_000
_NOTE = ".replaces"

NewFile = tuple[str, bytes]
"""A path relative to the vault, and the bytes to write there."""


class Created(NamedTuple):
    """A file that was created."""

    status: os.stat_result
    published_ns: int
    """When it got its name: before, nobody else could change it."""


class AtomicWriter:
    """Writes whole files. After a crash, `recover` finishes or removes what is half written."""

    def __init__(self, root: Path, work: Path, disk: Disk) -> None:
        self._root = root
        self._work = work
        self._disk = disk.confine(root)
        self._tree = self._disk.tree(root)

    def prepare(self) -> None:
        """Create the working folder, with a .gitignore for it and the index beside it."""
        if not self._tree.is_folder(self._work):
            self._disk.make_folder(self._work)
            ignore = self._work.parent / ".gitignore"
            if not self._tree.exists(ignore):
                with suppress(FileExistsError):
                    self._disk.write_unsynced(ignore, b"*\n")

    def create(self, planned: Sequence[NewFile]) -> list[Created]:
        """Create files, all or none. Never replaces a file that exists."""
        with disk_errors(self._root):
            folders = self._list_folders([path for path, _ in planned])
            for folder in folders:
                self._disk.make_folder(folder)
            if len(planned) == 1:
                return [self._create_one(*planned[0])]
            with self._tree.folders.hold():
                return self._create_all(planned, folders) if planned else []

    def replace(self, path: str, data: bytes, expected: bytes | None = None) -> None:
        """Replace a file's bytes; if `expected` is given, only if it has those.

        Raises Conflict if it has others: an edit by a person wins.
        """
        final = self._root / path
        with disk_errors(path):
            temporary = self._make_name()
            self._disk.write_new(temporary, data)
            if expected is not None:
                self._replace_unchanged(temporary, path, data, expected)
            else:
                try:
                    self._disk.replace(temporary, final)
                except BaseException:
                    self._disk.discard(temporary)
                    raise
            self._disk.sync_folder(final.parent)

    def _replace_unchanged(self, temporary: Path, path: str, data: bytes, expected: bytes) -> None:
        """Replace a file, with a note beside the temporary file until it is done.

        If the process dies in between, the temporary file may be what a person wrote: from the note
        `recover` knows where it belongs.
        """
        note = temporary.with_name(f"{temporary.name}{_NOTE}")
        hashes = [hash_bytes(data), hash_bytes(expected)]
        try:
            self._disk.write_unsynced(note, json.dumps([path, *hashes]).encode())
        except BaseException:
            self._disk.discard(temporary)
            raise
        try:
            replace_unchanged(
                self._disk, temporary, self._root / path, expected=expected, data=data
            )
        finally:
            if not self._tree.exists(temporary):
                self._disk.discard(note)
            elif self._hash_file(temporary) in hashes:
                self._disk.discard(temporary)
                self._disk.discard(note)

    def has_incomplete_writes(self) -> bool:
        """Return whether there are temporary files."""
        return bool(self._tree.list_names(self._work))

    def recover(self) -> None:
        """Finish complete batches of a crashed process, and remove its other temporary files."""
        with disk_errors(self._work):
            for name in self._tree.list_files(self._work, _NOTE):
                self._recover_replaced(self._work / name)
            for name in self._tree.list_names(self._work):
                left = self._work / name
                if self._tree.is_file(left / _MANIFEST):
                    manifest, _ = self._tree.read(left / _MANIFEST, _MAX_MANIFEST)
                    paths: list[str] = json.loads(manifest)
                    for number, path in enumerate(paths):
                        staged, final = left / f"{number}.md", self._root / path
                        if self._tree.exists(final) and not self._is_same(staged, final):
                            # Another file took the name since: publish this one beside it.
                            stem = path.removesuffix(".md")
                            paths[number] = f"{stem}_{os.urandom(6).hex()}.md"
                    self._publish_rest(left, paths)
                self._remove(left)

    def _recover_replaced(self, note: Path) -> None:
        """Put back a file of a person that a killed process displaced."""
        temporary = note.with_name(note.name.removesuffix(_NOTE))
        try:
            path, written, expected = json.loads(self._tree.read(note, _MAX_MANIFEST)[0])
        except ValueError:
            return  # the note itself is incomplete: nothing was displaced yet
        final = self._root / path
        is_ours = self._hash_file(temporary) in (written, expected)
        if self._tree.exists(temporary) and not is_ours:
            is_written = self._hash_file(final) == written
            ours = self._tree.read(final, _MAX_REPLACED)[0] if is_written else b""
            put_back(self._disk, temporary, final, ours)
            self._disk.sync_folder(final.parent)

    def _create_one(self, path: str, data: bytes) -> Created:
        temporary, final = self._make_name(), self._root / path
        status = self._disk.write_new(temporary, data)
        created = Created(status, time.time_ns())
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
        return created

    def _create_all(self, planned: Sequence[NewFile], folders: Sequence[Path]) -> list[Created]:
        """Stage all files, then a manifest: from then on `recover` finishes the batch."""
        paths = [path for path, _ in planned]
        staging = self._make_name()
        data = {f"{number}.md": data for number, (_, data) in enumerate(planned)}
        finals = dict(zip(data, [self._root / path for path in paths], strict=True))
        self._disk.make_folder(staging)
        try:
            statuses = self._disk.write_all(staging, data)
            self._disk.write_new(staging / "draft", json.dumps(paths).encode())
            self._disk.move(staging / "draft", staging / _MANIFEST)
            self._disk.sync_folder(staging)
            published_ns = time.time_ns()
            self._disk.publish_all(staging, finals)
            for folder in folders:
                self._disk.sync_folder(folder)
        except BaseException:
            self._disk.discard(staging / _MANIFEST)  # first, or `recover` would finish the batch
            for name, final in finals.items():
                if self._is_same(staging / name, final):
                    self._disk.discard(final)
            self._remove(staging)
            raise
        self._remove(staging)
        return [Created(status, published_ns) for status in statuses]

    def _publish_rest(self, staging: Path, paths: Sequence[str]) -> None:
        """Link the staged files to their paths that are not yet. This can be repeated."""
        for number, path in enumerate(paths):
            staged, final = staging / f"{number}.md", self._root / path
            if self._tree.exists(staged) and not self._is_same(staged, final):
                self._disk.make_folder(final.parent)
                self._disk.publish(staged, final, keep=True)
        for folder in self._list_folders(paths):
            self._disk.sync_folder(folder)

    def _remove(self, left: Path) -> None:
        """Remove a temporary file, or a folder with its files, the manifest first."""
        if self._tree.is_folder(left):
            names = self._tree.list_names(left)
            names.sort(key=lambda name: name != _MANIFEST)
            self._disk.discard_all(left, names)
            with suppress(OSError):
                self._disk.remove_folder(left)
        else:
            self._disk.discard(left)

    def _is_same(self, one: Path, other: Path) -> bool:
        """Return whether two names are of the same file."""
        mine, theirs = self._tree.lstat(one), self._tree.lstat(other)
        return mine is not None and theirs is not None and os.path.samestat(mine, theirs)

    def _list_folders(self, paths: Sequence[str]) -> list[Path]:
        folders = dict.fromkeys(path.rpartition("/")[0] for path in paths)
        return [self._root / folder for folder in folders]

    def _hash_file(self, path: Path) -> str:
        """Return the hash of a regular file's bytes; "" for anything else."""
        with suppress(OSError):
            return hash_bytes(self._tree.read(path, _MAX_REPLACED)[0])
        return ""

    def _make_name(self) -> Path:
        return self._work / os.urandom(16).hex()
