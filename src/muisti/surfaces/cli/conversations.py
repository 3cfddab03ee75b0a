"""Verbs for what is said, and for what is written elsewhere."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from datetime import datetime
from typing import Any

import click

from muisti.errors import InvalidRequest
from muisti.model import ROLES
from muisti.surfaces.cli import render, render_conversations
from muisti.surfaces.cli.shared import (
    Moment,
    common,
    filters,
    mode,
    note,
    opened,
    print_json,
    tell_degraded,
)


@click.group()
def chat() -> None:
    """Conversations: written down as JSON lines, and searched. A chat is named channel_chat, such as telegram_123456."""


@chat.command()
@click.argument("name", metavar="CHAT")
@click.argument("role", type=click.Choice(ROLES), metavar="ROLE")
@click.argument("text", nargs=-1)
@click.option(
    "--type",
    "type_",
    metavar="TYPE",
    help="What it is, if it is no ordinary message, such as subagent_result.",
)
@click.option("--meta", metavar="JSON", help='What else is known of it, such as {"model": "…"}.')
@click.option("--at", type=Moment(), help="When it was said; default: now.")
@click.option("--id", "message_id", help="Its id elsewhere: the same message is written once.")
@common
def log(
    name: str,
    role: str,
    text: tuple[str, ...],
    type_: str | None,
    meta: str | None,
    at: datetime | None,
    message_id: str | None,
    vault: str | None,
    as_json: bool,
) -> None:  # shape: one argument for each option
    """Write down that ROLE said TEXT in CHAT; without TEXT, or with -, read standard input.

    ROLE is user, assistant, system or tool.
    """
    said, known = _said(text), _meta(meta)
    with opened(vault, create=True) as memory:
        message = memory.append_message(
            name, role, said, type=type_, meta=known, at=at, id=message_id
        )
    if as_json:
        print_json(message)
    else:
        click.echo(f"Written to {name}.")


def _said(words: tuple[str, ...]) -> str:
    if words not in ((), ("-",)):
        return " ".join(words)
    if not words and sys.stdin.isatty():
        raise click.UsageError("Say what was said, or - to read standard input.")
    try:
        return sys.stdin.buffer.read().decode("utf-8").rstrip("\n")
    except UnicodeDecodeError as error:
        raise InvalidRequest(
            "content", f"byte {error.start}", "standard input must be UTF-8 text"
        ) from error


def _meta(text: str | None) -> dict[str, Any] | None:
    if text is None:
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise InvalidRequest("meta", text, 'it must be a JSON object such as {"model": "…"}')
    return found


@chat.command(name="break")
@click.argument("name", metavar="CHAT")
@common
def break_(name: str, vault: str | None, as_json: bool) -> None:
    """Begin a new talk in CHAT: the window shows what follows."""
    with opened(vault, create=True) as memory:
        message = memory.session_break(name)
    print_json(message) if as_json else click.echo(f"A new talk begins in {name}.")


@chat.command()
@click.argument("name", metavar="CHAT")
@click.option(
    "--limit", "-n", type=int, default=20, show_default=True, help="How many messages, at most."
)
@common
def window(name: str, limit: int, vault: str | None, as_json: bool) -> None:
    """The latest messages of CHAT since its last break."""
    with opened(vault) as memory:
        found = memory.window(name, limit)
        known = [] if found else [one.name for one in memory.list_conversations()]
    if as_json:
        print_json(found)
    elif found:
        render_conversations.messages(found)
    elif name in known:
        note(f"Nothing was said in {name} since its last break.")
    else:
        note(
            f"Nothing was said in {name} yet. "
            + (f"There are: {', '.join(known[:10])}" if known else "There are no chats yet.")
        )


@chat.command()
@click.argument("query", nargs=-1, required=True)
@click.option("--chat", "name", metavar="CHAT", help="Only in this chat.")
@filters
@click.option("--limit", "-n", type=int, help="How many results; default 10.")
@mode
@common
def search(
    query: tuple[str, ...],
    name: str | None,
    narrowed: dict[str, Any],
    vault: str | None,
    as_json: bool,
    **how: Any,
) -> None:
    """What was said about QUERY."""
    with opened(vault) as memory:
        found = memory.search_messages(" ".join(query), conversation=name, **how, **narrowed)
    if as_json:
        print_json(found)
    elif found:
        render.results(found, render.now())
    else:
        note(f"Nothing was said about {' '.join(query)!r}. `muisti chat list` shows all chats.")
    tell_degraded(found)


@chat.command(name="list")
@common
def list_(vault: str | None, as_json: bool) -> None:
    """All chats, the latest first."""
    with opened(vault) as memory:
        found = memory.list_conversations()
    if as_json:
        print_json(found)
    elif found:
        render_conversations.chats(found, render.now())
    else:
        note("There are no chats yet. Begin one: muisti chat log cli_main user Hello")


@click.command()
@click.argument("path", required=False)
@click.option(
    "--source", help="What hits from there are called; default: as before, or each by its file."
)
@click.option(
    "--project", help="The project that it belongs to; default: as before, or all see it."
)
@click.option(
    "--trusted/--untrusted",
    default=None,
    help="It is yours: agents need not be told to be careful.",
)
@click.option("--forget", is_flag=True, help="Search it no longer. The files stay as they are.")
@common
def index(
    path: str | None,
    source: str | None,
    project: str | None,
    trusted: bool | None,
    forget: bool,
    vault: str | None,
    as_json: bool,
) -> None:
    """Search the Markdown in PATH (a file or a folder) too, from now on; it stays where it is. Without PATH: show what is."""
    if path is None:
        if forget or source or project or trusted:
            raise InvalidRequest("path", "", "name a Markdown file, or a folder with some")
        _show_shelves(vault, as_json=as_json)
        return
    with opened(vault, create=not forget) as memory:
        shelf = (
            memory.forget_path(path)
            if forget
            else memory.index_path(path, source, project=project, trusted=trusted)
        )
        within = f"{shelf.path}/"
        found = [
            replace(problem, path=problem.path.removeprefix(within) or problem.path)
            for problem in memory.problems()
            if f"{problem.path}/".startswith(within)
        ]
    if as_json:
        print_json(shelf)
        return
    where = render.visible(shelf.path)
    click.echo(
        f"{where} is searched no longer."
        if forget
        else f"{render.count(shelf.documents, 'document')} in {where}."
    )
    render.problems(found)


def _show_shelves(vault: str | None, *, as_json: bool) -> None:
    with opened(vault) as memory:
        found = memory.list_document_sources()
    if as_json:
        print_json(found)
    elif found:
        render_conversations.shelves(found)
    else:
        note(
            "Nothing is searched beside the memories and the chats. `muisti index docs/` adds a folder."
        )


COMMANDS = {"chat": chat, "index": index}
