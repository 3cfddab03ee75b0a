"""Plan the changes to an agent's files and show them as a diff. Nothing is written here."""

from __future__ import annotations

import difflib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

from muisti.surfaces.setup.agents import Agent, Machine
from muisti.surfaces.setup.contents import (
    LaunchCommand,
    OriginalState,
    add_muisti,
    find_entries,
    format_for_pasting,
    remove_muisti,
)
from muisti.surfaces.setup.errors import ConfigurationProblem, Malformed, locate
from muisti.surfaces.setup.install_record import load_original_state

LARGEST = 64 * 1024 * 1024
WIDEST = 200
"""The maximum number of characters per line of a diff."""
CONTEXT = 2


@dataclass(frozen=True, slots=True)
class Change:
    """One file before and after."""

    path: Path
    """The path that the agent uses."""
    target: Path
    """The file itself, if the path is a symbolic link."""
    old: bytes | None
    new: bytes | None
    """None if the file does not exist, or will be removed."""
    before: OriginalState | None
    """What to record for `muisti uninstall`."""
    private: bool
    """Whether a new file is readable by this user only."""
    leaving: bool = False
    """Whether muisti is removed from the file."""

    @property
    def state(self) -> str:
        """Return `same`, `new`, `changed` or `removed`."""
        if self.old == self.new:
            return "same"
        return "new" if self.old is None else "removed" if self.new is None else "changed"


def plan_install(
    agent: Agent, machine: Machine, launch: LaunchCommand, *, here: bool
) -> list[Change]:
    """Return the changes that set up the agent. Raises ConfigurationProblem, InvalidRequest."""
    changes = []
    for file in agent.files(here=here):
        path = file.place(machine)
        target, old = read_file(path)
        with _explain_errors(path, old, paste=format_for_pasting(file, launch)):
            empty = "" if file.toml or file.script else "{}\n"
            text = empty if old is None else decode_file(path, old)
            was_there = bool(find_entries(text, file))
            changed, before = add_muisti(text, file, launch)
        if old is None:
            missing = takewhile(lambda folder: not os.path.lexists(folder), target.parents)
            folders = tuple(map(str, missing))
            before = OriginalState(new=True, folders=folders, versioned=before.versioned)
        known = load_original_state(target) if was_there else before
        changes.append(Change(path, target, old, changed.encode(), known, private=not here))
    return changes


def plan_uninstall(agent: Agent, machine: Machine, *, here: bool) -> list[Change]:
    """Return the changes that revert the setup. Raises ConfigurationProblem, InvalidRequest."""
    changes = []
    for file in agent.files(here=here):
        path = file.place(machine)
        target, old = read_file(path)
        before, new = None, None
        if old is not None:
            before = load_original_state(target)
            with _explain_errors(path, old):
                left = remove_muisti(decode_file(path, old), file, before)
            is_created = before is not None and before.new and bool(old.strip())
            is_created = is_created or (bool(file.script) and not left)
            new = None if is_created and left.strip() in ("", "{}") else left.encode()
        changes.append(Change(path, target, old, new, before, private=not here, leaving=True))
    return changes


def format_diff(change: Change) -> str:
    """Return a unified diff with secrets redacted."""
    from muisti.text.secrets import redact_secrets  # slow to import; only a change needs it

    old, new = (
        (content or b"").decode("utf-8").splitlines() for content in (change.old, change.new)
    )
    old_name = "/dev/null" if change.old is None else str(change.path)
    new_name = "/dev/null" if change.new is None else str(change.path)
    diff = difflib.unified_diff(old, new, old_name, new_name, n=CONTEXT, lineterm="")
    lines = redact_secrets("\n".join(diff)).split("\n")
    return "\n".join(line[:WIDEST] + "…" if len(line) > WIDEST else line for line in lines)


def read_file(path: Path) -> tuple[Path, bytes | None]:
    """Return the resolved path and the content of a file. Raises ConfigurationProblem."""
    try:
        target = path.resolve()
    except (OSError, RuntimeError) as error:
        raise ConfigurationProblem(path, _explain_os_error(error)) from error
    try:
        mode = target.stat().st_mode
    except FileNotFoundError:
        return target, None
    except OSError as error:
        raise ConfigurationProblem(path, _explain_os_error(error)) from error
    if not stat.S_ISREG(mode):
        raise ConfigurationProblem(path, "is not a file; move it away")
    try:
        if target.stat().st_size > LARGEST:
            raise ConfigurationProblem(
                path, f"is larger than {LARGEST // 2**20} MB, too large for a configuration"
            )
        return target, target.read_bytes()
    except OSError as error:
        raise ConfigurationProblem(path, _explain_os_error(error)) from error


def decode_file(path: Path, content: bytes) -> str:
    """Decode the text of a file. Raises ConfigurationProblem."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        good = content[: error.start].decode("utf-8")
        reason = "the file is not UTF-8; save it as UTF-8 in your editor"
        raise ConfigurationProblem(path, reason, place=locate(good, len(good))) from error


@contextmanager
def _explain_errors(path: Path, content: bytes | None, paste: str = "") -> Iterator[None]:
    """Add to an error where the problem is, what to do, and what to paste instead."""
    try:
        yield
    except (Malformed, ConfigurationProblem) as error:
        place = (
            error.place
            if isinstance(error, ConfigurationProblem)
            else locate((content or b"").decode(), error.position)
        )
        advice = f"\nOr add this to it yourself:\n{paste}" if paste else ""
        reason = f"{error.reason}. The file was not changed; correct it and try again.{advice}"
        raise ConfigurationProblem(path, reason.rstrip("\n"), place=place) from error


def _explain_os_error(error: OSError | RuntimeError) -> str:
    if isinstance(error, RuntimeError):
        return "is a symbolic link to itself; remove it"
    fix = "; make it readable: chmod u+rw" if isinstance(error, PermissionError) else ""
    return f"cannot be read ({error.strerror or error}){fix}"
