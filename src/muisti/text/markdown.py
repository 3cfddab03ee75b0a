"""Where the blocks of a Markdown text begin and end. Pure."""

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
"""Quotes and lists deeper than this are read as the text of what holds them."""
_TITLE = 300
"""Characters of a heading that are read: nobody writes longer ones on purpose."""
_CODE = frozenset({"fence", "code_block", "html_block"})
_UNITS = _CODE | {"heading_open", "paragraph_open", "list_item_open", "tr_open", "hr"}
"""What is not broken. Lists, quotes and tables are not units: a break between their parts is welcome."""
_CLOSES = frozenset({"heading_close", "paragraph_close", "list_item_close", "tr_close"})
_LINE_END = re.compile(
    r"\r\n?|\n"
)  # as markdown-it counts lines; str.splitlines knows more of them


@dataclass(frozen=True, slots=True)
class Block:
    """A piece of Markdown that reads as one: `content[start:end]`, without the white space around it.

    `level` is 1–6 for a heading of the text itself (not of a quote or a list) and 0 for all else; `inner` are the blocks
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
    """A unit as markdown-it tells of it: by the line where it begins."""

    line: int
    level: int = 0
    title: str = ""
    code: bool = False
    inner: list[_Node] = field(default_factory=list)


def parse_blocks(content: str) -> list[Block]:
    """The blocks of a Markdown text, in order. Together they hold every character that is not white space."""
    starts = [0, *(match.end() for match in _LINE_END.finditer(content))]
    return _placed(_tree(_parser().parse(content)), content, starts, 0, len(content))


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt  # 20 ms that short texts need not pay

    # Without `inline` and `reference`, only the blocks are found, and that in linear time.
    return (
        MarkdownIt("commonmark", {"maxNesting": NESTING})
        .enable("table")
        .disable(["inline", "reference"])
    )


def _tree(tokens: Sequence[Token]) -> list[_Node]:
    open_nodes = [_Node(0)]
    for token in tokens:
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
            open_nodes[-1].title = _plain(token.content[:_TITLE])
    return open_nodes[0].inner


def _placed(
    nodes: Sequence[_Node], content: str, starts: Sequence[int], start: int, end: int
) -> list[Block]:
    """Blocks that share out `content[start:end]`: each reaches to where the next begins.

    So the lines that markdown-it tells nothing of (the line under a table's head, what is nested too deep) have a home.
    """
    edges = [start, *(starts[node.line] for node in nodes[1:]), end]
    found = []
    for node, begin, stop in zip(nodes, edges, edges[1:], strict=False):
        span = trim_span(content, begin, stop)
        if span:
            inner = _placed(node.inner, content, starts, *span) if node.inner else ()
            found.append(
                Block(*span, level=node.level, title=node.title, code=node.code, inner=tuple(inner))
            )
    if not nodes and (span := trim_span(content, start, end)):
        found.append(Block(*span))
    return found


def trim_span(content: str, start: int, end: int) -> tuple[int, int] | None:
    """The span without white space at its end and without empty lines before it; None if nothing is left.

    The white space before the first word of a line stays: it says what is code and what belongs to a list item.
    """
    text = content[start:end]
    bare = text.rstrip()
    indent = len(bare) - len(bare.lstrip())
    begin = max((match.end() for match in _LINE_END.finditer(bare, 0, indent)), default=0)
    return (start + begin, start + len(bare)) if bare else None


def _plain(inline: str) -> str:
    """The text of a heading without its marks: "**The** `fox`" is "The fox"."""
    found: list[Token] = []
    parser = _parser()
    parser.inline.parse(inline, parser, {}, found)
    inner = [part for token in found for part in (token, *(token.children or ()))]
    return " ".join(
        "".join(" " if part.type.endswith("break") else part.content for part in inner).split()
    )
