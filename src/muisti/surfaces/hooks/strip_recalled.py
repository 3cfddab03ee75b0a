r"""Nothing that muisti recalled is taken for something new: its fence goes before a text is kept. Pure.

- `<memories …>…</memories>` goes as a whole, however nested, also where it is quoted (`> `), indented or escaped
  (`&lt;memories`, `\u003cmemories`). What a memory itself says cannot end its fence: there it stands escaped.
- A fence that never ends: its own parts go (`<memory …>…</memory>`), and from a part that never ends on, everything.
- A fence that never began: its end goes, and the paragraph before it.
"""

from __future__ import annotations

import re
from functools import cache

from muisti.text.invisible_chars import INVISIBLE, make_hidden_word_pattern

ROUNDS = 8
"""How often what grew together from what was left is looked at again."""
_GAP = rf"[\s{INVISIBLE}]*+"
_NAME = rf"(?:(?P<fence>{make_hidden_word_pattern('memories')})|{make_hidden_word_pattern('memory')}(?P<part>-core|-session)?)(?![\w-])"


@cache
def _tags(opener: str, closer: str) -> re.Pattern[str]:
    tag = rf"{opener}{_GAP}(?P<closing>[/／]{_GAP})?{_NAME}(?P<rest>[^<>＜＞﹤﹥]*?)(?:{closer}|(?=[<＜﹤])|\Z)"
    return re.compile(tag, re.IGNORECASE)


_FORMS = (
    (("<", "＜", "﹤"), "[<＜﹤]", "[>＞﹥]"),
    (("&lt;", "&LT;"), "&lt;", "(?:&gt;|[>＞﹥])"),
    (("\\u003",), r"\\u003c", r"\\u003e"),
)
"""How a tag may be written: what a text with one must hold, how it begins, how it ends."""
_QUOTE = re.compile(r"(?m)^[ \t]*(?:>[ \t]*)+$\n?")
_BLANK = re.compile(r"\n{3,}")
Region = tuple[int, int]
Tag = re.Match[str]


def without_recalled(text: str) -> str:
    """The text without what muisti put into it; a text without a fence as it is. Doing it twice is doing it once."""
    for _ in range(ROUNDS):
        left = text
        for form in _FORMS:
            if regions := _regions(_tags_in(left, form), left):
                left = _without(left, regions)
        if left == text:
            return text
        text = left
    # Somebody plays with us: what stands before the first of them is enough.
    return text[
        : min((tag.start() for form in _FORMS for tag in _tags_in(text, form)), default=len(text))
    ].rstrip()


def _tags_in(text: str, form: tuple[tuple[str, ...], str, str]) -> list[Tag]:
    marks, opener, closer = form
    if not any(mark in text for mark in marks):
        return []  # most texts; the patterns are dear to compile
    return [tag for tag in _tags(opener, closer).finditer(text) if _is_ours(tag)]


def _is_ours(tag: Tag) -> bool:
    """Not a `<memory>` of somebody's own XML, which does not say what trust it deserves. Ends are told apart by beginnings."""
    return bool(tag["fence"] or tag["closing"] or tag["part"]) or "trust=" in tag["rest"]


def _regions(tags: list[Tag], text: str) -> list[Region]:
    """Where the text is not its author's, in order, without overlaps."""
    lone = _unclosed(tags)
    regions: list[Region] = []
    opened: list[Tag] = []
    for tag in tags:
        if tag in lone:
            if not opened:
                regions.append(tag.span())
        elif not tag["closing"]:
            opened.append(tag)
        elif place := _place_of_opening(opened, tag):
            first = opened[0]
            del opened[place - 1 :]
            if not opened:
                regions.append((first.start(), tag.end()))
        elif tag["fence"] and not opened:
            last = regions[-1][1] if regions else 0
            regions.append((max(last, text.rfind("\n\n", last, tag.start()) + 1), tag.end()))
    if opened:
        regions.append((opened[0].start(), len(text)))
    return regions


def _unclosed(tags: list[Tag]) -> set[Tag]:
    """Fences that never end."""
    opened: list[Tag] = []
    for tag in tags:
        if tag["fence"] and not tag["closing"]:
            opened.append(tag)
        elif tag["fence"] and opened:
            opened.pop()
    return set(opened)


def _place_of_opening(opened: list[Tag], closing: Tag) -> int:
    """Which of those that are open this ends, counted from 1; 0 if none."""
    for place in range(len(opened), 0, -1):
        if bool(opened[place - 1]["fence"]) == bool(closing["fence"]):
            return place
    return 0


def _without(text: str, regions: list[Region]) -> str:
    parts = []
    start = 0
    for begin, end in regions:
        parts.append(text[start:begin])
        start = end
    left = "".join((*parts, text[start:]))
    return _BLANK.sub("\n\n", _QUOTE.sub("", left)).strip()
