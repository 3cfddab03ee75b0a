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
    Before,
    Starting,
    by_hand,
    found_in,
    with_muisti,
    without_muisti,
)
from muisti.surfaces.setup.errors import ConfigurationProblem, Malformed, place_of

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
    before: Before | None
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


def to_install(agent: Agent, machine: Machine, starting: Starting, *, here: bool) -> list[Change]:
    """What would give the agent its memory. Raises ConfigurationProblem, InvalidRequest."""
    return [_installing(file, machine, starting, here=here) for file in agent.files(here=here)]


def to_uninstall(agent: Agent, machine: Machine, *, here: bool) -> list[Change]:
    """What would take it away again. Raises ConfigurationProblem, InvalidRequest."""
    return [_uninstalling(file, machine, here=here) for file in agent.files(here=here)]


def difference(change: Change) -> str:
    """What changes, line by line. Secrets that stand near it are not shown."""
    from muisti.text.secrets import (
        redact_secrets,
    )  # the table of secrets: a plan without changes needs none

    return "\n".join(
        line[:WIDEST] + "…" if len(line) > WIDEST else line
        for line in redact_secrets("\n".join(_lines(change))).split("\n")
    )


def read(path: Path) -> tuple[Path, bytes | None]:
    """The file behind a path and what is in it. Raises ConfigurationProblem."""
    try:
        target = path.resolve()
    except (OSError, RuntimeError) as error:
        raise ConfigurationProblem(path, _why(error)) from error
    try:
        mode = target.stat().st_mode
    except FileNotFoundError:
        return target, None
    except OSError as error:
        raise ConfigurationProblem(path, _why(error)) from error
    if not stat.S_ISREG(mode):
        raise ConfigurationProblem(path, "is no file: move it away")
    try:
        if target.stat().st_size > LARGEST:
            raise ConfigurationProblem(
                path, f"is larger than {LARGEST // 2**20} MB; that is no configuration"
            )
        return target, target.read_bytes()
    except OSError as error:
        raise ConfigurationProblem(path, _why(error)) from error


def decoded(path: Path, content: bytes) -> str:
    """The text of a file. Raises ConfigurationProblem."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        good = content[: error.start].decode("utf-8")
        reason = "this is not UTF-8: save the file as UTF-8 in your editor"
        raise ConfigurationProblem(path, reason, place=place_of(good, len(good))) from error


def _installing(file: File, machine: Machine, starting: Starting, *, here: bool) -> Change:
    path = file.place(machine)
    target, old = read(path)
    empty_file = "" if file.toml else "{}\n"
    with _told(path, old, lambda: by_hand(file, starting)):
        text = empty_file if old is None else decoded(path, old)
        was_there = bool(found_in(text, file))
        changed, before = with_muisti(text, file, starting)
    if old is None:
        before = Before(new=True, folders=tuple(_missing_folders(target)))
    known = install_record.recall(target) if was_there else before
    return Change(path, target, old, changed.encode(), known, private=not here)


def _uninstalling(file: File, machine: Machine, *, here: bool) -> Change:
    path = file.place(machine)
    target, old = read(path)
    if old is None:
        return Change(path, target, None, None, None, private=not here, leaving=True)
    before = install_record.recall(target)
    with _told(path, old, lambda: ""):
        left = without_muisti(decoded(path, old), file, before)
    gone = before is not None and before.new and left.strip() in ("", "{}") and bool(old.strip())
    return Change(
        path, target, old, None if gone else left.encode(), before, private=not here, leaving=True
    )


@contextmanager
def _told(path: Path, content: bytes | None, paste: Callable[[], str]) -> Iterator[None]:
    """Tells what is wrong with a file: where, what to do, what to paste."""
    try:
        yield
    except (Malformed, ConfigurationProblem) as error:
        place = (
            error.place
            if isinstance(error, ConfigurationProblem)
            else place_of((content or b"").decode(), error.position)
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


def _missing_folders(target: Path) -> Iterator[str]:
    for folder in target.parents:
        if os.path.lexists(folder):
            return
        yield str(folder)


def _why(error: OSError | RuntimeError) -> str:
    if isinstance(error, RuntimeError):
        return "is a link that leads back to itself: remove it"
    cure = (
        "; make it yours to read and write: chmod u+rw"
        if isinstance(error, PermissionError)
        else ""
    )
    return f"cannot be read ({error.strerror or error}){cure}"
