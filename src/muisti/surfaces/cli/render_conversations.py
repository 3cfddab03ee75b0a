"""How conversations and documents look on a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from muisti.model import Conversation, DocumentSource, Message
from muisti.surfaces.cli.render import ago, console, new_table, safe

_STYLES = {"user": "bold cyan", "assistant": "bold green"}


def messages(found: Sequence[Message]) -> None:
    """A stretch of a conversation, as it was said."""
    out = console()
    for place, message in enumerate(found):
        if place:
            out.print()
        kind = f" [dim]{safe(message.type)}[/]" if message.type else ""
        who = f"[{_STYLES.get(message.role, 'bold')}]{safe(message.role)}[/]"
        out.print(f"{who} [dim]{message.at.astimezone():%Y-%m-%d %H:%M}[/]{kind}")
        out.print(safe(message.content), soft_wrap=True)


def chats(found: Sequence[Conversation], now: datetime) -> None:
    """All conversations."""
    shown = new_table("title", "messages", "since the break", "latest")
    shown.columns[0].header = "chat"
    for chat in found:
        shown.add_row(
            safe(chat.name), str(chat.messages), str(chat.since_break), ago(chat.last_at, now)
        )
    console().print(shown)


def shelves(found: Sequence[DocumentSource]) -> None:
    """What is searched beside the memories."""
    shown = new_table("title", "documents", "called", "project", "trusted")
    shown.columns[0].header = "path"
    for shelf in found:
        called = shelf.source or "by file"
        shown.add_row(
            safe(shelf.path),
            str(shelf.documents),
            safe(called),
            safe(shelf.project),
            "yes" if shelf.trusted else "no",
        )
    console().print(shown)
