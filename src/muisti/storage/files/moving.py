"""A vault in a folder that is copied to a store, or written from one."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from muisti.errors import VaultUnusable
from muisti.filesystem import Tree, UnsafeFile
from muisti.model import Exchange, Problem
from muisti.ports.moving import LINES, Line, ListedFile, Part, VaultFile
from muisti.settings import SETTINGS_FILE, Settings
from muisti.storage.files.atomic_write import AtomicWriter
from muisti.storage.files.core_memory import MAX_CORE_FILE
from muisti.storage.files.disk import Disk, disk_errors
from muisti.storage.files.init import create_vault
from muisti.storage.files.jsonl import TOO_LONG, read_lines
from muisti.storage.files.layout import OWN_FOLDERS, MarkdownLayout
from muisti.storage.files.memory_ids import read_memory_id
from muisti.storage.files.path_info import PathInfo
from muisti.storage.files.queue import FOLDER as QUEUE
from muisti.storage.files.queue import read_waiting
from muisti.storage.files.safe_read import MAX_FILE
from muisti.storage.files.timestamps import read_mtime
from muisti.storage.files.vault import may_hold_memories

BATCH = 500
"""Lines that are moved in one transaction."""
BATCH_BYTES = 4_000_000
_WORK = ".muisti"
_ID = f"{_WORK}/vault_id"
_PULLING = f"{_WORK}/pulling"
_MAY_EXIST = {SETTINGS_FILE, ".gitignore", ".gitattributes", ".git", _WORK}
"""What a folder may have before a vault is written into it."""


class FolderMover:
    """Implements the port VaultFolder."""

    def __init__(
        self, root: Path, settings: Settings, disk: Disk | None = None, *, writable: bool = True
    ) -> None:
        self.problems: list[Problem] = []
        self._root = root
        self._settings = settings
        self._disk = (disk or Disk()).confine(root)
        self._writable = writable
        self._tree = Tree(root)
        self._layout = MarkdownLayout(settings)
        self._writer = AtomicWriter(root, root / _WORK / "tmp", self._disk)

    # -- Reading

    def identify(self) -> str:
        """Return the ID of the vault, which is created if it has none."""
        with suppress(FileNotFoundError, ValueError, UnsafeFile):
            return str(uuid.UUID(self._tree.read(_ID, 100)[0].decode("ascii").strip()))
        if not self._writable:
            return str(uuid.uuid5(uuid.NAMESPACE_URL, self._root.as_uri()))
        new = str(uuid.uuid4())
        with disk_errors(self._root):
            self._writer.prepare()
        self._writer.replace(_ID, f"{new}\n".encode())
        return new

    def list_files(self) -> Iterator[ListedFile]:
        """Yield all files of the vault: whole files, then conversations, then the journal."""
        lines: list[ListedFile] = []
        with disk_errors(self._root):
            for file in self._walk(""):
                if file.part in LINES:
                    lines.append(file)
                else:
                    yield file
        lines.sort(key=lambda file: (file.part is Part.EVENTS, file.path))
        yield from lines

    def _walk(self, folder: str) -> Iterator[ListedFile]:
        """Yield the files below a folder. Links are not followed; `verify` reports them."""
        folders: list[str] = []
        files: list[ListedFile] = []
        prefix = f"{folder}/" if folder else ""
        is_own = folder.split("/", maxsplit=1)[0] in OWN_FOLDERS
        try:
            with self._tree.scan(folder) as entries:
                if prefix and any(entry.name == SETTINGS_FILE for entry in entries):
                    return  # a vault of its own
                for entry in sorted(entries, key=lambda entry: entry.name):
                    name = self._tree.make_known_name(folder, entry.name)
                    path = prefix + name
                    if entry.is_dir(follow_symlinks=False):
                        top = not prefix
                        is_wanted = is_own or (top and name in OWN_FOLDERS)
                        if is_wanted or may_hold_memories(name, top=top):
                            folders.append(path)
                    elif entry.is_file(follow_symlinks=False):
                        part = self._layout.classify(path)
                        if part is not None and self._has_valid_name(path):
                            status = entry.stat(follow_symlinks=False)
                            changed = max(status.st_mtime_ns, status.st_ctime_ns)
                            files.append(ListedFile(part, path, status.st_size, changed))
        except (FileNotFoundError, NotADirectoryError, UnsafeFile):
            if not prefix:
                raise
            return  # removed meanwhile, or replaced by a link
        yield from files
        for below in folders:
            yield from self._walk(below)

    def _has_valid_name(self, path: str) -> bool:
        try:
            path.encode()
        except UnicodeEncodeError:
            shown = os.fsencode(path).decode("utf-8", "backslashreplace")
            self.problems.append(Problem(shown, "has a name that is not UTF-8: rename it"))
            return False
        return True

    def read(self, file: ListedFile) -> VaultFile | None:
        """Return a file; None if it is gone, is not one of the vault's or cannot be read."""
        path = file.path
        limit = self._settings.max_content_bytes + MAX_FILE
        if not path.endswith(".md"):
            limit = max(limit, MAX_CORE_FILE)
        try:
            data, status = self._tree.read(path, limit)
        except FileNotFoundError:
            return None
        except UnsafeFile as error:
            self.problems.append(Problem(path, error.reason))
            return None
        except OSError as error:
            reason = f"cannot be read ({error.strerror}): check its permissions"
            self.problems.append(Problem(path, reason))
            return None
        is_own = (
            file.part is not Part.MEMORY
            or path.split("/")[0] in OWN_FOLDERS
            or PathInfo.of(path, self._settings).kind
            or read_memory_id(data[:4096])
        )
        return VaultFile(file.part, path, data, read_mtime(status)) if is_own else None

    def read_lines(self, file: ListedFile) -> Iterator[Sequence[Line]]:
        """Yield the complete lines of a file that it had when it was listed, in batches."""
        path = self._root / file.path
        offset = 0
        while True:
            with disk_errors(file.path):
                part = read_lines(self._tree, path, offset)
            for at in part.too_long:
                reason = f"the line at byte {at} was not copied: it {TOO_LONG}"
                self.problems.append(Problem(file.path, reason))
            batch: list[Line] = []
            size = 0
            place = part.start
            for text in part.data.split(b"\n")[:-1]:
                if place >= file.size:
                    break
                line = text + b"\n"
                batch.append((place, line))
                place += len(line)
                size += len(line)
                if len(batch) == BATCH or size >= BATCH_BYTES:
                    yield batch
                    batch, size = [], 0
            if batch:
                yield batch
            if part.is_complete or part.end >= file.size:
                if part.end < file.size:
                    self.problems.append(Problem(file.path, _TORN))
                return
            offset = part.end

    def exists(self, path: str) -> bool:
        """Return whether there is a file."""
        return self._tree.is_file(path)

    def read_queue(self) -> list[Exchange]:
        """Return the exchanges that wait for extraction."""
        return read_waiting(self._root / QUEUE)

    # -- Writing

    def begin(self, vault_id: str) -> bool:
        """Begin to write a vault, and return whether an earlier attempt is continued.

        Raises VaultUnusable if there is anything else in the folder.
        """
        if self._root.exists() and not self._root.is_dir():
            raise VaultUnusable(f"{self._root} is a file; choose a folder that does not exist yet")
        with suppress(FileNotFoundError, NotADirectoryError, UnsafeFile):
            found = self._tree.read(_PULLING, 100)[0].decode("ascii", "replace").strip()
            if found == vault_id:
                self._writer.recover()
                return True
            raise VaultUnusable(
                f"{self._root} has an incomplete copy of another vault; choose another folder"
            )
        others = set(self._tree.list_names()) - _MAY_EXIST if self._root.exists() else set()
        if others:
            raise VaultUnusable(
                f"{self._root} is not empty (it has {min(others)}), and nothing is overwritten; "
                "choose another folder"
            )
        with disk_errors(self._root):
            self._disk.make_folder(self._root)
            self._writer.prepare()
        self._writer.replace(_PULLING, f"{vault_id}\n".encode())
        return False

    def write(self, files: Sequence[VaultFile]) -> None:
        """Write files. Those that have these bytes already stay."""
        new = []
        for _, path, data, _ in files:
            if not self._is_own(path):
                continue
            known = self._tree.lstat(path)
            if known is None:
                new.append((path, data))
            elif known.st_size != len(data) or self._tree.read(path, len(data))[0] != data:
                self._writer.replace(path, data)
        self._writer.create(new)

    def _is_own(self, path: str) -> bool:
        """Return whether a path may be written. A store may have been written by anybody."""
        if self._layout.classify(path) is not None:
            return True
        self.problems.append(Problem(path, "was not written: it is not a path of a vault"))
        return False

    def write_lines(self, path: str, lines: Iterator[bytes]) -> None:
        """Write a file of lines."""
        if not self._is_own(path):
            return
        final = self._root / path
        temporary = self._root / _WORK / "tmp" / uuid.uuid4().hex
        with disk_errors(path):
            self._disk.make_folder(final.parent)
            self._disk.write_unsynced(temporary, b"")
            try:
                part: list[bytes] = []
                for line in lines:
                    part.append(line)
                    if len(part) == BATCH:
                        self._disk.append(temporary, b"".join(part), durable=False)
                        part = []
                self._disk.append(temporary, b"".join(part), durable=True)
                self._disk.replace(temporary, final)
            except BaseException:
                self._disk.discard(temporary)
                raise
            self._disk.sync_folder(final.parent)

    def write_queue(self, exchanges: Sequence[Exchange]) -> None:
        """Write exchanges that wait for extraction. The next process takes them over."""
        folder = self._root / QUEUE
        with disk_errors(folder):
            if exchanges:
                self._disk.make_folder(folder)
                data = b"".join(map(self._layout.format_exchange, exchanges))
                self._writer.replace(f"{QUEUE}/pulled.jsonl", data)
                self._writer.replace(f"{QUEUE}/.gitignore", b"*\n")

    def remove_others(self, known: Callable[[str], bool]) -> None:
        """Remove files of the vault that are not known: the store removed them meanwhile."""
        for file in list(self.list_files()):
            if not known(file.path):
                with disk_errors(file.path):
                    self._disk.remove(self._root / file.path)

    def finish(self, vault_id: str) -> None:
        """Make the folder a vault."""
        self._writer.replace(_ID, f"{vault_id}\n".encode())
        create_vault(self._root, self._disk)
        with disk_errors(self._root):
            self._disk.remove(self._root / _PULLING)


_TORN = "its last line is incomplete and was not copied; `muisti sync` repairs it"
