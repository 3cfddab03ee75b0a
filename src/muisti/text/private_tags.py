"""Removes `<private>…</private>` from text before it is stored, logged or sent (contract C1).

If it is unclear whether something is a tag, it is one:

- Any case, white space, attributes, line breaks, full-width letters and brackets, and invisible
  characters are accepted. `<privateer>`, `<private-key>` and `<private/path.h>` are not tags.
- Tags nest. An opening tag without a closing one drops the rest of the text.
- `<private/>` opens, as in HTML: `<private/>key</private>` hides the key.
- A quoted attribute value may contain `>` and tags; a quote that never ends drops the rest.
- A closing tag contains only its name: `</private and so on>` closes nothing. A closing tag without
  an opening one is removed.
- Code fences and backslashes do not protect tags.
"""

from __future__ import annotations

import re
from functools import cache

from muisti.text.invisible_chars import INVISIBLE, make_hidden_word_pattern

_OPENERS = "<＜﹤"
_CLOSERS = ">＞﹥"
_GAP = rf"[\s{INVISIBLE}]*+"
# Also full-width, as typed on East Asian keyboards. re.IGNORECASE includes the Turkish i.
_NAME = make_hidden_word_pattern("private")
_ATTRIBUTES = (
    rf"""(?:[^={_OPENERS}{_CLOSERS}]++|=\s*+(?:"[^"]*+"|'[^']*+'|(?!["'])))*+(?P<torn>=)?"""
)


def may_hold_tags(text: str) -> bool:
    """Return whether a text has a character that begins a tag. Fast; most texts have none."""
    return "<" in text or (not text.isascii() and any(opener in text for opener in _OPENERS))


def remove_private(text: str) -> str:
    """Return the text without `<private>…</private>`. A text without tags is returned unchanged.

    Takes linear time. Idempotent.
    """
    if not may_hold_tags(text) or not _compile_tag().search(text):
        return text
    public = "".join(_collect_public_parts(text))
    # `<pri<private>x</private>vate>`: the rest must not be a tag again
    joined = _compile_tag().search(public)
    return public[: joined.start()] if joined else public


@cache
def _compile_tag() -> re.Pattern[str]:
    """Compile the pattern of an opening or closing tag on first use.

    All repetitions are possessive and stop before the next `<`, so matching takes linear time.
    """
    closing = rf"[/／]{_GAP}{_NAME}{_GAP}[{_CLOSERS}]"
    ends = rf"[\s{INVISIBLE}{_OPENERS}{_CLOSERS}]|[/／]{_GAP}(?:[{_CLOSERS}]|\Z)|\Z"
    return re.compile(
        rf"[{_OPENERS}]{_GAP}(?:(?P<closing>{closing})|{_NAME}(?={ends}))", re.IGNORECASE
    )


def _collect_public_parts(text: str) -> list[str]:
    parts = []
    depth = start = at = 0
    while tag := _compile_tag().search(text, at):
        if depth == 0:
            parts.append(text[start : tag.start()])
        if tag["closing"]:
            depth = max(0, depth - 1)
            at = start = tag.end()
            continue
        depth += 1
        attributes = re.compile(_ATTRIBUTES).match(text, tag.end())
        if attributes is None or attributes["torn"]:
            return parts
        at = attributes.end()
    return parts if depth else [*parts, text[start:]]
