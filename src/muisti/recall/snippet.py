"""The part of a text that answers. Pure."""

from __future__ import annotations

import re
from bisect import bisect_right

from muisti.recall.words import words

LENGTH = 240
_READ = 40_000
_SEGMENT = re.compile(r"[^\n.!?。！？]*[\n.!?。！？]*")


def snippet(content: str, wanted: frozenset[str], length: int = LENGTH) -> str:
    """At most `length` characters around the densest place of the wanted words, cut at sentences where possible."""
    if len(content) <= length:
        return content.strip()
    text = content[:_READ]
    segments = [(match.start(), match.end()) for match in _SEGMENT.finditer(text) if match.end() > match.start()]
    start, end = _fullest(text, segments, wanted)
    if end - start > length:
        start, end = _densest(text, start, end, wanted, length)
    else:
        end = _grown(segments, end, start + length)
    shown = " ".join(content[start:end].split())
    return f"{'… ' if start > 0 else ''}{shown}{' …' if end < len(content.rstrip()) else ''}"


def _fullest(text: str, segments: list[tuple[int, int]], wanted: frozenset[str]) -> tuple[int, int]:
    """The first segment with the most wanted words; the first of all, where only the title has them."""
    scores = _scores(text, segments, wanted) if text.isascii() else []
    if not any(scores) and ("'" in text or not scores):  # `O'Brien`, accents, other scripts: take all words apart
        scores = [len(wanted.intersection(words(text[start:end]))) for start, end in segments]
    return segments[scores.index(max(scores))]


def _scores(text: str, segments: list[tuple[int, int]], wanted: frozenset[str]) -> list[int]:
    """How many of the words each segment has. Looks only at what begins like one: stems do, but for their last letter."""
    lowered = text.lower()
    starts = [start for start, _ in segments]
    scores = [0] * len(segments)
    for word in wanted:
        beginning = word[: max(2, len(word) - 1)]
        having = set()
        at = lowered.find(beginning)
        while at >= 0:
            place = bisect_right(starts, at) - 1
            start, end = segments[place]
            left, right = text.rfind(" ", start, at) + 1 or start, text.find(" ", at, end)
            right = end if right < 0 else right
            if place not in having and word in words(text[left:right]):
                having.add(place)
                scores[place] += 1
            at = lowered.find(beginning, right)
    return scores


def _grown(segments: list[tuple[int, int]], end: int, limit: int) -> int:
    """Take following sentences along while there is room."""
    for _, next_end in segments:
        if end < next_end <= limit:
            end = next_end
    return end


def _densest(text: str, start: int, end: int, wanted: frozenset[str], length: int) -> tuple[int, int]:
    """A window within one overlong segment."""
    steps = [*range(start, end - length, length // 2), end - length]
    best = max(steps, key=lambda at: sum(word in wanted for word in words(text[at : at + length])))
    return best, min(end, best + length)
