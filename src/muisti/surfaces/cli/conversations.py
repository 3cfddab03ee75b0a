"""Commands for conversations."""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from datetime import datetime
from typing import Any

import click

from muisti.errors import InvalidRequest
from muisti.model import ROLES
from muisti.surfaces.cli import render, render_conversations, render_results
from muisti.surfaces.cli.shared import (
    Time,
    common_options,
    confirm_deletion,
    filter_options,
    mode_option,
    note,
    note_scope,
    open_vault,
    print_json,
    read_stdin,
    warn_if_degraded,
)

_name_argument = click.argument("name", metavar="CONVERSATION")


@click.group()
def conversation() -> None:
    """Log, read and search conversations.

    A conversation is named channel_id, such as telegram_123456. Its messages are JSON lines in the
    vault.
    """


@conversation.command()
@_name_argument
@click.argument("role", type=click.Choice(ROLES), metavar="ROLE")
@click.argument("text", nargs=-1)
@click.option(
    "--type", "type_", metavar="TYPE", help="Type of a special message, such as subagent_result."
)
@click.option("--meta", metavar="JSON", help='Metadata, such as {"model": "…"}.')
@click.option("--at", type=Time(), help="Time of the message. Default: now.")
@click.option(
    "--id", "message_id", help="ID of the message elsewhere; the same message is logged once."
)
@click.option(
    "--project",
    help="Project of the conversation, fixed by its first message. Default: the repository of the "
    "current folder.",
)
@click.option("--user", help="User of the conversation, fixed by its first message.")
@common_options
def log(
    name: str,
    role: str,
    text: tuple[str, ...],
    type_: str | None,
    meta: str | None,
    at: datetime | None,
    message_id: str | None,
    project: str | None,
    user: str | None,
    vault: str | None,
    as_json: bool,
) -> None:  # shape: one argument for each option
    """Append a message; without TEXT, or with -, read standard input.

    ROLE is user, assistant, system or tool.
    """
    if text not in ((), ("-",)):
        content = " ".join(text)
    elif not text and sys.stdin.isatty():
        raise click.UsageError("missing TEXT; pass the message, or - to read standard input")
    else:
        content = read_stdin().rstrip("\n")
    metadata = None
    if meta is not None:
        with suppress(ValueError, RecursionError):
            metadata = json.loads(meta)
        if not isinstance(metadata, dict):
            raise InvalidRequest("meta", meta, 'must be a JSON object such as {"model": "…"}')
    with open_vault(vault, create=True, in_project=True) as memory:
        message = memory.append_message(
            name,
            role,
            content,
            type=type_,
            meta=metadata,
            at=at,
            id=message_id,
            project=project,
            user=user,
        )
    if as_json:
        print_json(message)
    else:
        click.echo(f"Logged to {name}.")
        if message.project and project is None:
            note(f"In project {message.project}.")


@conversation.command(name="break")
@_name_argument
@common_options
def break_(name: str, vault: str | None, as_json: bool) -> None:
    """Start a new section; `window` shows only what follows."""
    with open_vault(vault, create=True, in_project=True) as memory:
        message = memory.session_break(name)
    if as_json:
        print_json(message)
    else:
        click.echo(f"Started a new section in {name}.")


@conversation.command()
@_name_argument
@click.option(
    "--limit", "-n", type=int, default=20, show_default=True, help="Maximum number of messages."
)
@common_options
def window(name: str, limit: int, vault: str | None, as_json: bool) -> None:
    """Show the latest messages since the last break."""
    with open_vault(vault) as memory:
        messages = memory.window(name, limit)
        known = [] if messages else [found.name for found in memory.list_conversations()]
    if as_json:
        print_json(messages)
    elif messages:
        render_conversations.print_messages(messages)
    elif name in known:
        note(f"No messages in {name} since the last break.")
    elif known:
        note(f"No conversation {name}. Existing conversations: {', '.join(known[:10])}")
    else:
        note(f"No conversation {name}. Start it: muisti conversation log {name} user Hello")


@conversation.command()
@_name_argument
@common_options
def show(name: str, vault: str | None, as_json: bool) -> None:
    """Show a conversation's model and where its current segment starts."""
    with open_vault(vault) as memory:
        found = memory.get_conversation(name)
    if as_json:
        print_json(found)
    else:
        render_conversations.print_conversation(found)


@conversation.command()
@click.argument("query", nargs=-1, required=True)
@click.option("--conversation", "name", metavar="CONVERSATION", help="Only in this conversation.")
@click.option("--chat", metavar="CONVERSATION", hidden=True)
@filter_options
@click.option("--limit", "-n", type=int, help="Maximum number of results. Default: 10.")
@mode_option
@common_options
def search(
    query: tuple[str, ...],
    name: str | None,
    chat: str | None,
    filters: dict[str, Any],
    vault: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Search messages."""
    text = " ".join(query)
    if name is None:
        name = chat
    with open_vault(vault, in_project=name is None) as memory:
        results = memory.search_messages(text, conversation=name, **options, **filters)
        if not as_json:
            note_scope(memory, filters, results.hint)
    if as_json:
        print_json(results)
    elif results:
        render_results.print_results(results, render.current_time())
    else:
        note(f"No messages match {text!r}. `muisti conversation list` shows all conversations.")
    warn_if_degraded(results)


@conversation.command()
@click.argument("names", metavar="CONVERSATION...", nargs=-1, required=True)
@click.option("--project", help="Project the conversations belong to.")
@click.option("--user", help="User the conversations belong to.")
@common_options
def assign(
    names: tuple[str, ...],
    project: str | None,
    user: str | None,
    vault: str | None,
    as_json: bool,
) -> None:
    """Assign a project or a user to conversations that have neither.

    Searches in a project or for a user find only messages that belong to it. `muisti doctor` lists
    conversations without a project and a user.
    """
    with open_vault(vault) as memory:
        assigned = [memory.assign_conversation(one, project=project, user=user) for one in names]
    if as_json:
        print_json(assigned)
    else:
        for one in assigned:
            owners = [f"project {one.project}"] if one.project else []
            owners += [f"user {one.user}"] if one.user else []
            click.echo(f"{one.name} belongs to {' and '.join(owners)}.")


@conversation.command()
@_name_argument
@click.argument("message_ids", metavar="[MESSAGE_ID]...", nargs=-1)
@click.option("--hard", is_flag=True, help="Delete permanently.")
@click.option("--yes", "-y", is_flag=True, help="Skip the confirmation.")
@common_options
def delete(
    name: str,
    message_ids: tuple[str, ...],
    hard: bool,
    yes: bool,
    vault: str | None,
    as_json: bool,
) -> None:
    """Move a conversation, or some of its messages, to the trash.

    Memories that were extracted from it stay; `muisti forget --conversation` removes them too.
    """
    with open_vault(vault) as memory:
        if hard:
            what = render.format_count(len(message_ids), "message") if message_ids else name
            confirm_deletion(what, "--hard", yes=yes)
        summaries = memory.list_summaries(name, message_ids=message_ids or None) if hard else []
        if message_ids:
            count = memory.delete_messages(name, message_ids, hard=hard)
        else:
            count = memory.delete_conversation(name, hard=hard)
    if as_json:
        print_json({"conversation": name, "deleted": count, "hard": hard})
    elif hard:
        click.echo(f"Deleted {render.format_count(count, 'message')} permanently.")
        if summaries:
            ids = " ".join(one.id[-8:] for one in summaries)
            number = render.format_count(len(summaries), "summary")
            stay = "stays; to delete it" if len(summaries) == 1 else "stay; to delete them"
            note(f"{number} of them {stay}: muisti delete {ids} --hard")
    else:
        number = render.format_count(count, "message")
        click.echo(f"Moved {number} to the trash. Undo: muisti conversation restore {name}")


@conversation.command()
@_name_argument
@common_options
def summaries(name: str, vault: str | None, as_json: bool) -> None:
    """List the summaries of a conversation, in the order of its messages.

    `muisti save --kind summary --conversation NAME --from-message ID --to-message ID` adds one.
    """
    with open_vault(vault) as memory:
        found = memory.list_summaries(name)
        outdated = memory.find_outdated([one.id for one in found])
    if as_json:
        print_json(found)
    elif found:
        render_results.print_memories(found, render.current_time(), outdated)
    else:
        note(f"No summaries of {name}.")


@conversation.command()
@_name_argument
@common_options
def restore(name: str, vault: str | None, as_json: bool) -> None:
    """Restore a conversation's messages from the trash."""
    with open_vault(vault) as memory:
        restored = memory.restore_conversation(name)
    if as_json:
        print_json(restored)
    else:
        click.echo(f"Restored {name}: {render.format_count(restored.messages, 'message')}.")


@conversation.command(name="list")
@click.option("--project", help="Only conversations of this project.")
@click.option("--user", help="Only conversations of this user.")
@common_options
def list_(project: str | None, user: str | None, vault: str | None, as_json: bool) -> None:
    """List conversations, latest first."""
    with open_vault(vault) as memory:
        found = memory.list_conversations(project=project, user=user)
        hint = memory.scope_hint(project, user) if not found and not as_json else ""
    if as_json:
        print_json(found)
    elif found:
        render_conversations.print_conversations(found, render.current_time())
    elif project is not None or user is not None:
        note(f"Note: {hint}" if hint else "No matching conversations.")
    else:
        note("No conversations yet. Start one: muisti conversation log cli_main user Hello")


COMMANDS = {"conversation": conversation}
