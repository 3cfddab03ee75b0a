"""Verbs for sessions."""

from __future__ import annotations

import click

from muisti.surfaces.cli import render
from muisti.surfaces.cli.shared import common, note, opened, print_json, whole_id, whole_session


@click.group()
def session() -> None:
    """Sessions: start, end, list, show, tokens, link."""


@session.command()
@click.option("--project", help="The project that is worked on.")
@click.option("--id", "session_id", help="An id of your own; default: a new one.")
@common
def start(project: str | None, session_id: str | None, vault: str | None, as_json: bool) -> None:
    """Begin a session and print its id."""
    with opened(vault, create=True) as memory:
        begun = memory.start_session(project, session_id=session_id)
    print_json(begun) if as_json else click.echo(begun.id)


@session.command()
@click.argument("session_id", metavar="ID")
@click.option("--summary", help="What was done.")
@click.option("--tool-calls", type=int, help="How many tools were called.")
@common
def end(
    session_id: str, summary: str | None, tool_calls: int | None, vault: str | None, as_json: bool
) -> None:
    """Complete a session."""
    with opened(vault) as memory:
        ended = memory.end_session(
            whole_session(memory, session_id), summary, tool_calls=tool_calls
        )
    print_json(ended) if as_json else click.echo(f"Completed {ended.id}")


@session.command(name="list")
@click.option("--project")
@click.option("--limit", "-n", type=int, default=20, show_default=True)
@common
def list_(project: str | None, limit: int, vault: str | None, as_json: bool) -> None:
    """The latest sessions."""
    with opened(vault) as memory:
        found = memory.list_sessions(project, limit=limit)
    if as_json:
        print_json(found)
    elif found:
        render.sessions(found, render.now())
    else:
        note("No sessions yet: muisti session start")


@session.command()
@click.argument("session_id", metavar="ID")
@click.option("--raw", is_flag=True, help="The contents as one text, for a summary.")
@click.option("--used", is_flag=True, help="Also what it recalled, updated and reinforced.")
@common
def show(session_id: str, raw: bool, used: bool, vault: str | None, as_json: bool) -> None:
    """The memories of a session, in the order of time."""
    with opened(vault) as memory:
        session_id = whole_session(memory, session_id)
        if raw:
            click.echo(memory.get_raw_session_content(session_id))
            return
        found = (
            memory.get_by_session(session_id) if used else memory.get_session_context(session_id)
        )
    if as_json:
        print_json(found)
    elif found:
        render.memories(found, render.now())
    else:
        note("This session has made no memories.")


@session.command()
@click.argument("session_id", metavar="ID")
@common
def tokens(session_id: str, vault: str | None, as_json: bool) -> None:
    """Roughly how many tokens a session's memories have."""
    with opened(vault) as memory:
        count = memory.get_session_token_count(whole_session(memory, session_id))
    print_json({"session_id": session_id, "tokens": count}) if as_json else click.echo(count)


@session.command()
@click.argument("memory_id", metavar="MEMORY")
@click.argument("session_id", metavar="SESSION")
@click.option(
    "--use", default="recalled", show_default=True, help="created, recalled, updated or reinforced"
)
@common
def link(memory_id: str, session_id: str, use: str, vault: str | None, as_json: bool) -> None:
    """Note that a session used a memory."""
    with opened(vault) as memory:
        whole = whole_id(memory, memory_id)
        session_id = whole_session(memory, session_id)
        memory.link_to_session(whole, session_id, use)
    linked = {"memory_id": whole, "session_id": session_id, "use": use}
    print_json(linked) if as_json else click.echo(
        f"Linked {render.short(whole)} to {session_id} as {use}"
    )


COMMANDS = {"session": session}
