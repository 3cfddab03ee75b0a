"""YAML front matter, read and edited in place.

A rewrite replaces only the characters of values that changed: other keys, order, comments, quoting
and line ends stay byte for byte. What muisti wrote is parsed by a strict line grammar in
microseconds; anything else by a YAML parser. Either way a value is read as text, never as an
object, so `no`, `1.10` and `!!python/object` are text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from muisti.storage.files.errors import BadFrontMatter
from muisti.storage.files.safe_read import MAX_HEAD

Node = Any
"""A node of ruamel.yaml, whose stubs do not describe it."""
MAX_DEPTH = 40

Value = str | tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """One `key: value` with the positions of its parts in the text."""

    value: Value | None
    """None for a value that is neither text nor a list of texts."""
    start: int
    """The start of the key's line."""
    after_key: int
    """The position after the colon."""
    value_start: int
    value_end: int
    items: tuple[tuple[str, int, int], ...] = ()
    """For a block list: each item with the span of its line or lines."""


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed Markdown file."""

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
        """The text below the front matter, without the blank line before and the last line end."""
        body = self.text[self.body_start :]
        if self.head is not None:
            body = body.removeprefix("\r\n") if body.startswith("\r\n") else body.removeprefix("\n")
        # Only in a file of CRLF lines is the last carriage return part of the line end.
        if self.newline == "\r\n" and body.endswith("\r\n"):
            return body.removesuffix("\r\n")
        return body.removesuffix("\n")

    @property
    def newline(self) -> str:
        """The line end that the file uses."""
        first = self.text.find("\n")
        return "\r\n" if first > 0 and self.text[first - 1] == "\r" else "\n"


_OPEN = re.compile(r"\ufeff?---[ \t]*\r?\n")
_CLOSE = re.compile(r"^(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.MULTILINE)


def parse(text: str) -> Document:
    """Parse a file. Raises BadFrontMatter."""
    opening = _OPEN.match(text)
    if opening is None:
        return Document(text, body_start=1 if text.startswith("\ufeff") else 0)
    closing = _CLOSE.search(text, opening.end(), opening.end() + MAX_HEAD + 8)
    if closing is None:
        if len(text) > MAX_HEAD:
            raise BadFrontMatter(
                f"the front matter has over {MAX_HEAD} characters: close it with a line ---"
            )
        raise BadFrontMatter("the front matter is not closed: add a line --- below its last key")
    span = (opening.end(), closing.start())
    entries = _read_own(text, *span)
    if entries is None:
        entries = _read_yaml(text, *span)
    return Document(text, entries, span, closing.end())


def read_values(text: str) -> tuple[dict[str, Value | None], str]:
    """Return the values of a file's front matter and its body. Raises BadFrontMatter.

    The same as `parse` reads, faster for what muisti wrote: only editing needs positions.
    """
    if text.startswith("---\n"):
        end = text.find("\n---\n", 3, MAX_HEAD + 8)
        values = _read_own_values(text[4 : end + 1]) if end > 3 else None
        if values is not None and text[end + 5 : end + 6] != "\r":
            return values, text[end + 5 :].removeprefix("\n").removesuffix("\n")
    document = parse(text)
    return document.values, document.body


# -- Parse what muisti wrote: a strict subset of YAML, line by line.

_PLAIN = r"[^\W_][\w./+-]*(?: [\w./+-]+)*"
_TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z"
_QUOTED = r'"(?:[^"\\\r\n]|\\["\\ntr]|\\x[0-9a-f]{2}|\\u(?!d[89a-f])[0-9a-f]{4})*"'
_OWN_LINE = re.compile(rf"([a-z][a-z_]*):(?: ({_TIME}|{_PLAIN}|{_QUOTED}))?\n")
_OWN_ITEM = re.compile(rf"  - ({_PLAIN}|{_QUOTED})\n")
_ESCAPE = re.compile(r'\\(?:(["\\ntr])|x([0-9a-f]{2})|u([0-9a-f]{4}))')
_SIMPLE = {'"': '"', "\\": "\\", "n": "\n", "t": "\t", "r": "\r"}


def _read_own(text: str, start: int, end: int) -> dict[str, Entry] | None:
    """Parse front matter as muisti writes it; None if it has another form."""
    entries: dict[str, Entry] = {}
    at = start
    while at < end:
        line = _OWN_LINE.match(text, at, end)
        if line is None or line[1] in entries:
            return None
        key_end = line.end(1) + 1
        if line[2] is not None:
            entries[line[1]] = Entry(_unquote(line[2]), at, key_end, line.start(2), line.end(2))
            at = line.end()
            continue
        items = []
        after = line.end()
        while item := _OWN_ITEM.match(text, after, end):
            items.append((_unquote(item[1]), after, item.end()))
            after = item.end()
        if not items:
            return None
        values = tuple(value for value, _, _ in items)
        entries[line[1]] = Entry(values, at, key_end, items[0][1], after - 1, tuple(items))
        at = after
    return entries


class _Lines(dict[str, tuple[str, str] | None]):
    """A cache of key and value of lines such as `kind: fact`, which many files have."""

    def __missing__(self, line: str) -> tuple[str, str] | None:
        match = _OWN_LINE.fullmatch(f"{line}\n")
        found = (match[1], _unquote(match[2])) if match and match[2] is not None else None
        if len(line) <= _SHORT_LINE:
            if len(self) >= _MOST_LINES:
                self.clear()
            self[line] = found
        return found


_SHORT_LINE = 24
_MOST_LINES = 10_000
_lines = _Lines()


def _read_own_values(head: str) -> dict[str, Value | None] | None:
    """Parse front matter of one value a line; None if it has another form."""
    values: dict[str, Value | None] = {}
    lines = head.split("\n")
    for line in lines[:-1]:
        found = _lines[line]
        if found is None or found[0] in values:
            return None
        values[found[0]] = found[1]
    return values


def _unquote(scalar: str) -> str:
    if not scalar.startswith('"'):
        return scalar
    inner = scalar[1:-1]
    if "\\" not in inner:
        return inner
    return _ESCAPE.sub(lambda m: _SIMPLE[m[1]] if m[1] else chr(int(m[2] or m[3], 16)), inner)


# -- Parse what people and other programs wrote.


def _read_yaml(text: str, start: int, end: int) -> dict[str, Entry]:
    from ruamel.yaml import YAML  # takes 22 ms to import, and is rarely needed
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
                raise BadFrontMatter(f"the front matter has the anchor &{anchor} twice: remove one")
            if anchor:
                anchors.add(anchor)
            kind = type(event).__name__
            depth += kind.endswith("StartEvent") - kind.endswith("EndEvent")
            if depth > MAX_DEPTH:
                raise BadFrontMatter(
                    f"the front matter is nested deeper than {MAX_DEPTH} levels: make it flatter"
                )
        root = YAML(typ="safe", pure=True).compose(source)
    except YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 2}: " if mark is not None else ""
        what = getattr(error, "problem", None) or str(error).split("\n", 1)[0]
        raise BadFrontMatter(
            f"the front matter is not valid YAML ({where}{what}): fix that line"
        ) from error
    except (RecursionError, ValueError, OverflowError) as error:
        raise BadFrontMatter(f"the front matter is not valid YAML ({error}): fix it") from error
    if root is None:
        return {}
    if root.id != "mapping" or getattr(root, "flow_style", False):
        raise BadFrontMatter("the front matter must be lines of the form `key: value`")
    return _read_entries(text, start, root)


def _read_entries(text: str, start: int, root: Node) -> dict[str, Entry]:
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
        first, last = start + value.start_mark.index, start + _find_end(value)
        if _is_empty(value):  # the parser puts it at the start of the next token
            first = last = colon.end()
        line = text.rfind("\n", 0, start + key.start_mark.index) + 1
        last = max(first, _strip_space(text, last))
        items = _read_items(text, start, value)
        entries[key.value] = Entry(_read_node(value), line, colon.end(), first, last, items)
    return entries


_COLON = re.compile(r"\s*:")


def _is_empty(node: Node) -> bool:
    return bool(node.id == "scalar" and node.start_mark.index == node.end_mark.index)


def _strip_space(text: str, end: int) -> int:
    """Return the end without white space before it, which the parser counts to block texts."""
    while end and text[end - 1] in " \t\r\n":
        end -= 1
    return end


def _read_node(node: Node) -> Value | None:
    if node.id == "scalar":
        _check_text(node)
        is_null = node.value in ("", "~", "null", "Null", "NULL")
        is_plain = getattr(node, "style", None) is None
        return "" if is_plain and is_null else str(node.value)
    if node.id == "sequence" and all(item.id == "scalar" for item in node.value):
        for item in node.value:
            _check_text(item)
        return tuple(str(item.value) for item in node.value)
    return None


def _check_text(node: Node) -> None:
    """Raise BadFrontMatter for half of a surrogate pair, which an escape can produce."""
    if any("\ud800" <= char <= "\udfff" for char in node.value):
        where = f"line {node.start_mark.line + 2}"
        raise BadFrontMatter(
            f"the front matter has half of a surrogate pair ({where}): remove that escape"
        )


def _find_end(node: Node) -> int:
    """Return the end of a value's last item: the end mark of a block collection is too late."""
    if node.id != "scalar" and not node.flow_style and node.value:
        last = node.value[-1]
        return _find_end(last[1] if node.id == "mapping" else last)
    return int(node.end_mark.index)


def _read_items(text: str, start: int, node: Node) -> tuple[tuple[str, int, int], ...]:
    """Return the items of a block list with their spans, each with the comments above it.

    Returns none for a list that cannot be edited item by item.
    """
    if node.id != "sequence" or node.flow_style:
        return ()
    if not all(item.id == "scalar" for item in node.value):
        return ()
    spans = []
    first = start + node.start_mark.index
    at = text.rfind("\n", 0, first) + 1
    has_tag = bool(text[at:first].strip())
    if has_tag or any(_is_empty(item) for item in node.value):
        return ()
    for item in node.value:
        item_end = _strip_space(text, start + item.end_mark.index)
        line_end = text.find("\n", max(item_end - 1, at))
        end = len(text) if line_end < 0 else line_end + 1
        spans.append((str(item.value), at, end))
        at = end
    return tuple(spans)


# -- Format and edit.


def render(value: Value) -> str:
    """Return a value as it follows `key:`, with its line end."""
    if isinstance(value, str):
        return f" {format_scalar(value)}\n"
    return "\n" + "".join(f"  - {format_scalar(item)}\n" for item in value)


_SAFE = re.compile(rf"(?:{_PLAIN}|{_TIME})\Z")
_TYPED = re.compile(
    r"(?:true|false|yes|no|on|off|null|y|n"
    r"|[+-]?[\d.][\d._]*(?:e[+-]?\d+)?|0[xob][\da-f]+|\.inf|\.nan"
    r"|\d{4}-\d\d?-\d\d?(?:[t ]\s*\d.*)?)\Z",
    re.IGNORECASE,
)
_BLOCK_HEADER = re.compile(r"[|>][^\s#]*([ \t]+#[^\r\n]*)")
_NEEDS_ESCAPE = re.compile(r'["\\\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]')


def format_scalar(text: str, *, number: bool = False) -> str:
    """Return a text as YAML that every parser reads back as this text. Number: do not quote it."""
    if _SAFE.match(text) and (number or not _TYPED.match(text)):
        return text
    return f'"{_NEEDS_ESCAPE.sub(_escape, text)}"'


def _escape(match: re.Match[str]) -> str:
    char = match[0]
    known = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}.get(char)
    if known:
        return known
    return f"\\x{ord(char):02x}" if ord(char) < 0x100 else f"\\u{ord(char):04x}"


def compose(
    values: Mapping[str, Value], body: str, *, numbers: frozenset[str] = frozenset()
) -> str:
    """Return the text of a new file. Numbers: the keys whose values are not quoted."""
    lines = [_format_entry(key, value, numbers) for key, value in values.items()]
    return f"---\n{''.join(lines)}---\n\n{body}\n"


def _format_entry(key: str, value: Value, numbers: frozenset[str]) -> str:
    if isinstance(value, str) and key in numbers:
        return f"{key}: {format_scalar(value, number=True)}\n"
    return f"{key}:{render(value)}"


def edit(
    document: Document,
    changes: Mapping[str, Value | None],
    body: str | None = None,
    *,
    numbers: frozenset[str] = frozenset(),
) -> str:
    """Return the file with these keys set, or removed if None, and another body if given."""
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
            added += _format_entry(key, value, numbers).replace("\n", newline)
    edits.append((document.head[1], document.head[1], added))
    if body is not None:
        edits.append((document.body_start, len(text), newline + body + newline))
    for start, end, replacement in sorted(edits, key=lambda edited: edited[0], reverse=True):
        text = text[:start] + replacement + text[end:]
    return text


def _edit_entry(
    text: str, key: str, entry: Entry, value: Value | None, newline: str, numbers: frozenset[str]
) -> tuple[int, int, str]:
    """Return the span of an entry to replace, and the new text."""
    line_end = text.find("\n", max(entry.value_end - 1, entry.after_key)) + 1
    if value is None:
        return entry.start, line_end, ""
    if isinstance(value, tuple) and value and entry.items:
        # Items that stay keep their lines and comments.
        lines = {item: text[start:end] for item, start, end in entry.items}
        _, first, first_end = entry.items[0]
        indent = re.search(r"^[ \t]*(?=- )", text[first:first_end], re.MULTILINE)
        prefix = indent[0] if indent else "  "
        items = [lines.get(item) or f"{prefix}- {format_scalar(item)}{newline}" for item in value]
        return first, entry.items[-1][2], "".join(items)
    is_inline_list = entry.value is not None and text[entry.value_start] == "["
    if isinstance(entry.value, str) or is_inline_list:
        gap = "" if entry.value_start > entry.after_key else " "
        if text[entry.value_start - 1] == "\n":
            gap = "  "  # only a block text may start at the margin below its key
        if isinstance(value, str):
            shown = format_scalar(value, number=key in numbers)
        else:  # on the line of its key, so that a comment after it keeps its place
            shown = f"[{', '.join(format_scalar(item) for item in value)}]"
        # The comment after the `|` or `>` of a block text is inside the span of the value.
        header = _BLOCK_HEADER.match(text, entry.value_start, entry.value_end)
        comment = header[1] if header else ""
        # A comment may follow a quote directly, but not a plain word.
        space = " " if text[entry.value_end] == "#" else ""
        return entry.value_start, entry.value_end, gap + shown + comment + space
    return entry.start, line_end, _format_entry(key, value, numbers).replace("\n", newline)
