"""`<private>…</private>` in a text: removed before anything is stored, logged or sent (contract C1).

Which text is private is decided in doubt for the writer: what may have been meant as a tag is one.

- Any case, any white space, attributes, over several lines, full-width letters and brackets, invisible characters
  within: all are tags. `<privateer>`, `<private-key>` and `<private/path.h>` are other words, `&lt;private&gt;` is text.
- Tags nest; each opening needs its own closing. An opening without one drops the rest of the text.
- `<private/>` opens, as it does in HTML: whoever writes `<private/>key</private>` means to hide the key.
- A quoted value may hold `>` and even tags; a quote that never ends drops the rest.
- A closing tag holds nothing but its name: `</private and so on>` closes nothing. One that closes nothing is removed.
- Code fences and backslashes protect nothing.
"""

from __future__ import annotations

import re
from functools import cache

from muisti.text.invisible_chars import INVISIBLE, make_hidden_word_pattern

_OPENERS = "<＜﹤"
_CLOSERS = ">＞﹥"
_GAP = rf"[\s{INVISIBLE}]*+"
# In full width too, as an East Asian keyboard gives it; re.IGNORECASE knows the Turkish i.
_NAME = make_hidden_word_pattern("private")
_ATTRIBUTES = re.compile(
    rf"""(?:[^={_OPENERS}{_CLOSERS}]++|=\s*+(?:"[^"]*+"|'[^']*+'|(?!["'])))*+(?P<torn>=)?"""
)


def may_hold_tags(text: str) -> bool:
    """Return whether a text has a character that tags begin with: quick, and most texts have none."""
    return any(opener in text for opener in _OPENERS)


def remove_private(text: str) -> str:
    """The text without `<private>…</private>`; nothing else is changed, and text without a tag is returned as it is.

    Takes time in proportion to the text, whatever it holds. Doing it twice is doing it once.
    """
    if not may_hold_tags(text) or not _tag().search(text):
        return text
    public = "".join(_public_parts(text))
    glued = _tag().search(
        public
    )  # `<pri<private>x</private>vate>`: what is left must not be a tag again
    return public[: glued.start()] if glued else public


@cache
def _tag() -> re.Pattern[str]:
    """An opening or a closing tag; compiled when the first text could have one.

    All repetitions are possessive and none can run over the `<` that the next attempt begins with: the time is linear.
    """
    closing = rf"[/／]{_GAP}{_NAME}{_GAP}[{_CLOSERS}]"
    ends = rf"[\s{INVISIBLE}{_OPENERS}{_CLOSERS}]|[/／]{_GAP}(?:[{_CLOSERS}]|\Z)|\Z"
    return re.compile(
        rf"[{_OPENERS}]{_GAP}(?:(?P<closing>{closing})|{_NAME}(?={ends}))", re.IGNORECASE
    )


def _public_parts(text: str) -> list[str]:
    parts = []
    depth = start = at = 0
    while tag := _tag().search(text, at):
        if depth == 0:
            parts.append(text[start : tag.start()])
        if tag["closing"]:
            depth = max(0, depth - 1)
            at = start = tag.end()
            continue
        depth += 1
        attributes = _ATTRIBUTES.match(text, tag.end())
        if attributes is None or attributes["torn"]:
            return parts
        at = attributes.end()
    return parts if depth else [*parts, text[start:]]
