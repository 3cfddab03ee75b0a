"""The log of hook runs, which `muisti doctor` shows: how each ended and how long it took, never what was said.

One line of JSON a run in `hooks.jsonl`; what no longer fits moves to `hooks.1.jsonl`, over what was there.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path

from muisti.surfaces.hooks.paths import create_folder, get_state_folder

FILE, EARLIER = "hooks.jsonl", "hooks.1.jsonl"
MAX_BYTES = 128 * 1024
"""Bytes of each of the two files."""
MAX_CHARS = 300
"""Characters of a text that are kept."""


@dataclass(frozen=True, slots=True)
class Run:
    """One call of a hook."""

    at: datetime
    event: str
    agent: str
    vault: str
    """The folder; empty if it was not known yet."""
    project: str
    milliseconds: float
    outcome: str
    """`ok`: something was recalled or kept; `nothing`: there was nothing to do; `error`."""
    detail: str
    """What went wrong, or how much was done. Neither prompts nor memories."""


def record(run: Run) -> None:
    """Append a run. Never raises: a log that cannot be written is no reason to trouble an agent."""
    with suppress(Exception):
        folder = create_folder(get_state_folder())
        _append(folder / FILE, folder / EARLIER, _to_line(run))


def read_recent(limit: int = 50) -> list[Run]:
    """The latest runs, the latest first. Lines that are broken are left out; never raises."""
    folder = get_state_folder()
    runs = [run for name in (EARLIER, FILE) for run in _runs(folder / name)]
    return runs[::-1][: max(0, limit)]


def _append(path: Path, earlier: Path, line: bytes) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
    try:
        if os.fstat(fd).st_size + len(line) > MAX_BYTES and _set_aside(fd, path, earlier):
            os.close(fd)
            fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(fd, line)  # one write: lines of several processes do not mix
    finally:
        os.close(fd)


def _set_aside(fd: int, path: Path, earlier: Path) -> bool:
    """Rename a file that is full, unless another process is at it or has done so."""
    from muisti.storage.files.lock import try_lock  # rarely needed

    if not try_lock(fd) or not os.path.samestat(os.fstat(fd), os.stat(path)):
        return False
    try:
        os.replace(path, earlier)
    except PermissionError:  # Windows renames no open file
        os.ftruncate(fd, 0)
    return True


def _to_line(run: Run) -> bytes:
    said = {
        name: value[:MAX_CHARS] if isinstance(value, str) else value
        for name, value in asdict(run).items()
    }
    said["at"] = run.at.astimezone(UTC).isoformat(timespec="milliseconds")
    said["milliseconds"] = round(run.milliseconds, 1)
    return json.dumps(said, separators=(",", ":")).encode() + b"\n"


def _runs(path: Path) -> list[Run]:
    try:
        with path.open("rb") as file:
            lines = file.read(2 * MAX_BYTES).split(b"\n")
    except OSError:
        return []
    return [run for run in map(_run, lines) if run is not None]


def _run(line: bytes) -> Run | None:
    try:
        said = json.loads(line)
        values = {field.name: said[field.name] for field in fields(Run)}
        at = datetime.fromisoformat(values.pop("at"))
        if at.tzinfo is None or not all(
            isinstance(value, str) for name, value in values.items() if name != "milliseconds"
        ):
            return None
        values["milliseconds"] = float(values["milliseconds"])
        return Run(at=at, **values)
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
