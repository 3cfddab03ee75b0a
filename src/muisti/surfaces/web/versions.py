"""What a memory said before, and what was changed: two of its versions beside one another."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from fastapi import APIRouter, HTTPException, Request, Response

from muisti.model import HistoryEntry, Memory
from muisti.surfaces.web.page_context import At
from muisti.surfaces.web.render import PageRoute, show

router = APIRouter(route_class=PageRoute)
How = Literal["same", "new", "gone", "left out"]
AROUND = 2
"""Lines that stayed the same and are shown before and after a change."""
MOST_WORDS = 1200
"""In a longer passage, whole lines are compared instead of words: the time it takes grows with the square."""
MOST_LINES = 20_000
# Not split_words: a difference is shown of every character, of white space and signs too.
_WORD = re.compile(r"\w+|\s+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class Version:
    """A text that the memory had, and until when; None: it has it still."""

    content: str
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a text, and what became of it. Of what is left out, only how much it is."""

    text: str
    how: How


def versions(memory: Memory, happened: Sequence[HistoryEntry]) -> list[Version]:
    """All texts that are known, the oldest first. Pure."""
    earlier = [
        Version(one.content, one.at)
        for one in happened
        if one.content is not None and one.what != "merged"
    ]
    return [*earlier, Version(memory.content)]


@router.get("/memory/{memory_id}/changes")
def changes(request: Request, desk: At, memory_id: str, old: int = 0, new: int = 0) -> Response:
    """What is another in one version than in an earlier one; numbers begin at 1, and 0 is the last but one, or the last."""
    found = desk.existing(memory_id)
    known = versions(found, desk.memory.history(memory_id))
    new = new or len(known)
    old = old or max(1, new - 1)
    if not (1 <= old <= len(known) and 1 <= new <= len(known)):
        raise HTTPException(404, f"this memory has {len(known)} versions, numbered from 1")
    pieces = list(differences(known[old - 1].content, known[new - 1].content))
    return show(
        request, "changes.html", memory=found, versions=known, old=old, new=new, pieces=pieces
    )


def differences(before: str, after: str) -> Iterator[Piece]:
    """The later text with what came and what went: by lines, and by words where a line was rewritten. Pure."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    if len(old) + len(new) > MOST_LINES:
        yield from _replaced(before, after)
        return
    for tag, a, b, c, d in difflib.SequenceMatcher(None, old, new).get_opcodes():
        if tag == "equal":
            yield from _shortened(old[a:b], first=a == 0, last=b == len(old))
        else:
            yield from _rewritten("".join(old[a:b]), "".join(new[c:d]))


def _replaced(before: str, after: str) -> Iterator[Piece]:
    if before:
        yield Piece(before, "gone")
    if after:
        yield Piece(after, "new")


def _rewritten(before: str, after: str) -> Iterator[Piece]:
    old, new = _WORD.findall(before), _WORD.findall(after)
    if not old or not new or len(old) > MOST_WORDS or len(new) > MOST_WORDS:
        yield from _replaced(before, after)
        return
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    if matcher.ratio() < 0.3:  # what little they share would only be in the way
        yield from _replaced(before, after)
        return
    for tag, a, b, c, d in matcher.get_opcodes():
        if tag == "equal":
            yield Piece("".join(old[a:b]), "same")
        else:
            yield from _replaced("".join(old[a:b]), "".join(new[c:d]))


def _shortened(lines: Sequence[str], *, first: bool, last: bool) -> Iterator[Piece]:
    """Lines that stayed, without those that are far from any change."""
    head, tail = (0 if first else AROUND), (0 if last else AROUND)
    hidden = len(lines) - head - tail
    if hidden <= 3:
        yield Piece("".join(lines), "same")
        return
    if head:
        yield Piece("".join(lines[:head]), "same")
    yield Piece(f"{hidden} lines as before", "left out")
    if tail:
        yield Piece("".join(lines[-tail:]), "same")
