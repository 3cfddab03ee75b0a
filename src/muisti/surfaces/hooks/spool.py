"""What hooks leave for the worker, and what each session was given: small files that need no lock.

A hook writes an entry and is done; the worker makes messages and memories of it and removes it. Whatever happens to
either of them, an entry is there as a whole or not at all, and waits until it is dealt with.
"""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from muisti.surfaces.hooks.paths import create_folder, get_state_folder

if TYPE_CHECKING:
    from datetime import datetime

MAX_RECALLED = 2_000
"""Memories of a session that are known to have been given."""


class Entry:
    """Something that a session said or did: plain, for the same reason as `events.Call`."""

    __slots__ = (
        "agent",
        "answer",
        "at",
        "end",
        "foreign",
        "id",
        "project",
        "prompts",
        "session",
        "transcript",
        "vault",
    )

    def __init__(
        self, *, id: str, at: float, agent: str, vault: str, project: str, session: str
    ) -> None:
        self.id, self.at, self.agent, self.vault, self.project, self.session = (
            id,
            at,
            agent,
            vault,
            project,
            session,
        )
        self.prompts: list[tuple[float, str]] = []
        """What was asked, each with when."""
        self.answer = ""
        self.transcript = ""
        """A file to look into for what was not told."""
        self.end = False
        """The session is over."""
        self.foreign = False
        """Nobody named the vault: it was found in the folder that the agent works in."""


def new_entry(agent: str, vault: str, project: str, session: str) -> Entry:
    """An empty entry of now."""
    at = time.time_ns()
    return Entry(
        id=f"{at:020d}-{os.getpid()}",
        at=at / 1e9,
        agent=agent,
        vault=vault,
        project=project,
        session=session,
    )


def add_entry(entry: Entry) -> None:
    """Leave an entry for the worker: synced, so that it outlives a crash. Raises OSError."""
    folder = create_folder(get_spool_folder())
    said = {name: getattr(entry, name) for name in Entry.__slots__}
    _write(folder / f"{entry.id}.json", json.dumps(said).encode())


def list_entries() -> list[Path]:
    """The entries that wait, in their order."""
    with suppress(OSError):
        return sorted(path for path in get_spool_folder().iterdir() if path.suffix == ".json")
    return []


def read_entry(path: Path) -> Entry:
    """One entry. Raises ValueError for a file that is none, OSError if it cannot be read."""
    said = json.loads(path.read_bytes())
    try:
        entry = Entry(
            **{name: said[name] for name in ("id", "at", "agent", "vault", "project", "session")}
        )
        entry.prompts = [(float(at), str(text)) for at, text in said["prompts"]]
        entry.answer, entry.transcript, entry.end = (
            str(said["answer"]),
            str(said["transcript"]),
            bool(said["end"]),
        )
        entry.foreign = bool(said["foreign"])
    except (KeyError, TypeError) as error:
        raise ValueError("it is no entry") from error
    return entry


def get_spool_folder() -> Path:
    """Where entries wait."""
    return get_state_folder() / "waiting"


def add_prompt(agent: str, session: str, text: str) -> None:
    """Keep what was asked until it is answered. Raises OSError."""
    _append(_file(agent, session, "prompts"), json.dumps([time.time(), text]).encode() + b"\n")


def read_pending_prompts(agent: str, session: str) -> list[tuple[float, str]]:
    """What was asked since the last answer."""
    return read_prompts(_file(agent, session, "prompts"))


def take_prompts(agent: str, session: str, entry: str) -> Path:
    """Put what was asked since the last answer aside for an entry: what is asked from now on belongs to the next."""
    taken = _file(agent, session, f"prompts-{entry}")
    with suppress(OSError):
        os.replace(_file(agent, session, "prompts"), taken)
    return taken


def read_prompts(path: Path) -> list[tuple[float, str]]:
    """What was asked; the same twice in a row, as two hooks of one agent say it, is once."""
    found: list[tuple[float, str]] = []
    with suppress(OSError):
        for line in path.read_bytes().split(b"\n"):
            with suppress(ValueError, TypeError):
                at, text = json.loads(line)
                if not found or found[-1][1] != str(text):
                    found.append((float(at), str(text)))
    return found


def forget(taken: Path) -> None:
    """They are in an entry now."""
    with suppress(OSError):
        taken.unlink()


def record_recalled(agent: str, session: str, ids: list[str]) -> None:
    """Remember which memories stand in the session's context. Raises OSError."""
    if ids:
        _append(_file(agent, session, "given"), "".join(f"{id_}\n" for id_ in ids).encode())


def read_recalled(agent: str, session: str) -> set[str]:
    """The memories that stand in the session's context already."""
    with suppress(OSError):
        return set(
            _file(agent, session, "given").read_text("ascii", "replace").split()[-MAX_RECALLED:]
        )
    return set()


def get_recall_time(agent: str, session: str) -> datetime | None:
    """When the session was last told something that it still knows; None if it was not."""
    with suppress(OSError):
        from datetime import UTC, datetime  # not free, and not needed after every tool

        return datetime.fromtimestamp(_file(agent, session, "given").stat().st_mtime, UTC)
    return None


def clear_recalled(agent: str, session: str) -> None:
    """The context was emptied."""
    with suppress(OSError):
        _file(agent, session, "given").unlink()


def count_tool_call(agent: str, session: str) -> None:
    """One more call of a tool: the file's size is the count. Raises OSError."""
    _append(_file(agent, session, "tools"), b".")


def get_tool_calls(agent: str, session: str) -> int:
    """How many calls of tools there were."""
    with suppress(OSError):
        return _file(agent, session, "tools").stat().st_size
    return 0


def delete_old_files(older_than_days: float) -> None:
    """Remove what sessions left that nobody has gone on with for so long."""
    before = time.time() - older_than_days * 86_400
    for folder in (get_state_folder() / "sessions", get_spool_folder()):
        with suppress(OSError):
            for path in folder.iterdir():
                with suppress(OSError):
                    if path.suffix != ".lock" and path.lstat().st_mtime < before:
                        path.unlink()


def _file(agent: str, session: str, what: str) -> Path:
    return get_state_folder() / "sessions" / f"{agent}_{session}.{what}"


def _append(path: Path, data: bytes) -> None:
    create_folder(path.parent)
    fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
    try:
        os.write(fd, data)
    finally:
        os.close(fd)


def _write(path: Path, data: bytes) -> None:
    temporary = path.with_suffix(".new")
    fd = os.open(
        temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0), 0o600
    )
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise
