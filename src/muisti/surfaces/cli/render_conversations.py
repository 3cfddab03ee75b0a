"""How conversations and documents look on a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from muisti.model import Conversation, DocumentSource, IndexedDocument, Message
from muisti.surfaces.cli.render import escape, format_age, new_console, new_table

OWNERS = ("project", "user")
"""Columns that are shown if one of the rows has a value."""
_STYLES = {"user": "bold cyan", "assistant": "bold green"}


def print_messages(messages: Sequence[Message]) -> None:
    """Print messages of a conversation in order."""
    out = new_console()
    for number, message in enumerate(messages):
        if number:
            out.print()
        role = f"[{_STYLES.get(message.role, 'bold')}]{escape(message.role)}[/]"
        type_ = f" [dim]{escape(message.type)}[/]" if message.type else ""
        out.print(f"{role} [dim]{message.at.astimezone():%Y-%m-%d %H:%M}[/]{type_}")
        out.print(escape(message.content), soft_wrap=True)


def print_conversation(conversation: Conversation) -> None:
    """Print one conversation."""
    out = new_console()
    out.print(f"[bold]{escape(conversation.name)}[/]")
    rows = {
        "project": conversation.project,
        "user": conversation.user,
        "model": conversation.model,
        "messages": f"{conversation.messages}, {conversation.since_break} since the last break",
        "segment": f"starts with {conversation.segment_start}"
        if conversation.segment_start
        else "",
        "created": f"{conversation.first_at:%Y-%m-%d %H:%M} UTC",
        "latest": f"{conversation.last_at:%Y-%m-%d %H:%M} UTC",
    }
    for name, value in rows.items():
        if value:
            out.print(f"[dim]{name:>9}[/]  {escape(value)}", soft_wrap=True)


def print_conversations(conversations: Sequence[Conversation], now: datetime) -> None:
    """Print a list of conversations."""
    columns = (*OWNERS, "model")
    owners = [name for name in columns if any(getattr(one, name) for one in conversations)]
    table = new_table("title", *owners, "messages", "since break", "latest")
    table.columns[0].header = "conversation"
    for conversation in conversations:
        table.add_row(
            escape(conversation.name),
            *(escape(getattr(conversation, name)) for name in owners),
            str(conversation.messages),
            str(conversation.since_break),
            format_age(conversation.last_at, now),
        )
    new_console().print(table)


def print_documents(documents: Sequence[IndexedDocument]) -> None:
    """Print the indexed files with their versions."""
    owners = [name for name in OWNERS if any(getattr(one, name) for one in documents)]
    table = new_table("path", "version", *owners)
    for document in documents:
        owned = (escape(getattr(document, name)) for name in owners)
        table.add_row(escape(document.path), document.version, *owned)
    new_console().print(table)


def print_document_sources(sources: Sequence[DocumentSource]) -> None:
    """Print the indexed files and folders."""
    owners = ["project", *(["user"] if any(source.user for source in sources) else [])]
    table = new_table("path", "documents", "name", *owners, "trusted")
    for source in sources:
        table.add_row(
            escape(source.path),
            str(source.documents),
            escape(source.source or "by file"),
            *(escape(getattr(source, name)) for name in owners),
            "yes" if source.trusted else "no",
        )
    new_console().print(table)
