"""The journal: one JSON object per line in `journal/YYYY-MM.jsonl`, append-only.

Lines are in the order of events. New lines go to the latest file that exists, even if the clock was
set back to an earlier month.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from muisti.errors import InvalidRequest, quote_value
from muisti.filesystem import UnsafeFile
from muisti.model import Event, Problem
from muisti.storage.files.disk import Disk, disk_errors
from muisti.storage.files.errors import BadFrontMatter
from muisti.storage.files.jsonl import (
    CORRUPT,
    MAX_READ,
    MAX_REWRITTEN,
    TAIL,
    TOO_LONG,
    ends_with_newline,
    has_complete_line,
    hash_tail,
    make_digest,
    quarantine_torn_tail,
    read_all_lines,
    read_lines,
    read_tail,
    replace_file,
)
from muisti.storage.files.timestamps import format_time, parse_time
from muisti.storage.sync_state import JournalDelta, ReadOffset

if TYPE_CHECKING:
    from muisti.ports import Clock

FOLDER = "journal"
_TORN = "its last line is incomplete, and is moved to a .corrupt file at the next change"
_MOVED = "an incomplete last line was moved to {}: check it, then remove that file"
_OWN_KEYS = {"at", "event", "memories", "session"}


Stamp = tuple[int, int, int]
"""Size, time and inode of a file."""


class _Written(NamedTuple):
    """The lines that this process has appended last, so that they need not be read again."""

    name: str
    stamp: Stamp
    """Of the file after that."""
    start: int
    data: bytes
    tail: bytes
    """The last bytes of the file, as many as a digest is made of."""


class FileJournal:
    """The journal of one vault."""

    def __init__(self, root: Path, clock: Clock, disk: Disk | None = None) -> None:
        self._folder = root / FOLDER
        self._clock = clock
        self._disk = (disk or Disk()).confine(root)
        self._tree = self._disk.tree(root)
        self._checked: dict[str, tuple[Stamp, ReadOffset]] = {}
        """Files of which the bytes before an offset were compared: by name, as they were then."""
        self._written: _Written | None = None

    def append(self, events: Sequence[Event], *, durable: bool) -> Mapping[str, Stamp] | None:
        """Append lines with one write. Call under the vault's lock.

        Return the files after that, by name, for `read`; None if there are no events.
        """
        if not events:
            return None
        with disk_errors(self._folder):
            known = self._list_files()
            if not known:
                self._disk.make_folder(self._folder)
            name = max([f"{self._clock.now():%Y-%m}.jsonl", *known])
            path = self._folder / name
            before = known.get(name)
            last = self._written
            if last is None or before is None or last[:2] != (name, before):
                last = None
                if before is not None and quarantine_torn_tail(self._disk, path):
                    before = None  # it was cut
            data = b"".join(format_line(event) for event in events)
            after = _make_stamp(self._disk.append(path, data, durable=durable))
            if durable and name not in known:
                self._disk.sync_folder(self._folder)
            self._note_written(name, before, after, data, last.tail if last else b"")
            return dict(sorted({**known, name: after}.items()))

    def _note_written(
        self, name: str, before: Stamp | None, after: Stamp, data: bytes, tail: bytes
    ) -> None:
        """Remember what was appended to a file, which was like `before`."""
        self._written = None
        if before is None:
            return
        if (after[0], after[2]) != (before[0] + len(data), before[2]):
            return  # another program has changed it meanwhile
        checked, known = self._checked.get(name, (None, None))
        if checked == before and known is not None:
            self._checked[name] = after, known
        tail = (tail + data)[-TAIL:]
        if len(tail) < min(TAIL, after[0]):
            tail = read_tail(self._tree, self._folder / name, after[0])
        self._written = _Written(name, after, before[0], data, tail)

    def read(
        self, offsets: Mapping[str, ReadOffset], files: Mapping[str, Stamp] | None = None
    ) -> JournalDelta:
        """Read the lines after the offsets, or all lines if the journal was rewritten since.

        At most about `MAX_READ` bytes are read; then the result is not complete. Files: what
        `append` has just returned; else they are listed.
        """
        with disk_errors(self._folder):
            files = self._list_files() if files is None else files
            restarted = not self._is_continued(files, offsets)
            after: dict[str, ReadOffset] = {} if restarted else dict(offsets)
            events: list[Event] = []
            problems: list[Problem] = []
            size, is_complete = 0, True
            for name, stamp in files.items():
                if size > MAX_READ or not is_complete:
                    is_complete = False
                    break
                known = after.setdefault(name, ReadOffset(0, ""))
                if known.offset and stamp[0] <= known.offset:
                    continue
                written, path = self._written, self._folder / name
                if written is not None and (name, stamp, known.offset) == written[:3]:
                    events += _parse_lines(name, written.data, problems)
                    size += len(written.data)
                    after[name] = ReadOffset(stamp[0], make_digest(written.tail))
                    self._checked[name] = stamp, after[name]
                    continue
                lines = read_lines(self._tree, path, known.offset)
                problems += [
                    Problem(f"{FOLDER}/{name}", f"skipped the line at byte {at}: it {TOO_LONG}")
                    for at in lines.too_long
                ]
                events += _parse_lines(name, lines.data, problems)
                size, is_complete = size + len(lines.data), lines.is_complete
                if lines.end > known.offset or not lines.end:
                    digest = hash_tail(self._tree, path, lines.end)
                    after[name] = ReadOffset(lines.end, digest)
                    self._checked[name] = stamp, after[name]
        return JournalDelta(events, after, restarted, tuple(problems), is_complete)

    def read_parts(self, offsets: Mapping[str, ReadOffset]) -> Iterator[JournalDelta]:
        """Read everything after the offsets, a part at a time."""
        while True:
            delta = self.read(offsets)
            yield delta
            if delta.is_complete:
                return
            offsets = delta.offsets

    def find_problems(self) -> list[Problem]:
        """Return the files that lost the end of their last line, as after a crash."""
        problems = []
        with suppress(OSError):
            for path in self._list_paths():
                name = f"{FOLDER}/{path.name}"
                if not ends_with_newline(self._tree, path):
                    problems.append(Problem(name, _TORN))
                if self._tree.exists(path.with_name(path.name + CORRUPT)):
                    problems.append(Problem(name, _MOVED.format(f"{name}{CORRUPT}")))
        return problems

    def list_events(self, memory_id: str) -> list[Event]:
        """Return the events that name a memory. Only lines that contain its ID are parsed."""
        wanted = memory_id.encode()
        found: list[Event] = []
        with disk_errors(self._folder):
            for path in self._list_paths():
                for part in read_all_lines(self._tree, path):
                    data = part.data
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
        self._written = None
        with disk_errors(self._folder):
            for path in self._list_paths():
                quarantine_torn_tail(self._disk, path)
                before, _ = self._tree.read(path, MAX_REWRITTEN)
                lines = []
                for line in before.splitlines(keepends=True):
                    try:
                        event = _parse_line(line)
                    except (ValueError, TypeError, KeyError, RecursionError, BadFrontMatter):
                        lines.append(line)
                        continue
                    changed = change(event)
                    if changed is not None:
                        lines.append(line if changed == event else format_line(changed))
                after = b"".join(lines)
                if after != before:
                    replace_file(self._disk, self._tree.root, path, after, before)

    def _list_paths(self) -> list[Path]:
        """Return the files. Links and named pipes are left out; `verify` reports them."""
        return [self._folder / name for name in self._list_files()]

    def _list_files(self) -> dict[str, Stamp]:
        """Return size, time and inode of the same files, by name, in order."""
        with suppress(FileNotFoundError, NotADirectoryError, UnsafeFile):
            with self._tree.scan(FOLDER) as entries:
                found = {
                    entry.name: _make_stamp(entry.stat(follow_symlinks=False))
                    for entry in entries
                    if entry.name.endswith(".jsonl") and entry.is_file(follow_symlinks=False)
                }
            return dict(sorted(found.items()))
        return {}

    def _is_continued(self, files: Mapping[str, Stamp], offsets: Mapping[str, ReadOffset]) -> bool:
        """Return whether the journal was only appended to since these offsets.

        Lines that another machine added to an earlier month come before those already read.
        """
        latest = max(offsets, default="")
        for name, stamp in files.items():
            offset = offsets[name].offset if name in offsets else 0
            is_longer = name < latest and stamp[0] > offset
            if is_longer and has_complete_line(self._tree, self._folder / name, offset):
                return False
        for name, known in offsets.items():  # the bytes before an offset must be the same
            if name not in files:
                return False
            stamp = files[name]
            if self._checked.get(name) == (stamp, known):
                continue  # only files that changed are read
            if known.offset > stamp[0]:
                return False
            if hash_tail(self._tree, self._folder / name, known.offset) != known.tail_sha:
                return False
            self._checked[name] = stamp, known
        return True


def _make_stamp(status: os.stat_result) -> Stamp:
    return status.st_size, status.st_mtime_ns, status.st_ino


def format_line(event: Event) -> bytes:
    """Return the line of an event. Raises InvalidRequest."""
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
            shown = quote_value(line.decode("utf-8", "replace"))
            reason = f"skipped a line that is not an event ({shown}): fix or remove it"
            problems.append(Problem(f"{FOLDER}/{name}", reason))


def parse_event(line: bytes) -> Event | None:
    """Return the event of a line; None if it is not one."""
    try:
        return _parse_line(line)
    except (ValueError, TypeError, KeyError, RecursionError, BadFrontMatter):
        return None


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
