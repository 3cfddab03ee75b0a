"""Where sentences end: one rule for chunks, snippets, extraction, summaries; another for titles.

A stop ends a sentence where white space follows it, or follows the quotes and brackets that close
with it; a Chinese or Japanese stop always does. Repetitions are possessive, so that hostile text
costs no more than its length.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

STOPS = ".!?…。！？｡"
"""Characters that may end a sentence."""
_END = r"(?:(?<![.!?…])[.!?…]++[\"')\]»”’]*+(?=\s)|[。！？｡]++[」』”’)）]*+)\s*+"
_SENTENCE_END = re.compile(_END)
_SENTENCE_OR_LINE_END = re.compile(rf"{_END}|\n\s*+")
# Without closing quotes, ellipses and runs of stops. Titles were always made in this way. `update`
# tells a derived title from a chosen one by deriving it again, so another rule would freeze the
# titles of older vaults.
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
    """Yield where sentences of `text[start:end]` end, behind the white space that follows them.

    With `lines`, a line end ends a sentence too. With `abbreviations`, the full stop of "Dr. Smith"
    does not: extraction rewrites whole sentences and needs that. Chunks must do without it, since
    the vectors of a vault belong to the chunks as they were cut.
    """
    border = _SENTENCE_OR_LINE_END if lines else _SENTENCE_END
    begin = start
    for found in border.finditer(text, start, len(text) if end is None else end):
        if (
            abbreviations
            and found[0].rstrip() == "."
            and _is_abbreviation(text, begin, found.start() + 1)
        ):
            continue
        begin = found.end()
        yield begin


def split_sentences(text: str, *, lines: bool = False, abbreviations: bool = False) -> list[str]:
    """Return the sentences of a text, each with the white space behind it: together, the text."""
    edges = [0, *find_sentence_ends(text, lines=lines, abbreviations=abbreviations), len(text)]
    return [text[begin:end] for begin, end in pairwise(edges) if begin < end]


def get_first_sentence(line: str) -> str:
    """Return what a title is made of: a line up to its first stop, or the whole line."""
    end = _TITLE_END.search(line)
    return line[: end.end()] if end else line


def _is_abbreviation(text: str, begin: int, end: int) -> bool:
    """Return whether the last full stop of `text[begin:end]` belongs to a short form."""
    if not _ABBREVIATION.search(text[max(begin, end - 8) : end]):
        return False
    return not (
        text.endswith(_MAY_END_A_SENTENCE, begin, end) and _CAPITAL_FOLLOWS.match(text, end)
    )
