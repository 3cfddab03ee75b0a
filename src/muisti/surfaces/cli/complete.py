"""Completion of kinds, projects, users, keywords and IDs in a shell.

The shell runs this at every tab: it only reads, never waits for a lock, and prints no error. What a
vault offers is text of others: a value is left out if a shell could take it for anything but a
plain word, because the shell puts it on the command line unquoted.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress

import click
from click.shell_completion import CompletionItem

from muisti.model import Memory
from muisti.settings import find_vault, is_foreign

MOST_READ = 500
"""The most recent memories, from which values are taken."""
MOST_SHOWN = 40
TITLE_LENGTH = 60
_PLAIN = re.compile(r"\w[\w.@+/-]{0,99}")
_OLD_IDS = ("restore", "show", "history", "unmerge")
"""Commands that also take the ID of a memory in the trash."""


def add_completion(command: click.Command) -> None:
    """Make the parameters of a command complete their values."""
    for parameter in command.params:
        name = parameter.name or ""
        source = _SOURCES.get(name)
        if name in _ID_ARGUMENTS and isinstance(parameter, click.Argument):
            source = _list_ids
        if source is not None and isinstance(parameter.type, click.types.StringParamType):
            parameter.type = _Completed(source)
    for below in getattr(command, "commands", {}).values():
        add_completion(below)


class _Completed(click.types.StringParamType):
    """Text with suggestions."""

    def __init__(self, source: Callable[[click.Context], Mapping[str, str]]) -> None:
        self._source = source

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Return values that begin with what is typed, each with its description."""
        logging.disable()  # the user is typing: a line on the terminal would be in the way
        found: Mapping[str, str] = {}
        with suppress(Exception):  # for the same reason
            found = self._source(ctx)
        wanted = incomplete.casefold()
        matching = [value for value in found if value.casefold().startswith(wanted)]
        return [
            CompletionItem(value, help=found[value] or None)
            for value in matching[:MOST_SHOWN]
            if _PLAIN.fullmatch(value)
        ]


def _read_memories(ctx: click.Context, *, include_deleted: bool = False) -> list[Memory]:
    """Return the latest memories of the vault, if it is the user's own and has an index."""
    from muisti import bootstrap
    from muisti.trust import is_trusted

    vault = ctx.params.get("vault")
    root = find_vault(vault)
    if is_foreign(root, vault) and not is_trusted(root):
        return []  # its index would have to be built first, and its words are not the user's
    if not (root / ".muisti").is_dir():
        return []
    with bootstrap.open(vault, role="hook") as memory:
        return list(
            memory.list(limit=MOST_READ, project="*", user="*", include_deleted=include_deleted)
        )


def _list_ids(ctx: click.Context) -> Mapping[str, str]:
    memories = _read_memories(ctx, include_deleted=ctx.command.name in _OLD_IDS)
    short = {memory.id[-8:]: _clean(memory.title) for memory in memories}
    return short | {memory.id: _clean(memory.title) for memory in memories}


def _clean(title: str) -> str:
    """Return a title on one line, without characters that control a terminal or a shell script."""
    shown = " ".join("".join(char if char.isprintable() else " " for char in title).split())
    return shown if len(shown) <= TITLE_LENGTH else f"{shown[: TITLE_LENGTH - 1]}…"


def _list_kinds(ctx: click.Context) -> Mapping[str, str]:
    from muisti.bootstrap import read_settings

    return dict.fromkeys(read_settings(ctx.params.get("vault")).kinds, "")


def _collect(get: Callable[[Memory], Iterable[str]]) -> Callable[[click.Context], dict[str, str]]:
    """Return a source of all values of a field, the most recent first."""

    def list_values(ctx: click.Context) -> dict[str, str]:
        return {value: "" for memory in _read_memories(ctx) for value in get(memory) if value}

    return list_values


_SOURCES: Mapping[str, Callable[[click.Context], Mapping[str, str]]] = {
    "kind": _list_kinds,
    "project": _collect(lambda memory: [memory.project]),
    "user": _collect(lambda memory: [memory.user]),
    "agent": _collect(lambda memory: [memory.agent]),
    "keywords": _collect(lambda memory: (*memory.keywords, *memory.hashtags)),
    "wanted": _collect(lambda memory: (*memory.keywords, *memory.hashtags)),
    "session_id": _collect(lambda memory: [memory.session_id or ""]),
    "session": _collect(lambda memory: [memory.session_id or ""]),
    "memory_id": _list_ids,
    "memory_ids": _list_ids,
    "replaces": _list_ids,
}
"""What completes a parameter, by its name."""
_ID_ARGUMENTS = ("source", "target", "old", "new")
"""Arguments that are IDs; options of these names are not."""
