"""The files of a source: one file, a folder, or the content of a zip archive.

Nothing outside of the source is read: links in a folder are reported, not followed.
"""

from __future__ import annotations

import os
import stat
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from itertools import takewhile
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from muisti.errors import ImportFailed
from muisti.filesystem import Tree, create_file, open_file

MAX_FILE = 1 << 28
"""The most bytes of a file that is read as a whole: parsed, it takes several times as much."""
MAX_UNPACKED = 1 << 33
"""The most bytes that the files of an archive may have together."""
MAX_ENTRIES = 200_000
MAX_RATIO = 200
"""How much larger than in the archive a large file may be: text shrinks to a tenth at best."""
LARGE = 1 << 26
MAX_LINE = 1 << 26
HEAD = 1 << 16
_PIECE = 1 << 20
READABLE = (".json", ".jsonl", ".md", ".markdown", ".af")
"""The files that importers read. Others in an archive are not unpacked."""


class Source:
    """A file or folder to import, and what was read of it."""

    def __init__(self, path: Path, shown: str = "") -> None:
        self.path = path
        self.shown = shown or str(path)
        """Its name in messages."""
        self.is_folder = path.is_dir()
        self.other_files: list[str] = []
        """Paths of files of an archive that no importer reads, such as images."""
        self.problems: list[tuple[str, str]] = []
        """Linked folders, and entries of an archive that were not unpacked, and why."""
        self._read = 0
        self._size = 0
        if self.is_folder:
            self._tree = Tree(path)
            self.files = sorted(_list_files(self._tree, ""))
            for name in [name for name in self.files if (path / name).is_symlink()]:
                if (path / name).is_dir():
                    self.files.remove(name)
                    reason = "is a symbolic link to a folder, which muisti does not follow"
                    self.problems.append((self.describe(name), reason))
        else:
            file = path.resolve(strict=True)  # a link that is named is followed
            self._tree = Tree(file.parent)
            self.files = [file.name]
            os.close(open_file(file))  # raises for a named pipe

    @property
    def name(self) -> str:
        """The name of the file or folder."""
        return PurePosixPath(self.shown).name

    @property
    def identity(self) -> str:
        """The beginning of the keys of its items: the same files elsewhere are not the same."""
        return self.path.resolve().name if self.path.name in ("", ".", "..") else self.path.name

    @property
    def suffix(self) -> str:
        """The suffix of a single file in lower case; empty for a folder."""
        return "" if self.is_folder else self.path.suffix.lower()

    @property
    def share_read(self) -> float:
        """How much has been read, from 0 to 1."""
        return min(1.0, self._read / self._size) if self._size else 1.0

    def start(self, files: list[str]) -> list[str]:
        """Note which files will be read, so that `share_read` is right. Returns them."""
        for file in files:
            status = self._tree.lstat(file)
            self._size += 0 if status is None else status.st_size
        return files

    def find(self, *suffixes: str) -> list[str]:
        """Return the paths with one of these suffixes, relative to the source, sorted."""
        return [path for path in self.files if path.lower().endswith(suffixes)]

    def choose_file(self, *suffixes: str) -> str:
        """Return the file of a format that is one file, and note that it will be read.

        In a folder it must be the only one with one of these suffixes. Raises ImportFailed.
        """
        found = self.find(*suffixes) if self.is_folder else self.files
        kinds = " or ".join(suffixes)
        if not found:
            raise ImportFailed(f"{self.shown}: contains no {kinds} file")
        if len(found) > 1:
            raise ImportFailed(
                f"{self.shown}: contains {len(found)} {kinds} files; name one of them"
            )
        return self.start(found)[0]

    def has_folder(self, name: str) -> bool:
        """Return whether a folder, which may be hidden, contains another."""
        return self.is_folder and self._tree.is_folder(name)

    def describe(self, path: str) -> str:
        """Return a path as messages show it."""
        return f"{self.shown}/{path}" if self.is_folder else self.shown

    def read(self, path: str, limit: int = MAX_FILE) -> tuple[bytes, datetime]:
        """Return a file's bytes and when it was changed. Raises OSError, and so UnsafeFile."""
        data, status = self._tree.read(path, limit)
        self._read += len(data)
        try:
            changed = datetime.fromtimestamp(status.st_mtime, UTC)
        except (OverflowError, ValueError, OSError):
            changed = datetime.fromtimestamp(0, UTC)  # the file's time is out of range
        return data, changed

    def read_head(self, path: str) -> bytes:
        """Return the beginning of a file; nothing if it cannot be read: loading it says why."""
        try:
            with self.open(path) as stream:
                head = stream.read(HEAD)
        except OSError:
            return b""
        self._read -= len(head)
        return head.removeprefix(b"\xef\xbb\xbf")

    @contextmanager
    def open(self, path: str) -> Iterator[CountedStream]:
        """Open a file for reading. Raises OSError."""
        fd, _ = self._tree.open(path, os.O_RDONLY)
        with os.fdopen(fd, "rb") as stream:
            yield CountedStream(stream, self)

    def count_read(self, number: int) -> None:
        """Add to the bytes that were read."""
        self._read += number


class CountedStream:
    """A stream that tells its source how much was read."""

    def __init__(self, stream: BinaryIO, source: Source) -> None:
        self._stream = stream
        self._source = source

    def read(self, size: int = -1) -> bytes:
        """Return this many bytes, or fewer at the end."""
        data = self._stream.read(size)
        self._source.count_read(len(data))
        return data

    def __iter__(self) -> Iterator[bytes]:
        """Yield the lines."""
        while line := self._stream.readline(MAX_LINE):
            self._source.count_read(len(line))
            yield line  # a longer line is cut
            while len(line) == MAX_LINE and not line.endswith(b"\n"):
                line = self._stream.readline(MAX_LINE)
                self._source.count_read(len(line))


def _list_files(tree: Tree, folder: str) -> Iterator[str]:
    """Yield the files below a folder, without hidden ones. Links are listed as files."""
    prefix = f"{folder}/" if folder else ""
    folders = []
    with tree.scan(folder) as entries:
        for entry in entries:
            if entry.name.startswith("."):
                continue
            if entry.is_dir(follow_symlinks=False):
                folders.append(prefix + entry.name)
            else:
                yield prefix + entry.name
    for below in folders:
        yield from _list_files(tree, below)


@contextmanager
def open_source(path: Path) -> Iterator[Source]:
    """Open a file, a folder or a zip archive. An archive is unpacked to a temporary folder.

    A folder or archive with a single file, such as `memory.jsonl`, is opened as this file.

    Raises ImportFailed for an archive that is damaged or too large, and OSError.
    """
    if path.is_dir() or not is_archive(path):
        yield _enter_only_file(Source(path))
        return
    import tempfile

    with tempfile.TemporaryDirectory(prefix="muisti-import-") as folder:
        root = Path(folder) / path.stem
        root.mkdir()
        with open_archive(path) as archive:
            problems, others = unpack(archive, root, path)
        names = Tree(root).list_names()
        if len(names) == 1 and Tree(root).is_folder(names[0]):
            root = root / names[0]  # many archives contain one folder
        source = Source(root, str(path))
        source.problems += problems
        source.other_files = others
        yield _enter_only_file(source)


def _enter_only_file(source: Source) -> Source:
    """Return the only file that importers read, if a folder has one that is not a note."""
    files = source.find(*READABLE) if source.is_folder else []
    if len(files) != 1 or files[0].lower().endswith((".md", ".markdown")):
        return source
    path = source.path / files[0]
    if path.is_symlink():
        return source
    inner = Source(path, source.describe(files[0]))
    inner.problems = source.problems
    inner.other_files = source.other_files + [one for one in source.files if one != files[0]]
    return inner


def is_archive(path: Path) -> bool:
    """Return whether a file is a zip archive. Raises OSError."""
    fd = open_file(path.resolve(strict=True))
    with os.fdopen(fd, "rb") as stream:
        return stream.read(4) in (b"PK\x03\x04", b"PK\x05\x06")


@contextmanager
def open_archive(path: Path) -> Iterator[zipfile.ZipFile]:
    """Open a zip archive. Raises ImportFailed if it is damaged."""
    with os.fdopen(open_file(path.resolve(strict=True)), "rb") as stream:
        try:
            with zipfile.ZipFile(stream) as archive:
                yield archive
        except (zipfile.BadZipFile, NotImplementedError, EOFError) as error:
            raise ImportFailed(f"{path}: is not a readable zip archive ({error})") from error


def unpack(
    archive: zipfile.ZipFile, root: Path, path: Path
) -> tuple[list[tuple[str, str]], list[str]]:
    """Unpack what importers can read. Return the entries that were refused, and other files."""
    entries = archive.infolist()
    if len(entries) > MAX_ENTRIES:
        raise ImportFailed(f"{path}: contains more than {MAX_ENTRIES} files; split it")
    problems = []
    left, others = MAX_UNPACKED, []
    shared = count_shared_folders(entries)
    for entry in entries:
        inside = entry.filename.replace("\\", "/")
        names = PurePosixPath(inside).parts
        shown = f"{path}/{entry.filename}"
        if entry.is_dir() or "__MACOSX" in names:
            continue
        has_drive = os.name == "nt" and ":" in inside
        if ".." in names or not names or inside.startswith("/") or has_drive:
            problems.append((shown, "its path leads out of the archive"))
        elif ".obsidian" in names:
            inner = root.joinpath(*names[: names.index(".obsidian") + 1])
            inner.mkdir(parents=True, exist_ok=True)
        elif any(name.startswith(".") for name in names[shared:]):
            continue
        elif not inside.lower().endswith(READABLE):
            others.append(inside)
        elif stat.S_ISLNK(entry.external_attr >> 16):
            problems.append((shown, "is a symbolic link"))
        else:
            try:
                left -= unpack_file(archive, entry, root.joinpath(*names), left)
            except UnpackError as error:
                problems.append((shown, str(error)))
                left -= error.written
        if left < 0:
            limit = f"{MAX_UNPACKED >> 30} GiB"
            raise ImportFailed(f"{shown}: unpacks to more than {limit}; split the archive")
    return problems, others


def count_shared_folders(entries: Sequence[zipfile.ZipInfo]) -> int:
    """Return in how many folders, such as `.codex/sessions`, all files of an archive are."""
    paths = [PurePosixPath(entry.filename.replace("\\", "/")) for entry in entries]
    folders = [
        path.parent.parts
        for path, entry in zip(paths, entries, strict=True)
        if not entry.is_dir() and "__MACOSX" not in path.parts
    ]
    levels = zip(*folders, strict=False)
    return sum(1 for _ in takewhile(lambda names: len(set(names)) == 1, levels))


class UnpackError(ValueError):
    """An entry of an archive cannot be unpacked. Written: how many bytes were, before."""

    def __init__(self, reason: str, written: int) -> None:
        super().__init__(reason)
        self.written = written


def unpack_file(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, target: Path, left: int) -> int:
    """Write one entry and return its size, which is above `left` if it was not written whole.

    Raises UnpackError; then nothing of the entry is left.
    """
    written = 0
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with archive.open(entry) as packed, os.fdopen(create_file(target), "wb") as stream:
            while piece := packed.read(_PIECE):
                written += len(piece)
                if written > left:
                    break
                if written > LARGE and written > MAX_RATIO * max(1, entry.compress_size):
                    ratio = f"{MAX_RATIO} times its size in the archive"
                    reason = f"unpacks to more than {ratio}, as a zip bomb does"
                    raise UnpackError(reason, written)
                stream.write(piece)
    except FileExistsError as error:
        raise UnpackError("another file of the archive has the same path", 0) from error
    except (OSError, zipfile.BadZipFile, zlib.error, RuntimeError, EOFError, UnpackError) as error:
        with suppress(OSError):
            target.unlink()
        if isinstance(error, UnpackError):
            raise
        detail = error.strerror if isinstance(error, OSError) else error
        raise UnpackError(f"cannot be unpacked ({detail})", written) from error
    return written
