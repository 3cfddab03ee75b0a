r"""Remove recalled memories from a text before it is captured. Pure.

- `<memories …>…</memories>` is removed as a whole, however nested, also where it is quoted (`> `),
  indented or escaped (`&lt;memories`, `\u003cmemories`). A memory cannot end its own fence: such a
  tag inside it is escaped.
- From a fence that never ends, its memories are removed (`<memory …>…</memory>`); if one of these
  never ends either, everything after it.
- For a fence that never begins, its end is removed, and the paragraph before it.
"""

from __future__ import annotations

import re
from functools import cache

from muisti.text.invisible_chars import INVISIBLE, make_hidden_word_pattern

MAX_ROUNDS = 8
"""Removing a fence may join the parts of another; so often the text is searched again."""
_GAP = rf"[\s{INVISIBLE}]*+"
_NAME = (
    rf"(?:(?P<fence>{make_hidden_word_pattern('memories')})"
    rf"|{make_hidden_word_pattern('memory')}(?P<part>-core|-session)?)(?![\w-])"
)
_NOTATIONS = (
    (("<", "＜", "﹤"), "[<＜﹤]", "[>＞﹥]"),
    (("&lt;", "&LT;"), "&lt;", "(?:&gt;|[>＞﹥])"),
    (("\\u003",), r"\\u003c", r"\\u003e"),
)
"""How a tag may be written: what a text with one must contain, its opening, its closing."""
_QUOTE = re.compile(r"(?m)^[ \t]*(?:>[ \t]*)+$\n?")
_BLANK = re.compile(r"\n{3,}")
Region = tuple[int, int]
Tag = re.Match[str]


def strip_recalled(text: str) -> str:
    """Return the text without what muisti added to it. A text without a fence is unchanged."""
    for _ in range(MAX_ROUNDS):
        stripped = text
        for notation in _NOTATIONS:
            if regions := _find_regions(_find_tags(stripped, notation), stripped):
                for start, end in reversed(regions):
                    stripped = stripped[:start] + stripped[end:]
                stripped = _BLANK.sub("\n\n", _QUOTE.sub("", stripped)).strip()
        if stripped == text:
            return text
        text = stripped
    # Still not done: the text was made to defeat this. Keep what comes before the first tag.
    starts = [tag.start() for notation in _NOTATIONS for tag in _find_tags(text, notation)]
    return text[: min(starts, default=len(text))].rstrip()


@cache
def _compile_tag(opening: str, closing: str) -> re.Pattern[str]:
    tag = (
        rf"{opening}{_GAP}(?P<closing>[/／]{_GAP})?{_NAME}"
        rf"(?P<rest>[^<>＜＞﹤﹥]*?)(?:{closing}|(?=[<＜﹤])|\Z)"
    )
    return re.compile(tag, re.IGNORECASE)


def _find_tags(text: str, notation: tuple[tuple[str, ...], str, str]) -> list[Tag]:
    """Return muisti's own tags. A `<memory>` of other XML does not state its trust."""
    marks, opening, closing = notation
    if not any(mark in text for mark in marks):
        return []  # most texts; compiling the pattern is slow
    return [
        tag
        for tag in _compile_tag(opening, closing).finditer(text)
        if tag["fence"] or tag["closing"] or tag["part"] or "trust=" in tag["rest"]
    ]


def _find_regions(tags: list[Tag], text: str) -> list[Region]:
    """Return the parts to remove, in order, without overlaps."""
    unclosed = _find_unclosed(tags)
    regions: list[Region] = []
    open_tags: list[Tag] = []
    for tag in tags:
        if tag in unclosed:
            if not open_tags:
                regions.append(tag.span())
        elif not tag["closing"]:
            open_tags.append(tag)
        elif open_tags:
            first = open_tags[0]
            for index in reversed(range(len(open_tags))):
                if bool(open_tags[index]["fence"]) == bool(tag["fence"]):
                    del open_tags[index:]  # the innermost that this tag closes
                    break
            if not open_tags:
                regions.append((first.start(), tag.end()))
        elif tag["fence"]:
            last = regions[-1][1] if regions else 0
            paragraph = text.rfind("\n\n", last, tag.start()) + 1
            regions.append((max(last, paragraph), tag.end()))
    if open_tags:
        regions.append((open_tags[0].start(), len(text)))
    return regions


def _find_unclosed(tags: list[Tag]) -> set[Tag]:
    """Return the opening tags of fences that never end."""
    open_fences: list[Tag] = []
    for tag in tags:
        if tag["fence"] and not tag["closing"]:
            open_fences.append(tag)
        elif tag["fence"] and open_fences:
            open_fences.pop()
    return set(open_fences)
