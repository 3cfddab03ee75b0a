"""The spool: entries that hooks leave for the worker, and small files for each session.

A hook writes an entry and is done. The worker stores its messages and memories, then removes it.
Entries are written atomically, and wait until they are processed. No locks are needed.
"""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from pathlib import Path

from muisti.filesystem import create_file, open_to_append, read_file
from muisti.surfaces.hooks.paths import create_folder, get_state_folder

TYPE_CHECKING = False  # `typing` is slow to import
if TYPE_CHECKING:
    from datetime import datetime

MAX_FILE = 64_000_000
"""The most bytes of a file that is read."""
MAX_RECALLED = 2_000
"""How many recalled memories are known for each session."""


class Entry:
    """Something to capture from a session. Not a dataclass, for speed: see `events`."""

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
        self.id = id
        self.at = at
        self.agent = agent
        self.vault = vault
        self.project = project
        self.session = session
        self.prompts: list[tuple[float, str]] = []
        """The prompts, each with its time."""
        self.answer = ""
        self.transcript = ""
        """A file to read for anything that the hooks did not report."""
        self.end = False
        """The session has ended."""
        self.foreign = False
        """The vault was found in the agent's working folder, not configured by the user."""


def new_entry(agent: str, vault: str, project: str, session: str) -> Entry:
    """Return an empty entry with the current time."""
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
    """Write an entry for the worker, synced to disk. Raises OSError."""
    values = {name: getattr(entry, name) for name in Entry.__slots__}
    path = create_folder(get_spool_folder()) / f"{entry.id}.json"
    temporary = path.with_suffix(".new")
    delete_file(temporary)
    fd = create_file(temporary)
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(json.dumps(values).encode())
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        delete_file(temporary)
        raise


def list_entries() -> list[Path]:
    """Return the files of waiting entries, in order."""
    with suppress(OSError):
        return sorted(path for path in get_spool_folder().iterdir() if path.suffix == ".json")
    return []


def read_entry(path: Path) -> Entry:
    """Return one entry. Raises ValueError if the file is not one, OSError if it is unreadable."""
    values = json.loads(read_file(path, MAX_FILE)[0])
    try:
        names = ("id", "at", "agent", "vault", "project", "session")
        entry = Entry(**{name: values[name] for name in names})
        entry.prompts = [(float(at), str(text)) for at, text in values["prompts"]]
        entry.answer = str(values["answer"])
        entry.transcript = str(values["transcript"])
        entry.end = bool(values["end"])
        entry.foreign = bool(values["foreign"])
    except (KeyError, TypeError) as error:
        raise ValueError(f"{path} is not an entry") from error
    return entry


def get_spool_folder() -> Path:
    """Return the folder of waiting entries."""
    return get_state_folder() / "waiting"


def add_prompt(agent: str, session: str, text: str) -> None:
    """Keep a prompt until its reply is known. Raises OSError."""
    line = json.dumps([time.time(), text]).encode() + b"\n"
    delete_file(_session_file(agent, session, "reply"))  # of a turn that did not end
    _append(_session_file(agent, session, "prompts"), line)


def save_reply(agent: str, session: str, text: str) -> None:
    """Keep the latest message of the agent until its turn ends. Raises OSError."""
    path = _session_file(agent, session, "reply")
    delete_file(path)
    _append(path, text.encode())


def take_reply(agent: str, session: str) -> str:
    """Return the latest message of the agent and remove it; "" if there is none."""
    path = _session_file(agent, session, "reply")
    with suppress(OSError):
        text = read_file(path, MAX_FILE)[0].decode("utf-8", "replace")
        delete_file(path)
        return text
    return ""


def read_pending_prompts(agent: str, session: str) -> list[tuple[float, str]]:
    """Return the prompts since the last reply."""
    return read_prompts(_session_file(agent, session, "prompts"))


def take_prompts(agent: str, session: str, entry: str) -> Path:
    """Move the prompts since the last reply to a file for one entry, and return its path."""
    taken = _session_file(agent, session, f"prompts-{entry}")
    with suppress(OSError):
        os.replace(_session_file(agent, session, "prompts"), taken)
    return taken


def read_prompts(path: Path) -> list[tuple[float, str]]:
    """Return the prompts in a file. A repeated one, reported by two hooks, is returned once."""
    found: list[tuple[float, str]] = []
    with suppress(OSError):
        for line in read_file(path, MAX_FILE)[0].split(b"\n"):
            with suppress(ValueError, TypeError):
                at, text = json.loads(line)
                if not found or found[-1][1] != str(text):
                    found.append((float(at), str(text)))
    return found


def delete_file(path: Path) -> None:
    """Delete a file, if possible."""
    with suppress(OSError):
        path.unlink()


def record_recalled(agent: str, session: str, ids: list[str]) -> None:
    """Record which memories the session's context has. Raises OSError."""
    if ids:
        lines = "".join(f"{memory_id}\n" for memory_id in ids)
        _append(_session_file(agent, session, "given"), lines.encode())


def read_recalled(agent: str, session: str) -> set[str]:
    """Return the IDs of memories that the session's context has."""
    with suppress(OSError):
        data, _ = read_file(_session_file(agent, session, "given"), MAX_FILE)
        ids = data.decode("ascii", "replace").split()
        return set(ids[-MAX_RECALLED:])
    return set()


def get_recall_time(agent: str, session: str) -> datetime | None:
    """Return when the session's context last got memories, or None."""
    with suppress(OSError):
        from datetime import UTC, datetime  # slow to import, and not needed after every tool call

        changed = _session_file(agent, session, "given").stat().st_mtime
        return datetime.fromtimestamp(changed, UTC)
    return None


def clear_recalled(agent: str, session: str) -> None:
    """Forget what was recalled: the session's context was cleared."""
    delete_file(_session_file(agent, session, "given"))


def count_tool_call(agent: str, session: str) -> None:
    """Count a tool call, as one byte of a file. Raises OSError."""
    _append(_session_file(agent, session, "tools"), b".")


def get_tool_calls(agent: str, session: str) -> int:
    """Return how many tool calls were counted."""
    with suppress(OSError):
        return _session_file(agent, session, "tools").stat().st_size
    return 0


def delete_old_files(days: float) -> None:
    """Delete entries and files of sessions that were not changed for this many days."""
    before = time.time() - days * 86_400
    for folder in (get_state_folder() / "sessions", get_spool_folder()):
        with suppress(OSError):
            for path in folder.iterdir():
                with suppress(OSError):
                    if path.suffix != ".lock" and path.lstat().st_mtime < before:
                        path.unlink()


def _session_file(agent: str, session: str, suffix: str) -> Path:
    return get_state_folder() / "sessions" / f"{agent}_{session}.{suffix}"


def _append(path: Path, data: bytes) -> None:
    create_folder(path.parent)
    fd = open_to_append(path)
    try:
        os.write(fd, data)
    finally:
        os.close(fd)
