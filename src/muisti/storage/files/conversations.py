"""Conversations: one JSON object a line, `conversations/{channel}_{chat_id}/YYYY-MM-DD.jsonl`, only ever appended to.

The order of messages is the order of lines. A clock that runs backwards does not change that: new lines go to the latest
file of the chat, not to an earlier day's.
"""

from __future__ import annotations

import json
import os
import time
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from muisti.errors import InvalidRequest, VaultUnusable
from muisti.model import ROLES, Message, Problem
from muisti.ports.search import MessageLine
from muisti.remember.conversations import DEEPEST_META, PRIVATE, collect_texts, derive_meta
from muisti.settings import Settings
from muisti.storage.files.disk import Disk, disk_errors
from muisti.storage.files.jsonl import (
    CORRUPT,
    ends_with_newline,
    hash_tail,
    quarantine_torn_tail,
    read_complete_lines,
)
from muisti.storage.files.timestamps import to_file_stat, to_text
from muisti.storage.sync_state import ConversationDelta, ConversationOffset, FileStat, ReadOffset
from muisti.text.redact import redact_meta, redact_texts

FOLDER = "conversations"


class FileConversations:
    """The conversations of one vault."""

    def __init__(self, root: Path, settings: Settings, disk: Disk | None = None) -> None:
        self._root = root
        self._settings = settings
        self._disk = disk or Disk()
        self._before: dict[str, FileStat] = {}
        """What files looked like when they were last appended to from here: whether somebody edited them is told by this."""
        self._written: dict[str, dict[str, Message]] = {}
        """By file, the messages that were last appended from here: they were redacted when they were made."""

    def append(self, chat: str, messages: Sequence[Message]) -> str:
        """Add lines with one write. Call under the vault's lock."""
        folder = self._root / FOLDER / chat
        with disk_errors(folder):
            if folder.is_symlink() or folder.parent.is_symlink():
                raise VaultUnusable(
                    f"{folder} is a link to another place; conversations are not written through links"
                )
            self._disk.make_folder(folder)
            day = folder / f"{messages[0].at.date().isoformat()}.jsonl"
            latest = next(
                (path for path in sorted(folder.glob("*.jsonl"), reverse=True) if path.is_file()),
                day,
            )
            path = max(day, latest)
            name = f"{FOLDER}/{chat}/{path.name}"
            existed = path.exists()
            if existed:
                self._before[name] = _stat_of(path)
                quarantine_torn_tail(self._disk, path, _is_object)
            self._disk.append(
                path, b"".join(_to_line(message) for message in messages), durable=True
            )
            if not existed:
                self._disk.sync_folder(folder)
        self._written[name] = {message.id: message for message in messages}
        return name

    def files(self) -> Iterator[tuple[str, FileStat]]:
        """Every file of every conversation. Links are not followed: they may lead anywhere."""
        for chat in _inside(self._root / FOLDER):
            if chat.is_dir(follow_symlinks=False):
                entries = {entry.name: entry for entry in _inside(Path(chat.path))}
                for name, entry in entries.items():
                    if name.endswith(".jsonl") and entry.is_file(follow_symlinks=False):
                        stat = _stat(
                            entry.stat(follow_symlinks=False),
                            set_aside=f"{name}{CORRUPT}" in entries,
                        )
                        yield f"{FOLDER}/{chat.name}/{name}", stat

    def exists(self, path: str) -> bool:
        """Return whether there is a file of this name."""
        file = self._root / path
        return file.is_file() and not file.is_symlink()

    def stat(self, path: str) -> FileStat:
        """Return what the file system says of a file, as `files` does."""
        with disk_errors(path):
            return _stat_of(self._root / path)

    def read(
        self, path: str, known: ConversationOffset | None, *, mend: bool = False
    ) -> ConversationDelta:
        """Whole lines after what is known; all, if the file is another than it was."""
        file = self._root / path
        chat = path.split("/")[1]
        problems: list[Problem] = []
        with disk_errors(file):
            if mend:
                quarantine_torn_tail(self._disk, file, _is_object)
            seen_ns = time.time_ns()
            stat = _stat_of(file)
            before = self._before.pop(path, None)
            read = (
                known.read
                if known is not None and _is_continued(file, stat, known, before)
                else ReadOffset(0, "")
            )
            data = read_complete_lines(file, read.offset) if stat.size > read.offset else b""
            if not mend and stat.size and not ends_with_newline(file):
                problems.append(Problem(path, _TORN))
            if stat.inode < 0:
                problems.append(Problem(path, _SET_ASIDE.format(f"{path}{CORRUPT}")))
            offset = read.offset + len(data)
            after = ConversationOffset(
                stat,
                seen_ns,
                ReadOffset(offset, hash_tail(file, offset)) if data or not offset else read,
            )
        lines = self._redact(
            list(_parsed(path, data, read.offset, problems)), self._written.pop(path, {})
        )
        return ConversationDelta(chat, path, after, lines, read.offset == 0, tuple(problems))

    def _redact(self, lines: list[MessageLine], written: dict[str, Message]) -> list[MessageLine]:
        """People and programs write to these files too: what is private in their lines stays out of the index."""
        foreign = [
            at for at, line in enumerate(lines) if not _is_as_written(line, written.get(line.id))
        ]
        safe = redact_texts([lines[at].content for at in foreign], self._settings)
        for at, text in zip(foreign, safe, strict=True):
            if lines[at].content != text:
                lines[at] = lines[at]._replace(content=text if text.strip() else PRIVATE)
        with_meta = [at for at in foreign if lines[at].meta]
        beside = [text for at in with_meta for text in collect_texts(lines[at].meta)]
        if redact_texts(beside, self._settings) != beside:
            for at in with_meta:
                lines[at] = lines[at]._replace(meta=redact_meta(lines[at].meta, self._settings))
        return lines


_TORN = "its last line is incomplete, as a crash leaves it: it is set aside when the vault can be written"
_SET_ASIDE = (
    "a crash cut a line short, which was set aside in {}: look at it, then remove that file"
)


def _is_as_written(line: MessageLine, message: Message | None) -> bool:
    return message is not None and (line.content, line.meta) == (message.content, message.meta)


def _is_continued(
    file: Path, stat: FileStat, known: ConversationOffset, before: FileStat | None
) -> bool:
    """Whether a file was only added to. One that was replaced, or changed without growing, is read from its beginning.

    Before: what it looked like when we last appended to it, if that is what is new. Had nobody else touched it, it was as known.
    """
    was, read = known.stat, known.read
    if abs(stat.inode) != abs(was.inode) or (
        stat.size == was.size and stat.mtime_ns != was.mtime_ns
    ):
        return False
    if before is not None and before[:2] != was[:2]:
        return False
    return read.offset <= stat.size and (
        not read.offset or hash_tail(file, read.offset) == read.tail_sha
    )


def _inside(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(
                (entry for entry in entries if not entry.name.startswith(".")),
                key=lambda entry: entry.name,
            )
    except (FileNotFoundError, NotADirectoryError):
        return []


def _stat(status: os.stat_result, *, set_aside: bool) -> FileStat:
    """Below zero while a line is set aside beside the file: that it was looked at and removed is a change, too."""
    stat = to_file_stat(status)
    return stat._replace(inode=-stat.inode) if set_aside else stat


def _stat_of(file: Path) -> FileStat:
    return _stat(file.stat(), set_aside=file.with_name(file.name + CORRUPT).exists())


def _to_line(message: Message) -> bytes:
    line: dict[str, object] = {
        "id": message.id,
        "ts": to_text(message.at),
        "role": message.role,
        "content": message.content,
        "type": message.type,
        "meta": {**derive_meta(message.conversation), **message.meta},
    }
    try:
        return json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
    except UnicodeEncodeError as error:
        raise InvalidRequest(
            "content", error.object[error.start], "half of a surrogate pair is no text; remove it"
        ) from error
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidRequest(
            "meta", type(message.meta).__name__, f"must be plain JSON ({error})"
        ) from error


def _parsed(path: str, data: bytes, start: int, problems: list[Problem]) -> Iterator[MessageLine]:
    place = start
    own = derive_meta(path.split("/")[1])
    day = Path(path).stem
    for raw in data.split(b"\n"):
        if raw:
            try:
                yield _from_line(raw if place else raw.removeprefix(BOM_UTF8), day, place, own)
            except (ValueError, TypeError, KeyError, RecursionError, OverflowError) as error:
                if raw.strip():
                    told = f"skipped the line at byte {place}, which is no message ({_reason(error)}): mend it"
                    problems.append(Problem(path, told))
        place += len(raw) + 1


def _reason(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError | UnicodeDecodeError):
        return "no JSON"
    return f"without {error}" if isinstance(error, KeyError) else str(error)


def _is_object(raw: bytes) -> bool:
    """Whether a line is whole: what is cut short is no JSON."""
    try:
        return isinstance(json.loads(raw), dict)
    except (ValueError, RecursionError):
        return False


_scan: Callable[[str, int], tuple[Any, int]] = json.JSONDecoder().scan_once  # type: ignore[attr-defined]
"""What `json.loads` calls in the end; there are many lines."""


def _read_json(text: str) -> Any:
    try:
        parsed, end = _scan(text, 0)
    except StopIteration:
        return json.loads(text)  # which knows blanks before it, and what is wrong
    return parsed if end == len(text) else json.loads(text)


def _from_line(raw: bytes, day: str, place: int, own: dict[str, str]) -> MessageLine:
    parsed = _read_json(raw.decode())
    if not isinstance(parsed, dict):
        raise TypeError("no object")
    role, content, at, meta = (
        parsed["role"],
        parsed["content"],
        parsed["ts"],
        parsed.get("meta") or {},
    )
    if role not in ROLES:
        raise ValueError(f"the role {str(role)[:40]!r} is none of {', '.join(ROLES)}")
    if not isinstance(content, str):
        content = "" if content is None else json.dumps(content, ensure_ascii=False)
    if b"\\u" in raw:
        json.dumps(
            parsed, ensure_ascii=False
        ).encode()  # raises for half of a surrogate pair, which no index can hold
    if not isinstance(at, str) or not isinstance(meta, dict):
        raise TypeError("ts must be a time and meta an object")
    moment = datetime.fromisoformat(at)
    if moment.tzinfo is not UTC:
        moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    id_, type_ = parsed.get("id"), parsed.get("type")
    others = {key: value for key, value in meta.items() if key not in own or str(value) != own[key]}
    if raw.count(b"[") + raw.count(b"{") > DEEPEST_META:
        collect_texts(others)  # raises if it is too deep to be walked
    id_ = str(id_) if id_ else f"line-{day}-{place}"
    return MessageLine(place, id_, moment, role, content, str(type_) if type_ else None, others)
