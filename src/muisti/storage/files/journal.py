"""The journal: one JSON object a line, `journal/YYYY-MM.jsonl`, only ever appended to.

Lines are in the order in which things happened. A clock that runs backwards does not change that: new
lines go to the latest file that exists, not to an earlier month's.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from muisti.errors import InvalidRequest
from muisti.model import Event, Problem
from muisti.ports import Clock
from muisti.storage.files.disk import Disk, disk_errors
from muisti.storage.files.frontmatter import BadFrontMatter
from muisti.storage.files.jsonl import hash_tail, quarantine_torn_tail, read_complete_lines
from muisti.storage.files.timestamps import format_time, parse_time
from muisti.storage.sync_state import JournalDelta, ReadOffset

FOLDER = "journal"
_OWN_KEYS = {"at", "event", "memories", "session"}


class FileJournal:
    """The journal of one vault."""

    def __init__(self, root: Path, clock: Clock, disk: Disk | None = None) -> None:
        self._folder = root / FOLDER
        self._clock = clock
        self._disk = disk or Disk()
        self._checked: dict[str, tuple[int, int, int, ReadOffset]] = {}

    def append(self, events: Sequence[Event], *, durable: bool) -> None:
        """Add lines with one write. Call under the vault's lock."""
        if not events:
            return
        with disk_errors(self._folder):
            self._disk.make_folder(self._folder)
            path = self._current()
            existed = path.exists()
            if existed:
                quarantine_torn_tail(self._disk, path)
            self._disk.append(path, b"".join(_to_line(event) for event in events), durable=durable)
            if durable and not existed:
                self._disk.sync_folder(self._folder)

    def read(self, offsets: Mapping[str, ReadOffset]) -> JournalDelta:
        """All whole lines after the offsets; all lines there are, if the journal is not the one the offsets are of."""
        with disk_errors(self._folder):
            paths = self._paths()
            restarted = not self._is_continued(paths, offsets)
            start: Mapping[str, ReadOffset] = {} if restarted else offsets
            events: list[Event] = []
            problems: list[Problem] = []
            after: dict[str, ReadOffset] = {}
            for path in paths:
                known = start.get(path.name, ReadOffset(0, ""))
                data = (
                    read_complete_lines(path, known.offset)
                    if path.stat().st_size > known.offset
                    else b""
                )
                events += _parsed(path.name, data, problems)
                offset = known.offset + len(data)
                after[path.name] = (
                    ReadOffset(offset, hash_tail(path, offset)) if data or not offset else known
                )
        return JournalDelta(events, after, restarted, tuple(problems))

    def list_events(self, memory_id: str) -> list[Event]:
        """Only lines that hold the id are read as JSON: a journal may be long."""
        wanted = memory_id.encode()
        found: list[Event] = []
        with disk_errors(self._folder):
            for path in self._paths():
                lines = _lines_with(read_complete_lines(path, 0), wanted)
                found += [
                    event for event in _parsed(path.name, lines, []) if _names(event, memory_id)
                ]
        return found

    def _paths(self) -> list[Path]:
        return sorted(self._folder.glob("*.jsonl")) if self._folder.is_dir() else []

    def _current(self) -> Path:
        this_month = self._folder / f"{self._clock.now():%Y-%m}.jsonl"
        return max([this_month, *self._paths()[-1:]])

    def _is_continued(self, paths: Sequence[Path], offsets: Mapping[str, ReadOffset]) -> bool:
        """Whether what was read before is still there, byte for byte as far as its last bytes tell.

        Lines that another machine added to an earlier month are no continuation either: they count in the order of months.
        """
        latest = max(offsets, default="")
        by_name = {path.name: path.stat() for path in paths}
        for name, status in by_name.items():
            longer = status.st_size > offsets.get(name, ReadOffset(0, "")).offset
            if (
                name < latest
                and longer
                and read_complete_lines(
                    self._folder / name, offsets.get(name, ReadOffset(0, "")).offset
                )
            ):
                return False
        return all(
            name in by_name and self._is_same(name, by_name[name], known)
            for name, known in offsets.items()
        )

    def _is_same(self, name: str, status: os.stat_result, known: ReadOffset) -> bool:
        """Whether a file still ends, where it was read to, as it did then. One that nobody touched is not read for that."""
        stamp = (status.st_size, status.st_mtime_ns, status.st_ino, known)
        if self._checked.get(name) != stamp:
            if (
                known.offset > status.st_size
                or hash_tail(self._folder / name, known.offset) != known.tail_sha
            ):
                return False
            self._checked[name] = stamp
        return True


def _lines_with(data: bytes, wanted: bytes) -> bytes:
    lines = []
    at = data.find(wanted)
    while at >= 0:
        end = data.find(b"\n", at) + 1
        lines.append(data[data.rfind(b"\n", 0, at) + 1 : end])
        at = data.find(wanted, end)
    return b"".join(lines)


def _names(event: Event, memory_id: str) -> bool:
    return memory_id in event.memory_ids or memory_id in event.data.values()


def _to_line(event: Event) -> bytes:
    line: dict[str, object] = {"at": format_time(event.at), "event": event.name}
    if event.memory_ids:
        line["memories"] = event.memory_ids
    if event.session_id is not None:
        line["session"] = event.session_id
    line.update(event.data)
    try:
        return json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
    except UnicodeEncodeError as error:
        raise InvalidRequest(
            event.name, error.object[error.start], "half of a surrogate pair is no text; remove it"
        ) from error


def _parsed(name: str, data: bytes, problems: list[Problem]) -> Iterator[Event]:
    for line in data.split(b"\n"):
        if not line.strip():
            continue
        try:
            yield _from_line(line)
        except (ValueError, TypeError, KeyError, RecursionError, BadFrontMatter):
            shown = line[:60].decode("utf-8", "replace")
            problems.append(
                Problem(
                    f"{FOLDER}/{name}",
                    f"skipped a line that is no event: {shown!r}: remove or mend it",
                )
            )


def _from_line(line: bytes) -> Event:
    parsed = json.loads(line)
    if (
        not isinstance(parsed, dict)
        or not isinstance(parsed["at"], str)
        or not isinstance(parsed["event"], str)
    ):
        raise TypeError("no event")
    if b"\\u" in line:
        json.dumps(
            parsed, ensure_ascii=False
        ).encode()  # raises for half of a surrogate pair, which no index can hold
    memories = parsed.get("memories", [])
    session = parsed.get("session")
    if not isinstance(memories, list) or not all(isinstance(m, str) for m in memories):
        raise ValueError("memories")
    if session is not None and not isinstance(session, str):
        raise ValueError("session")
    data = {key: value for key, value in parsed.items() if key not in _OWN_KEYS}
    return Event(parsed["event"], parse_time("at", parsed["at"]), tuple(memories), session, data)
