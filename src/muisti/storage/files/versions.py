"""What is out of the way but not gone: `.history/ID/` for earlier versions and merged texts, `archive/` for whole files."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from muisti.errors import BrokenFile
from muisti.model import Memory
from muisti.ports import StoredVersion
from muisti.settings import Settings
from muisti.storage.files import frontmatter
from muisti.storage.files.atomic_write import AtomicWriter
from muisti.storage.files.disk import Disk, disk_errors
from muisti.storage.files.memory_codec import TYPED, format_fields, parse_memory
from muisti.storage.files.timestamps import read_mtime

HISTORY = ".history"
ARCHIVE = "archive"
_MERGED = ".merged"
_STAMP = "%Y%m%dT%H%M%S%fZ"
_KEPT = re.compile(r"(?P<at>\d{8}T\d{12}Z)(?P<merged>\.merged)?\.md\Z")
_SAFE_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}\Z")


class FileVersions:
    """Folders beside the memories, which no search looks into."""

    def __init__(self, root: Path, settings: Settings, disk: Disk | None = None) -> None:
        self._root = root
        self._settings = settings
        self._disk = disk or Disk()
        self._writer = AtomicWriter(root, root / ".muisti" / "tmp", self._disk)
        self._moment: datetime | None = None
        self._following: dict[str, datetime] = {}
        """Of the latest moment, for each memory: where its next free name may be. A batch keeps thousands of texts at one."""

    # -- Versions and merged texts

    def keep_version(self, path: str, memory_id: str, at: datetime) -> str:
        """A copy, not a link: an editor that writes in place must not change what was."""
        with disk_errors(path):
            data = (self._root / path).read_bytes()
        kept = self._free(memory_id, at, "")
        self._writer.create([(kept, data)])
        return kept

    def keep_merged(self, memory: Memory, into: str, at: datetime) -> None:
        """The text as the file that it would have been."""
        text = frontmatter.compose(format_fields(memory), memory.content, numbers=TYPED)
        self._writer.create([(self._free(into, at, _MERGED), text.encode())])

    def versions(self, memory_id: str) -> list[StoredVersion]:
        """Oldest first. What cannot be read is left out."""
        if (
            not _SAFE_ID.match(memory_id)
            or not (folder := self._root / HISTORY / memory_id).is_dir()
        ):
            return []
        found = []
        for name in sorted(os.listdir(folder)):
            stamped = _KEPT.match(name)
            if stamped is None:
                continue
            path = f"{HISTORY}/{memory_id}/{name}"
            with suppress(BrokenFile, ValueError):
                at = datetime.strptime(stamped["at"], _STAMP).replace(tzinfo=UTC)
                found.append(StoredVersion(path, at, self._read(path), bool(stamped["merged"])))
        return found

    def merged_ids(self) -> list[str]:
        """Return the ids of memories that have merged texts, the latest merged first. Only names are looked at."""
        latest: dict[str, str] = {}
        with suppress(OSError), os.scandir(self._root / HISTORY) as folders:
            for folder in folders:
                if folder.is_dir(follow_symlinks=False):
                    names = [name for name in os.listdir(folder) if name.endswith(f"{_MERGED}.md")]
                    if names:
                        latest[folder.name] = max(names)
        return sorted(latest, key=lambda memory_id: (latest[memory_id], memory_id), reverse=True)

    def forget(self, memory_id: str) -> None:
        """Remove the memory's folder."""
        self._following.pop(memory_id, None)
        folder = self._root / HISTORY / memory_id
        if not _SAFE_ID.match(memory_id) or not folder.is_dir():
            return
        with disk_errors(folder):
            for name in os.listdir(folder):
                self._disk.remove(folder / name)
            self._disk.sync_folder(folder)
            folder.rmdir()

    def drop(self, path: str) -> None:
        """Remove one file; that it is gone already is fine."""
        self._following.clear()
        with disk_errors(path), suppress(FileNotFoundError):
            self._disk.remove(self._root / path)

    def _free(self, memory_id: str, at: datetime, mark: str) -> str:
        if at != self._moment:
            self._moment, self._following = at, {}
        at = self._following.get(memory_id, at)
        while any(
            (self._root / HISTORY / memory_id / f"{at:{_STAMP}}{m}.md").exists()
            for m in ("", _MERGED)
        ):
            at += timedelta(microseconds=1)  # the clock stood still or was set back
        self._following[memory_id] = at + timedelta(microseconds=1)
        return f"{HISTORY}/{memory_id}/{at:{_STAMP}}{mark}.md"

    # -- The archive

    def archive(self, files: Mapping[str, str]) -> None:
        """One rename each: the new name tells where the file was and whose it is."""
        folders: dict[Path, None] = {}
        for path, memory_id in files.items():
            target, number = _archived(path, memory_id), 1
            while os.path.lexists(self._root / target):  # it was copied back, and goes once more
                number += 1
                target = _archived(path, memory_id, f"~{number}")
            folders |= dict.fromkeys(self._renamed(path, target))
        with disk_errors(ARCHIVE):
            for folder in folders:
                self._disk.sync_folder(folder)

    def is_archived(self, path: str, memory_id: str) -> bool:
        """Whether it is there under the name that it would get."""
        return os.path.lexists(self._root / _archived(path, memory_id))

    def archived(self, limit: int | None = None, offset: int = 0) -> list[Memory]:
        """A page of the files, the latest day first and, within a day, the latest id: their names tell both."""
        paths = sorted(self._root.glob(f"{ARCHIVE}/**/*.md"), key=_latest, reverse=True)
        found = []
        for path in paths[offset : None if limit is None else offset + limit]:
            with suppress(BrokenFile):
                found.append(self._read(path.relative_to(self._root).as_posix()))
        return found

    def archived_memory(self, memory_id: str) -> Memory | None:
        """The memory of the file whose name ends with the id."""
        path = self.archived_path(memory_id)
        found = None if path is None else self._read(path)
        return found if found is not None and found.id == memory_id else None

    def archived_ids(self) -> list[str]:
        """As the names of the files end."""
        return [path.stem.rpartition(".")[2] for path in self._root.glob(f"{ARCHIVE}/**/*.md")]

    def archived_path(self, memory_id: str) -> str | None:
        """The file whose name ends with the id; if there are several, the one that went last."""
        if not _SAFE_ID.match(memory_id):
            return None
        found = max(
            self._root.glob(f"{ARCHIVE}/**/*.{memory_id}.md"),
            key=lambda path: path.lstat().st_ctime_ns,
            default=None,
        )
        return None if found is None else found.relative_to(self._root).as_posix()

    def unarchive(self, path: str, memory_id: str) -> str:
        """Back to where it was, or beside what has taken its place since."""
        stem = _AGAIN.sub("", path.removeprefix(f"{ARCHIVE}/").removesuffix(f".{memory_id}.md"))
        beside = f"{stem}_{memory_id[-12:]}"
        names = itertools.chain(
            (f"{stem}.md", f"{beside}.md"),
            (f"{beside}_{number}.md" for number in itertools.count(2)),
        )
        free = next(name for name in names if not os.path.lexists(self._root / name))
        self._move(path, free)
        return free

    def _move(self, path: str, target: str) -> None:
        with disk_errors(path):
            for folder in self._renamed(path, target):
                self._disk.sync_folder(folder)

    def _renamed(self, path: str, target: str) -> tuple[Path, Path]:
        """Give a file another name; answers the folders that have to be brought to the disk, the new one first."""
        source, final = self._root / path, self._root / target
        with disk_errors(path):
            self._disk.make_folder(final.parent)
            self._disk.move(source, final)
        return final.parent, source.parent

    def _read(self, path: str) -> Memory:
        try:
            data = (self._root / path).read_bytes()
            modified = read_mtime((self._root / path).stat())
            return parse_memory(path, frontmatter.parse(data.decode()), self._settings, modified)
        except (OSError, UnicodeDecodeError, frontmatter.BadFrontMatter) as error:
            raise BrokenFile(path, f"cannot be read ({error})") from error


_AGAIN = re.compile(r"~\d+\Z")
_DAY = re.compile(r"\d{4}-\d\d-\d\d(?=_)")


def _latest(path: Path) -> tuple[str, str, str]:
    """By the day that begins a file's name, and by the id that ends it, which ascends with time."""
    name, _, memory_id = path.stem.rpartition(".")
    day = _DAY.match(name)
    return day[0] if day else "", memory_id, path.as_posix()


def _archived(path: str, memory_id: str, again: str = "") -> str:
    """A file's name may have 255 bytes; of a longer one the end is lost."""
    folder, _, name = path.removesuffix(".md").rpartition("/")
    end = f"{again}.{memory_id}.md"
    short = name.encode()[: 255 - len(end)].decode("utf-8", "ignore")
    return f"{ARCHIVE}/{folder}/{short}{end}".replace("//", "/")
