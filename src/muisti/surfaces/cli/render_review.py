"""How the review queue looks on a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from muisti.model import Memory, ReviewCount, ReviewItem
from muisti.surfaces.cli.render import (
    escape,
    format_age,
    format_count,
    new_console,
    new_table,
    replace_unprintable,
    short_id,
)
from muisti.surfaces.review import describe_claim, describe_effect


def print_queue(items: Sequence[ReviewItem], now: datetime) -> None:
    """Print the queue as a table."""
    table = new_table("title", "kind", "source", "created", "ID")
    table.columns[0].header = "to review"
    for item in items:
        memory = item.memory
        title, kind = escape(memory.title), memory.kind
        if item.link is not None and item.target is not None:
            claim = describe_claim(item.link)
            target = f"{escape(item.target.title)} {escape(short_id(item.target.id))}"
            title, kind = f"{title}\n[dim]{claim}[/] {target}", "link"
        if memory.project:
            kind += f"\n[dim]{escape(memory.project)}[/]"
        source = escape(memory.agent or memory.source)
        age = format_age(memory.created_at, now)
        table.add_row(title, kind, source, age, escape(short_id(memory.id)))
    new_console().print(table)


def format_review_count(count: ReviewCount) -> str:
    """Return how long the queue is, such as `2 memories and 1 link`."""
    parts = []
    if count.memories:
        parts.append(format_count(count.memories, "memory"))
    if count.links:
        parts.append(format_count(count.links, "link"))
    return " and ".join(parts) or "nothing"


def print_review_item(item: ReviewItem, heading: str, now: datetime) -> None:
    """Print one item: a memory, or both ends of a suggested link and what it would do."""
    out = new_console()
    out.print()
    out.rule(f"[dim]{escape(heading)}[/]", align="left", characters="─", style="dim")
    if item.link is None or item.target is None:
        _print_memory(item.memory, now)
        return
    out.print(f"[bold]Suggested link[/] [dim](confidence {item.link.confidence:g})[/]")
    out.print("[bold cyan]A[/]")
    _print_memory(item.memory, now)
    out.print(f"[bold cyan]A {describe_claim(item.link)} B[/]")
    _print_memory(item.target, now)
    out.print(f"[dim]If confirmed:[/] {describe_effect(item.link, 'A', 'B')}.")


def _print_memory(memory: Memory, now: datetime) -> None:
    from rich.markdown import Markdown
    from rich.padding import Padding

    out = new_console()
    out.print(Padding(Markdown(replace_unprintable(memory.content)), (0, 0, 0, 2)))
    source = f"{memory.agent}, as {memory.source}" if memory.agent else memory.source
    facts = {
        "from": source,
        "when": f"{format_age(memory.created_at, now)} ({memory.created_at:%Y-%m-%d %H:%M} UTC)",
        "kind": memory.kind,
        "project": memory.project,
        "user": memory.user,
        "session": memory.session_id,
        "trust": "confirmed" if memory.trusted else "unconfirmed",
        "ID": short_id(memory.id),
    }
    line = " · ".join(f"{name} {value}" for name, value in facts.items() if value)
    out.print(f"  [dim]{escape(line)}[/]", soft_wrap=True)


def print_keys(keys: Mapping[str, str]) -> None:
    """Print which key does what."""
    shown = "  ".join(f"[bold]{escape(key)}[/] {label}" for key, label in keys.items())
    new_console().print(shown, soft_wrap=True)
