"""Finds the ends of sentences: one rule for chunks, snippets and extraction, another for titles.

A full stop ends a sentence if white space follows it and its closing quotes and brackets; a Chinese
or Japanese one always does. Repetitions are possessive, so matching takes linear time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise

STOPS = ".!?…。！？｡"
"""Characters that may end a sentence."""
_SPACED = r"[.!?…]"
_SPACELESS = r"[。！？｡]"
# A search for one of some characters is fast: so the first one is matched before its kind is known.
_END = (
    rf"(?:(?<={_SPACED})(?<!{_SPACED}{_SPACED}){_SPACED}*+[\"')\]»”’]*+(?=\s)"
    rf"|(?<={_SPACELESS}){_SPACELESS}*+[」』”’)）]*+)\s*+"
)


@cache
def _compile_end(lines: bool) -> re.Pattern[str]:
    """Compile on first use: compiling is slow, and few memories are long enough to be cut."""
    if lines:
        return re.compile(rf"[{STOPS}\n](?:{_END}|(?<=\n)\s*+)")
    return re.compile(rf"[{STOPS}]{_END}")


# Without closing quotes, ellipses and runs of stops. This rule must not change: `update` recognizes
# a derived title by deriving it again.
_TITLE_END = re.compile(r"[.!?](?=\s)|[。！？]")

_ABBREVIATION = re.compile(
    r"(?:^|[\s(])(?:[A-Z]|Mr|Mrs|Ms|Dr|Prof|St|Sr|Jr|vs|etc|e\.g|i\.e|approx|ca|No|Inc|Ltd|Co|Fig|"
    r"Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec|a\.m|p\.m|U\.S|esim|mm|т\.е|т\.д|г|ул)\.$"
)
_MAY_END_A_SENTENCE = ("a.m.", "p.m.", "etc.", "Inc.", "Ltd.", "Co.")
_CAPITAL_FOLLOWS = re.compile(r"\s+(?:[A-ZÄÖÅА-Я]|$)")


def find_sentence_ends(
    text: str,
    start: int = 0,
    end: int | None = None,
    *,
    lines: bool = False,
    abbreviations: bool = False,
) -> Iterator[int]:
    """Yield the ends of the sentences in `text[start:end]`, after the white space that follows.

    With `lines`, a line end ends a sentence. With `abbreviations`, the full stop of "Dr. Smith"
    does not; extraction uses that. Chunks do not: other boundaries would invalidate all vectors.
    """
    border = _compile_end(lines)
    begin = start
    for match in border.finditer(text, start, len(text) if end is None else end):
        if abbreviations and match[0].rstrip() == ".":
            stop = match.start() + 1
            is_abbreviation = _ABBREVIATION.search(text[max(begin, stop - 8) : stop])
            may_end = text.endswith(_MAY_END_A_SENTENCE, begin, stop)
            if is_abbreviation and not (may_end and _CAPITAL_FOLLOWS.match(text, stop)):
                continue
        begin = match.end()
        yield begin


def split_sentences(text: str, *, lines: bool = False, abbreviations: bool = False) -> list[str]:
    """Return the sentences of a text with their trailing white space. Joined, they are the text."""
    if abbreviations:
        ends = list(find_sentence_ends(text, lines=lines, abbreviations=True))
    else:
        border = _compile_end(lines)
        ends = [match.end() for match in border.finditer(text)]
    edges = [0, *ends, len(text)]
    return [text[begin:end] for begin, end in pairwise(edges) if begin < end]


def get_first_sentence(line: str) -> str:
    """Return a line up to its first full stop, or the whole line. Titles are derived from it."""
    end = _TITLE_END.search(line)
    return line[: end.end()] if end else line
