"""Commands for sessions."""

from __future__ import annotations

import click

from muisti.surfaces.cli import render, render_results
from muisti.surfaces.cli.shared import (
    common_options,
    note,
    open_vault,
    print_json,
    resolve_id,
    resolve_session,
)


@click.group()
def session() -> None:
    """Start, end and inspect sessions."""


@session.command()
@click.option(
    "--project", help="Project of the session. Default: the repository of the current folder."
)
@click.option("--user", help="User of the session.")
@click.option("--id", "session_id", help="ID of the session. Default: a new one.")
@common_options
def start(
    project: str | None,
    user: str | None,
    session_id: str | None,
    vault: str | None,
    as_json: bool,
) -> None:
    """Start a session and print its ID. It fixes project and user."""
    with open_vault(vault, create=True, in_project=True) as memory:
        started = memory.start_session(project, session_id=session_id, user=user)
    if as_json:
        print_json(started)
    else:
        click.echo(started.id)


@session.command()
@click.argument("session_id", metavar="ID")
@click.option("--summary", help="What was done.")
@click.option("--tool-calls", type=int, help="Number of tool calls.")
@common_options
def end(
    session_id: str, summary: str | None, tool_calls: int | None, vault: str | None, as_json: bool
) -> None:
    """End a session."""
    with open_vault(vault) as memory:
        whole = resolve_session(memory, session_id)
        ended = memory.end_session(whole, summary, tool_calls=tool_calls)
    if as_json:
        print_json(ended)
    else:
        click.echo(f"Ended session {ended.id}")


@session.command(name="list")
@click.option("--project", help="Only sessions of this project.")
@click.option("--user", help="Only sessions of this user.")
@click.option(
    "--limit", "-n", type=int, default=20, show_default=True, help="Maximum number of sessions."
)
@common_options
def list_(
    project: str | None, user: str | None, limit: int, vault: str | None, as_json: bool
) -> None:
    """List sessions, latest first."""
    with open_vault(vault) as memory:
        found = memory.list_sessions(project, user=user, limit=limit)
        hint = memory.scope_hint(project, user) if not found and not as_json else ""
    if as_json:
        print_json(found)
    elif found:
        render.print_sessions(found, render.current_time())
        for one in found:
            if one.needs_summary:
                note(f"Session {one.id} needs a summary: muisti session show {one.id} --raw")
    elif project is not None or user is not None:
        note(f"Note: {hint}" if hint else "No matching sessions.")
    else:
        note("No sessions yet. Start one: muisti session start")


@session.command()
@click.argument("session_id", metavar="ID")
@click.option("--raw", is_flag=True, help="Print only the contents, as one text.")
@click.option(
    "--used", is_flag=True, help="Include memories the session recalled, updated or reinforced."
)
@common_options
def show(session_id: str, raw: bool, used: bool, vault: str | None, as_json: bool) -> None:
    """Show a session's memories, oldest first."""
    with open_vault(vault) as memory:
        session_id = resolve_session(memory, session_id)
        if raw:
            click.echo(memory.get_raw_session_content(session_id))
            return
        if used:
            found = memory.get_by_session(session_id)
        else:
            found = memory.get_session_context(session_id)
    if as_json:
        print_json(found)
    elif found:
        render_results.print_memories(found, render.current_time())
    else:
        note("This session has no memories.")


@session.command()
@click.argument("session_id", metavar="ID")
@common_options
def tokens(session_id: str, vault: str | None, as_json: bool) -> None:
    """Estimate the tokens of a session's memories."""
    with open_vault(vault) as memory:
        number = memory.get_session_token_count(resolve_session(memory, session_id))
    if as_json:
        print_json({"session_id": session_id, "tokens": number})
    else:
        click.echo(number)


@session.command()
@click.argument("memory_id", metavar="MEMORY")
@click.argument("session_id", metavar="SESSION")
@click.option(
    "--use",
    default="recalled",
    show_default=True,
    help="created, recalled, updated or reinforced.",
)
@common_options
def link(memory_id: str, session_id: str, use: str, vault: str | None, as_json: bool) -> None:
    """Record that a session used a memory."""
    with open_vault(vault) as memory:
        whole = resolve_id(memory, memory_id)
        session_id = resolve_session(memory, session_id)
        memory.link_to_session(whole, session_id, use)
    if as_json:
        print_json({"memory_id": whole, "session_id": session_id, "use": use})
    else:
        click.echo(f"Linked {render.short_id(whole)} to session {session_id} ({use})")


COMMANDS = {"session": session}
