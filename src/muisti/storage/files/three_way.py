"""Merge two versions of a vault's file that have a common ancestor, as git does. Pure.

Fields, core memory and logs are merged here. What only a person can decide, and the lines of a
memory's body, are left to git's own merge of texts.
"""

from __future__ import annotations

import itertools
import json
import operator
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from muisti.model.fields import ValueType
from muisti.model.memory import FIELDS
from muisti.storage.files import frontmatter
from muisti.storage.files.errors import BadFrontMatter
from muisti.storage.files.frontmatter import Document, Value

_TYPES = {field.name: field.value_type for field in FIELDS if field.front_matter}
_TYPES |= {field.alias: field.value_type for field in FIELDS if field.front_matter and field.alias}
_LISTS = (ValueType.LIST, ValueType.LINKS)
_WRITTEN = (ValueType.LINE, ValueType.TEXT)
"""Fields of which no version may be dropped: two new values are a conflict."""
_EPOCH = datetime.fromtimestamp(0, UTC)


class Sides(NamedTuple):
    """The three texts of a merge. They differ only in what is not decided yet."""

    base: str
    """The common ancestor; empty if both sides added the file."""
    ours: str
    theirs: str


class _Part(NamedTuple):
    """One key of front matter, with the comments above it."""

    text: str
    value: Value | None
    items: Mapping[str, str]
    """For a block list: the line of each item."""
    comments: tuple[str, ...]


def merge_memory(sides: Sides) -> Sides:
    """Return the texts of a memory's file with all keys merged that can be merged.

    Raises BadFrontMatter if a side has no front matter that can be read.
    """
    has_crlf = ["\n" in text and text.count("\n") == text.count("\r\n") for text in sides]
    lines = [
        text.replace("\r\n", "\n") if crlf else text
        for text, crlf in zip(sides, has_crlf, strict=True)
    ]
    documents = [frontmatter.parse(text) for text in lines]
    base, ours, theirs = documents
    if ours.head is None or theirs.head is None:
        raise BadFrontMatter("a side has no front matter")
    ids = [document.values.get("id") for document in documents]
    if ids[1] != ids[2] and (ids[0] or not base.text):
        # Two memories: git took one for the other, as they have many lines in common.
        return Sides("", sides.ours, sides.theirs)
    heads = _merge_heads(base, ours, theirs)
    frontmatter.parse(f"---\n{heads.ours}---\n")  # raises if the keys do not fit together
    bodies = [document.text[document.body_start :] for document in documents]
    opening, closing = (
        _pick(*(cut(document) for document in documents)) for cut in (_cut_opening, _cut_closing)
    )
    texts = [f"{opening}{head}{closing}{body}" for head, body in zip(heads, bodies, strict=True)]
    ends_in_crlf = has_crlf[1] if has_crlf[1] != has_crlf[0] else has_crlf[2]
    return Sides(*(text.replace("\n", "\r\n") if ends_in_crlf else text for text in texts))


def _cut_opening(document: Document) -> str:
    return document.text[: document.head[0]] if document.head else ""


def _cut_closing(document: Document) -> str:
    return document.text[document.head[1] : document.body_start] if document.head else ""


def _pick(base: str, ours: str, theirs: str) -> str:
    """Return the side that changed; ours if both did."""
    return theirs if ours == base else ours


def _merge_heads(base: Document, ours: Document, theirs: Document) -> Sides:
    """Return the lines of front matter. They differ in keys that a person must decide on."""
    parts = [_split_head(document) for document in (base, ours, theirs)]
    order = list(parts[1])
    previous = ""
    for key in parts[2]:  # a key that only theirs has follows the one that it followed there
        if key not in parts[1]:
            order.insert(order.index(previous) + 1 if previous in order else 0, key)
        previous = key
    is_newer = _read_update_time(theirs) > _read_update_time(ours)
    is_older = _read_update_time(theirs) < _read_update_time(ours)
    merged: list[list[str]] = [[], [], []]
    for key in order:
        sides = [one.get(key) for one in parts]
        texts = _merge_part(key, sides, newer=is_newer, older=is_older)
        for text, lines in zip(texts, merged, strict=True):
            lines.append(text)
    return Sides(*("".join(lines) for lines in merged))


def _split_head(document: Document) -> dict[str, _Part]:
    """Return the parts of front matter by key. Comments below the last key are the part ""."""
    if document.head is None:
        return {}
    text = document.text
    at, end = document.head
    parts = {}
    for key, entry in sorted(document.entries.items(), key=lambda item: item[1].start):
        line_end = text.find("\n", max(entry.value_end - 1, entry.after_key)) + 1
        if entry.start < at or line_end > end:
            raise BadFrontMatter("the front matter has two keys in one line")
        inside = text[at:line_end]
        lines = inside.splitlines(keepends=True)
        comments = [line for line in lines if line.lstrip().startswith("#")]
        after = text[entry.value_end : line_end].strip()
        if isinstance(entry.value, str) and after.startswith("#"):
            comments.append(f"{after}\n")
        items = {item: text[start:stop] for item, start, stop in entry.items}
        parts[key] = _Part(inside, entry.value, items, tuple(comments))
        at = line_end
    below = text[at:end]
    parts[""] = _Part(below, "", {}, tuple(below.splitlines(keepends=True)))
    return parts


def _read_update_time(document: Document) -> datetime:
    return _parse_time(document.values.get("updated_at")) or _EPOCH


def _merge_part(
    key: str, sides: list[_Part | None], *, newer: bool, older: bool
) -> tuple[str, str, str]:
    """Return the lines of one key for the three texts. Newer, older: theirs, by `updated_at`."""
    base, ours, theirs = sides
    texts = [side.text if side else "" for side in sides]
    if texts[1] == texts[2] or texts[2] == texts[0]:
        return texts[1], texts[1], texts[1]
    if texts[1] == texts[0]:
        return texts[2], texts[2], texts[2]
    kind = _TYPES.get(key)
    are_lists = all(side is None or isinstance(side.value, tuple) for side in sides)
    is_nested = any(side is not None and side.value is None for side in sides)
    if are_lists or (kind in _LISTS and not is_nested):
        text = _unite_lists(key, sides, newer=newer)
        return text, text, text
    if ours is None or theirs is None:  # removed here, changed there: nothing is lost
        text = texts[1] or texts[2]
        return text, text, text
    values = [None if side is None else side.value or side.text for side in sides]
    if key == "" or values[2] in (values[0], values[1]):
        is_theirs = False
    elif values[1] == values[0]:
        is_theirs = True
    elif key == "updated_at":
        is_theirs = newer
    elif key == "id":  # both read a file that a person had added without one: the first counts
        is_theirs = str(values[2]) < str(values[1])
    elif kind is None or kind in _WRITTEN:
        return texts[0], texts[1], texts[2]
    else:
        is_theirs = newer if newer or older else str(values[2]) > str(values[1])
    chosen, other = (theirs, ours) if is_theirs else (ours, theirs)
    text = _keep_comments(chosen, other, base)
    return text, text, text


def _keep_comments(chosen: _Part, other: _Part, base: _Part | None) -> str:
    """Return the lines of a side, below the comments that the other side added."""
    known = (*chosen.comments, *(base.comments if base else ()))
    return "".join(line for line in other.comments if line not in known) + chosen.text


def _unite_lists(key: str, sides: list[_Part | None], *, newer: bool) -> str:
    """Return the lines of a list: without items that a side removed, with those that it added."""
    before, ours, theirs = (_read_items(side) for side in sides)
    removed = set(before) - (set(ours) & set(theirs))
    items = [item for item in dict.fromkeys((*ours, *theirs)) if item not in removed]
    if _TYPES.get(key) is ValueType.LINKS:
        # Two versions of one link, as when both confirm it: that of the later update counts.
        last = theirs if newer else ours
        by_link: dict[tuple[str, ...], str] = {}
        for item in items:
            link = tuple(item.split()[:2])
            if link not in by_link or item in last:
                by_link[link] = item
        items = list(by_link.values())
    if not items:
        return ""
    _, own, other = sides
    part = own or other
    if part is None:
        return ""
    base = sides[0]
    lines = {**(other.items if other else {})}
    for item, line in own.items.items() if own else ():
        is_unchanged = base is not None and base.items.get(item) == line
        lines[item] = lines.get(item, line) if is_unchanged else line
    if part.items and all(item in lines for item in items):
        first = next(iter(part.items.values()))
        start = part.text.index(first)
        text = part.text[:start] + "".join(lines[item] for item in items)
    else:
        document = frontmatter.parse(f"---\n{part.text}---\n")
        edited = frontmatter.edit(document, {key: tuple(items)})
        text = edited.removeprefix("---\n").removesuffix("---\n")
    if own is None or other is None:
        return text
    known = "".join(base.comments if base else ()) + text
    return "".join(line for line in other.comments if line not in known) + text


def _read_items(part: _Part | None) -> tuple[str, ...]:
    if part is None or not part.value:
        return ()
    if isinstance(part.value, tuple):
        return part.value
    return tuple(item.strip() for item in part.value.split(",") if item.strip())


def merge_core(sides: Sides) -> Sides:
    """Return the texts of a core memory file, merged key by key. Raises ValueError if not JSON."""
    tables = [json.loads(text) if text.strip() else {} for text in sides]
    if not all(isinstance(table, dict) for table in tables):
        raise ValueError("core memory is not an object")
    merged = _merge_tables(*tables)
    return Sides(*(json.dumps(table, ensure_ascii=False, indent=2) + "\n" for table in merged))


def _merge_tables(
    base: dict[str, Any], ours: dict[str, Any], theirs: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Return the three tables. They differ in values that both sides changed."""
    merged: tuple[dict[str, Any], dict[str, Any], dict[str, Any]] = ({}, {}, {})
    gone = object()
    for key in dict.fromkeys((*ours, *theirs, *base)):
        values = [table.get(key, gone) for table in (base, ours, theirs)]
        if isinstance(values[1], dict) and isinstance(values[2], dict):
            before = values[0] if isinstance(values[0], dict) else {}
            values = list(_merge_tables(before, values[1], values[2]))
        elif values[1] == values[0]:
            values = [values[2]] * 3
        elif values[2] in (values[0], values[1]):
            values = [values[1]] * 3
        for table, value in zip(merged, values, strict=True):
            if value is not gone:
                table[key] = value
    return merged


def merge_log(base: bytes, ours: bytes, theirs: bytes) -> bytes:
    """Return the lines of a log: those of both sides once each, in the order of their times.

    Lines of the ancestor keep their order. One that a side has removed is removed.
    """
    known, own, other = (list(_split_lines(data)) for data in (base, ours, theirs))
    left = set(own) & set(other)
    kept = [line for line in known if line in left]
    before = set(known)
    added: dict[bytes, tuple[datetime, bytes, int]] = {}
    for lines in (own, other):
        at = _EPOCH
        timed = []
        for line in lines:
            if line not in before:
                at = max(at, _read_line_time(line) or at)
                timed.append((at, line))
        # Lines of one moment stay together, in the order of their side.
        for moment, group in itertools.groupby(timed, key=operator.itemgetter(0)):
            block = [line for _, line in group]
            text = b"".join(block)
            for number, line in enumerate(block):
                order = moment, text, number
                added[line] = min(order, added.get(line, order))
    merged: list[bytes] = []
    for line in sorted(added, key=lambda line: added[line], reverse=True):
        while kept and (_read_line_time(kept[-1]) or _EPOCH) > added[line][0]:
            merged.append(kept.pop())
        merged.append(line)
    return b"".join(line + b"\n" for line in (*kept, *reversed(merged)))


def _split_lines(data: bytes) -> Iterator[bytes]:
    for line in data.split(b"\n"):
        if line.strip():
            yield line


def _read_line_time(line: bytes) -> datetime | None:
    """Return the time of an event or a message; None if it has none."""
    try:
        parsed = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return _parse_time(parsed.get("at") or parsed.get("ts")) if isinstance(parsed, dict) else None


def _parse_time(text: object) -> datetime | None:
    try:
        at = datetime.fromisoformat(str(text).strip())
        return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
