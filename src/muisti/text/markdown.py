"""Finds where the blocks of a Markdown text begin and end."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

NESTING = 20
"""Deeper quotes and lists are read as text of the block that contains them."""
_TITLE = 300
"""Characters of a heading that are used."""
_CODE = frozenset({"fence", "code_block", "html_block"})
_UNITS = _CODE | {"heading_open", "paragraph_open", "list_item_open", "tr_open", "hr"}
"""Blocks that are not split. Lists, quotes and tables may be split between their parts."""
_CLOSES = frozenset({"heading_close", "paragraph_close", "list_item_close", "tr_close"})
_LINE_END = re.compile(r"\r\n?|\n")  # as markdown-it counts lines, unlike str.splitlines


@dataclass(frozen=True, slots=True)
class Block:
    """A block of Markdown: `content[start:end]`, without surrounding white space.

    `level` is 1–6 for a heading that is not inside a quote or list, else 0. `inner` are the blocks
    of a list item.
    """

    start: int
    end: int
    level: int = 0
    title: str = ""
    code: bool = False
    inner: tuple[Block, ...] = ()


@dataclass(slots=True)
class _Node:
    """A block as markdown-it reports it: by its first line."""

    line: int
    level: int = 0
    title: str = ""
    code: bool = False
    inner: list[_Node] = field(default_factory=list)


def parse_blocks(content: str) -> list[Block]:
    """Return the blocks of a Markdown text, in order. They cover all text but white space."""
    starts = [0, *(match.end() for match in _LINE_END.finditer(content))]
    root = _Node(0)
    open_nodes = [root]
    for token in _make_parser().parse(content):
        if token.type in _UNITS and token.map:
            node = _Node(token.map[0], code=token.type in _CODE)
            open_nodes[-1].inner.append(node)
            if token.nesting == 1:
                open_nodes.append(node)
            if token.type == "heading_open" and token.level == 0:
                node.level = int(token.tag[1])
        elif token.type in _CLOSES:
            open_nodes.pop()
        elif token.type == "inline" and open_nodes[-1].level:
            open_nodes[-1].title = _strip_markup(token.content[:_TITLE])
    return _make_blocks(root.inner, content, starts, 0, len(content))


@cache
def _make_parser() -> MarkdownIt:
    from markdown_it import MarkdownIt  # takes 20 ms, and short texts do not need it

    # Without `inline` and `reference`, only blocks are parsed, in linear time.
    return (
        MarkdownIt("commonmark", {"maxNesting": NESTING})
        .enable("table")
        .disable(["inline", "reference"])
    )


def _make_blocks(
    nodes: Sequence[_Node], content: str, starts: Sequence[int], start: int, end: int
) -> list[Block]:
    """Return blocks that cover `content[start:end]`: each ends where the next begins.

    This includes lines that markdown-it does not report, such as those nested too deep.
    """
    edges = [start, *(starts[node.line] for node in nodes[1:]), end]
    found = []
    for node, begin, stop in zip(nodes, edges, edges[1:], strict=False):
        span = trim_span(content, begin, stop)
        if span:
            inner = _make_blocks(node.inner, content, starts, *span) if node.inner else ()
            found.append(
                Block(*span, level=node.level, title=node.title, code=node.code, inner=tuple(inner))
            )
    if not nodes and (span := trim_span(content, start, end)):
        found.append(Block(*span))
    return found


def trim_span(content: str, start: int, end: int) -> tuple[int, int] | None:
    """Return the span without trailing white space and leading empty lines, or None if empty.

    Indentation stays: it marks code and list items.
    """
    text = content[start:end]
    bare = text.rstrip()
    indent = len(bare) - len(bare.lstrip())
    begin = max((match.end() for match in _LINE_END.finditer(bare, 0, indent)), default=0)
    return (start + begin, start + len(bare)) if bare else None


def _strip_markup(inline: str) -> str:
    """Return the text of a heading without markup: "**The** `fox`" becomes "The fox"."""
    tokens: list[Token] = []
    parser = _make_parser()
    parser.inline.parse(inline, parser, {}, tokens)
    text = ""
    for token in tokens:
        for part in (token, *(token.children or ())):
            text += " " if part.type.endswith("break") else part.content
    return " ".join(text.split())
