"""Fields that are derived from the content: title, concepts, hashes."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from muisti.remember.concepts import extract_concepts
from muisti.text.normalize import to_nfkc
from muisti.text.sentences import get_first_sentence
from muisti.text.simhash import simhash
from muisti.text.wikilinks import find_tags, find_wikilinks

if TYPE_CHECKING:
    from muisti.model import Memory

TITLE_LENGTH = 80
MOST_LINKS = 1000
MOST_TAGS = 200
"""Wikilinks and tags of one text that are indexed."""
SHORT = 1000
"""Characters; the titles of texts up to this length are cached."""
_HEADING = re.compile(r"#{1,6}[ \t]+(\S.*)")
# An underscore inside a word is part of an identifier, and a single tilde is a home folder.
_MARKUP = re.compile(
    r"[*`]{1,3}(?=\S)|(?<=\S)[*`]{1,3}|~~"
    r"|(?<!\w)_{1,3}(?=[^\W_]+[^\w]|[^\W_]+_{1,3}(?!\w))|(?<=[^\W_])_{1,3}(?!\w)"
    r"|^\s*(?:[-*+>]|\d+[.)])\s+"
)
_MAY_HAVE_MARKUP = re.compile(r"[*`~_]|^\s*[-+>\d]")
"""Much faster than `_MARKUP`, and most texts have none."""


def derive_fields(memory: Memory, *, wikilinks: bool = True) -> Memory:
    """Return the memory with every field that follows from its content.

    Wikilinks: whether wikilinks and tags are, as in the setting.
    """
    [values] = derive_values([memory.content], [memory.concepts], wikilinks=wikilinks)
    return replace(memory, **values)


def derive_values(
    contents: Sequence[str], concepts: Sequence[tuple[str, ...]] = (), *, wikilinks: bool = True
) -> list[dict[str, Any]]:
    """Return the values of these fields for each content. Concepts that are given stay.

    One after the other for all texts: each rule has large tables, and those of one fit into the
    processor's cache.
    """
    from muisti.text.standing import recognize_standing  # slow to import: many patterns

    given = concepts or [()] * len(contents)
    extracted = [
        own or extract_concepts(content) for content, own in zip(contents, given, strict=True)
    ]
    hashes = list(map(hash_content, contents))
    simhashes = list(map(simhash, contents))
    standing = [recognize_standing(content) is not None for content in contents]
    names = ("concepts", "content_hash", "simhash", "standing")
    values = zip(extracted, hashes, simhashes, standing, strict=True)
    derived = [dict[str, Any](zip(names, row, strict=True)) for row in values]
    for content, fields in zip(contents, derived, strict=True) if wikilinks else ():
        # Most texts have neither.
        if "[[" in content:
            targets = [link.target for link in find_wikilinks(content)]
            fields["wikilinks"] = tuple(targets[:MOST_LINKS])
        if "#" in content:
            fields["hashtags"] = tuple(find_tags(content)[:MOST_TAGS])
    return derived


def hash_content(content: str) -> str:
    """Return a hash that ignores white space and compatible forms of characters (NFKC)."""
    is_normal = (  # true for most messages, and cheaper to check than to normalize
        content.isascii()
        and content.isprintable()
        and "  " not in content
        and content[:1] != " "
        and content[-1:] != " "
    )
    normal = content if is_normal else " ".join(to_nfkc(content).split())
    return hashlib.sha256(normal.encode("utf-8", "surrogatepass")).hexdigest()


def derive_heading(content: str) -> str:
    """Return the heading that the text begins with, or its first sentence, without markup."""
    line = content.strip().split("\n", 1)[0]  # most texts: cut first, then at other line ends
    line = next((line.strip() for line in line.splitlines() if line.strip()), "")
    heading = _HEADING.match(line)
    plain = heading[1].rstrip("# \t") if heading else line
    if _MAY_HAVE_MARKUP.search(plain):
        plain = _MARKUP.sub("", plain).strip()
    plain = plain or line
    if not heading:
        plain = get_first_sentence(plain).strip() or plain
    if not plain.isprintable():
        plain = "".join(
            " " if unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp") else char
            for char in plain
        )
    return " ".join(plain.split())


def derive_title(content: str) -> str:
    """Return the heading or first sentence of the text, cut at a word."""
    return _derive_title_once(content) if len(content) <= SHORT else _derive_title(content)


def _derive_title(content: str) -> str:
    title = derive_heading(content)
    if len(title) <= TITLE_LENGTH:
        return title
    cut = title[: TITLE_LENGTH - 1]
    has_late_space = " " in cut[TITLE_LENGTH // 2 :]
    return f"{cut.rsplit(' ', 1)[0] if has_late_space else cut}…"


_derive_title_once = lru_cache(maxsize=1024)(_derive_title)
"""Saving compares a title with the derived one for its words, its vectors and its file."""
