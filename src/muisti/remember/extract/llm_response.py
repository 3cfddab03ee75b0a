"""Parse the response of a language model: lenient about its wrapping, strict about its content.

Accepted are text and fences around the JSON, a bare list, trailing commas, and a missing end: then
the items that are complete count. One item with an invalid value makes the whole response invalid.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo

from muisti.errors import ExtractorMisbehaved
from muisti.model import KINDS, Kind

LONGEST_REPLY = 100_000
"""Characters; twenty memories need a tenth of that."""
LONGEST = 500
"""Characters of a memory."""
MOST = 20
"""Memories of one exchange; a model that finds more did not follow the task."""
_STARTS = 50
"""How many possible beginnings of JSON are tried, so that hostile text takes linear time."""

_THOUGHT = re.compile(r"\s*<think(?:ing)?>.*?</think(?:ing)?>", re.S)
_START = re.compile(r'\{(?=\s*+["}])|\[(?=\s*+[{\]])')
_STRING_OR_COMMA = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\Z)|,(?=\s*+[}\]])', re.S)
_BETWEEN = re.compile(r"[\s,]*+")
_DAY = re.compile(
    r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?(?:Z|[+-]\d\d:\d\d)?)?", re.ASCII
)
_UNWRITABLE = frozenset(("Cc", "Cs", "Zl", "Zp"))
_DECODER = json.JSONDecoder(strict=False)  # many models write line breaks inside strings


class _InvalidItem(Exception):
    """The reason why an item of a response is not valid."""


@dataclass(frozen=True, slots=True)
class ExtractedItem:
    """One valid memory of a response."""

    content: str
    kind: str
    importance: float
    about: datetime | None


def parse_response(
    reply: str, *, kinds: Mapping[str, Kind] = KINDS, zone: tzinfo = UTC
) -> list[ExtractedItem]:
    """Return the memories of a response without duplicates; it may have none.

    Zone: of dates without a time. Raises ExtractorMisbehaved if there is no JSON, if there are
    several different lists, more than MOST memories, or one that is not valid.
    """
    if len(reply) > LONGEST_REPLY:
        raise ExtractorMisbehaved(
            f"the extractor's response has {len(reply)} characters; the limit is {LONGEST_REPLY}"
        )
    # Some models think aloud first, with drafts of the response.
    thought = _THOUGHT.match(reply)
    if thought:
        reply = reply[thought.end() :]
    elif reply.lstrip().startswith("<think"):
        reply = ""
    found = list(_find_lists(reply))
    lists = [items for items, is_named in found if is_named] or [items for items, _ in found]
    if not lists:
        raise ExtractorMisbehaved("the extractor's response has no JSON with memories")
    if any(len(items) > MOST for items in lists):
        raise ExtractorMisbehaved(f"the extractor found more than {MOST} memories in one exchange")
    results = []
    for items in lists:
        valid: dict[str, ExtractedItem] = {}
        for number, item in enumerate(items, start=1):
            try:
                parsed = _parse_item(item, kinds, zone)
            except _InvalidItem as error:
                raise ExtractorMisbehaved(
                    f"memory {number} of the extractor's response is not valid: {error}"
                ) from None
            valid.setdefault(parsed.content, parsed)
        results.append(list(valid.values()))
    first = results[0]
    if any(items != first for items in results):  # one may be a quotation of the conversation
        raise ExtractorMisbehaved("the extractor's response has several lists that differ")
    return first


def _find_lists(text: str) -> Iterator[tuple[list[object], bool]]:
    """Yield every list of memories in a text, and whether it is named "memories"."""
    at = 0
    for _ in range(_STARTS):
        start = _START.search(text, at)
        if start is None:
            return
        at = start.end()
        if start[0] == "{":
            value, end = _decode(text, start.start())
            objects = (value, *value.values()) if isinstance(value, dict) else ()
            for item in objects:  # the object, or one that it wraps
                if isinstance(item, dict) and isinstance(item.get("memories"), list):
                    yield item["memories"], True
            at = max(at, end)  # the inside of an invalid object is searched: its list may be valid
        else:
            items, end = _decode_list(text, start.start())
            if items is not None:
                before = text[max(0, start.start() - 40) : start.start()]
                yield items, re.search(r'"memories"\s*:\s*\Z', before) is not None
                at = end


def _decode_list(text: str, start: int) -> tuple[list[object] | None, int]:
    """Return the items of the list that begins here, and where it ends.

    Returns the complete items of a list that breaks off; None for a list without memories.
    """
    items: list[object] = []
    at = start + 1
    while len(items) <= MOST:
        at = _BETWEEN.match(text, at).end()  # type: ignore[union-attr]  # also matches ""
        if text.startswith("]", at):
            return (items if not items or _has_content(items) else None), at + 1
        value, end = _decode(text, at)
        if end == at:
            break
        items.append(value)
        at = end
    return (items, len(text)) if _has_content(items) else (None, at)


def _has_content(items: list[object]) -> bool:
    return any(isinstance(item, dict) and "content" in item for item in items)


def _decode(text: str, start: int) -> tuple[object, int]:
    """Return the JSON value that begins here, and its end; the end is `start` if there is none.

    Trailing commas are accepted.
    """
    try:
        return _DECODER.raw_decode(text, start)
    except RecursionError:
        return None, start
    except ValueError:
        pass
    # A space for each comma, so that positions stay the same; strings are left alone.
    rest = _STRING_OR_COMMA.sub(lambda found: " " if found[0] == "," else found[0], text[start:])
    try:
        return _DECODER.raw_decode(text[:start] + rest, start)
    except (ValueError, RecursionError):
        return None, start


def _parse_item(item: object, kinds: Mapping[str, Kind], zone: tzinfo) -> ExtractedItem:
    """Return the item as a memory. Raises _InvalidItem with the field that is not valid.

    The kind may be called `type`. The message quotes no value, which may be private.
    """
    if not isinstance(item, dict):
        raise _InvalidItem("it is not an object")
    content = _parse_content(item.get("content"))
    if content is None:
        raise _InvalidItem(f"content must be a text of 1 to {LONGEST} characters")
    field = "type" if "type" in item and "kind" not in item else "kind"
    kind = _find_kind(item.get(field), kinds)
    # An unknown kind is not taken for a fact: kinds decay differently.
    if kind is None:
        raise _InvalidItem(f"{field} must be one of {', '.join(kinds)}")
    if "type" in item and _find_kind(item["type"], kinds) != kind:
        raise _InvalidItem("type and kind must be the same")
    importance = item.get("importance")
    if (
        isinstance(importance, bool)
        or not isinstance(importance, int | float)
        or not 0 <= importance <= 1  # NaN fails the comparison
    ):
        raise _InvalidItem("importance must be a number between 0 and 1")
    about = _parse_date(item.get("about"), zone)
    if about is None and item.get("about") not in (None, ""):
        raise _InvalidItem("about must be a date such as 2026-03-15, or null")
    return ExtractedItem(content, kind, float(importance), about)


def _find_kind(name: object, kinds: Mapping[str, Kind]) -> str | None:
    wanted = name.strip().casefold() if isinstance(name, str) else ""
    for kind in kinds.values():
        if wanted in (kind.name.casefold(), kind.folder.casefold()):
            return kind.name
    return None


def _parse_content(value: object) -> str | None:
    if not isinstance(value, str):
        return None
    text = re.sub(r"[ \t\r\n]+", " ", value).strip()
    if not any(char.isalnum() for char in text[: LONGEST + 1]) or len(text) > LONGEST:
        return None
    return None if any(unicodedata.category(char) in _UNWRITABLE for char in text) else text


def _parse_date(value: object, zone: tzinfo) -> datetime | None:
    if not isinstance(value, str) or not _DAY.fullmatch(value.strip()):
        return None
    try:
        moment = datetime.fromisoformat(value.strip())
        moment = moment if moment.tzinfo else moment.replace(tzinfo=zone)
        moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return moment
