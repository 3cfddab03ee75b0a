"""Finds wikilinks (`[[note]]`), tags (`#tag`) and links to other notes in Markdown.

Code, URLs and the targets of links contain none. Linear in the length of the text.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import unquote

_FENCE = re.compile(r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?(`{3,}(?=[^`]*\Z)|~{3,})")
"""The line of a code block's beginning or end, also in a list item or a quotation."""
_CODE = re.compile(r"(?<!`)(`+)(?!`)")
_URL = re.compile(r"\b[a-zA-Z][a-zA-Z0-9+.-]{1,15}://\S+|<[^<>\s]*>")
_TARGET = re.compile(r"\]\(([^()\n]{0,500})\)")
WIKILINK = re.compile(r"(?<!\\)(!?)\[\[([^\[\]\n]{1,400})\]\]")
_URL_OR_WIKILINK = re.compile(
    rf"\b[a-zA-Z][a-zA-Z0-9+.-]{{1,15}}://[^\s<>()\]\"]+|{WIKILINK.pattern}"
)
"""The first of both, so that a URL in a wikilink's label does not hide the wikilink."""
_TAG = re.compile(r"(?:^|(?<=[\s(\[{,;]))#([^\W\d_][\w/-]{0,99})")
_HEX = re.compile(r"[0-9a-fA-F]+\Z")
_HEX_LENGTHS = (3, 4, 6, 8)


class WikiLink(NamedTuple):
    """A link to another note, by its title, path, alias or ID."""

    target: str
    label: str = ""
    heading: str = ""
    embed: bool = False


def find_wikilinks(text: str) -> list[WikiLink]:
    """Return the wikilinks of a text, in order, each target once."""
    if "[[" not in text:
        return []
    found: dict[str, WikiLink] = {}
    for line in _iterate_text(text):
        for match in _URL_OR_WIKILINK.finditer(line):
            if match[2] is None:
                continue  # a URL
            link = to_wikilink(match)
            if link.target:  # else it leads to a heading of the same note
                found.setdefault(link.target, link)
    return list(found.values())


def to_wikilink(match: re.Match[str]) -> WikiLink:
    """Return the wikilink that the pattern WIKILINK matched."""
    place, _, label = match[2].replace("\\|", "|").partition("|")
    target, _, heading = place.partition("#")
    return WikiLink(target.strip(), label.strip(), heading.strip(), bool(match[1]))


def find_note_links(text: str) -> list[str]:
    """Return the paths of other Markdown files that a text links to, as they are written."""
    if "](" not in text:
        return []
    found: dict[str, None] = {}
    for line in _iterate_text(text):
        for match in _TARGET.finditer(line):
            path = unquote(match[1].split("#")[0].strip().strip("<>"))
            if path.lower().endswith((".md", ".markdown")) and "://" not in path:
                found.setdefault(path)
    return list(found)


def find_tags(text: str) -> list[str]:
    """Return the tags of a text without `#`, in order, each once. A hex colour is not a tag."""
    if "#" not in text:
        return []
    found: dict[str, None] = {}
    for line in _iterate_text(text):
        if "#" not in line:
            continue
        bare = WIKILINK.sub(" ", _TARGET.sub("] ", _URL.sub(" ", line)))
        for match in _TAG.finditer(bare):
            tag = match[1].rstrip("/-")
            if not (len(tag) in _HEX_LENGTHS and _HEX.match(tag)):
                found.setdefault(tag)
    return list(found)


def _iterate_text(text: str) -> Iterator[str]:
    """Yield the lines of a Markdown text that are not in a code block, without code spans."""
    fence = ""
    for line in text.splitlines():
        opening = _FENCE.match(line)
        if fence:
            is_end = opening and opening[1].startswith(fence) and not line.strip(" \t>`~")
            fence = "" if is_end else fence
        elif opening:
            fence = opening[1]
        else:
            yield _remove_code(line) if "`" in line else line


def _remove_code(line: str) -> str:
    """Return a line without its code spans: each begins and ends with equally many backticks."""
    runs = [(match.start(), match.end()) for match in _CODE.finditer(line)]
    ends: dict[int, deque[int]] = {}
    for number, (start, end) in enumerate(runs):
        ends.setdefault(end - start, deque()).append(number)
    parts, at, number = [], 0, 0
    while number < len(runs):
        start, end = runs[number]
        same = ends[end - start]
        while same and same[0] <= number:
            same.popleft()
        if same:
            parts.append(line[at:start])
            at, number = runs[same[0]][1], same[0]
        number += 1
    return " ".join([*parts, line[at:]])
