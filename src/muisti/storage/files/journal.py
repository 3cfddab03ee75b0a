"""The journal: one JSON object per line in `journal/YYYY-MM.jsonl`, append-only.

Lines are in the order of events. New lines go to the latest file that exists, even if the clock was
set back to an earlier month.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from muisti.errors import InvalidRequest, quote_value
from muisti.model import Event, Problem
from muisti.ports import Clock
from muisti.storage.files.disk import Disk, disk_errors
from muisti.storage.files.frontmatter import BadFrontMatter
from muisti.storage.files.jsonl import (
    CORRUPT,
    MAX_READ,
    MAX_REWRITTEN,
    TOO_LONG,
    ends_with_newline,
    has_complete_line,
    hash_tail,
    quarantine_torn_tail,
    read_all_lines,
    read_lines,
    replace_file,
)
from muisti.storage.files.timestamps import format_time, parse_time
from muisti.storage.sync_state import JournalDelta, ReadOffset

FOLDER = "journal"
_TORN = "its last line is incomplete, and is moved to a .corrupt file at the next change"
_MOVED = "an incomplete last line was moved to {}: check it, then remove that file"
_OWN_KEYS = {"at", "event", "memories", "session"}


class FileJournal:
    """The journal of one vault."""

    def __init__(self, root: Path, clock: Clock, disk: Disk | None = None) -> None:
        self._folder = root / FOLDER
        self._clock = clock
        self._disk = (disk or Disk()).confine(root)
        self._tree = self._disk.tree(root)
        self._checked: dict[str, tuple[int, int, int, ReadOffset]] = {}

    def append(self, events: Sequence[Event], *, durable: bool) -> None:
        """Append lines with one write. Call under the vault's lock."""
        if not events:
            return
        with disk_errors(self._folder):
            self._disk.make_folder(self._folder)
            this_month = self._folder / f"{self._clock.now():%Y-%m}.jsonl"
            path = max([this_month, *self._list_paths()[-1:]])
            existed = self._tree.is_file(path)
            if existed:
                quarantine_torn_tail(self._disk, path)
            self._disk.append(
                path, b"".join(_format_line(event) for event in events), durable=durable
            )
            if durable and not existed:
                self._disk.sync_folder(self._folder)

    def read(self, offsets: Mapping[str, ReadOffset]) -> JournalDelta:
        """Read the lines after the offsets, or all lines if the journal was rewritten since.

        At most about `MAX_READ` bytes are read; then the result is not complete.
        """
        with disk_errors(self._folder):
            paths = self._list_paths()
            restarted = not self._is_continued(paths, offsets)
            after: dict[str, ReadOffset] = {} if restarted else dict(offsets)
            events: list[Event] = []
            problems: list[Problem] = []
            size, is_complete = 0, True
            for path in paths:
                if size > MAX_READ or not is_complete:
                    is_complete = False
                    break
                known = after.setdefault(path.name, ReadOffset(0, ""))
                status = self._tree.lstat(path)
                if known.offset and status is not None and status.st_size <= known.offset:
                    continue
                lines = read_lines(self._tree, path, known.offset)
                problems += [
                    Problem(
                        f"{FOLDER}/{path.name}", f"skipped the line at byte {at}: it {TOO_LONG}"
                    )
                    for at in lines.too_long
                ]
                events += _parse_lines(path.name, lines.data, problems)
                size, is_complete = size + len(lines.data), lines.is_complete
                if lines.end > known.offset or not lines.end:
                    digest = hash_tail(self._tree, path, lines.end)
                    after[path.name] = ReadOffset(lines.end, digest)
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
                        lines.append(line if changed == event else _format_line(changed))
                after = b"".join(lines)
                if after != before:
                    replace_file(self._disk, self._tree.root, path, after, before)

    def _list_paths(self) -> list[Path]:
        """Return the files. Links and named pipes are left out; `verify` reports them."""
        return [self._folder / name for name in self._tree.list_files(FOLDER, ".jsonl")]

    def _is_continued(self, paths: Sequence[Path], offsets: Mapping[str, ReadOffset]) -> bool:
        """Return whether the journal was only appended to since these offsets.

        Lines that another machine added to an earlier month come before those already read.
        """
        latest = max(offsets, default="")
        statuses = {path.name: self._tree.lstat(path) for path in paths}
        by_name = {name: status for name, status in statuses.items() if status is not None}
        for name, status in by_name.items():
            offset = offsets[name].offset if name in offsets else 0
            is_longer = name < latest and status.st_size > offset
            if is_longer and has_complete_line(self._tree, self._folder / name, offset):
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
            if hash_tail(self._tree, self._folder / name, known.offset) != known.tail_sha:
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
            shown = quote_value(line.decode("utf-8", "replace"))
            reason = f"skipped a line that is not an event ({shown}): fix or remove it"
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
