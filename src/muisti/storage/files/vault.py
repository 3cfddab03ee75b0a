"""The vault: a folder of Markdown files that people can read, edit and commit."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import stat
import threading
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from muisti.errors import BrokenFile, Conflict, MemoryNotFound, VaultNotFound
from muisti.filesystem import Tree, UnsafeFile, fold_name, is_occupied
from muisti.model import Memory
from muisti.ports import Clock
from muisti.remember.identity import make_id
from muisti.settings import SETTINGS_FILE, Settings
from muisti.settings_tables import RESERVED_FOLDERS
from muisti.storage.files import frontmatter
from muisti.storage.files.atomic_write import AtomicWriter, NewFile
from muisti.storage.files.disk import Disk, ReadOnlyDisk, disk_errors, escape_path
from muisti.storage.files.file_names import make_file_name
from muisti.storage.files.lock import FileLock
from muisti.storage.files.memory_codec import (
    TRASH,
    TYPED,
    KnownValues,
    PathInfo,
    check_conflict_markers,
    derive_memories,
    edit_document,
    encode_file,
    find_changed_fields,
    format_fields,
    make_restored_path,
    make_trash_path,
    parse_fields,
)
from muisti.storage.files.safe_read import read_bytes
from muisti.storage.files.timestamps import make_file_stat, read_mtime
from muisti.storage.sync_state import FileStat, SeenFile, StoredFile
from muisti.text.redact import redact_text


class LoadedFile(NamedTuple):
    """The bytes of a file, and its state when they were read."""

    path: str
    data: bytes
    seen: SeenFile
    changed_at: datetime


class FileVault:
    """Memories as Markdown files in one folder and its subfolders."""

    def __init__(
        self, root: Path, settings: Settings, clock: Clock, disk: Disk | None = None
    ) -> None:
        self.root = root
        self._settings = settings
        self._clock = clock
        self._disk = (disk or Disk()).confine(root)
        self.tree = self._disk.tree(root)
        self.known_values: KnownValues = {}
        self._work = root / ".muisti" / "tmp"
        self._writer = AtomicWriter(root, self._work, self._disk)
        self._lock = FileLock(root / ".muisti" / "lock", settings.lock_timeout)

    @contextmanager
    def lock(self, timeout: float | None = None) -> Iterator[None]:
        """Hold the vault for writing. Raises VaultBusy, VaultReadOnly, VaultNotFound."""
        if not is_occupied(self.root / SETTINGS_FILE) and not (self.root / ".muisti").exists():
            raise VaultNotFound(
                f"{self.root}: the vault is gone; nothing was changed. Is its disk mounted?"
            )
        with disk_errors(self.root):
            self._writer.prepare()
            held = self._lock.hold(timeout)
            held.__enter__()
        try:
            yield
        finally:
            held.__exit__(None, None, None)

    # -- Writing

    def create(self, memories: Sequence[Memory]) -> list[StoredFile]:
        """Write new files, all or none, even if the process dies. Raises InvalidMemory."""
        new_files: list[NewFile] = []
        taken: set[str] = set()
        for memory in memories:
            path = self._find_free_path(make_file_name(memory, self._settings), memory.id, taken)
            taken.add(fold_name(path))
            text = frontmatter.compose(format_fields(memory), memory.content, numbers=TYPED)
            new_files.append((path, encode_file(text, memory)))
        self._writer.create(new_files)
        return [
            self._make_stored(replace(memory, file_path=path), data)
            for memory, (path, data) in zip(memories, new_files, strict=True)
        ]

    def rewrite(self, memory: Memory, expected_sha: str) -> StoredFile:
        """Update a file's fields and body, and move it if its kind or project changed.

        Raises Conflict if the file is not the expected one, BrokenFile, InvalidMemory.
        """
        path = require_path(memory)
        data = read_bytes(self.tree, path, self._settings)[0]
        if hashlib.sha256(data).hexdigest() != expected_sha:
            raise Conflict(
                f"{path} was changed in the meantime; read the memory again and repeat the change"
            )
        document = frontmatter.parse(data.decode())
        try:
            written, changes = edit_document(document, memory, self._settings)
        except frontmatter.BadFrontMatter as error:
            raise BrokenFile(path, str(error)) from error
        self._writer.replace(path, written, expected=data)
        if changes & {"kind", "category", "project"} and not path.startswith(f"{TRASH}/"):
            folder = Path(make_file_name(memory, self._settings)).parent
            if folder != Path(path).parent:
                wanted = f"{folder.as_posix()}/{Path(path).name}"
                path = self._move(path, self._find_free_path(wanted, memory.id, set()))
        return self._make_stored(replace(memory, file_path=path), written)

    def trash(self, path: str, at: datetime) -> str:
        """Move a file to the trash, and return its new path."""
        while self.tree.exists(make_trash_path(path, at)):
            at += timedelta(microseconds=1)  # the clock stood still or was set back
        return self._move(path, make_trash_path(path, at))

    def restore(self, path: str) -> str:
        """Move a file back to its old path, or beside it if that is taken. Return the new path."""
        wanted = make_restored_path(path)
        return self._move(path, self._find_free_path(wanted, uuid.uuid4().hex, set()))

    def _move(self, path: str, target: str) -> str:
        source, final = (self.root / path), (self.root / target)
        with disk_errors(path):
            self._disk.make_folder(final.parent)
            try:
                self._disk.move(source, final)
            except FileNotFoundError:
                if not self.root.is_dir():
                    raise
                raise Conflict(
                    f"{path} was renamed or deleted in the meantime; repeat the change"
                ) from None
            self._disk.sync_folder(final.parent)
            if source.parent != final.parent:
                self._disk.sync_folder(source.parent)
        return target

    def erase(self, path: str) -> None:
        """Delete a file permanently, if it exists."""
        with disk_errors(path), suppress(FileNotFoundError):
            self._disk.remove(self.root / path)
            self._disk.sync_folder((self.root / path).parent)

    # -- Reading

    def load(self, path: str) -> LoadedFile:
        """Read a file's bytes. Raises BrokenFile."""
        seen_ns = time.time_ns()
        data, status = read_bytes(self.tree, path, self._settings)
        seen = SeenFile(make_file_stat(status), seen_ns, hashlib.sha256(data).hexdigest(), None)
        return LoadedFile(path, data, seen, read_mtime(status))

    def parse(self, file: LoadedFile, *, adopt: bool = False) -> StoredFile | None:
        """Return the memory of a file; None if it is not a memory. Raises BrokenFile.

        A new file in a kind's folder gets an ID. Adopt: write it into the file; raises Conflict if
        that was changed or renamed meanwhile.
        """
        path, data = file.path, file.data
        fields = parse_file(file, self._settings, self.known_values)
        if fields is None:
            return None
        [memory] = derive_memories([fields])
        if not memory.id and adopt:
            memory = _set_id(memory, make_id(self._clock.now()))
            return self._write_fields(frontmatter.parse(data.decode()), memory, data)
        if not memory.id:
            memory = _set_id(memory, str(uuid.uuid5(uuid.NAMESPACE_URL, path)))
        return StoredFile(memory, file.seen._replace(memory_id=memory.id))

    def read(self, path: str) -> StoredFile | None:
        """Read one file; None if it is not a memory. Raises BrokenFile."""
        return self.parse(self.load(path))

    def stat(self, path: str) -> FileStat | None:
        """Return the stat of a file or link; None if it does not exist or is a folder."""
        try:
            status = self.tree.lstat(path)
        except OSError:
            return None
        if status is None or stat.S_ISDIR(status.st_mode):
            return None
        if self.tree.ignores_case and self.tree.find_listed_path(path) != path:
            return None  # it is listed under another name, which is a file of its own here
        return make_file_stat(status)

    def is_memory_folder(self, path: str) -> bool:
        """Return whether a path is in a kind's folder, where every Markdown file is a memory."""
        return bool(PathInfo.of(path, self._settings).kind)

    def scan(self, folder: str = "") -> Iterator[tuple[str, FileStat]]:
        """Yield every Markdown file that may be a memory, trash included, or those of a folder."""
        steps = folder.split("/") if folder else []
        if not all(may_hold_memories(name, top=depth == 0) for depth, name in enumerate(steps)):
            return
        with disk_errors(self.root):
            yield from scan_folder(self.tree, folder)

    def follow_move(self, file: StoredFile, old_path: str) -> StoredFile:
        """Update kind and project of a moved file, unless they differed from the old folder's."""
        before = PathInfo.of(old_path, self._settings)
        after = PathInfo.of(file.path, self._settings)
        memory = file.memory
        if after.kind and memory.kind == before.kind:
            memory = replace(memory, kind=after.kind)
        if memory.project == before.project:
            memory = replace(memory, project=after.project)
        if memory == file.memory:
            return file
        data = read_bytes(self.tree, file.path, self._settings)[0]
        return self._write_fields(frontmatter.parse(data.decode()), memory, data)

    def has_incomplete_writes(self) -> bool:
        """Return whether there are temporary files."""
        return self._writer.has_incomplete_writes()

    def recover(self) -> None:
        """Finish or undo incomplete writes of a crashed process."""
        self._writer.recover()

    # -- Shared by the above

    def _find_free_path(self, wanted: str, memory_id: str, taken: set[str]) -> str:
        """Return a path that neither exists nor is in `taken`: the wanted one, or with a suffix."""
        stem = wanted.removesuffix(".md")
        for suffix in ("", "_2", "_3", "_4", "_5", f"_{memory_id[-12:]}"):
            path = f"{stem}{suffix}.md"
            if fold_name(path) not in taken and not self.tree.exists(path):
                return self.tree.find_listed_path(path)
        return self.tree.find_listed_path(f"{stem}_{uuid.uuid4().hex}.md")

    def _write_fields(
        self, document: frontmatter.Document, memory: Memory, before: bytes
    ) -> StoredFile:
        """Write changed fields into a memory's file. The body stays. Raises Conflict."""
        changes = find_changed_fields(document, memory, self._settings)
        data = frontmatter.edit(document, changes, numbers=TYPED).encode()
        self._writer.replace(require_path(memory), data, expected=before)
        return self._make_stored(memory, data)

    def _make_stored(self, memory: Memory, data: bytes) -> StoredFile:
        path = require_path(memory)
        seen_ns = time.time_ns()
        with disk_errors(path):
            status = self.tree.lstat(path)
            if status is None:
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        sha = hashlib.sha256(data).hexdigest()
        return StoredFile(memory, SeenFile(make_file_stat(status), seen_ns, sha, memory.id))


def parse_file(file: LoadedFile, settings: Settings, known: KnownValues) -> dict[str, Any] | None:
    """Return the fields of a file's memory; None if it is not a memory. Raises BrokenFile."""
    path, data = file.path, file.data
    info = PathInfo.of(path, settings)
    try:
        if not info.kind and not has_memory_id(data[:4096]):
            return None  # a README, or a page of another program
        text = data.decode("utf-8")
        check_conflict_markers(text)
        values, body = frontmatter.read_values(text)
        return parse_fields(path, values, body, settings, file.changed_at, info, known)
    except UnicodeDecodeError as error:
        raise BrokenFile(
            path, f"is not UTF-8 text (byte {error.start}): save it as UTF-8"
        ) from error
    except frontmatter.BadFrontMatter as error:
        # The message quotes the file, which may have private text.
        raise BrokenFile(path, redact_text(str(error), settings)) from error


def read_many(vault: FileVault, settings: Settings, paths: Sequence[str]) -> dict[str, StoredFile]:
    """Read files, faster than one by one. Those without a valid memory and ID are left out."""
    loaded: list[LoadedFile] = []
    for path in paths:
        with suppress(BrokenFile):
            loaded.append(vault.load(path))
    complete: list[tuple[SeenFile, dict[str, Any]]] = []
    for file in loaded:
        with suppress(BrokenFile):
            fields = parse_file(file, settings, vault.known_values)
            if fields is not None and fields["id"]:
                complete.append((file.seen, fields))
    memories = derive_memories([fields for _, fields in complete])
    return {
        str(memory.file_path): StoredFile(memory, seen._replace(memory_id=memory.id))
        for memory, (seen, _) in zip(memories, complete, strict=True)
    }


def scan_folder(tree: Tree, folder: str) -> Iterator[tuple[str, FileStat]]:
    """Yield every Markdown file below a folder. Links are not followed."""
    folders = []
    files = []
    prefix = f"{folder}/" if folder else ""
    try:
        with tree.scan(folder) as entries:
            if prefix and any(entry.name == SETTINGS_FILE for entry in entries):
                return  # a vault of its own
            for entry in entries:
                name = entry.name
                if entry.is_dir(follow_symlinks=False):
                    if may_hold_memories(name, top=not prefix):
                        folders.append(prefix + tree.make_known_name(folder, name))
                elif name.endswith(".md") and name[0] != ".":
                    try:
                        status = entry.stat(follow_symlinks=False)
                    except FileNotFoundError:
                        continue  # removed meanwhile
                    path = prefix + name
                    if not path.isascii():
                        known = name if name.isascii() else tree.make_known_name(folder, name)
                        path = escape_path(prefix + known)
                    files.append((path, make_file_stat(status)))
    except (FileNotFoundError, NotADirectoryError):
        if not prefix:
            raise
        return  # removed meanwhile
    except UnsafeFile:
        return  # replaced by a link, which `verify` reports
    yield from files
    for below in folders:
        yield from scan_folder(tree, below)


def may_hold_memories(name: str, *, top: bool) -> bool:
    """Return whether a folder may have memories. Top: it is directly in the vault."""
    if top:
        return name == TRASH or (name[0] != "." and name not in _NOT_MEMORIES)
    return name[0] != "." and name != "node_modules"


_NOT_MEMORIES = RESERVED_FOLDERS - {"projects"} | {"node_modules"}
_MEMORY_ID = re.compile(
    rb"^id: *[\"']?([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\b", re.MULTILINE
)


def has_memory_id(head: bytes) -> bool:
    """Return whether a file starts with front matter that has an ID in muisti's format."""
    return read_memory_id(head) is not None


def read_memory_id(head: bytes) -> str | None:
    """Return the ID in the front matter at the start of a file, or None."""
    text = head.removeprefix(b"\xef\xbb\xbf")
    if not text.startswith(b"---"):
        return None
    end = max(text.find(b"\n---", 3), text.find(b"\n...", 3))
    found = _MEMORY_ID.search(text, 3, end)
    return found[1].decode() if found else None


class ReadOnlyVault(FileVault):
    """A vault that this process may read but not write."""

    def __init__(
        self, root: Path, settings: Settings, clock: Clock, disk: Disk | None = None
    ) -> None:
        super().__init__(root, settings, clock, disk or ReadOnlyDisk(root))
        self._thread = threading.RLock()

    @contextmanager
    def lock(self, timeout: float | None = None) -> Iterator[None]:
        """Hold a lock of this process only: the index is a private copy."""
        with self._thread:
            yield

    def parse(self, file: LoadedFile, *, adopt: bool = False) -> StoredFile | None:
        """Return the memory of a file, without writing an ID into it."""
        return super().parse(file)

    def follow_move(self, file: StoredFile, old_path: str) -> StoredFile:
        """Return the file unchanged."""
        return file

    def has_incomplete_writes(self) -> bool:
        """Return False: incomplete writes cannot be recovered here."""
        return False

    def recover(self) -> None:
        """Do nothing."""


def _set_id(memory: Memory, memory_id: str) -> Memory:
    links = tuple(replace(link, source=memory_id) for link in memory.links)
    return replace(memory, id=memory_id, links=links)


def require_path(memory: Memory) -> str:
    """Return the path of a memory's file. Raises MemoryNotFound if it has none."""
    if memory.file_path is None:
        raise MemoryNotFound(memory.id)
    return memory.file_path
