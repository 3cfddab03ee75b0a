"""Earlier versions of a memory, and the differences between two of them."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from fastapi import APIRouter, HTTPException, Request, Response

from muisti.model import HistoryEntry, Memory
from muisti.surfaces.web.page_context import Context
from muisti.surfaces.web.render import PageRoute, format_count, render

router = APIRouter(route_class=PageRoute)
Change = Literal["equal", "added", "removed", "omitted"]
CONTEXT_LINES = 2
"""Unchanged lines shown before and after a change."""
MAX_WORDS = 1200
"""A longer passage is compared by lines: comparing words takes quadratic time."""
MAX_LINES = 20_000
MIN_SIMILARITY = 0.3
"""Less similar passages are shown as a whole, not word by word."""
# Not split_words: a diff shows every character, also white space and punctuation.
_WORD = re.compile(r"\w+|\s+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class Version:
    """A text of the memory, and when it was replaced; None for the current one."""

    content: str
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class DiffPart:
    """A part of a diff. The text of an omitted part says how many lines it has."""

    text: str
    change: Change


def list_versions(memory: Memory, history: Sequence[HistoryEntry]) -> list[Version]:
    """Return all known texts, the oldest first. Pure."""
    earlier = [
        Version(entry.content, entry.at)
        for entry in history
        if entry.content is not None and entry.what != "merged"
    ]
    return [*earlier, Version(memory.content)]


@router.get("/memory/{memory_id}/changes")
def show_changes(
    request: Request, context: Context, memory_id: str, old: int = 0, new: int = 0
) -> Response:
    """Compare two versions, numbered from 1; by default the last two."""
    memory = context.get_memory(memory_id)
    versions = list_versions(memory, context.memory.history(memory_id))
    count = len(versions)
    new = new or count
    old = old or max(1, new - 1)
    if not (1 <= old <= count and 1 <= new <= count):
        raise HTTPException(404, f"this memory has {format_count(count, 'version')}")
    return render(
        request,
        "changes.html",
        memory=memory,
        versions=versions,
        old=old,
        new=new,
        parts=list(diff(versions[old - 1].content, versions[new - 1].content)),
    )


def diff(before: str, after: str) -> Iterator[DiffPart]:
    """Compare two texts by lines, and changed lines by words. Pure."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    if len(old) + len(new) > MAX_LINES:
        yield from _replace(before, after)
        return
    for tag, a, b, c, d in difflib.SequenceMatcher(None, old, new).get_opcodes():
        if tag == "equal":
            yield from _omit_distant(old[a:b], first=a == 0, last=b == len(old))
        else:
            yield from _diff_words("".join(old[a:b]), "".join(new[c:d]))


def _replace(before: str, after: str) -> Iterator[DiffPart]:
    if before:
        yield DiffPart(before, "removed")
    if after:
        yield DiffPart(after, "added")


def _diff_words(before: str, after: str) -> Iterator[DiffPart]:
    old, new = _WORD.findall(before), _WORD.findall(after)
    if not old or not new or len(old) > MAX_WORDS or len(new) > MAX_WORDS:
        yield from _replace(before, after)
        return
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    if matcher.ratio() < MIN_SIMILARITY:
        yield from _replace(before, after)
        return
    for tag, a, b, c, d in matcher.get_opcodes():
        if tag == "equal":
            yield DiffPart("".join(old[a:b]), "equal")
        else:
            yield from _replace("".join(old[a:b]), "".join(new[c:d]))


def _omit_distant(lines: Sequence[str], *, first: bool, last: bool) -> Iterator[DiffPart]:
    """Yield unchanged lines, without those far from any change."""
    head = 0 if first else CONTEXT_LINES
    tail = 0 if last else CONTEXT_LINES
    omitted = len(lines) - head - tail
    if omitted <= 3:
        yield DiffPart("".join(lines), "equal")
        return
    if head:
        yield DiffPart("".join(lines[:head]), "equal")
    yield DiffPart(f"{omitted:,} unchanged lines", "omitted")
    if tail:
        yield DiffPart("".join(lines[-tail:]), "equal")
