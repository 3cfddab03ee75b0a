"""YAML front matter, read and edited in place.

A rewrite replaces only the characters of the values that changed: keys, order, comments, quoting and
line ends that a person chose stay byte for byte. What muisti itself wrote is recognised by a strict
line grammar and read in microseconds; anything else goes through a real YAML parser. Either way only
the text of a value is taken, never a constructed object, so `no`, `1.10` and `!!python/object` are text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Node = Any
"""A node of ruamel.yaml, whose stubs do not tell what its nodes have."""
MAX_HEAD = 64 * 1024
MAX_DEPTH = 40

Value = str | tuple[str, ...]


class BadFrontMatter(Exception):
    """The front matter cannot be understood; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One `key: value` with the places of its parts in the text."""

    value: Value | None
    """None for a value that is neither a text nor a list of texts."""
    start: int
    """Where the key's line begins."""
    after_key: int
    """Just behind the colon."""
    value_start: int
    value_end: int
    items: tuple[tuple[str, int, int], ...] = ()
    """For a block list: each item with the span of its line or lines."""


@dataclass(frozen=True, slots=True)
class Document:
    """A Markdown file taken apart."""

    text: str
    entries: Mapping[str, Entry] = field(default_factory=dict)
    head: tuple[int, int] | None = None
    """The span between the two `---` lines; None for a file without front matter."""
    body_start: int = 0

    @property
    def values(self) -> dict[str, Value | None]:
        """The keys with their values as text."""
        return {key: entry.value for key, entry in self.entries.items()}

    @property
    def body(self) -> str:
        """The text below the front matter, without the blank line above it and the line end below it."""
        body = self.text[self.body_start :]
        if self.head is not None:
            body = body.removeprefix("\r\n") if body.startswith("\r\n") else body.removeprefix("\n")
        # A text may end with a carriage return of its own: only a file of CRLF lines ends its last line with both.
        return (
            body.removesuffix("\r\n")
            if self.newline == "\r\n" and body.endswith("\r\n")
            else body.removesuffix("\n")
        )

    @property
    def newline(self) -> str:
        """The line end that the file uses."""
        first = self.text.find("\n")
        return "\r\n" if first > 0 and self.text[first - 1] == "\r" else "\n"


_OPEN = re.compile(r"\ufeff?---[ \t]*\r?\n")
_CLOSE = re.compile(r"^(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.MULTILINE)


def parse(text: str) -> Document:
    """Take a file apart. Raises BadFrontMatter."""
    opening = _OPEN.match(text)
    if opening is None:
        return Document(text, body_start=1 if text.startswith("\ufeff") else 0)
    closing = _CLOSE.search(text, opening.end(), opening.end() + MAX_HEAD + 8)
    if closing is None:
        if len(text) > MAX_HEAD:
            raise BadFrontMatter(
                f"the front matter is longer than {MAX_HEAD} characters: close it with a line ---"
            )
        raise BadFrontMatter("the front matter is never closed: add a line --- below its last key")
    span = (opening.end(), closing.start())
    entries = _read_own(text, *span)
    if entries is None:
        entries = _read_yaml(text, *span)
    return Document(text, entries, span, closing.end())


# -- What muisti wrote: a strict subset of YAML, line by line.

_PLAIN = r"[^\W_][\w./+-]*(?: [\w./+-]+)*"
_TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z"
_QUOTED = r'"(?:[^"\\\r\n]|\\["\\ntr]|\\x[0-9a-f]{2}|\\u(?!d[89a-f])[0-9a-f]{4})*"'
_OWN_LINE = re.compile(rf"([a-z][a-z_]*):(?: ({_TIME}|{_PLAIN}|{_QUOTED}))?\n")
_OWN_ITEM = re.compile(rf"  - ({_PLAIN}|{_QUOTED})\n")
_ESCAPE = re.compile(r'\\(?:(["\\ntr])|x([0-9a-f]{2})|u([0-9a-f]{4}))')
_SIMPLE = {'"': '"', "\\": "\\", "n": "\n", "t": "\t", "r": "\r"}


def _read_own(text: str, start: int, end: int) -> dict[str, Entry] | None:
    entries: dict[str, Entry] = {}
    at = start
    while at < end:
        line = _OWN_LINE.match(text, at, end)
        if line is None or line[1] in entries:
            return None
        if line[2] is not None:
            entries[line[1]] = Entry(
                _unquoted(line[2]), at, line.end(1) + 1, line.start(2), line.end(2)
            )
            at = line.end()
            continue
        items = []
        after = line.end()
        while item := _OWN_ITEM.match(text, after, end):
            items.append((_unquoted(item[1]), after, item.end()))
            after = item.end()
        if not items:
            return None
        key_end = line.end(1) + 1
        values = tuple(value for value, _, _ in items)
        entries[line[1]] = Entry(values, at, key_end, items[0][1], after - 1, tuple(items))
        at = after
    return entries


def _unquoted(scalar: str) -> str:
    if not scalar.startswith('"'):
        return scalar
    inner = scalar[1:-1]
    if "\\" not in inner:
        return inner
    return _ESCAPE.sub(lambda m: _SIMPLE[m[1]] if m[1] else chr(int(m[2] or m[3], 16)), inner)


# -- What people and other tools wrote.


def _read_yaml(text: str, start: int, end: int) -> dict[str, Entry]:
    from ruamel.yaml import YAML  # 22 ms to import, and only hand-made front matter needs it
    from ruamel.yaml.error import YAMLError
    from ruamel.yaml.events import AliasEvent

    source = text[start:end]
    try:
        depth = 0
        anchors: set[str] = set()
        for event in YAML(typ="safe", pure=True).parse(source):
            anchor = getattr(event, "anchor", None)
            if isinstance(event, AliasEvent):
                raise BadFrontMatter(
                    "the front matter uses a YAML alias (*name): write the value out instead"
                )
            if anchor in anchors:
                raise BadFrontMatter(f"the front matter has the anchor &{anchor} twice: remove it")
            if anchor:
                anchors.add(anchor)
            depth += type(event).__name__.endswith("StartEvent") - type(event).__name__.endswith(
                "EndEvent"
            )
            if depth > MAX_DEPTH:
                raise BadFrontMatter(
                    f"the front matter is nested deeper than {MAX_DEPTH} levels: make it flatter"
                )
        root = YAML(typ="safe", pure=True).compose(source)
    except YAMLError as error:
        raise BadFrontMatter(
            f"the front matter is not valid YAML ({_first_line(error)}): mend that line"
        ) from error
    except (RecursionError, ValueError, OverflowError) as error:
        raise BadFrontMatter(f"the front matter is not valid YAML ({error}): mend it") from error
    if root is None:
        return {}
    if root.id != "mapping" or getattr(root, "flow_style", False):
        raise BadFrontMatter("the front matter must be lines of the form `key: value`")
    return _entries(text, start, root)


def _first_line(error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    where = f"line {mark.line + 2}: " if mark is not None else ""
    return where + (getattr(error, "problem", None) or str(error).split("\n", 1)[0])


def _entries(text: str, start: int, root: Node) -> dict[str, Entry]:
    entries: dict[str, Entry] = {}
    for key, value in root.value:
        if key.id != "scalar":
            continue
        if key.value in entries:
            raise BadFrontMatter(
                f"the front matter has the key {key.value!r} twice: remove one of the two"
            )
        colon = _COLON.match(text, start + key.end_mark.index)
        if colon is None:
            raise BadFrontMatter(
                f"the front matter has the key {key.value!r} without a colon: write `key: value`"
            )
        first, last = start + value.start_mark.index, start + _end(value)
        if _is_empty(value):  # the parser puts it where the next thing begins
            first = last = colon.end()
        line = text.rfind("\n", 0, start + key.start_mark.index) + 1
        last = max(first, _without_space(text, last))
        entries[key.value] = Entry(
            _node_value(value), line, colon.end(), first, last, _items(text, start, value)
        )
    return entries


_COLON = re.compile(r"\s*:")


def _is_empty(node: Node) -> bool:
    return bool(node.id == "scalar" and node.start_mark.index == node.end_mark.index)


def _without_space(text: str, end: int) -> int:
    """White space behind a value is nobody's: block texts claim it, and would take the line end along."""
    while end and text[end - 1] in " \t\r\n":
        end -= 1
    return end


def _node_value(node: Node) -> Value | None:
    if node.id == "scalar":
        _check_text(node)
        plain_null = getattr(node, "style", None) is None and node.value in (
            "",
            "~",
            "null",
            "Null",
            "NULL",
        )
        return "" if plain_null else str(node.value)
    if node.id == "sequence" and all(item.id == "scalar" for item in node.value):
        for item in node.value:
            _check_text(item)
        return tuple(str(item.value) for item in node.value)
    return None


def _check_text(node: Node) -> None:
    """An escape can name half of a surrogate pair, which no file can hold."""
    if any("\ud800" <= char <= "\udfff" for char in node.value):
        where = f"line {node.start_mark.line + 2}"
        raise BadFrontMatter(
            f"the front matter holds half of a surrogate pair ({where}): remove that escape"
        )


def _end(node: Node) -> int:
    """Where the last character of a value is; block collections of YAML claim what follows them too."""
    if node.id != "scalar" and not node.flow_style and node.value:
        last = node.value[-1]
        return _end(last[1] if node.id == "mapping" else last)
    return int(node.end_mark.index)


def _items(text: str, start: int, node: Node) -> tuple[tuple[str, int, int], ...]:
    """Spans of a block list's items, each with the comment lines above it."""
    if (
        node.id != "sequence"
        or node.flow_style
        or not all(item.id == "scalar" for item in node.value)
    ):
        return ()
    spans = []
    at = text.rfind("\n", 0, start + node.start_mark.index) + 1
    if text[at : start + node.start_mark.index].strip() or any(
        _is_empty(item) for item in node.value
    ):
        return ()  # a tag before the list, or an item without a place: such a list is written anew
    for item in node.value:
        line_end = text.find("\n", max(_without_space(text, start + item.end_mark.index) - 1, at))
        end = len(text) if line_end < 0 else line_end + 1
        spans.append((str(item.value), at, end))
        at = end
    return tuple(spans)


# -- Writing.


def render(value: Value) -> str:
    """A value as it stands behind `key:`, with its line end."""
    if isinstance(value, str):
        return f" {format_scalar(value)}\n"
    return "\n" + "".join(f"  - {format_scalar(item)}\n" for item in value)


_SAFE = re.compile(rf"(?:{_PLAIN}|{_TIME})\Z")
_TYPED = re.compile(
    r"(?:true|false|yes|no|on|off|null|y|n|[+-]?[\d.][\d._]*(?:e[+-]?\d+)?|0[xob][\da-f]+|\.inf|\.nan"
    r"|\d{4}-\d\d?-\d\d?(?:[t ]\s*\d.*)?)\Z",
    re.IGNORECASE,
)
_NEEDS_ESCAPE = re.compile(r'["\\\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]')


def format_scalar(text: str, *, number: bool = False) -> str:
    """A text as YAML that every parser reads back as this text."""
    if _SAFE.match(text) and (number or not _TYPED.match(text)):
        return text
    return f'"{_NEEDS_ESCAPE.sub(_escaped, text)}"'


def _escaped(match: re.Match[str]) -> str:
    char = match[0]
    known = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}.get(char)
    if known:
        return known
    return f"\\x{ord(char):02x}" if ord(char) < 0x100 else f"\\u{ord(char):04x}"


def compose(
    values: Mapping[str, Value], body: str, *, numbers: frozenset[str] = frozenset()
) -> str:
    """A new file."""
    lines = [f"{key}:{_rendered(key, value, numbers)}" for key, value in values.items()]
    return f"---\n{''.join(lines)}---\n\n{body}\n"


def _rendered(key: str, value: Value, numbers: frozenset[str]) -> str:
    if isinstance(value, str) and key in numbers:
        return f" {format_scalar(value, number=True)}\n"
    return render(value)


def edit(
    document: Document,
    changes: Mapping[str, Value | None],
    body: str | None = None,
    *,
    numbers: frozenset[str] = frozenset(),
) -> str:
    """The file with these keys set (None: removed) and, if given, another body. All else stays as it is."""
    text, newline = document.text, document.newline
    if document.head is None:
        kept = {key: value for key, value in changes.items() if value is not None}
        start = document.body_start
        if not kept and body is None:
            return text
        head = compose(kept, "", numbers=numbers).removesuffix("\n").replace("\n", newline)
        return text[:start] + head + (text[start:] if body is None else body + newline)
    edits: list[tuple[int, int, str]] = []
    added = ""
    for key, value in changes.items():
        entry = document.entries.get(key)
        if entry is not None:
            edits.append(_edit_entry(text, key, entry, value, newline, numbers))
        elif value is not None:
            added += f"{key}:{_rendered(key, value, numbers)}".replace("\n", newline)
    edits.append((document.head[1], document.head[1], added))
    if body is not None:
        edits.append((document.body_start, len(text), newline + body + newline))
    for start, end, replacement in sorted(edits, key=lambda e: e[0], reverse=True):
        text = text[:start] + replacement + text[end:]
    return text


def _edit_entry(
    text: str, key: str, entry: Entry, value: Value | None, newline: str, numbers: frozenset[str]
) -> tuple[int, int, str]:
    line_end = text.find("\n", max(entry.value_end - 1, entry.after_key)) + 1
    if value is None:
        return entry.start, line_end, ""
    if isinstance(value, tuple) and value and entry.items:
        return entry.items[0][1], entry.items[-1][2], _edit_items(text, entry, value, newline)
    if isinstance(entry.value, str) or (entry.value is not None and text[entry.value_start] == "["):
        gap = "" if entry.value_start > entry.after_key else " "
        if (
            text[entry.value_start - 1] == "\n"
        ):  # a block text may begin at the margin below its key, other values may not
            gap = "  "
        shown = (
            format_scalar(value, number=key in numbers) if isinstance(value, str) else _flow(value)
        )
        behind = (
            " " if text[entry.value_end] == "#" else ""
        )  # a comment may touch a quote, but not a plain word
        return (
            entry.value_start,
            entry.value_end,
            gap + shown + _header_comment(text, entry) + behind,
        )
    return entry.start, line_end, f"{key}:{_rendered(key, value, numbers)}".replace("\n", newline)


def _flow(value: tuple[str, ...]) -> str:
    """A list on the line of its key, so that a comment behind it keeps its place."""
    return f"[{', '.join(format_scalar(item) for item in value)}]"


def _header_comment(text: str, entry: Entry) -> str:
    """The comment behind the `|` or `>` of a block text, which stands inside the span of the value."""
    header = re.compile(r"[|>][^\s#]*([ \t]+#[^\r\n]*)").match(
        text, entry.value_start, entry.value_end
    )
    return header[1] if header else ""


def _edit_items(text: str, entry: Entry, wanted: tuple[str, ...], newline: str) -> str:
    """A block list with other items: the lines of those that stay are taken over with their comments."""
    lines = {value: text[start:end] for value, start, end in entry.items}
    first = text[entry.items[0][1] : entry.items[0][2]]
    indent = re.search(r"^[ \t]*(?=- )", first, re.MULTILINE)
    prefix = indent[0] if indent else "  "
    return "".join(
        lines.get(value) or f"{prefix}- {format_scalar(value)}{newline}" for value in wanted
    )
