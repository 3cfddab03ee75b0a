"""Change one place of a JSON text in the style of the rest, reversibly."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from muisti.surfaces.setup.errors import Malformed
from muisti.surfaces.setup.jsontext import (
    Child,
    Grammar,
    Node,
    Step,
    Value,
    find,
    find_child,
    parse,
)

_BLANK = " \t\r\n"


@dataclass(frozen=True, slots=True)
class Style:
    """The formatting of a JSON text."""

    newline: str
    unit: str | None
    """One level of indentation; None if everything is on one line."""
    colon: str
    gap: str
    """The whitespace after a comma within a line."""


def set_value(text: str, path: Sequence[Step], value: Value, grammar: Grammar) -> str:
    """Set the value at a path, creating objects on the way. Raises Malformed."""
    root = parse(text, grammar)
    style = detect_style(text, root)
    for depth, step in enumerate(path):
        holder = find(root, path[:depth])
        wanted = isinstance(step, str)
        if holder is None or holder.children is None or holder.is_object is not wanted:
            what = f'"{path[depth - 1]}"' if depth else "the whole file"
            shape = "an object, in curly brackets" if wanted else "a list, in square brackets"
            raise Malformed(holder.start if holder else 0, f"{what} must be {shape}")
        child = find_child(holder, step)
        if child is None:
            for name in reversed(path[depth + 1 :]):
                value = {str(name): value}
            return _insert(text, holder, str(step), value, style)
        if depth == len(path) - 1:
            return (
                text[: child.node.start]
                + _format_value(value, style, _indentation_at(text, child.start))
                + text[child.node.end :]
            )
    return text


def append_value(text: str, path: Sequence[Step], value: Value, grammar: Grammar) -> str:
    """Add an element to the list at a path, created if missing. Raises Malformed."""
    root = parse(text, grammar)
    node = find(root, path)
    if node is None:
        return set_value(text, path, [value], grammar)
    if node.children is None or node.is_object:
        raise Malformed(node.start, f'"{path[-1]}" must be a list, in square brackets')
    return _insert(text, node, None, value, detect_style(text, root))


def remove_value(
    text: str, path: Sequence[Step], grammar: Grammar, *, empty: str | None = None
) -> str:
    """Remove the value at a path. `empty` is how to write a container left empty."""
    holder = find(parse(text, grammar), path[:-1])
    child = find_child(holder, path[-1]) if holder else None
    if holder is None or child is None or holder.children is None:
        return text
    number = holder.children.index(child)
    start = len(text[: child.start].rstrip(_BLANK))
    end = child.node.end
    rest = text[end if child.comma is None else child.comma + 1 :].lstrip(" \t\r")
    follows_comment = "//" in text[text.rfind("\n", 0, start) + 1 : start]
    if follows_comment and not rest.startswith("\n") and "\n" in text[start : child.start]:
        start = text.index("\n", start) + 1  # keep the rest out of the line comment
    if child.comma is not None:
        left = text[:start] + text[end : child.comma] + text[child.comma + 1 :]
    elif number:
        comma = holder.children[number - 1].comma or 0
        left = text[:comma] + text[comma + 1 : start] + text[end:]
    else:
        left = text[:start] + text[end:]
    if len(holder.children) > 1:
        return left
    closing = holder.end - (len(text) - len(left))
    inner = left[holder.start + 1 : closing - 1]
    if inner.strip(_BLANK):
        return left  # comments of the user
    return left[: holder.start] + (empty or ("{}" if holder.is_object else "[]")) + left[closing:]


def get_empty_literal(text: str, path: Sequence[Step], grammar: Grammar) -> str | None:
    """Return the object or list at a path as written, if it exists and is empty."""
    node = find(parse(text, grammar), path)
    if node is None or node.children is None or node.children:
        return None
    written = text[node.start : node.end]
    return None if written[1:-1].strip(_BLANK) else written


def detect_style(text: str, root: Node) -> Style:
    """Return the formatting of a text."""
    newline = "\r\n" if "\r\n" in text else "\n"
    if not root.children:
        return Style(newline, "  ", ": ", " ")
    first = root.children[0]
    lead = _whitespace_before(text, first)
    colon = re.search(r"[ \t]*:[ \t]*$", text[first.start : first.node.start])
    gap = " "
    if len(root.children) > 1 and first.comma is not None:
        gap = text[first.comma + 1 : root.children[1].start]
        gap = gap if not gap.strip(_BLANK) and "\n" not in gap else " "
    elif colon and not colon[0].endswith(" "):
        gap = ""
    return Style(
        newline,
        lead.rpartition("\n")[2] if "\n" in lead else None,
        colon[0] if colon else ": ",
        gap,
    )


def _insert(text: str, holder: Node, key: str | None, value: Value, style: Style) -> str:
    """Return the text with a member or element added at the end of an object or list."""
    children = holder.children or ()
    margin = _indentation_at(text, holder.start)
    last = children[-1] if children else None
    rest = (
        holder.start + 1
        if last is None
        else last.node.end
        if last.comma is None
        else last.comma + 1
    )
    tail = text[rest : holder.end - 1]
    comments = tail.rstrip(_BLANK)
    blank = tail[len(comments) :]
    lead = _whitespace_for_new(text, children, margin, style, commented=bool(comments))
    inner = lead.rpartition("\n")[2] if "\n" in lead else None
    piece = _format_value(
        value,
        style if inner is not None else Style(style.newline, None, style.colon, style.gap),
        inner or "",
    )
    if key is not None:
        piece = json.dumps(key, ensure_ascii=False) + style.colon + piece
    if last is None:
        blank = blank if "\n" in blank or inner is None else style.newline + margin
    before = "," if last is not None and last.comma is None else ""
    after = "," if last is not None and last.comma is not None else ""
    return text[:rest] + before + comments + lead + piece + after + blank + text[holder.end - 1 :]


def _whitespace_for_new(
    text: str, children: Sequence[Child], margin: str, style: Style, *, commented: bool
) -> str:
    """Return the whitespace before a new child: that of its siblings, or one level deeper."""
    stepped = style.newline + margin + ("  " if style.unit is None else style.unit)
    if not children:
        return "" if style.unit is None and not commented else stepped
    lead = _whitespace_before(text, children[-1])
    if "\n" in lead:
        return style.newline + lead.rpartition("\n")[2]
    if commented:
        return stepped
    return lead if len(children) > 1 else style.gap


def _whitespace_before(text: str, child: Child) -> str:
    """Return the whitespace before a child."""
    before = text[: child.start]
    return before[len(before.rstrip(_BLANK)) :]


def _indentation_at(text: str, position: int) -> str:
    """Return the indentation of the line at a position."""
    line = text[text.rfind("\n", 0, position) + 1 : position]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _format_value(value: Value, style: Style, margin: str) -> str:
    if style.unit is None:
        return json.dumps(value, ensure_ascii=False, separators=("," + style.gap, style.colon))
    lines = json.dumps(
        value, ensure_ascii=False, indent=style.unit, separators=(",", style.colon)
    ).split("\n")
    return (style.newline + margin).join(lines)
