"""The log of hook runs, which `muisti doctor` shows: outcome and duration, never any content.

One JSON line for each run in `hooks.jsonl`. A full file is renamed to `hooks.1.jsonl`, replacing
the previous one.
"""

from __future__ import annotations

import json
import os
import re
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from muisti.filesystem import open_to_append, read_file
from muisti.surfaces.hooks.events import EVENTS
from muisti.surfaces.hooks.paths import create_folder, get_state_folder

FILE, EARLIER = "hooks.jsonl", "hooks.1.jsonl"
MAX_BYTES = 128 * 1024
"""The size of each of the two files."""
MAX_CHARS = 300
"""Characters of a text that are kept."""
_NAME = r"[a-z0-9]{1,12}(?:[._-][a-z0-9]{1,12}){0,3}"
_HARMLESS = re.compile(
    rf"[A-Za-z ]*|{_NAME}|(?:/\.?{_NAME})+|\d+ memor(?:y|ies) recalled(?: in project {_NAME})?"
)
"""Texts without a secret for sure: loading the module that finds secrets takes some time."""


class Run:
    """One hook call. Not a dataclass, for speed: see `events`."""

    __slots__ = (
        "agent",
        "at",
        "detail",
        "event",
        "milliseconds",
        "outcome",
        "project",
        "vault",
    )

    def __init__(
        self,
        at: datetime,
        event: str,
        agent: str,
        vault: str,
        project: str,
        milliseconds: float,
        outcome: str,
        detail: str,
    ) -> None:
        self.at = at
        self.event = event
        self.agent = agent
        self.vault = vault
        """The folder; empty if it was not known yet."""
        self.project = project
        self.milliseconds = milliseconds
        self.outcome = outcome
        """`ok`: something was recalled or captured; `nothing`: nothing to do; `error`."""
        self.detail = detail
        """What went wrong, or how much was done. Never a prompt or a memory."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Run) and all(
            getattr(self, name) == getattr(other, name) for name in self.__slots__
        )


_ORDER = ("at", "event", "agent", "vault", "project", "milliseconds", "outcome", "detail")


def record(run: Run) -> None:
    """Append a run. Never raises: a failing log must not disturb the agent."""
    with suppress(Exception):
        folder = create_folder(get_state_folder())
        values = {name: getattr(run, name) for name in _ORDER}
        for name, value in values.items():
            if isinstance(value, str):
                values[name] = _redact(value)[:MAX_CHARS]
        values["at"] = run.at.astimezone(UTC).isoformat(timespec="milliseconds")
        values["milliseconds"] = round(run.milliseconds, 1)
        line = json.dumps(values, separators=(",", ":")).encode() + b"\n"
        _append(folder / FILE, folder / EARLIER, line)


def _redact(text: str) -> str:
    """Redact what an agent or a message may have passed: names of events, folders and sessions."""
    if text in EVENTS or _HARMLESS.fullmatch(text):
        return text
    from muisti.text.private_tags import remove_private
    from muisti.text.secrets import redact_secrets

    return redact_secrets(remove_private(text))


def read_recent(limit: int = 50) -> list[Run]:
    """Return the latest runs, the latest first, without broken lines. Never raises."""
    folder = get_state_folder()
    runs: list[Run] = []
    for name in (EARLIER, FILE):
        lines = []
        with suppress(OSError):
            lines = read_file(folder / name, 2 * MAX_BYTES)[0].split(b"\n")
        for line in lines:
            with suppress(ValueError, TypeError, KeyError, RecursionError):
                runs.append(_parse_run(line))
    return runs[::-1][: max(0, limit)]


def _append(path: Path, earlier: Path, line: bytes) -> None:
    fd = open_to_append(path)
    try:
        if os.fstat(fd).st_size + len(line) > MAX_BYTES and _rotate(fd, path, earlier):
            os.close(fd)
            fd = open_to_append(path)
        os.write(fd, line)  # one write: lines of several processes do not mix
    finally:
        os.close(fd)


def _rotate(fd: int, path: Path, earlier: Path) -> bool:
    """Rename a full file, unless another process does or has done so."""
    from muisti.storage.files.lock import try_lock  # rarely needed

    if not try_lock(fd) or not os.path.samestat(os.fstat(fd), os.stat(path)):
        return False
    try:
        os.replace(path, earlier)
    except PermissionError:  # Windows cannot rename an open file
        os.ftruncate(fd, 0)
    return True


def _parse_run(line: bytes) -> Run:
    """Parse one line. Raises ValueError, TypeError, KeyError or RecursionError."""
    record = json.loads(line)
    values = {name: record[name] for name in _ORDER}
    at = datetime.fromisoformat(values.pop("at"))
    milliseconds = float(values.pop("milliseconds"))
    if at.tzinfo is None or not all(isinstance(value, str) for value in values.values()):
        raise ValueError("not a run")
    return Run(at=at, milliseconds=milliseconds, **values)
