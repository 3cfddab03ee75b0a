"""Open a vault for a command, and print what is to be said about it.

Without click, which takes as long to import as the search itself takes.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from muisti import logs
from muisti.errors import MemoryNotFound, redact_message
from muisti.locations import find_database
from muisti.model.jsonable import to_jsonable
from muisti.settings import is_foreign
from muisti.surfaces.project import detect_project

if TYPE_CHECKING:
    from logging import LogRecord

    from muisti.engine import Muisti
    from muisti.engine.reader import Reader
    from muisti.engine.search import Search
    from muisti.recall.filters import ScopeOptions

Opened = TypeVar("Opened", bound="Search")


class OpenVault(NamedTuple):
    """A vault that is open already, as the object of a click context: in a warm process."""

    view: Callable[[str | None, str], Muisti]
    """Returns it for a path, which must be its own, with a default project."""


@contextmanager
def open_vault(
    vault: str | None, *, create: bool = False, sync: bool = True, in_project: bool = False
) -> Iterator[Muisti]:
    """Open the vault for one command. Without sync, external changes are not picked up.

    In project: the default project is the repository of the working folder, unless the vault's
    settings name one. What the command does not embed is embedded by a process that it leaves
    behind.
    """
    kept = _find_open_vault()
    project = detect_project(Path.cwd()) if in_project else ""
    if kept is not None:
        view = kept.view(vault, project)
        with _name_trash(view):
            yield view
        return
    from muisti import bootstrap

    logs.get_log()  # adds the filter: the engine imports modules that log by themselves
    settings = None if sync else {"sync_on_open": False}
    with bootstrap.open(
        vault, role="cli", create=create, settings=settings, project=project
    ) as memory:
        _begin(memory)
        with _name_trash(memory):
            yield memory
    _leave_rest(memory, vault)


@contextmanager
def _name_trash(memory: Muisti) -> Iterator[None]:
    """Say of a memory that is not found whether it is in the trash.

    Of one outside the scope of the command, nothing is said.
    """
    try:
        yield
    except MemoryNotFound as error:
        import click  # only commands that it has parsed get here

        options = click.get_current_context().params
        project, user, session = (options.get(name) for name in ("project", "user", "session_id"))
        for memory_id in error.ids:
            found = memory.get(
                memory_id, include_deleted=True, project=project, user=user, session_id=session
            )
            if found is not None and found.deleted_at is not None:
                raise MemoryNotFound(memory_id, in_trash=True) from error
        raise


@contextmanager
def open_to_search(vault: str | None, mode: str) -> Iterator[Reader]:
    """Open the vault only to search it, as `open_vault` does with `in_project`. Imports less."""
    kept = _find_open_vault()
    project = detect_project(Path.cwd())
    if kept is not None:
        yield kept.view(vault, project)
        return
    from muisti import bootstrap

    if mode != "keyword":
        logs.get_log()  # adds the filter: embedders log by themselves
    with bootstrap.open(vault, role="search", project=project) as memory:
        _begin(memory)
        yield memory
    _leave_rest(memory, vault)


def _begin(memory: Reader) -> None:
    note_trust(memory)
    if memory.sync_postponed:
        from muisti.surfaces.cli import sync_process

        sync_process.wait(Path(memory.location))


def _leave_rest(memory: Reader, vault: str | None) -> None:
    """Leave what a command did not wait for to processes that outlive it.

    What is to be embedded in a database is left to a server, or to the next search.
    """
    if not memory.is_writable or find_database(vault):
        return
    root = Path(memory.location)
    if memory.sync_postponed:
        from muisti.surfaces.cli import sync_process

        sys.stdout.flush()
        sync_process.start(root, foreign=is_foreign(root, vault))
    if memory.embedding_postponed:
        from muisti.surfaces.cli import embedding_process

        embedding_process.start(root, foreign=is_foreign(root, vault))


def keep_warm(memory: Reader, vault: str | None) -> None:
    """Start a process that answers the next search quickly, unless this is one."""
    if _find_open_vault() is not None or not memory.settings.warm or find_database(vault):
        return
    if memory.is_writable and memory.is_trusted:
        from muisti.surfaces.warm.start import start

        sys.stdout.flush()
        start(memory.location, foreign=is_foreign(Path(memory.location), vault))


def _find_open_vault() -> OpenVault | None:
    click = sys.modules.get("click")
    context = None if click is None else click.get_current_context(silent=True)
    return context.find_object(OpenVault) if context is not None else None


@contextmanager
def look_into(memory: Opened, also: Sequence[str]) -> Iterator[Opened]:
    """Let reads of an open vault look into others too, until the end of the block."""
    if not also:
        yield memory
        return
    from muisti.bootstrap import add_vaults, resolve_other

    before = memory.others
    add_vaults(memory, [resolve_other(Path.cwd(), one) for one in also])
    try:
        yield memory
    finally:
        if memory.others is not None:
            memory.others.close()
        memory.others = before


def note_trust(memory: Reader) -> None:
    """Print a note if the vault is not trusted."""
    if not memory.is_trusted:
        note(
            f"This vault is not trusted: {memory.location} was found in the working folder. "
            "It is read-only; `muisti trust` if it is yours."
        )


def get_scope(memory: Reader, filters: Mapping[str, Any]) -> ScopeOptions:
    """Return the scope of a command: that of its options, or the default project and user."""
    if filters["session_id"] is not None:
        return {"project": filters["project"], "session_id": filters["session_id"]}
    project, user = filters["project"], filters["user"]  # "" is a scope: of no project, of no user
    return {
        "project": memory.settings.project or None if project is None else project,
        "user": memory.settings.user or None if user is None else user,
    }


def note_scope(memory: Reader, filters: dict[str, Any], hint: str = "") -> None:
    """Print which project a search or a list was restricted to by default, and a hint."""
    if hint:
        note(f"Note: {hint}")
    is_default = filters.get("project") is None and filters.get("session_id") is None
    if is_default and memory.settings.project:
        note(f"In project {memory.settings.project}; --all-projects for all.")


def echo(text: str, *, err: bool = False) -> None:
    """Print a line, as `click.echo` does."""
    if os.name == "nt" or "\033" in text:  # a console of Windows, or codes that only terminals get
        import click

        click.echo(text, err=err)
        return
    stream = sys.stderr if err else sys.stdout
    stream.write(f"{text}\n")
    stream.flush()


def print_json(value: object) -> None:
    """Print a value as JSON."""
    echo(json.dumps(to_jsonable(value), ensure_ascii=False, indent=2))


def note(text: str) -> None:
    """Print a remark to standard error, so that it does not mix with the output."""
    echo(redact_message(text), err=True)  # it may quote an argument


_logged: list[str] = []


def _remember(record: LogRecord) -> bool:
    _logged.append(record.getMessage())
    return True


logs.filters.append(_remember)


def warn_if_degraded(results: object, *, embeds_later: bool = False) -> None:
    """Print why a search used less than the requested mode, unless a log line has said so.

    Embeds later: the command leaves a process that embeds what is missing.
    """
    degraded = getattr(results, "degraded", "")
    _, _, reason = degraded.partition(": ")
    for message in _logged:
        _, _, logged = message.partition(": ")
        # The reason may go on to say when the next attempt is.
        if (reason and reason in message) or (logged and reason.startswith(logged)):
            return
    if embeds_later and "not embedded yet" in degraded:  # not if there is no embedder
        note(
            f"Note: {degraded}. A background process creates the missing embeddings, which may "
            "take minutes; `muisti stats` shows how many are left."
        )
    elif degraded:
        note(f"Note: {degraded}")


def warn_of_problems(memory: Reader) -> None:
    """Print a note if files of the vault could not be read, because results miss them."""
    problems = memory.problems()
    if problems:
        first = problems[0].path if problems[0].path.isprintable() else ascii(problems[0].path)
        more = f" and {len(problems) - 1} more" if len(problems) > 1 else ""
        note(f"Note: could not read {first}{more}; `muisti verify` says how to fix it.")
