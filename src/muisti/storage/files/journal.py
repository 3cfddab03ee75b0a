"""The journal: one JSON object per line in `journal/YYYY-MM.jsonl`, append-only.

Lines are in the order of events. New lines go to the latest file that exists, even if the clock was
set back to an earlier month.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from muisti.errors import InvalidRequest
from muisti.model import Event, Problem
from muisti.ports import Clock
from muisti.storage.files.disk import Disk, disk_errors
from muisti.storage.files.frontmatter import BadFrontMatter
from muisti.storage.files.jsonl import (
    hash_tail,
    quarantine_torn_tail,
    read_complete_lines,
    replace_file,
)
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
        """Append lines with one write. Call under the vault's lock."""
        if not events:
            return
        with disk_errors(self._folder):
            self._disk.make_folder(self._folder)
            this_month = self._folder / f"{self._clock.now():%Y-%m}.jsonl"
            path = max([this_month, *self._list_paths()[-1:]])
            existed = path.exists()
            if existed:
                quarantine_torn_tail(self._disk, path)
            self._disk.append(
                path, b"".join(_format_line(event) for event in events), durable=durable
            )
            if durable and not existed:
                self._disk.sync_folder(self._folder)

    def read(self, offsets: Mapping[str, ReadOffset]) -> JournalDelta:
        """Read the lines after the offsets, or all lines if the journal was rewritten since."""
        with disk_errors(self._folder):
            paths = self._list_paths()
            restarted = not self._is_continued(paths, offsets)
            start: Mapping[str, ReadOffset] = {} if restarted else offsets
            events: list[Event] = []
            problems: list[Problem] = []
            after: dict[str, ReadOffset] = {}
            for path in paths:
                known = start.get(path.name, ReadOffset(0, ""))
                data = b""
                if path.stat().st_size > known.offset:
                    data = read_complete_lines(path, known.offset)
                events += _parse_lines(path.name, data, problems)
                offset = known.offset + len(data)
                after[path.name] = known
                if data or not offset:
                    after[path.name] = ReadOffset(offset, hash_tail(path, offset))
        return JournalDelta(events, after, restarted, tuple(problems))

    def list_events(self, memory_id: str) -> list[Event]:
        """Return the events that name a memory. Only lines that contain its ID are parsed."""
        wanted = memory_id.encode()
        found: list[Event] = []
        with disk_errors(self._folder):
            for path in self._list_paths():
                data = read_complete_lines(path, 0)
                lines = []
                at = data.find(wanted)
                while at >= 0:  # without splitting the other lines
                    end = data.find(b"\n", at) + 1
                    lines.append(data[data.rfind(b"\n", 0, at) + 1 : end])
                    at = data.find(wanted, end)
                found += _parse_lines(path.name, b"".join(lines), [])
        return [
            event
            for event in found
            if memory_id in event.memory_ids or memory_id in event.data.values()
        ]

    def rewrite(self, change: Callable[[Event], Event | None]) -> None:
        """Replace events, or remove those for which the result is None. Under the vault's lock.

        Lines that are not events stay.
        """
        with disk_errors(self._folder):
            for path in self._list_paths():
                quarantine_torn_tail(self._disk, path)
                before = path.read_bytes()
                lines = []
                for line in before.splitlines(keepends=True):
                    try:
                        event = _parse_line(line)
                    except (ValueError, TypeError, KeyError, RecursionError, BadFrontMatter):
                        lines.append(line)
                        continue
                    changed = change(event)
                    if changed is not None:
                        lines.append(line if changed == event else _format_line(changed))
                after = b"".join(lines)
                if after != before:
                    replace_file(self._disk, path, after)

    def _list_paths(self) -> list[Path]:
        return sorted(self._folder.glob("*.jsonl")) if self._folder.is_dir() else []

    def _is_continued(self, paths: Sequence[Path], offsets: Mapping[str, ReadOffset]) -> bool:
        """Return whether the journal was only appended to since these offsets.

        Lines that another machine added to an earlier month come before those already read.
        """
        latest = max(offsets, default="")
        by_name = {path.name: path.stat() for path in paths}
        for name, status in by_name.items():
            offset = offsets[name].offset if name in offsets else 0
            is_longer = name < latest and status.st_size > offset
            if is_longer and read_complete_lines(self._folder / name, offset):
                return False
        for name, known in offsets.items():  # the bytes before an offset must be the same
            if name not in by_name:
                return False
            status = by_name[name]
            stamp = (status.st_size, status.st_mtime_ns, status.st_ino, known)
            if self._checked.get(name) == stamp:
                continue  # only files that changed are read
            if known.offset > status.st_size:
                return False
            if hash_tail(self._folder / name, known.offset) != known.tail_sha:
                return False
            self._checked[name] = stamp
        return True


def _format_line(event: Event) -> bytes:
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
            event.name,
            error.object[error.start],
            "must not contain half of a surrogate pair; remove it",
        ) from error


def _parse_lines(name: str, data: bytes, problems: list[Problem]) -> Iterator[Event]:
    for line in data.split(b"\n"):
        if not line.strip():
            continue
        try:
            yield _parse_line(line)
        except (ValueError, TypeError, KeyError, RecursionError, BadFrontMatter):
            shown = line[:60].decode("utf-8", "replace")
            reason = f"skipped a line that is not an event ({shown!r}): fix or remove it"
            problems.append(Problem(f"{FOLDER}/{name}", reason))


def _parse_line(line: bytes) -> Event:
    parsed = json.loads(line)
    if not isinstance(parsed, dict):
        raise TypeError("not an object")
    if not isinstance(parsed["at"], str) or not isinstance(parsed["event"], str):
        raise TypeError("not an event")
    if b"\\u" in line:
        # Raises for half of a surrogate pair, which the index cannot store.
        json.dumps(parsed, ensure_ascii=False).encode()
    memories = parsed.get("memories", [])
    session = parsed.get("session")
    if not isinstance(memories, list) or not all(isinstance(m, str) for m in memories):
        raise ValueError("memories")
    if session is not None and not isinstance(session, str):
        raise ValueError("session")
    data = {key: value for key, value in parsed.items() if key not in _OWN_KEYS}
    return Event(parsed["event"], parse_time("at", parsed["at"]), tuple(memories), session, data)
