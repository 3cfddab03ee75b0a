"""What would change in an agent's files: read, compared, shown. Nothing is written here."""

from __future__ import annotations

import difflib
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from muisti.surfaces.setup import install_record
from muisti.surfaces.setup.agents import Agent, File, Machine
from muisti.surfaces.setup.contents import (
    LaunchCommand,
    OriginalState,
    add_muisti,
    find_entries,
    format_for_pasting,
    remove_muisti,
)
from muisti.surfaces.setup.errors import ConfigurationProblem, Malformed, locate

LARGEST = 64 * 1024 * 1024
WIDEST = 200
"""Characters of a line that a difference shows."""
CONTEXT = 2


@dataclass(frozen=True, slots=True)
class Change:
    """One file as it is and as it shall be."""

    path: Path
    """As the agent names it."""
    target: Path
    """The file itself, if the path is a link."""
    old: bytes | None
    new: bytes | None
    """None: there is no such file, or shall be none."""
    before: OriginalState | None
    """What is to be remembered for the way back."""
    private: bool
    """A new file is for this user alone."""
    leaving: bool = False
    """muisti is taken out of the file."""

    @property
    def state(self) -> str:
        """`same`, `new`, `changed` or `removed`."""
        if self.old == self.new:
            return "same"
        return "new" if self.old is None else "removed" if self.new is None else "changed"


def plan_install(
    agent: Agent, machine: Machine, starting: LaunchCommand, *, here: bool
) -> list[Change]:
    """What would give the agent its memory. Raises ConfigurationProblem, InvalidRequest."""
    return [
        _plan_file_install(file, machine, starting, here=here) for file in agent.files(here=here)
    ]


def plan_uninstall(agent: Agent, machine: Machine, *, here: bool) -> list[Change]:
    """What would take it away again. Raises ConfigurationProblem, InvalidRequest."""
    return [_plan_file_uninstall(file, machine, here=here) for file in agent.files(here=here)]


def format_diff(change: Change) -> str:
    """What changes, line by line. Secrets that stand near it are not shown."""
    from muisti.text.secrets import (
        redact_secrets,
    )  # the table of secrets: a plan without changes needs none

    return "\n".join(
        line[:WIDEST] + "…" if len(line) > WIDEST else line
        for line in redact_secrets("\n".join(_lines(change))).split("\n")
    )


def read_file(path: Path) -> tuple[Path, bytes | None]:
    """The file behind a path and what is in it. Raises ConfigurationProblem."""
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
        raise ConfigurationProblem(path, "is no file: move it away")
    try:
        if target.stat().st_size > LARGEST:
            raise ConfigurationProblem(
                path, f"is larger than {LARGEST // 2**20} MB; that is no configuration"
            )
        return target, target.read_bytes()
    except OSError as error:
        raise ConfigurationProblem(path, _explain_os_error(error)) from error


def decode_file(path: Path, content: bytes) -> str:
    """The text of a file. Raises ConfigurationProblem."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        good = content[: error.start].decode("utf-8")
        reason = "this is not UTF-8: save the file as UTF-8 in your editor"
        raise ConfigurationProblem(path, reason, place=locate(good, len(good))) from error


def _plan_file_install(
    file: File, machine: Machine, starting: LaunchCommand, *, here: bool
) -> Change:
    path = file.place(machine)
    target, old = read_file(path)
    empty_file = "" if file.toml else "{}\n"
    with _explain_errors(path, old, lambda: format_for_pasting(file, starting)):
        text = empty_file if old is None else decode_file(path, old)
        was_there = bool(find_entries(text, file))
        changed, before = add_muisti(text, file, starting)
    if old is None:
        before = OriginalState(new=True, folders=tuple(_list_missing_folders(target)))
    known = install_record.load_original_state(target) if was_there else before
    return Change(path, target, old, changed.encode(), known, private=not here)


def _plan_file_uninstall(file: File, machine: Machine, *, here: bool) -> Change:
    path = file.place(machine)
    target, old = read_file(path)
    if old is None:
        return Change(path, target, None, None, None, private=not here, leaving=True)
    before = install_record.load_original_state(target)
    with _explain_errors(path, old, lambda: ""):
        left = remove_muisti(decode_file(path, old), file, before)
    gone = before is not None and before.new and left.strip() in ("", "{}") and bool(old.strip())
    return Change(
        path, target, old, None if gone else left.encode(), before, private=not here, leaving=True
    )


@contextmanager
def _explain_errors(path: Path, content: bytes | None, paste: Callable[[], str]) -> Iterator[None]:
    """Tells what is wrong with a file: where, what to do, what to paste."""
    try:
        yield
    except (Malformed, ConfigurationProblem) as error:
        place = (
            error.place
            if isinstance(error, ConfigurationProblem)
            else locate((content or b"").decode(), error.position)
        )
        pasted = paste()
        advice = f"\nOr put this into it by hand:\n{pasted}" if pasted else ""
        told = f"{error.reason}. The file was left as it is; correct it and try again.{advice}"
        raise ConfigurationProblem(path, told.rstrip("\n"), place=place) from error


def _lines(change: Change) -> Iterator[str]:
    old, new = (
        (content or b"").decode("utf-8").splitlines() for content in (change.old, change.new)
    )
    names = (
        "/dev/null" if change.old is None else str(change.path),
        "/dev/null" if change.new is None else str(change.path),
    )
    yield from difflib.unified_diff(old, new, *names, n=CONTEXT, lineterm="")


def _list_missing_folders(target: Path) -> Iterator[str]:
    for folder in target.parents:
        if os.path.lexists(folder):
            return
        yield str(folder)


def _explain_os_error(error: OSError | RuntimeError) -> str:
    if isinstance(error, RuntimeError):
        return "is a link that leads back to itself: remove it"
    cure = (
        "; make it yours to read and write: chmod u+rw"
        if isinstance(error, PermissionError)
        else ""
    )
    return f"cannot be read ({error.strerror or error}){cure}"
