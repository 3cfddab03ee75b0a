"""Earlier versions and merged texts in `.history/ID/`, and archived files in `archive/`."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from muisti.errors import BrokenFile, Conflict
from muisti.filesystem import Tree, UnsafeFile
from muisti.storage.files.atomic_write import AtomicWriter
from muisti.storage.files.disk import Disk, disk_errors
from muisti.storage.files.errors import BadFrontMatter
from muisti.storage.files.path_info import ARCHIVE
from muisti.storage.files.safe_read import read_bytes
from muisti.storage.files.timestamps import read_mtime

if TYPE_CHECKING:
    from muisti.model import Memory
    from muisti.ports import StoredVersion
    from muisti.settings import Settings

HISTORY = ".history"
_MERGED = ".merged"
_STAMP = "%Y%m%dT%H%M%S%fZ"
_KEPT = re.compile(r"(?P<at>\d{8}T\d{12}Z)(?P<merged>\.merged)?\.md\Z")
_SAFE_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}\Z")


class FileVersions:
    """The folders `.history` and `archive`, which are not searched."""

    def __init__(self, root: Path, settings: Settings, disk: Disk | None = None) -> None:
        self._root = root
        self._settings = settings
        self._disk = (disk or Disk()).confine(root)
        self._tree = Tree(root)
        self._writer = AtomicWriter(root, root / ".muisti" / "tmp", self._disk)
        self._last_at: datetime | None = None
        self._next_at: dict[str, datetime] = {}
        """By memory: the next time that may be free, as a batch keeps many texts at `_last_at`."""

    # -- Versions and merged texts

    def keep_version(self, path: str, memory_id: str, at: datetime) -> str:
        """Copy a file to the versions, and return the copy's path.

        It is not a hard link, so that an editor that writes in place does not change the copy.
        """
        data, _ = read_bytes(self._tree, path, self._settings)
        version = self._find_free_path(memory_id, at, "")
        self._writer.create([(version, data)])
        return version

    def keep_merged(self, memory: Memory, into: str, at: datetime) -> None:
        """Store a merged text as the file that it would have been."""
        from muisti.storage.files.frontmatter import compose
        from muisti.storage.files.memory_codec import TYPED, format_fields

        text = compose(format_fields(memory), memory.content, numbers=TYPED)
        self._writer.create([(self._find_free_path(into, at, _MERGED), text.encode())])

    def versions(self, memory_id: str) -> list[StoredVersion]:
        """Return versions and merged texts, oldest first. Unreadable files are left out."""
        from muisti.ports import StoredVersion

        if not _SAFE_ID.match(memory_id):
            return []
        found = []
        for name in self._tree.list_names(f"{HISTORY}/{memory_id}"):
            stamped = _KEPT.match(name)
            if stamped is None:
                continue
            path = f"{HISTORY}/{memory_id}/{name}"
            with suppress(BrokenFile, ValueError):
                at = datetime.strptime(stamped["at"], _STAMP).replace(tzinfo=UTC)
                found.append(StoredVersion(path, at, self._read(path), bool(stamped["merged"])))
        return found

    def merged_ids(self) -> list[str]:
        """Return the IDs of memories with merged texts, the latest merge first. Reads no file."""
        latest: dict[str, str] = {}
        for memory_id in self._tree.list_names(HISTORY):
            names = self._tree.list_files(f"{HISTORY}/{memory_id}", f"{_MERGED}.md")
            if names:
                latest[memory_id] = max(names)
        return sorted(latest, key=lambda memory_id: (latest[memory_id], memory_id), reverse=True)

    def forget(self, memory_id: str) -> None:
        """Remove all versions and merged texts of a memory."""
        self._next_at.pop(memory_id, None)
        folder = self._root / HISTORY / memory_id
        if not _SAFE_ID.match(memory_id) or not self._tree.exists(folder):
            return
        with disk_errors(folder):
            with self._tree.scan(folder) as entries:  # raises for a link
                names = [entry.name for entry in entries]
            for name in names:
                self._disk.remove(folder / name)
            self._disk.sync_folder(folder)
            self._disk.remove_folder(folder)

    def drop(self, path: str) -> None:
        """Remove one file, if it exists."""
        self._next_at.clear()
        with disk_errors(path), suppress(FileNotFoundError):
            self._disk.remove(self._root / path)

    def _find_free_path(self, memory_id: str, at: datetime, mark: str) -> str:
        if at != self._last_at:
            self._last_at, self._next_at = at, {}
        at = self._next_at.get(memory_id, at)
        folder = self._root / HISTORY / memory_id
        names = [folder / f"{at:{_STAMP}}{taken}.md" for taken in ("", _MERGED)]
        while any(map(self._tree.exists, names)):
            at += timedelta(microseconds=1)  # the clock stood still or was set back
            names = [folder / f"{at:{_STAMP}}{taken}.md" for taken in ("", _MERGED)]
        self._next_at[memory_id] = at + timedelta(microseconds=1)
        return f"{HISTORY}/{memory_id}/{at:{_STAMP}}{mark}.md"

    # -- The archive

    def archive(self, files: Mapping[str, str]) -> None:
        """Move files to the archive. Each new name has the old path and the memory's ID."""
        folders: dict[Path, None] = {}
        for path, memory_id in files.items():
            target, number = make_archive_path(path, memory_id), 1
            while self._tree.exists(target):  # a copy was archived before
                number += 1
                target = make_archive_path(path, memory_id, f"~{number}")
            folders |= dict.fromkeys(self._rename(path, target))
        with disk_errors(ARCHIVE):
            for folder in folders:
                self._disk.sync_folder(folder)

    def is_archived(self, path: str, memory_id: str) -> bool:
        """Return whether the archive has the file under the name that it would get."""
        return self._tree.exists(make_archive_path(path, memory_id))

    def archived(self, limit: int | None = None, offset: int = 0) -> list[Memory]:
        """Return a page of the archive, by day and ID in the file names, the latest first."""
        paths = sorted(self._list_archive(), key=_make_sort_key, reverse=True)
        found = []
        for path in paths[offset : None if limit is None else offset + limit]:
            with suppress(BrokenFile):
                found.append(self._read(path))
        return found

    def _list_archive(self, folder: str = ARCHIVE) -> Iterator[str]:
        """Yield every Markdown file of the archive. Links are not followed."""
        folders: list[str] = []
        safe = suppress(FileNotFoundError, NotADirectoryError, UnsafeFile)
        with safe, self._tree.scan(folder) as entries:
            for entry in entries:
                name = self._tree.make_known_name(folder, entry.name)
                if entry.is_dir(follow_symlinks=False):
                    folders.append(f"{folder}/{name}")
                elif name.endswith(".md") and entry.is_file(follow_symlinks=False):
                    yield f"{folder}/{name}"
        for below in folders:
            yield from self._list_archive(below)

    def archived_memory(self, memory_id: str) -> Memory | None:
        """Return a memory of the archive, found by the ID in the file name. Raises BrokenFile."""
        path = self.archived_path(memory_id)
        found = None if path is None else self._read(path)
        return found if found is not None and found.id == memory_id else None

    def archived_ids(self) -> list[str]:
        """Return the IDs of archived memories, from the file names."""
        return [path.removesuffix(".md").rpartition(".")[2] for path in self._list_archive()]

    def archived_path(self, memory_id: str) -> str | None:
        """Return the path of a memory's archived file; of several, the last one archived."""
        if not _SAFE_ID.match(memory_id):
            return None
        same = [path for path in self._list_archive() if path.endswith(f".{memory_id}.md")]
        return max(same, key=self._read_change_time) if same else None

    def _read_change_time(self, path: str) -> int:
        status = self._tree.lstat(path)
        return 0 if status is None else status.st_ctime_ns

    def unarchive(self, path: str, memory_id: str) -> str:
        """Move a file back to its old path, or beside it if that is taken. Returns the new path."""
        stem = _COPY_NUMBER.sub(
            "", path.removeprefix(f"{ARCHIVE}/").removesuffix(f".{memory_id}.md")
        )
        beside = f"{stem}_{memory_id[-12:]}"
        names = itertools.chain(
            (f"{stem}.md", f"{beside}.md"),
            (f"{beside}_{number}.md" for number in itertools.count(2)),
        )
        free = next(name for name in names if not self._tree.exists(name))
        with disk_errors(path):
            for folder in self._rename(path, free):
                self._disk.sync_folder(folder)
        return free

    def _rename(self, path: str, target: str) -> tuple[Path, Path]:
        """Rename a file. Returns the folders to sync, the new one first."""
        source, final = self._root / path, self._root / target
        with disk_errors(path):
            self._disk.make_folder(final.parent)
            try:
                self._disk.move(source, final)
            except FileNotFoundError:
                raise Conflict(
                    f"{path} was renamed or deleted in the meantime; repeat the change"
                ) from None
        return final.parent, source.parent

    def _read(self, path: str) -> Memory:
        from muisti.storage.files.frontmatter import parse
        from muisti.storage.files.memory_codec import parse_memory

        try:
            data, status = read_bytes(self._tree, path, self._settings)
            document = parse(data.decode())
            return parse_memory(path, document, self._settings, read_mtime(status))
        except (UnicodeDecodeError, BadFrontMatter) as error:
            raise BrokenFile(path, f"cannot be read ({error})") from error


_COPY_NUMBER = re.compile(r"~\d+\Z")
_DAY = re.compile(r"\d{4}-\d\d-\d\d(?=_)")


def _make_sort_key(path: str) -> tuple[str, str, str]:
    """Sort by the day at the start of a file's name, then by the ID at its end."""
    name, _, memory_id = path.removesuffix(".md").rpartition("/")[2].rpartition(".")
    day = _DAY.match(name)
    return day[0] if day else "", memory_id, path


def make_archive_path(path: str, memory_id: str, copy_number: str = "") -> str:
    """Return the path of a file in the archive: its old path, with the memory's ID."""
    folder, _, name = path.removesuffix(".md").rpartition("/")
    end = f"{copy_number}.{memory_id}.md"
    # A file name may have at most 255 bytes.
    short = name.encode()[: 255 - len(end)].decode("utf-8", "ignore")
    return f"{ARCHIVE}/{folder}/{short}{end}".replace("//", "/")
