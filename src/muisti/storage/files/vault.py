"""The vault: a folder of Markdown files that people can read, edit and commit.

A search only looks whether files changed. The format of the files is slow to import, so the methods
that read or write a file import it.
"""

from __future__ import annotations

import errno
import os
import stat
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from muisti.errors import BrokenFile, Conflict, MemoryNotFound, VaultNotFound
from muisti.filesystem import Tree, UnsafeFile, fold_name, is_occupied
from muisti.settings import SETTINGS_FILE, Settings
from muisti.settings_tables import RESERVED_FOLDERS
from muisti.storage.files.atomic_write import AtomicWriter, NewFile
from muisti.storage.files.disk import Disk, ReadOnlyDisk, disk_errors, escape_path
from muisti.storage.files.errors import BadFrontMatter
from muisti.storage.files.lock import FileLock
from muisti.storage.files.memory_ids import has_memory_id
from muisti.storage.files.path_info import TRASH, PathInfo, make_restored_path, make_trash_path
from muisti.storage.files.safe_read import hash_bytes, read_bytes
from muisti.storage.files.timestamps import make_file_stat, read_mtime
from muisti.storage.sync_state import FileStat, SeenFile, StoredFile

if TYPE_CHECKING:
    from muisti.model import Memory
    from muisti.ports import Clock
    from muisti.storage.files.frontmatter import Value
    from muisti.storage.files.memory_codec import KnownValues


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
        self._settings_path = root / SETTINGS_FILE
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
        if not is_occupied(self._settings_path) and not (self.root / ".muisti").exists():
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

    def create(
        self, memories: Sequence[Memory], extra: Mapping[str, Mapping[str, Value]] | None = None
    ) -> list[StoredFile]:
        """Write new files, all or none, even if the process dies. Raises InvalidMemory.

        Extra: further front-matter keys, by the memory's ID.
        """
        if not memories:
            return []
        from muisti.storage.files.file_names import make_file_name
        from muisti.storage.files.frontmatter import compose
        from muisti.storage.files.memory_codec import TYPED, encode_file, format_fields

        new_files: list[NewFile] = []
        taken: set[str] = set()
        for memory in memories:
            path = self._find_free_path(make_file_name(memory, self._settings), memory.id, taken)
            taken.add(fold_name(path))
            fields = format_fields(memory)
            if extra and memory.id in extra:
                fields |= extra[memory.id]
            text = compose(fields, memory.content, numbers=TYPED)
            new_files.append((path, encode_file(text, memory)))
        created = self._writer.create(new_files)
        stored: list[StoredFile] = []
        for memory, (path, data), new in zip(memories, new_files, created, strict=True):
            sha = hash_bytes(data)
            seen = SeenFile(make_file_stat(new.status), new.published_ns, sha, memory.id)
            stored.append(StoredFile(replace(memory, file_path=path), seen))
        return stored

    def rewrite(self, memory: Memory, expected_sha: str) -> StoredFile:
        """Update a file's fields and body, and move it if its kind or project changed.

        Raises Conflict if the file is not the expected one, BrokenFile, InvalidMemory.
        """
        from muisti.storage.files.file_names import make_file_name
        from muisti.storage.files.frontmatter import parse
        from muisti.storage.files.memory_codec import edit_document

        path = require_path(memory)
        data = read_bytes(self.tree, path, self._settings)[0]
        if hash_bytes(data) != expected_sha:
            raise Conflict(
                f"{path} was changed in the meantime; read the memory again and repeat the change"
            )
        document = parse(data.decode())
        try:
            written, changes = edit_document(document, memory, self._settings)
        except BadFrontMatter as error:
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
        return self._move(path, self._find_free_path(wanted, os.urandom(16).hex(), set()))

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
        seen = SeenFile(make_file_stat(status), seen_ns, hash_bytes(data), None)
        return LoadedFile(path, data, seen, read_mtime(status))

    def parse(self, file: LoadedFile, *, adopt: bool = False) -> StoredFile | None:
        """Return the memory of a file; None if it is not a memory. Raises BrokenFile.

        A new file in a kind's folder gets an ID. Adopt: write it into the file; raises Conflict if
        that was changed or renamed meanwhile.
        """
        from muisti.storage.files.memory_codec import derive_memories
        from muisti.text.redact import redact_text

        path, data = file.path, file.data
        parts = split_file(file, self._settings)
        if parts is None:
            return None
        content = redact_text(parts.body, self._settings)
        fields = parts.parse(content, self._settings, self.known_values)
        [memory] = derive_memories([fields], self._settings)
        if not memory.id and adopt:
            from muisti.remember.identity import make_id

            memory = _set_id(memory, make_id(self._clock.now()))
            return self._write_fields(memory, data)
        if not memory.id:
            import uuid  # slow to import

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
        return self._write_fields(memory, data)

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
        return self.tree.find_listed_path(f"{stem}_{os.urandom(16).hex()}.md")

    def _write_fields(self, memory: Memory, before: bytes) -> StoredFile:
        """Write changed fields into a memory's file. The body stays. Raises Conflict."""
        from muisti.storage.files.frontmatter import edit, parse
        from muisti.storage.files.memory_codec import TYPED, find_changed_fields

        document = parse(before.decode())
        changes = find_changed_fields(document, memory, self._settings)
        data = edit(document, changes, numbers=TYPED).encode()
        self._writer.replace(require_path(memory), data, expected=before)
        return self._make_stored(memory, data)

    def _make_stored(self, memory: Memory, data: bytes) -> StoredFile:
        path = require_path(memory)
        seen_ns = time.time_ns()
        with disk_errors(path):
            status = self.tree.lstat(path)
            if status is None:
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        sha = hash_bytes(data)
        return StoredFile(memory, SeenFile(make_file_stat(status), seen_ns, sha, memory.id))


@contextmanager
def report_broken(path: str, settings: Settings) -> Iterator[None]:
    """Raise BrokenFile for what is wrong with the text of a file."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise BrokenFile(
            path, f"is not UTF-8 text (byte {error.start}): save it as UTF-8"
        ) from error
    except BadFrontMatter as error:
        # The message quotes the file, which may have private text.
        from muisti.text.redact import redact_text

        raise BrokenFile(path, redact_text(str(error), settings)) from error


class SplitFile(NamedTuple):
    """A file of a memory, split into front matter and body."""

    file: LoadedFile
    info: PathInfo
    values: dict[str, Value | None]
    body: str

    def parse(self, content: str, settings: Settings, known: KnownValues) -> dict[str, Any]:
        """Return the fields of the memory. Content: the redacted body. Raises BrokenFile."""
        from muisti.storage.files.memory_codec import parse_fields

        path, changed_at = self.file.path, self.file.changed_at
        with report_broken(path, settings):
            return parse_fields(path, self.values, content, settings, changed_at, self.info, known)


def split_file(file: LoadedFile, settings: Settings) -> SplitFile | None:
    """Split a file; None if it is not a memory. Raises BrokenFile."""
    from muisti.storage.files.frontmatter import read_values
    from muisti.storage.files.memory_codec import check_conflict_markers

    info = PathInfo.of(file.path, settings)
    if not info.kind and not has_memory_id(file.data[:4096]):
        return None  # a README, or a page of another program
    with report_broken(file.path, settings):
        text = file.data.decode("utf-8")
        check_conflict_markers(text)
        return SplitFile(file, info, *read_values(text))


def read_many(vault: FileVault, settings: Settings, paths: Sequence[str]) -> dict[str, StoredFile]:
    """Read files, faster than one by one. Those without a valid memory and ID are left out."""
    from muisti.storage.files.memory_codec import derive_memories
    from muisti.text.redact import redact_texts

    loaded: list[LoadedFile] = []
    for path in paths:
        with suppress(BrokenFile):
            loaded.append(vault.load(path))
    split: list[SplitFile] = []
    for file in loaded:
        with suppress(BrokenFile):
            parts = split_file(file, settings)
            if parts is not None:
                split.append(parts)
    contents = redact_texts([parts.body for parts in split], settings)
    complete: list[tuple[SeenFile, dict[str, Any]]] = []
    for parts, content in zip(split, contents, strict=True):
        with suppress(BrokenFile):
            fields = parts.parse(content, settings, vault.known_values)
            if fields["id"]:
                complete.append((parts.file.seen, fields))
    memories = derive_memories([fields for _, fields in complete], settings)
    return {
        str(memory.file_path): StoredFile(memory, seen._replace(memory_id=memory.id))
        for memory, (seen, _) in zip(memories, complete, strict=True)
    }


def compare_files(
    vault: FileVault, settled: Mapping[str, tuple[int, int, int]]
) -> tuple[list[str], dict[str, FileStat]]:
    """Scan all files: return the paths of those that have these stats, and the other files.

    Most files are unchanged, so they get no objects.
    """
    same: list[str] = []
    others: dict[str, FileStat] = {}
    with disk_errors(vault.root):
        for unchanged, files in compare_folder(vault.tree, "", settled):
            same += unchanged
            others.update(files)
    return same, others


def scan_folder(tree: Tree, folder: str) -> Iterator[tuple[str, FileStat]]:
    """Yield every Markdown file below a folder. Links are not followed."""
    for _, files in compare_folder(tree, folder, {}):
        yield from files


def compare_folder(
    tree: Tree, folder: str, settled: Mapping[str, tuple[int, int, int]]
) -> Iterator[tuple[list[str], list[tuple[str, FileStat]]]]:
    """Yield the Markdown files of a folder and of each below it, as `compare_files` does."""
    folders = []
    same = []
    files = []
    prefix = f"{folder}/" if folder else ""
    try:
        with tree.scan(folder) as entries:
            entries.reverse()
            while entries:
                entry = entries.pop()  # an entry keeps its status: thousands take megabytes
                name = entry.name
                is_folder = entry.is_dir(follow_symlinks=False)
                if not is_folder and name.endswith(".md") and name[0] != ".":
                    try:
                        status = entry.stat(follow_symlinks=False)
                    except FileNotFoundError:
                        continue  # removed meanwhile
                    path = prefix + name
                    if not path.isascii():
                        known = name if name.isascii() else tree.make_known_name(folder, name)
                        path = escape_path(prefix + known)
                    seen = settled.get(path)
                    if seen != (status.st_size, status.st_mtime_ns, status.st_ino):
                        now = make_file_stat(status)  # clamps a time that is out of range
                        if now != seen:
                            files.append((path, now))
                            continue
                    same.append(path)
                elif prefix and name == SETTINGS_FILE:
                    return  # a vault of its own
                elif is_folder and may_hold_memories(name, top=not prefix):
                    folders.append(prefix + tree.make_known_name(folder, name))
    except (FileNotFoundError, NotADirectoryError):
        if not prefix:
            raise
        return  # removed meanwhile
    except UnsafeFile:
        return  # replaced by a link, which `verify` reports
    yield same, files
    for below in folders:
        yield from compare_folder(tree, below, settled)


def may_hold_memories(name: str, *, top: bool) -> bool:
    """Return whether a folder may have memories. Top: it is directly in the vault."""
    if top:
        return name == TRASH or (name[0] != "." and name not in _NOT_MEMORIES)
    return name[0] != "." and name != "node_modules"


_NOT_MEMORIES = RESERVED_FOLDERS - {"projects"} | {"node_modules"}


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
