"""The vault: a folder of Markdown files that a person can read, edit and put in git."""

from __future__ import annotations

import hashlib
import os
import re
import stat
import threading
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from muisti.errors import BrokenFile, Conflict, InvalidMemory, MemoryNotFound, VaultNotFound
from muisti.model import Memory
from muisti.ports import Clock
from muisti.remember.identity import make_id
from muisti.settings import RESERVED_FOLDERS, SETTINGS_FILE, Settings
from muisti.storage.files import frontmatter
from muisti.storage.files.atomic_write import AtomicWriter, NewFile
from muisti.storage.files.disk import Disk, ReadOnlyDisk, disk_errors, escape_path
from muisti.storage.files.file_names import make_file_name
from muisti.storage.files.lock import FileLock
from muisti.storage.files.memory_codec import (
    TRASH,
    TYPED,
    PathInfo,
    check_conflict_markers,
    find_changed_fields,
    format_fields,
    make_restored_path,
    make_trash_path,
    parse_memory,
)
from muisti.storage.files.safe_read import read_bytes
from muisti.storage.files.timestamps import make_file_stat, read_mtime
from muisti.storage.sync_state import FileStat, SeenFile, StoredFile
from muisti.text.redact import redact_text


class LoadedFile(NamedTuple):
    """The bytes of a file, and what was seen of it when they were read."""

    path: str
    data: bytes
    seen: SeenFile
    changed_at: datetime


class FileVault:
    """Memories as Markdown files below one folder."""

    def __init__(
        self, root: Path, settings: Settings, clock: Clock, disk: Disk | None = None
    ) -> None:
        self.root = root
        self._settings = settings
        self._clock = clock
        self._disk = disk or Disk()
        self._work = root / ".muisti" / "tmp"
        self._writer = AtomicWriter(root, self._work, self._disk)
        self._lock = FileLock(root / ".muisti" / "lock", settings.lock_timeout)

    @contextmanager
    def lock(self, timeout: float | None = None) -> Iterator[None]:
        """Hold the vault for writing. Raises VaultBusy, and VaultNotFound if the folder is gone or another is in its place."""
        if not (self.root / SETTINGS_FILE).exists() and not (self.root / ".muisti").exists():
            raise VaultNotFound(
                f"{self.root}: the vault is gone; is its disk mounted? Nothing was changed"
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
        """Write new files; several at once become visible together, even if the process dies on the way."""
        planned: list[NewFile] = []
        taken: set[str] = set()
        for memory in memories:
            path = self._free_path(make_file_name(memory, self._settings), memory.id, taken)
            taken.add(path)
            text = frontmatter.compose(format_fields(memory), memory.content, numbers=TYPED)
            planned.append((path, _readable(text, memory)))
        self._writer.create(planned)
        return [
            self._stored(replace(memory, file_path=path), data)
            for memory, (path, data) in zip(memories, planned, strict=True)
        ]

    def rewrite(self, memory: Memory, expected_sha: str) -> StoredFile:
        """Replace a file's known fields and body; move it if its kind or project changed."""
        path = require_path(memory)
        data = read_bytes(self.root, path, self._settings)[0]
        if hashlib.sha256(data).hexdigest() != expected_sha:
            raise Conflict(
                f"{path} was changed by somebody else; read the memory again and repeat the change"
            )
        document = frontmatter.parse(data.decode())
        changes = find_changed_fields(document, memory, self._settings)
        body = (
            memory.content if memory.content != redact_text(document.body, self._settings) else None
        )
        text = frontmatter.edit(document, changes, body, numbers=TYPED)
        written = _readable(text, memory)
        if not _says(text, {**document.values, **changes}):
            raise BrokenFile(
                path,
                "has front matter that cannot be changed safely: write it more simply, as `key: value` lines",
            )
        self._writer.replace(path, written)
        moved = self._moved_to_its_folder(path, memory, changes)
        return self._stored(replace(memory, file_path=moved), written)

    def _moved_to_its_folder(
        self, path: str, memory: Memory, changes: dict[str, frontmatter.Value | None]
    ) -> str:
        if not {"kind", "category", "project"} & set(changes) or path.startswith(f"{TRASH}/"):
            return path
        target = make_file_name(memory, self._settings)
        if Path(target).parent == Path(path).parent:
            return path
        return self._move(
            path,
            self._free_path(
                f"{Path(target).parent.as_posix()}/{Path(path).name}", memory.id, set()
            ),
        )

    def trash(self, path: str, at: datetime) -> str:
        """One rename: the new name tells where the file was and when it went."""
        while os.path.lexists(self.root / make_trash_path(path, at)):
            at += timedelta(microseconds=1)  # the clock stood still or was set back
        return self._move(path, make_trash_path(path, at))

    def restore(self, path: str) -> str:
        """Back to where it was, or beside what has taken its place since."""
        return self._move(path, self._free_path(make_restored_path(path), uuid.uuid4().hex, set()))

    def _move(self, path: str, target: str) -> str:
        source, final = (self.root / path), (self.root / target)
        with disk_errors(path):
            self._disk.make_folder(final.parent)
            self._disk.move(source, final)
            self._disk.sync_folder(final.parent)
            if source.parent != final.parent:
                self._disk.sync_folder(source.parent)
        return target

    def erase(self, path: str) -> None:
        """Remove a file for good; that it is gone already is fine."""
        with disk_errors(path), suppress(FileNotFoundError):
            self._disk.remove(self.root / path)
            self._disk.sync_folder((self.root / path).parent)

    # -- Reading

    def load(self, path: str) -> LoadedFile:
        """Read a file's bytes. Raises BrokenFile."""
        seen_ns = time.time_ns()
        data, status = read_bytes(self.root, path, self._settings)
        seen = SeenFile(make_file_stat(status), seen_ns, hashlib.sha256(data).hexdigest(), None)
        return LoadedFile(path, data, seen, read_mtime(status))

    def parse(self, file: LoadedFile, *, adopt: bool = False) -> StoredFile | None:
        """Return the memory of a file; None if it is none. A new file in a kind's folder is given an id, written into it
        if `adopt` is set. Raises BrokenFile.
        """
        path, data = file.path, file.data
        try:
            if not self.is_memory_folder(path) and not has_memory_id(data[:4096]):
                return None  # somebody's README, or a page of another program
            text = data.decode("utf-8")
            check_conflict_markers(text)
            document = frontmatter.parse(text)
            memory = parse_memory(path, document, self._settings, file.changed_at)
        except UnicodeDecodeError as error:
            raise BrokenFile(
                path, f"is not UTF-8 text (byte {error.start}): save it as UTF-8"
            ) from error
        except (
            frontmatter.BadFrontMatter
        ) as error:  # which quotes the file: not what is private in it
            raise BrokenFile(path, redact_text(str(error), self._settings)) from error
        if not memory.id and adopt:
            memory = _identified(memory, make_id(self._clock.now()))
            text = frontmatter.edit(
                document, find_changed_fields(document, memory, self._settings), numbers=TYPED
            )
            self._writer.replace(path, text.encode())
            return self._stored(memory, text.encode())
        if not memory.id:
            memory = _identified(memory, str(uuid.uuid5(uuid.NAMESPACE_URL, path)))
        return StoredFile(memory, file.seen._replace(memory_id=memory.id))

    def read(self, path: str) -> StoredFile | None:
        """Read one file; None if it is no memory. Raises BrokenFile."""
        return self.parse(self.load(path))

    def stat(self, path: str) -> FileStat | None:
        """Return what the file system says of a file or link; None if there is none, or it is a folder."""
        try:
            status = (self.root / path).lstat()
        except OSError:
            return None
        return None if stat.S_ISDIR(status.st_mode) else make_file_stat(status)

    def is_memory_folder(self, path: str) -> bool:
        """Return whether a path lies in a kind's folder, where every Markdown file is a memory."""
        return bool(PathInfo.of(path, self._settings).kind)

    def scan(self, folder: str = "") -> Iterator[tuple[str, FileStat]]:
        """Yield every Markdown file that may be a memory, of all or below a folder, trash included."""
        steps = folder.split("/") if folder else []
        if not all(_may_hold_memories(name, top=depth == 0) for depth, name in enumerate(steps)):
            return
        with disk_errors(self.root):
            yield from _scan_folder((self.root / folder), f"{folder}/" if folder else "")

    def follow_move(self, file: StoredFile, old_path: str) -> StoredFile:
        """Let the front matter follow the folder, if it said what the old folder said."""
        memory = file.memory
        before, after = (
            PathInfo.of(old_path, self._settings),
            PathInfo.of(require_path(memory), self._settings),
        )
        kind = after.kind if after.kind and memory.kind == before.kind else memory.kind
        project = after.project if memory.project == before.project else memory.project
        if (kind, project) == (memory.kind, memory.project):
            return file
        data = read_bytes(self.root, require_path(memory), self._settings)[0]
        document = frontmatter.parse(data.decode())
        moved = replace(memory, kind=kind, project=project)
        text = frontmatter.edit(
            document, find_changed_fields(document, moved, self._settings), numbers=TYPED
        )
        self._writer.replace(require_path(memory), text.encode())
        return self._stored(moved, text.encode())

    def has_incomplete_writes(self) -> bool:
        """Whether there are temporary files."""
        return self._writer.has_incomplete_writes()

    def recover(self) -> None:
        """Finish or undo what a crashed process left half done."""
        self._writer.recover()

    # -- Small things

    def _free_path(self, wanted: str, memory_id: str, taken: set[str]) -> str:
        stem = wanted.removesuffix(".md")
        candidates = [
            f"{stem}{suffix}.md"
            for suffix in ("", *(f"_{n}" for n in range(2, 6)), f"_{memory_id[-12:]}")
        ]
        for path in candidates:
            if path not in taken and not os.path.lexists(self.root / path):
                return path
        return f"{stem}_{uuid.uuid4().hex}.md"

    def _stored(self, memory: Memory, data: bytes) -> StoredFile:
        seen = time.time_ns()
        with disk_errors(require_path(memory)):
            status = (self.root / require_path(memory)).stat(follow_symlinks=False)
        return StoredFile(
            memory,
            SeenFile(make_file_stat(status), seen, hashlib.sha256(data).hexdigest(), memory.id),
        )


def _scan_folder(folder: Path | str, prefix: str) -> Iterator[tuple[str, FileStat]]:
    folders = []
    try:
        with os.scandir(folder) as listing:
            entries = list(listing)
    except FileNotFoundError:
        if not prefix:
            raise
        return  # removed while we walked
    if prefix and any(entry.name == SETTINGS_FILE for entry in entries):
        return  # a vault of its own
    for entry in entries:
        name = entry.name
        if entry.is_dir(follow_symlinks=False):
            if _may_hold_memories(name, top=not prefix):
                folders.append((entry.path, f"{prefix}{name}/"))
        elif name.endswith(".md") and name[0] != ".":
            with suppress(FileNotFoundError):
                yield escape_path(prefix + name), make_file_stat(entry.stat(follow_symlinks=False))
    for path, below in folders:
        yield from _scan_folder(path, below)


def _may_hold_memories(name: str, *, top: bool) -> bool:
    """Whether a folder may hold memories."""
    if top:
        return name == TRASH or (name[0] != "." and name not in _NOT_MEMORIES)
    return name[0] != "." and name != "node_modules"


_NOT_MEMORIES = RESERVED_FOLDERS - {"projects"} | {"node_modules"}
_OUR_ID = re.compile(
    rb"^id: *[\"']?[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", re.MULTILINE
)


def has_memory_id(head: bytes) -> bool:
    """Whether a file begins with front matter that has an id of ours: a page may show such lines as an example further down."""
    text = head.removeprefix(b"\xef\xbb\xbf")
    return text.startswith(b"---") and bool(
        _OUR_ID.search(text, 3, max(text.find(b"\n---", 3), text.find(b"\n...", 3)))
    )


class ReadOnlyVault(FileVault):
    """A vault that this process may read but not write."""

    def __init__(
        self, root: Path, settings: Settings, clock: Clock, disk: Disk | None = None
    ) -> None:
        super().__init__(root, settings, clock, ReadOnlyDisk(root))
        self._thread = threading.RLock()

    @contextmanager
    def lock(self, timeout: float | None = None) -> Iterator[None]:
        """Nobody else is concerned: the index is a private copy."""
        with self._thread:
            yield

    def parse(self, file: LoadedFile, *, adopt: bool = False) -> StoredFile | None:
        """Return the memory of a file; nothing is written into it."""
        return super().parse(file)

    def follow_move(self, file: StoredFile, old_path: str) -> StoredFile:
        """The file stays as it is."""
        return file

    def has_incomplete_writes(self) -> bool:
        """Whatever there is, it is for somebody who can write."""
        return False

    def recover(self) -> None:
        """Nothing can be recovered here."""


def _identified(memory: Memory, memory_id: str) -> Memory:
    return replace(
        memory, id=memory_id, links=tuple(replace(link, source=memory_id) for link in memory.links)
    )


def _readable(text: str, memory: Memory) -> bytes:
    """The bytes of a file that will be understood when it is read. Raises InvalidMemory."""
    head = len(text) - len(memory.content)
    if head > frontmatter.MAX_HEAD:
        name = max(
            ("summary", "keywords", "files"), key=lambda name: len(repr(getattr(memory, name)))
        )
        raise InvalidMemory(
            name,
            f"{head} characters",
            f"what is said about a memory may have {frontmatter.MAX_HEAD} in all: shorten it",
        )
    return text.encode()


def _says(text: str, values: Mapping[str, frontmatter.Value | None]) -> bool:
    """Whether a file would be read as it is meant: people's YAML knows more forms than anybody has tried."""
    try:
        found = frontmatter.parse(text).values
    except frontmatter.BadFrontMatter:
        return False
    return {k: v for k, v in found.items() if v is not None} == {
        k: v for k, v in values.items() if v is not None
    }


def require_path(memory: Memory) -> str:
    """Return the path of a memory's file. Raises MemoryNotFound if it has none."""
    if memory.file_path is None:
        raise MemoryNotFound(memory.id)
    return memory.file_path
