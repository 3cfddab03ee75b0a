"""Highlighting of query terms in a text. Pure."""

from __future__ import annotations

import re

from muisti.recall.query import split_query
from muisti.text.tokens import tokenize

# Not split_words: the page shows every character, also those between words.
_TOKEN = re.compile(r"\w+|\W+")
_MARKDOWN_SIGNS = re.compile(r"\*\*|`+|^\s*(?:#{1,6}|>|[-*+]|\|)\s+", re.MULTILINE)


def strip_markdown(text: str) -> str:
    """Return a snippet on one line, without the most common Markdown signs."""
    return " ".join(_MARKDOWN_SIGNS.sub("", text).split())


def highlight(text: str, query: str) -> list[tuple[str, bool]]:
    """Return the text in pieces, each with whether the query matches it as search would."""
    if not query.strip():
        return [(text, False)]
    query_tokens = frozenset(split_query(query))
    terms = [term for term in query.casefold().split() if not term.isascii()]
    pieces: list[tuple[str, bool]] = []
    for token in _TOKEN.findall(text):
        for piece, hit in _split_token(token, query_tokens, terms):
            if pieces and pieces[-1][1] == hit:
                pieces[-1] = (pieces[-1][0] + piece, hit)
            else:
                pieces.append((piece, hit))
    return pieces


def _split_token(
    token: str, query_tokens: frozenset[str], terms: list[str]
) -> list[tuple[str, bool]]:
    """Return a token as one piece; cut a run without spaces, as in Chinese, around the term."""
    folded = token.casefold()
    term = next((term for term in terms if term in folded), "")
    if term and len(folded) == len(token) > len(term):
        start = folded.index(term)
        end = start + len(term)
        rest = _split_token(token[end:], frozenset(), terms)
        return [(token[:start], False), (token[start:end], True), *rest]
    return [(token, bool(query_tokens.intersection(tokenize(token))))]
