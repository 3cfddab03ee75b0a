"""What must not be kept: `<private>…</private>` and known secrets go before anything is stored, logged or sent (contract C1).

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

from muisti.remember.secrets import redacted
from muisti.unseen import UNSEEN, spelled

_OPENERS = "<＜﹤"
_CLOSERS = ">＞﹥"
_GAP = rf"[\s{UNSEEN}]*+"
# In full width too, as an East Asian keyboard gives it; re.IGNORECASE knows the Turkish i.
_NAME = spelled("private")
# All repetitions are possessive and none can run over the `<` that the next attempt begins with: the time is linear.
_TAG = re.compile(
    rf"[{_OPENERS}]{_GAP}(?:(?P<closing>[/／]{_GAP}{_NAME}{_GAP}[{_CLOSERS}])|{_NAME}(?=[\s{UNSEEN}{_OPENERS}{_CLOSERS}]|[/／]{_GAP}(?:[{_CLOSERS}]|\Z)|\Z))",
    re.IGNORECASE,
)
_ATTRIBUTES = re.compile(rf"""(?:[^={_OPENERS}{_CLOSERS}]++|=\s*+(?:"[^"]*+"|'[^']*+'|(?!["'])))*+(?P<torn>=)?""")


def cleaned(text: str, *, redact: bool = True) -> str:
    """The text without its private parts and, unless switched off, with `[redacted:KIND]` for each known secret."""
    public = without_private(text)
    return redacted(public) if redact else public


def without_private(text: str) -> str:
    """The text without `<private>…</private>`; nothing else is changed, and text without a tag is returned as it is.

    Takes time in proportion to the text, whatever it holds. Doing it twice is doing it once.
    """
    if not any(opener in text for opener in _OPENERS) or not _TAG.search(text):
        return text
    public = "".join(_public_parts(text))
    glued = _TAG.search(public)  # `<pri<private>x</private>vate>`: what is left must not be a tag again
    return public[: glued.start()] if glued else public


def _public_parts(text: str) -> list[str]:
    parts = []
    depth = start = at = 0
    while tag := _TAG.search(text, at):
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
