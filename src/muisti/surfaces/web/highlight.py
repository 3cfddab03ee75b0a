"""Which parts of a text a question asked for. Pure."""

from __future__ import annotations

import re

from muisti.recall.query import split_query
from muisti.text.tokens import tokenize

# Not split_words: the page shows every character, so what stands between words is a piece too.
_TOKEN = re.compile(r"\w+|\W+")
_SIGNS = re.compile(r"\*\*|`+|^\s*(?:#{1,6}|>|[-*+]|\|)\s+", re.MULTILINE)


def plainly(text: str) -> str:
    """A snippet without the signs of Markdown that get in the way of reading, on as few lines as it needs."""
    return " ".join(_SIGNS.sub("", text).split())


def marked(text: str, query: str) -> list[tuple[str, bool]]:
    """The text in pieces, each with whether it stands in the question, in any form that search takes for the same."""
    if not query.strip():
        return [(text, False)]
    wanted = frozenset(split_query(query))
    terms = [term for term in query.casefold().split() if not term.isascii()]
    pieces: list[tuple[str, bool]] = []
    for token in _TOKEN.findall(text):
        for piece, hit in _within(token, wanted, terms):
            if pieces and pieces[-1][1] == hit:
                pieces[-1] = (pieces[-1][0] + piece, hit)
            else:
                pieces.append((piece, hit))
    return pieces


def _within(token: str, wanted: frozenset[str], terms: list[str]) -> list[tuple[str, bool]]:
    """A word is one piece; of a run without spaces, as Chinese writes it, only the part that was asked for counts."""
    term = next((term for term in terms if term in token.casefold()), "")
    if term and len(token.casefold()) == len(token) > len(term):
        at = token.casefold().index(term)
        rest = _within(token[at + len(term) :], frozenset(), terms)
        return [(token[:at], False), (token[at : at + len(term)], True), *rest]
    return [(token, bool(wanted.intersection(tokenize(token))))]
