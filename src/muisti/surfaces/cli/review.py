"""Commands to review unconfirmed memories and suggested links."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import NamedTuple

import click

from muisti.engine import Muisti
from muisti.errors import MuistiError
from muisti.model import Link, LinkType, Memory, ReviewItem
from muisti.recall.filters import FilterOptions
from muisti.remember.options import UpdateOptions
from muisti.surfaces.cli import render, render_review
from muisti.surfaces.cli.shared import (
    common_options,
    note,
    open_vault,
    print_json,
    resolve_id,
    since_option,
)

PAGE = 50
NOTHING = "Nothing to review."


@click.command()
@click.option("--project", help="Only this project's memories and global ones; * for all projects.")
@click.option("--user", help="Only this user's memories and those without a user.")
@click.option("--agent", help="Only memories this agent wrote.")
@click.option("--kind", multiple=True, help="Only this kind; may be repeated.")
@since_option
@click.option(
    "--limit",
    "-n",
    type=click.IntRange(min=1),
    help="Maximum number of items. Default in a list: 50.",
)
@click.option(
    "--order-by", default="created_at", show_default=True, help="created_at or importance."
)
@click.option("--list", "as_list", is_flag=True, help="Print the queue; ask nothing.")
@common_options
def review(
    project: str | None,
    user: str | None,
    agent: str | None,
    kind: tuple[str, ...],
    since: datetime | None,
    limit: int | None,
    order_by: str,
    as_list: bool,
    vault: str | None,
    as_json: bool,
) -> None:  # shape: one argument for each option
    """Review what agents saved, and suggested links.

    On a terminal, decide with one key each: confirm, edit, replace, forget or skip. Otherwise the
    queue is printed; `muisti confirm ID` confirms a memory.
    """
    filters: FilterOptions = {
        "project": project,
        "user": user,
        "agent": agent,
        "kind": kind,
        "since": since,
    }
    is_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    with open_vault(vault) as memory:
        if is_terminal and not as_list and not as_json:
            _Dialog(memory, filters, order_by, limit).run()
            return
        items = memory.review(limit=limit or PAGE, order_by=order_by, **filters)
        count = memory.count_review(**filters)
    if as_json:
        print_json(items)
    elif items:
        render_review.print_queue(items, render.current_time())
        note(f"To review: {render_review.format_review_count(count)}.")
        note(f"Confirm a memory: muisti confirm {items[0].memory.id[-8:]}")
    else:
        note(NOTHING)


@click.command()
@click.argument("memory_ids", metavar="ID...", nargs=-1, required=True)
@common_options
def confirm(memory_ids: tuple[str, ...], vault: str | None, as_json: bool) -> None:
    """Confirm memories, so that agents may rely on them.

    `muisti review` lists unconfirmed memories. To confirm a suggested link, use `muisti link`.
    """
    with open_vault(vault) as memory:
        ids = [resolve_id(memory, part) for part in memory_ids]
        confirmed = [memory.confirm(memory_id) for memory_id in ids]
    if as_json:
        print_json(confirmed)
        return
    for one in confirmed:
        title = render.replace_unprintable(one.title)
        click.echo(f"Confirmed {one.kind} {render.short_id(one.id)}  {title}")


# -- One key each


class _Done(NamedTuple):
    """What a key did, and how to undo it."""

    message: str
    undo: Callable[[], object]


Action = Callable[[], _Done | None]
"""Carries out a decision. Returns None if the person changed their mind."""


def _list_actions(memory: Muisti, item: ReviewItem) -> dict[str, tuple[str, Action]]:
    """Return what can be done with an item, by key."""
    link = item.link
    if link is None:
        return {
            "c": ("confirm", partial(_confirm, memory, item.memory)),
            "e": ("edit", partial(_edit, memory, item.memory)),
            "r": ("replace", partial(_replace, memory, item.memory)),
            "f": ("forget", partial(_forget, memory, item.memory)),
        }
    actions: dict[str, tuple[str, Action]] = {
        "c": ("confirm", partial(_confirm_link, memory, link)),
        "r": ("reject", partial(_reject_link, memory, link)),
    }
    if link.type is not LinkType.SUPERSEDES:
        actions["o"] = ("B is outdated", partial(_outdate, memory, link))
    return actions


def _confirm(memory: Muisti, one: Memory) -> _Done:
    memory.confirm(one.id, expected_version=one.version)
    return _Done("Confirmed.", lambda: memory.update(one.id, trusted=False))


def _edit(memory: Muisti, one: Memory) -> _Done | None:
    edited = click.edit(one.content, extension=".md")
    if edited is None or edited.strip() == one.content.strip():
        return None
    content = edited.removesuffix("\n")
    memory.update(one.id, content=content, trusted=True, expected_version=one.version)
    before: UpdateOptions = {"content": one.content, "title": one.title, "trusted": False}
    return _Done("Updated and confirmed.", lambda: memory.update(one.id, **before))


def _replace(memory: Muisti, one: Memory) -> _Done | None:
    content = click.prompt("New text (empty: cancel)", default="", show_default=False)
    if not content.strip():
        return None
    new = memory.replace(one.id, content, expected_version=one.version)

    def undo() -> None:
        memory.unlink(new.id, one.id, "SUPERSEDES")
        memory.delete(new.id)

    return _Done(f"Replaced by {render.short_id(new.id)}.", undo)


def _forget(memory: Muisti, one: Memory) -> _Done:
    memory.delete(one.id)
    return _Done("Moved to the trash.", lambda: memory.restore(one.id))


def _confirm_link(memory: Muisti, link: Link) -> _Done:
    memory.confirm_link(link.source, link.target, link.type)
    return _Done("Link confirmed.", lambda: _suggest_again(memory, link, link.type))


def _reject_link(memory: Muisti, link: Link) -> _Done:
    memory.reject_link(link.source, link.target, link.type)
    return _Done("Link rejected; both memories stay.", lambda: _suggest_again(memory, link))


def _outdate(memory: Muisti, link: Link) -> _Done:
    memory.supersede(link.target, link.source)
    message = "B is outdated, replaced by A."
    return _Done(message, lambda: _suggest_again(memory, link, "SUPERSEDES"))


def _suggest_again(memory: Muisti, link: Link, remove: str | None = None) -> None:
    """Suggest a link once more, in place of the link that the decision made."""
    if remove is not None:
        memory.unlink(link.source, link.target, remove)
    memory.link(
        link.source,
        link.target,
        link.type,
        confidence=link.confidence,
        extracted_by=link.extracted_by,
        valid_from=link.valid_from,
        valid_until=link.valid_until,
    )


_OTHER_KEYS = {"s": "skip", "u": "undo", "q": "quit"}
_SKIP, _QUIT = ("s", " "), ("q", "\x03", "\x04", "\x1b", "")
"""The keys to skip and to quit: also the space bar, and Ctrl+C, Ctrl+D and Escape."""


class _Dialog:
    """Shows one item after another and does what the person decides."""

    def __init__(
        self, memory: Muisti, filters: FilterOptions, order_by: str, limit: int | None
    ) -> None:
        self._memory = memory
        self._filters = filters
        self._order_by = order_by
        self._limit = limit
        self._items: list[ReviewItem] = []
        self._decided: list[tuple[int, Callable[[], object]]] = []
        """The places of decided items, and how to undo each decision."""

    def run(self) -> None:
        """Ask until the queue is empty or the person quits."""
        at: int | None = 0
        while at is not None and self._load(at):
            item = _refresh(self._memory, self._items[at])
            if item is None:
                at += 1
            else:
                self._items[at] = item
                at = self._ask(at)
        if not self._items:
            click.echo(NOTHING)
            return
        decided = render.format_count(len(self._decided), "decision")
        click.echo(f"{decided}. To review: {self._format_rest()}.")

    def _load(self, at: int) -> bool:
        """Return whether there is an item at this place; read the next page if needed."""
        if self._limit is not None and at >= self._limit:
            return False
        if at >= len(self._items):
            # What was skipped is still at the head of the queue.
            skipped = len(self._items) - len(self._decided)
            seen = {_identify(item) for item in self._items}
            page = self._memory.review(
                limit=PAGE, offset=skipped, order_by=self._order_by, **self._filters
            )
            self._items += [item for item in page if _identify(item) not in seen]
        return at < len(self._items)

    def _format_rest(self) -> str:
        return render_review.format_review_count(self._memory.count_review(**self._filters))

    def _ask(self, at: int) -> int | None:
        """Show an item and wait for a key. Returns the place to go on at; None to stop."""
        item = self._items[at]
        actions = _list_actions(self._memory, item)
        heading = f"To review: {self._format_rest()}"
        render_review.print_review_item(item, heading, render.current_time())
        labels = {key: label for key, (label, _) in actions.items()}
        while True:
            render_review.print_keys(labels | _OTHER_KEYS)
            key = _read_key()
            if key in _QUIT:
                return None
            if key in _SKIP:
                click.echo("Skipped.")
                return at + 1
            if key == "u":
                return self._undo(at)
            if key in actions:
                return self._decide(at, actions[key][1])

    def _decide(self, at: int, act: Action) -> int:
        try:
            done = act()
        except (MuistiError, click.ClickException) as error:
            click.echo(f"error: {render.replace_unprintable(str(error))}", err=True)
            return at
        if done is None:
            click.echo("Unchanged.")
            return at
        click.echo(f"{done.message} Press u to undo.")
        self._decided.append((at, done.undo))
        return at + 1

    def _undo(self, at: int) -> int:
        if not self._decided:
            click.echo("Nothing to undo.")
            return at
        decided_at, undo = self._decided.pop()
        try:
            undo()
        except MuistiError as error:
            click.echo(f"error: {render.replace_unprintable(str(error))}", err=True)
            return at
        click.echo("Undone.")
        return decided_at


def _identify(item: ReviewItem) -> tuple[str, ...]:
    link = item.link
    return (item.memory.id,) if link is None else (link.source, link.type, link.target)


def _refresh(memory: Muisti, item: ReviewItem) -> ReviewItem | None:
    """Return the item as it is now; None if nothing is left to decide."""
    source = memory.get(item.memory.id)
    if source is None or memory.superseding(source.id):
        return None
    if item.link is None or item.target is None:
        return None if source.trusted else ReviewItem(source)
    target = memory.get(item.target.id)
    if target is None or memory.superseding(target.id):
        return None
    for link in source.links:
        if link.proposed and (link.type, link.target) == (item.link.type, target.id):
            return ReviewItem(source, link, target)
    return None


def _read_key() -> str:
    """Return the pressed key in lower case; an empty string at the end of the input."""
    try:
        return click.getchar().lower()
    except (EOFError, KeyboardInterrupt):
        return ""


COMMANDS = {"review": review, "confirm": confirm}
