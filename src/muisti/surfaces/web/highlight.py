"""Highlighting of query terms in a text. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter

from muisti.recall.query import split_query
from muisti.text.tokens import tokenize

# Not split_words: the page shows every character, also those between words.
_TOKEN = re.compile(r"\w+|\W+")
_MARKDOWN_SIGNS = re.compile(r"\*\*|`+|^[^\S\n]*(?:#{1,6}|>|[-*+]|\|)\s+", re.MULTILINE)


def strip_markdown(text: str) -> str:
    """Return a snippet on one line, without the most common Markdown signs."""
    return " ".join(_MARKDOWN_SIGNS.sub("", text).split())


def highlight(text: str, query: str) -> list[tuple[str, bool]]:
    """Return the text in pieces, each with whether the query matches it as search would."""
    if not query.strip():
        return [(text, False)]
    query_tokens = frozenset(split_query(query))
    terms = [term for term in query.casefold().split() if not term.isascii()]
    pieces = (
        piece
        for token in _TOKEN.findall(text)
        for piece in _split_token(token, query_tokens, terms)
    )
    return [
        ("".join(piece for piece, _ in group), hit)
        for hit, group in groupby(pieces, key=itemgetter(1))
    ]


def _split_token(
    token: str, query_tokens: frozenset[str], terms: list[str]
) -> Iterator[tuple[str, bool]]:
    """Yield a token as one piece; cut a run without spaces, as in Chinese, around the terms."""
    folded = token.casefold()
    found = [term for term in terms if term in folded]
    if not found or len(folded) != len(token) or token.casefold() == found[0]:
        yield token, bool(query_tokens.intersection(tokenize(token)))
        return
    at = 0
    for match in re.finditer("|".join(map(re.escape, found)), folded):
        if at < match.start():
            yield token[at : match.start()], False
        yield token[match.start() : match.end()], True
        at = match.end()
    if at < len(token):
        yield token[at:], False
