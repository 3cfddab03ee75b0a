"""How lists of memories and search results look on a terminal: made for 80 columns and 24 lines."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import PurePath
from typing import TYPE_CHECKING

from muisti.model import EntryType
from muisti.model.validity import is_outdated
from muisti.recall.snippet import make_snippet
from muisti.surfaces.cli import plain
from muisti.surfaces.cli.render import (
    LONGEST_NAME,
    Outdated,
    escape,
    find_title_end,
    format_age,
    format_outdated,
    new_console,
    new_table,
    replace_unprintable,
    short_id,
)

if TYPE_CHECKING:
    from rich.console import Console

    from muisti.model import CompactResult, Memory, SearchResult

Line = tuple[int, str, str]
"""By how much a line is indented, its text, and its style."""

INDENT = 2
LINES_AROUND = 4
"""Lines of a screen that results leave free: the command, notes, the next prompt."""
MIN_LINES = 8
SNIPPET_LINES = 2
NARROW = 60
"""With fewer columns, a table has no room for titles: each memory gets two lines instead."""
WIDE = 100
"""With this many columns, a list has room for a project that all memories share."""
WIDEST = 120
"""With this many columns, a list has room for salience and recalls."""
SEPARATOR = " · "
_SENTENCE_ENDS = '.!?。！？:：)”"'


def count_screen_lines() -> int | None:
    """Return how many lines of results fit on the screen; None if they are not on a screen."""
    if not sys.stdout.isatty():
        return None
    from shutil import get_terminal_size  # slow to import

    return max(MIN_LINES, get_terminal_size().lines - LINES_AROUND)


def cut(text: str, width: int) -> str:
    """Return what fits into this many columns, between words if possible."""
    if plain.is_narrow(text):
        if len(text) <= width:
            return text
        kept = text[: max(1, width - 1)]
    else:
        from rich.cells import cell_len, chop_cells

        if cell_len(text) <= width:
            return text
        kept = chop_cells(text, max(1, width - 1))[0]
    if not text[len(kept) : len(kept) + 1].isspace() and kept.rfind(" ") > len(kept) * 2 // 3:
        kept = kept[: kept.rfind(" ")]
    return f"{kept.rstrip()}…"


def make_excerpt(memory: Memory, headline: str, stems: frozenset[str], length: int) -> str:
    """Return the part of a memory to show below its headline, without the headline again."""
    text = " ".join(replace_unprintable(memory.content).split())
    shown = headline.rstrip("…")
    end = find_title_end(text, shown) or find_title_end(text, shown.rpartition(" > ")[2])
    rest = text[end:].strip()
    if not any(map(str.isalnum, rest)):
        return "" if any(map(str.isalnum, shown)) else rest
    excerpt = make_snippet(rest, stems, length)
    is_midway = end and (headline.endswith("…") or text[:end].rstrip()[-1] not in _SENTENCE_ENDS)
    first_line = " ".join(memory.content.strip().partition("\n")[0].split())
    is_same_line = len(first_line) != end
    if is_midway and is_same_line and not excerpt.startswith("…"):
        excerpt = f"… {excerpt}"
    return excerpt


def format_meta(*parts: str) -> str:
    """Return what is known besides the title, on one line; the most important first."""
    return SEPARATOR.join(replace_unprintable(part) for part in parts if part)


def _name_owner(memory: Memory) -> str:
    """Return the project and the user, or the document source."""
    if memory.origin is EntryType.DOCUMENT:
        name = memory.source
        return name if len(name) <= LONGEST_NAME else f"…{name[1 - LONGEST_NAME :]}"
    return ", ".join(
        name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"
        for name in (memory.project, memory.user)
        if name
    )


def print_results(
    results: Sequence[SearchResult],
    now: datetime,
    outdated: Outdated | None = None,
    *,
    brief: bool = False,
    most_lines: int | None = None,
) -> tuple[int, int]:
    """Print search results: a title line, a dim line, and at most two lines of text.

    Brief: one line of text. Most lines: stop before there are more, but print at least one result.
    Return how many results and how many lines were printed.
    """
    width, console = plain.get_width(), None
    if width is None:
        console = new_console()
        width = console.width
    printed = 0
    for number, result in enumerate(results):
        lines, words = _format_result(result, width, now, outdated, brief=brief)
        if most_lines is not None and number and printed + len(lines) > most_lines:
            return number, printed
        _print_lines(lines, console, words)
        printed += len(lines)
    return len(results), printed


def _format_result(
    result: SearchResult, columns: int, now: datetime, outdated: Outdated | None, *, brief: bool
) -> tuple[list[Line], str]:
    """Return the lines of a result, and a pattern of the words that matched."""
    memory, width = result.memory, max(10, columns - INDENT)
    headline = cut(replace_unprintable(memory.title), columns)
    meta = format_meta(
        short_id(memory.id),
        f"{result.score:.2f}",
        memory.kind,
        format_age(memory.created_at, now),
        _name_owner(memory),
        f"vault {PurePath(result.vault).name}" if result.vault else "",
    )
    lines = [(0, headline, "bold"), (INDENT, cut(meta, width), "dim")]
    if result.outdated:
        lines.append((INDENT, cut(format_outdated(memory.id, outdated), width), "red"))
    matched = result.why[0].note.removeprefix("matched ") if result.why else ""
    stems = frozenset(matched.split(", "))
    room = 1 if brief else 2 + SNIPPET_LINES - len(lines)
    excerpt = make_excerpt(memory, headline, stems, room * width)
    lines += [(INDENT, cut(line, width), "") for line in wrap(excerpt, width, room)]
    return lines, "|".join(re.escape(stem) for stem in stems if len(stem) > 1)


def _print_lines(lines: Sequence[Line], console: Console | None, words: str = "") -> None:
    """Print lines, with matching words highlighted; without a console, as plain text."""
    if console is None and not any({"\t", "\n"} & set(text) for _, text, _ in lines):
        sys.stdout.write("".join(f"{' ' * indent}{text}\n" for indent, text, _ in lines))
        sys.stdout.flush()
        return
    from rich.text import Text

    console = console or new_console()
    for number, (indent, text, style) in enumerate(lines):
        line = Text(" " * indent).append(text, style=style) if indent else Text(text, style=style)
        if words and number != 1:
            line.highlight_regex(rf"(?i)\b(?:{words})\w*", "yellow")
        console.print(line, soft_wrap=True)


def wrap(text: str, width: int, most: int) -> list[str]:
    """Return at most this many lines; the last one ends with … if there are more."""
    lines = plain.wrap_narrow(text, width) if plain.is_narrow(text) else None
    if lines is None:
        from rich.text import Text

        lines = [line.plain.rstrip() for line in Text(text).wrap(new_console(), width)]
    if len(lines) > most:
        rest = " ".join(lines[most - 1 :])
        lines = [*lines[: most - 1], cut(rest, width)]
    return lines


def print_memories(
    memories: Sequence[Memory], now: datetime, outdated: Outdated | None = None
) -> None:
    """Print a list of memories, one line each."""
    console = new_console()
    owners = [_name_owner(memory) for memory in memories]
    rows = []
    for memory, owner in zip(memories, owners, strict=True):
        title = replace_unprintable(memory.title)
        mark = ""
        if memory.deleted_at:
            mark = "deleted"
        elif is_outdated(memory, now):
            mark = format_outdated(memory.id, outdated)
        rows.append((memory, owner, title, mark))
    if console.width < NARROW:
        for memory, owner, title, mark in rows:
            age = format_age(memory.created_at, now)
            _print_entry(title, (short_id(memory.id), memory.kind, age, owner), mark, console)
        return
    is_wide = console.width >= WIDEST
    has_owners = any(owners) if console.width >= WIDE else len(set(owners)) > 1
    columns = ["title", "kind", "created", "ID"]
    names = [name for name in ("project", "user") if any(getattr(one, name) for one in memories)]
    columns[2:2] = [", ".join(names) or "source"] if has_owners else []
    columns[-2:-2] = ["salience", "recalls"] if is_wide else []
    table = new_table(*columns, wrap=False)
    for memory, owner, title, mark in rows:
        cells = [_mark_title(title, mark, is_deleted=memory.deleted_at is not None), memory.kind]
        cells += [escape(owner)] if has_owners else []
        cells += [f"{memory.salience:.2f}", str(memory.access_count or "")] if is_wide else []
        age = format_age(memory.created_at, now)
        table.add_row(*cells, age, escape(short_id(memory.id)))
    console.print(table)


def _mark_title(title: str, mark: str, *, is_deleted: bool = False) -> str:
    if is_deleted:
        return f"[dim strike]{escape(title)}[/] ({mark})"
    return f"{escape(title)}\n[red]{escape(mark)}[/]" if mark else escape(title)


def _print_entry(title: str, meta: Iterable[str], mark: str, console: Console) -> None:
    """Print one memory on two lines, or three if it has a mark."""
    width = max(10, console.width - INDENT)
    lines = [(0, cut(title, console.width), ""), (INDENT, cut(format_meta(*meta), width), "dim")]
    if mark:
        lines.append((INDENT, cut(mark, width), "red"))
    _print_lines(lines, console)


def print_compact(
    results: Sequence[CompactResult],
    now: datetime,
    outdated: Outdated | None = None,
    anchor: str | None = None,
) -> None:
    """Print compact results with their scores, or a timeline with its anchor marked."""
    console = new_console()
    is_narrow = console.width < NARROW
    table = new_table(
        "score" if anchor is None else "", "title", "kind", "created", "ID", wrap=False
    )
    for result in results:
        mark = format_outdated(result.id, outdated) if result.outdated else ""
        age = format_age(result.created_at, now)
        arrow = "→" if result.id == anchor else ""
        score = f"{result.score:.2f}" if anchor is None else ""
        title = replace_unprintable(result.title)
        if is_narrow:
            headline = f"{arrow} {title}".strip()
            _print_entry(headline, (short_id(result.id), score, result.kind, age), mark, console)
        else:
            cell = _mark_title(title, mark)
            table.add_row(arrow or score, cell, result.kind, age, escape(short_id(result.id)))
    if not is_narrow:
        console.print(table)
