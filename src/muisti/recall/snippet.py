"""The part of a text that answers. Pure."""

from __future__ import annotations

from itertools import pairwise

from muisti.text.sentences import find_sentence_ends
from muisti.text.tokens import tokenize

LENGTH = 500
"""Most memories are shorter, and are shown whole."""
_READ = 40_000


def make_snippet(content: str, wanted: frozenset[str], length: int = LENGTH) -> str:
    """At most `length` characters around the densest place of the wanted words, cut at sentences where possible."""
    if len(content) <= length:
        return content.strip()
    text = content[:_READ]
    edges = [0, *find_sentence_ends(text, lines=True), len(text)]
    segments = [(begin, end) for begin, end in pairwise(edges) if begin < end]
    start, end = _fullest(text, segments, wanted)
    if end - start > length:
        start, end = _densest(text, start, end, wanted, length)
    else:
        end = _grown(segments, end, start + length)
    shown = " ".join(content[start:end].split())
    return f"{'… ' if start > 0 else ''}{shown}{' …' if end < len(content.rstrip()) else ''}"


def _fullest(text: str, segments: list[tuple[int, int]], wanted: frozenset[str]) -> tuple[int, int]:
    """The first segment with the most wanted words; the first of all, where only the title has them."""
    return max(
        segments,
        key=lambda segment: len(wanted.intersection(tokenize(text[segment[0] : segment[1]]))),
    )


def _grown(segments: list[tuple[int, int]], end: int, limit: int) -> int:
    """Take following sentences along while there is room."""
    for _, next_end in segments:
        if end < next_end <= limit:
            end = next_end
    return end


def _densest(
    text: str, start: int, end: int, wanted: frozenset[str], length: int
) -> tuple[int, int]:
    """A window within one overlong segment."""
    steps = [*range(start, end - length, length // 2), end - length]
    best = max(
        steps, key=lambda at: sum(word in wanted for word in tokenize(text[at : at + length]))
    )
    return best, min(end, best + length)
