"""Show a text once where its title is also shown. Pure.

Most titles are the first sentence of their text. A list then shows the title and what follows it.
"""

from __future__ import annotations

import re

from muisti.model import Memory
from muisti.remember.derive import derive_heading

MAX_LENGTH = 160
"""A title is cut to half of this when it is derived, for files and agents; a page has room."""
_MARKS = frozenset("*_`~#")
_LIST_MARK = re.compile(r"\s*(?:(?:[-+*>]|\d+[.)])\s+)*")
_AFTER = " \t.,:;!?。！？：，、—–-"
_SENTENCE_ENDS = frozenset(".!?:。！？：")
_MARKUP = re.compile(r"[\[\]<|`*_~\\]")
_RULE = re.compile(r"[=|:\-\s]+\Z")


def complete_title(memory: Memory) -> str:
    """Return the title; if it was cut, with the rest of its sentence unless that is too long."""
    if not memory.title.endswith("…"):
        return memory.title or "Untitled"
    sentence = derive_heading(memory.content)
    is_complete = len(sentence) <= MAX_LENGTH and sentence.startswith(memory.title[:-1])
    return sentence if is_complete else memory.title


def find_title_end(title: str, text: str) -> int | None:
    """Return where the title ends that the text begins with, or None if it has another beginning.

    White space and Markdown signs are ignored. A text that is shorter than its title ends in it.
    """
    is_cut = title.rstrip().endswith("…")
    wanted = [char for char in title.rstrip("… ") if not char.isspace() and char not in _MARKS]
    mark = _LIST_MARK.match(text)
    at = mark.end() if mark else 0
    for char in wanted:
        while at < len(text) and (text[at].isspace() or text[at] in _MARKS):
            at += 1
        if text[at : at + 1] in ("", "…"):
            return len(text)
        if text[at] != char:
            return None
        at += 1
    in_word = text[at : at + 1].isalnum() and text[at - 1 : at].isalnum()
    if not wanted or (in_word and not is_cut and text[at].isascii()):
        return None
    while text[at : at + 1] in _MARKS:
        at += 1
    return at


def skip_title(text: str, title: str) -> str:
    """Return the text without the title that it begins with; empty if it says nothing more.

    What continues the title's sentence begins with an ellipsis.
    """
    end = find_title_end(title, text)
    if end is None:
        return text
    line, newline, more = text[end:].partition("\n")
    rest = line.lstrip(_AFTER)
    if rest in ("", "…"):
        return more.strip() if newline else ""
    before = (text[:end] + line[: len(line) - len(rest)]).rstrip()
    is_sentence = before[-1:] in _SENTENCE_ENDS or rest[0] == "…"
    return ("" if is_sentence else "…") + rest + newline + more


def skip_title_in_markdown(content: str, title: str) -> str | None:
    """Return what follows the title as Markdown, or None if it cannot be cut off there.

    It cannot if the text has another beginning, or if the title is a part of a list, a table, a
    link or the like.
    """
    end = find_title_end(title, content)
    if end is None:
        return None
    head, tail = content[:end], content[end:]
    is_heading = head.startswith("#")
    line, _, more = tail.partition("\n")
    next_line = more.split("\n", 1)[0]
    mark = _LIST_MARK.match(head.lstrip(" ")) if not head.startswith("    ") else None
    begins_block = mark is None or mark.end() > 0 or "\n" in head.strip()
    is_underlined = bool(next_line.strip()) and _RULE.match(next_line) is not None
    if begins_block or is_underlined or _MARKUP.search(head) or (is_heading and line.strip(" #")):
        return None
    return skip_title(content, title)
