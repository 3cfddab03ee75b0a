"""What a language model replied, read strictly: how it is wrapped is forgiven, what it says is not.

Forgiven are words and fences around the JSON, a bare list, commas too many, and an end that is missing: then what was complete
before it counts. Each memory is taken as it stands or left out: no value is ever bent until it fits.
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
"""Characters; twenty memories need a tenth of it."""
LONGEST = 500
"""Characters of a memory."""
MOST = 20
"""Memories of one exchange: who finds more has understood something else."""
_STARTS = 50
"""Places where an answer may begin that are looked at, so that hostile text costs no more than its length."""

_THOUGHT = re.compile(r"\s*<think(?:ing)?>.*?</think(?:ing)?>", re.S)
_START = re.compile(r'\{(?=\s*+["}])|\[(?=\s*+[{\]])')
_STRING_OR_COMMA = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\Z)|,(?=\s*+[}\]])', re.S)
_BETWEEN = re.compile(r"[\s,]*+")
_DAY = re.compile(
    r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?(?:Z|[+-]\d\d:\d\d)?)?", re.ASCII
)
_UNWRITABLE = frozenset(("Cc", "Cs", "Zl", "Zp"))
_DECODER = json.JSONDecoder(
    strict=False
)  # line breaks within a text are written out by many models


@dataclass(frozen=True, slots=True)
class ExtractedItem:
    """One memory of a reply, every field of it as it should be."""

    content: str
    kind: str
    importance: float
    about: datetime | None


def parse_response(
    reply: str, *, kinds: Mapping[str, Kind] = KINDS, zone: tzinfo = UTC
) -> list[ExtractedItem]:
    """The memories of a reply, equal ones once; a day without a time begins in `zone`. None of them is fine.

    Raises ExtractorMisbehaved if there is no JSON in it, if it has two answers or more than MOST memories, and if there are
    some but none is as it should be.
    """
    if len(reply) > LONGEST_REPLY:
        raise ExtractorMisbehaved(
            f"the extractor's reply has {len(reply)} characters; {LONGEST_REPLY} are read at most"
        )
    found = list(_answers(_spoken(reply)))
    answers = [items for items, is_named in found if is_named] or [items for items, _ in found]
    if not answers:
        raise ExtractorMisbehaved("the extractor's reply holds no JSON with memories")
    if any(len(items) > MOST for items in answers):
        raise ExtractorMisbehaved(f"the extractor found more than {MOST} memories in one exchange")
    first, *others = (_noted_once(items, kinds, zone) for items in answers)
    if any(
        noted != first for noted in others
    ):  # one of them may be a quotation of the talk: nobody knows which
        raise ExtractorMisbehaved("the extractor's reply holds several answers that differ")
    if answers[0] and not first:
        raise ExtractorMisbehaved(
            f"none of the extractor's {len(answers[0])} memories has the form that was asked for"
        )
    return first


# The list -------------------------------------------------------------------------------------------------------------


def _spoken(reply: str) -> str:
    """Without what some models think aloud before they answer; drafts of the answer stand in it."""
    thought = _THOUGHT.match(reply)
    if thought:
        return reply[thought.end() :]
    return "" if reply.lstrip().startswith("<think") else reply


def _answers(text: str) -> Iterator[tuple[list[object], bool]]:
    """Every list of memories in a text, and whether it is named so."""
    at = 0
    for _ in range(_STARTS):
        start = _START.search(text, at)
        if start is None:
            return
        at = start.end()
        if start[0] == "{":
            value, end = _value(text, start.start())
            yield from ((items, True) for items in _named(value))
            at = max(at, end)  # an object that is none is looked into: its list may be whole
        else:
            items, end = _list(text, start.start())
            if items is not None:
                named = (
                    re.search(
                        r'"memories"\s*:\s*\Z', text[max(0, start.start() - 40) : start.start()]
                    )
                    is not None
                )
                yield items, named
                at = end


def _named(value: object) -> Iterator[list[object]]:
    """The memories of an object, or of one that it is wrapped in."""
    for one in (value, *value.values()) if isinstance(value, dict) else ():
        if isinstance(one, dict) and isinstance(one.get("memories"), list):
            yield one["memories"]


def _list(text: str, start: int) -> tuple[list[object] | None, int]:
    """The items of the list that begins here and where it ends; those before the break if it breaks off. None: no memories."""
    items: list[object] = []
    at = start + 1
    while len(items) <= MOST:
        at = _BETWEEN.match(text, at).end()  # type: ignore[union-attr]  # it matches nothing, too
        if text.startswith("]", at):
            return (items if not items or _tells(items) else None), at + 1
        value, end = _value(text, at)
        if end == at:
            return (items, len(text)) if _tells(items) else (None, at)
        items.append(value)
        at = end
    return (items, len(text)) if _tells(items) else (None, at)


def _tells(items: list[object]) -> bool:
    return any(isinstance(item, dict) and "content" in item for item in items)


def _value(text: str, start: int) -> tuple[object, int]:
    """The JSON value that begins here and where it ends, commas too many forgiven; it ends where it begins if there is none."""
    try:
        return _DECODER.raw_decode(text, start)
    except RecursionError:
        return None, start
    except ValueError:
        pass
    try:
        return _DECODER.raw_decode(_without_commas(text, start), start)
    except (ValueError, RecursionError):
        return None, start


def _without_commas(text: str, start: int) -> str:
    """A space for each comma before a closing bracket, so that every place stays where it is; texts are not touched."""
    return text[:start] + _STRING_OR_COMMA.sub(
        lambda found: " " if found[0] == "," else found[0], text[start:]
    )


# One memory -----------------------------------------------------------------------------------------------------------


def _noted_once(
    items: list[object], kinds: Mapping[str, Kind], zone: tzinfo
) -> list[ExtractedItem]:
    """The items that are memories, the first of those that say the same."""
    found: dict[str, ExtractedItem] = {}
    for item in items:
        noted = _noted(item, kinds, zone)
        if noted is not None:
            found.setdefault(noted.content, noted)
    return list(found.values())


def _noted(item: object, kinds: Mapping[str, Kind], zone: tzinfo) -> ExtractedItem | None:
    """The item as a memory; None if anything about it is not as it should be."""
    if not isinstance(item, dict):
        return None
    content, kind = _content(item.get("content")), _kind(item.get("kind"), kinds)
    importance = item.get("importance")
    if (
        content is None
        or kind is None
        or isinstance(importance, bool)
        or not isinstance(importance, int | float)
    ):
        return None
    if not 0 <= importance <= 1:  # nor is a NaN
        return None
    said = item.get("about")
    about = _moment(said, zone)
    return (
        None
        if about is None and said not in (None, "")
        else ExtractedItem(content, kind, float(importance), about)
    )


def _content(value: object) -> str | None:
    if not isinstance(value, str):
        return None
    text = re.sub(r"[ \t\r\n]+", " ", value).strip()
    if not any(char.isalnum() for char in text[: LONGEST + 1]) or len(text) > LONGEST:
        return None
    return None if any(unicodedata.category(char) in _UNWRITABLE for char in text) else text


def _kind(value: object, kinds: Mapping[str, Kind]) -> str | None:
    """An unknown kind is no `fact`: the kind decides how a memory fades, and nobody said that it is one."""
    wanted = value.strip().casefold() if isinstance(value, str) else ""
    return next(
        (
            kind.name
            for kind in kinds.values()
            if wanted in (kind.name.casefold(), kind.folder.casefold())
        ),
        None,
    )


def _moment(value: object, zone: tzinfo) -> datetime | None:
    """A day, or a moment of it, that can be kept."""
    if not isinstance(value, str) or not _DAY.fullmatch(value.strip()):
        return None
    try:
        moment = datetime.fromisoformat(value.strip())
        moment = moment if moment.tzinfo else moment.replace(tzinfo=zone)
        moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return moment
