"""Conversations: one JSON object per line in `conversations/{channel}_{chat_id}/YYYY-MM-DD.jsonl`.

The files are append-only, and messages are in the order of lines. New lines go to the latest file
of a conversation, even if the clock was set back to an earlier day.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from muisti.filesystem import Tree, UnsafeFile
from muisti.model import Problem
from muisti.storage.files.disk import Disk, disk_errors
from muisti.storage.files.jsonl import (
    CORRUPT,
    TOO_LONG,
    Lines,
    ends_with_newline,
    hash_tail,
    quarantine_torn_tail,
    read_lines,
)
from muisti.storage.files.timestamps import make_file_stat
from muisti.storage.sync_state import ConversationDelta, ConversationOffset, FileStat, ReadOffset

if TYPE_CHECKING:
    from muisti.model import Message
    from muisti.settings import Settings

FOLDER = "conversations"


class FileConversations:
    """The conversations of one vault."""

    def __init__(self, root: Path, settings: Settings, disk: Disk | None = None) -> None:
        self._root = root
        self._settings = settings
        self._disk = (disk or Disk()).confine(root)
        self._tree = Tree(root)
        self._before: dict[str, FileStat] = {}
        """By file: its stat before this process last appended to it, to notice edits by others."""
        self._written: dict[str, dict[str, Message]] = {}
        """By file: the messages that this process appended last, which are redacted already."""

    def append(self, conversation: str, messages: Sequence[Message]) -> str:
        """Append messages with one write; return the file's path. Call under the vault's lock."""
        from muisti.storage.files.message_codec import format_line, is_object

        folder = self._root / FOLDER / conversation
        with disk_errors(folder):
            self._disk.make_folder(folder)
            day = folder / f"{messages[0].at.date().isoformat()}.jsonl"
            days = self._tree.list_files(folder, ".jsonl")
            path = max([day, *(folder / name for name in days[-1:])])
            name = f"{FOLDER}/{conversation}/{path.name}"
            existed = self._tree.is_file(path)
            if existed:
                self._before[name] = self._read_stat(path)
                quarantine_torn_tail(self._disk, path, is_object)
            self._disk.append(
                path, b"".join(format_line(message) for message in messages), durable=True
            )
            if not existed:
                self._disk.sync_folder(folder)
        self._written[name] = {message.id: message for message in messages}
        return name

    def files(self) -> Iterator[tuple[str, FileStat]]:
        """Yield every file of every conversation. Symbolic links are not followed."""
        with suppress(FileNotFoundError, NotADirectoryError, UnsafeFile):
            with self._tree.scan(FOLDER) as entries:
                folders = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
            for folder in sorted(name for name in folders if name[0] != "."):
                yield from self._list_folder(
                    f"{FOLDER}/{self._tree.make_known_name(FOLDER, folder)}"
                )

    def _list_folder(self, folder: str) -> list[tuple[str, FileStat]]:
        """Return the files of a conversation; none if it was removed or became a link meanwhile."""
        found = []
        gone = suppress(FileNotFoundError, NotADirectoryError, UnsafeFile)
        with gone, self._tree.scan(folder) as entries:
            names = {entry.name for entry in entries}
            for entry in sorted(entries, key=lambda entry: entry.name):
                name = entry.name
                if (
                    name.endswith(".jsonl")
                    and name[0] != "."
                    and entry.is_file(follow_symlinks=False)
                ):
                    is_torn = f"{name}{CORRUPT}" in names
                    with suppress(FileNotFoundError):  # forgotten meanwhile
                        stat = _make_stat(entry.stat(follow_symlinks=False), is_torn=is_torn)
                        found.append((f"{folder}/{name}", stat))
        return found

    def exists(self, path: str) -> bool:
        """Return whether there is a file at this path."""
        return self._tree.is_file(path)

    def stat(self, path: str) -> FileStat:
        """Return the stat of a file, as `files` does."""
        with disk_errors(path):
            return self._read_stat(self._root / path)

    def read(
        self, path: str, known: ConversationOffset | None, *, repair: bool = False
    ) -> ConversationDelta:
        """Read the lines after what is known, or all lines if the file was rewritten.

        Repair: move an incomplete last line to a `.corrupt` file; needs the vault's lock.
        """
        from muisti.storage.files.message_codec import is_object, parse_lines, redact_lines

        file = self._root / path
        conversation = path.split("/")[1]
        problems: list[Problem] = []
        with disk_errors(file):
            if repair:
                quarantine_torn_tail(self._disk, file, is_object)
            seen_ns = time.time_ns()
            stat = self._read_stat(file)
            before = self._before.pop(path, None)
            read = ReadOffset(0, "")
            if known is not None and self._is_continued(file, stat, known, before):
                read = known.read
            part = Lines(b"", read.offset, read.offset, True, ())
            if stat.size > read.offset:
                part = read_lines(self._tree, file, read.offset)
            if not repair and stat.size and not ends_with_newline(self._tree, file):
                problems.append(Problem(path, _TORN))
            if stat.inode < 0:
                problems.append(Problem(path, _MOVED.format(f"{path}{CORRUPT}")))
            problems += [
                Problem(path, f"skipped the line at byte {at}: it {TOO_LONG}")
                for at in part.too_long
            ]
            after = read
            if part.end > read.offset or not part.end:
                after = ReadOffset(part.end, hash_tail(self._tree, file, part.end))
        lines = list(parse_lines(path, part.data, part.start, problems))
        redact_lines(lines, self._written.pop(path, {}), self._settings)
        return ConversationDelta(
            conversation,
            path,
            ConversationOffset(stat, seen_ns, after),
            lines,
            read.offset == 0,
            tuple(problems),
            part.is_complete,
        )

    def _read_stat(self, file: Path) -> FileStat:
        status = self._tree.lstat(file)
        if status is None:
            raise FileNotFoundError(errno.ENOENT, "no such file", str(file))
        is_torn = self._tree.exists(file.with_name(file.name + CORRUPT))
        return _make_stat(status, is_torn=is_torn)

    def _is_continued(
        self, file: Path, stat: FileStat, known: ConversationOffset, before: FileStat | None
    ) -> bool:
        """Return whether a file was only appended to since it was last read.

        Before: its stat before our own last append; it differs from the known one if others
        changed it.
        """
        was, read = known.stat, known.read
        if abs(stat.inode) != abs(was.inode):
            return False
        if stat.size == was.size and stat.mtime_ns != was.mtime_ns:
            return False
        if before is not None and before[:2] != was[:2]:
            return False
        if read.offset > stat.size:
            return False
        return not read.offset or hash_tail(self._tree, file, read.offset) == read.tail_sha


_TORN = "its last line is incomplete after a crash, and will be moved when the vault is writable"
_MOVED = "an incomplete line was moved to {} after a crash: check it, then remove that file"


def _make_stat(status: os.stat_result, *, is_torn: bool) -> FileStat:
    """Return a file's stat. The inode is negative while there is a `.corrupt` file beside it.

    So the removal of that file counts as a change.
    """
    stat = make_file_stat(status)
    return stat._replace(inode=-stat.inode) if is_torn else stat
