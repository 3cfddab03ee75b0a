"""Parse JSON with positions, so that an edit can leave all other bytes unchanged."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from muisti.surfaces.setup.errors import Malformed

Value = dict[str, "Value"] | list["Value"] | str | int | float | bool | None
Step = str | int
DEEPEST = 100
_DECODER = json.JSONDecoder()
_BLANK = re.compile(r"[ \t\r\n]*")
_COMMENT = re.compile(r"//[^\n]*|/\*(?:[^*]|\*(?!/))*+\*/")
_LITERAL = re.compile(r"true\b|false\b|null\b|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?(?![\w.])")


@dataclass(frozen=True, slots=True)
class Grammar:
    """Extensions of JSON that an agent accepts."""

    comments: bool = False
    trailing_commas: bool = False


PLAIN = Grammar()
"""Strict JSON."""


@dataclass(frozen=True, slots=True)
class Node:
    """A value and its span in the text."""

    start: int
    end: int
    value: str | int | float | bool | None = None
    children: tuple[Child, ...] | None = None
    """None if this is neither an object nor a list."""
    is_object: bool = False


@dataclass(frozen=True, slots=True)
class Child:
    """A member of an object, or an element of a list."""

    key: str | None
    start: int
    """Where the key begins; for an element, where its value begins."""
    node: Node
    comma: int | None
    """The position of the comma after it."""


@lru_cache(maxsize=2)  # one text is queried many times and may be large
def parse(text: str, grammar: Grammar = PLAIN) -> Node:
    """Parse the whole text as one value. Raises Malformed."""
    if text.startswith("\ufeff"):
        raise Malformed(
            0,
            "the file starts with a byte order mark; save it as UTF-8 without BOM",
        )
    if not text.strip():
        raise Malformed(0, "the file is empty; delete it, or write {} into it")
    reader = _Reader(text, grammar)
    node = reader.value(0)
    reader.skip()
    if reader.at < len(text):
        raise Malformed(reader.at, "unexpected text after the end of the JSON; remove it")
    return node


def to_value(node: Node) -> Value:
    """Return the Python value. The last of duplicate keys counts, as agents read it."""
    if node.children is None:
        return node.value
    if node.is_object:
        return {child.key or "": to_value(child.node) for child in node.children}
    return [to_value(child.node) for child in node.children]


def find(root: Node, path: Sequence[Step]) -> Node | None:
    """Return the value at a path, or None. Raises Malformed for a duplicate key on the way."""
    node = root
    for step in path:
        child = find_child(node, step)
        if child is None:
            return None
        node = child.node
    return node


def find_child(node: Node, step: Step) -> Child | None:
    """Return the member or element, or None. Raises Malformed for a duplicate key."""
    children = node.children or ()
    if isinstance(step, int):
        return children[step] if not node.is_object and step < len(children) else None
    named = [child for child in children if node.is_object and child.key == step]
    if len(named) > 1:
        raise Malformed(named[1].start, f'duplicate key "{step}"; keep one of them')
    return named[0] if named else None


class _Reader:
    """Parses the text in one pass."""

    def __init__(self, text: str, grammar: Grammar) -> None:
        self.text = text
        self.grammar = grammar
        self.at = 0

    def skip(self) -> None:
        """Skip whitespace and comments."""
        while True:
            blank = _BLANK.match(self.text, self.at)
            self.at = blank.end() if blank else self.at
            if not self.text.startswith(("//", "/*"), self.at):
                return
            comment = _COMMENT.match(self.text, self.at)
            if not self.grammar.comments:
                raise Malformed(self.at, "comments are not allowed in this file; remove this one")
            if comment is None:
                raise Malformed(self.at, "unterminated comment; add */")
            self.at = comment.end()

    def value(self, depth: int) -> Node:
        """Parse the value at this position."""
        if depth > DEEPEST:
            raise Malformed(self.at, f"nested more than {DEEPEST} levels deep")
        self.skip()
        start, first = self.at, self.text[self.at : self.at + 1]
        if first in ("{", "["):
            children = self._children(depth, "}" if first == "{" else "]")
            return Node(start, self.at, children=children, is_object=first == "{")
        if first == '"':
            value = self.string()
            return Node(start, self.at, value)
        literal = _LITERAL.match(self.text, start)
        if literal is None:
            found = f"found {first!r}" if first else "found the end of the file"
            raise Malformed(start, f"expected a value, {found}")
        self.at = literal.end()
        return Node(start, self.at, json.loads(literal[0]))

    def string(self) -> str:
        """Parse the string at this position."""
        try:
            value, self.at = _DECODER.raw_decode(self.text, self.at)
        except json.JSONDecodeError as error:
            raise Malformed(error.pos, f"invalid string: {error.msg}") from error
        return str(value)

    def _children(self, depth: int, close: str) -> tuple[Child, ...]:
        self.at += 1
        children: list[Child] = []
        while True:
            self.skip()
            if self.text.startswith(close, self.at):
                self.at += 1
                return tuple(children)
            if children and children[-1].comma is None:
                raise Malformed(self.at, f"expected a comma or {close}")
            children.append(self._child(depth, close))

    def _child(self, depth: int, close: str) -> Child:
        start, key = self.at, self._key() if close == "}" else None
        if key is None:
            self.skip()
            start = self.at
        node = self.value(depth + 1)
        self.skip()
        comma = self.at if self.text.startswith(",", self.at) else None
        if comma is not None:
            self.at += 1
            self.skip()
            if self.text.startswith(close, self.at) and not self.grammar.trailing_commas:
                raise Malformed(comma, f"trailing comma before {close}; remove it")
        return Child(key, start, node, comma)

    def _key(self) -> str:
        if not self.text.startswith('"', self.at):
            raise Malformed(self.at, 'expected a key in double quotes, such as "mcpServers"')
        key = self.string()
        self.skip()
        if not self.text.startswith(":", self.at):
            raise Malformed(self.at, f'expected a colon after "{key}"')
        self.at += 1
        return key
