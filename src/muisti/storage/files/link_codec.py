"""A link as one line of front matter: `SUPERSEDES 0197…`, and behind it what is not as usual."""

from __future__ import annotations

import math
from datetime import datetime
from enum import StrEnum
from typing import TypeVar

from muisti.model import Link, LinkSource, LinkType
from muisti.storage.files.frontmatter import BadFrontMatter
from muisti.storage.files.timestamps import format_time, parse_time

_CURE = "write it like `SUPERSEDES 0197d3a0-…` or `RELATED_TO 0197d3a0-… confidence=0.8`"
_KEYS = {"confidence", "by", "at", "from", "until"}

One = TypeVar("One", bound=StrEnum)


def format_link(link: Link) -> str:
    """The line of a link."""
    said = {
        "confidence": repr(link.confidence) if link.confidence != 1 else "",
        "by": link.extracted_by.value if link.extracted_by is not LinkSource.USER else "",
        "at": format_time(link.created_at),
        "from": format_time(link.valid_from) if link.valid_from else "",
        "until": format_time(link.valid_until) if link.valid_until else "",
    }
    return " ".join(
        (link.type.value, link.target, *(f"{key}={value}" for key, value in said.items() if value))
    )


def parse_link(source: str, text: str, otherwise: datetime) -> Link:
    """The link that a line stands for; one without a time is as old as its memory. Raises BadFrontMatter."""
    words = text.split()
    said = dict(word.split("=", 1) for word in words[2:] if "=" in word)
    if len(words) < 2 or len(said) != len(words) - 2 or set(said) - _KEYS:
        raise BadFrontMatter(f"links: {text!r} is no link: {_CURE}")
    try:
        return Link(
            source=source,
            type=_one_of(LinkType, words[0].upper().replace("-", "_"), "type"),
            target=words[1],
            created_at=parse_time("links: at", said["at"]) if "at" in said else otherwise,
            confidence=_share(said.get("confidence", "1")),
            extracted_by=_one_of(LinkSource, said.get("by", "user").lower(), "by"),
            valid_from=parse_time("links: from", said["from"]) if "from" in said else None,
            valid_until=parse_time("links: until", said["until"]) if "until" in said else None,
        )
    except ValueError as error:
        raise BadFrontMatter(f"links: {text!r} is no link ({error}): {_CURE}") from error


def _one_of(names: type[One], text: str, what: str) -> One:
    if text not in tuple(names):
        raise ValueError(f"its {what} must be one of {', '.join(names)}")
    return names(text)


def _share(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 <= number <= 1:
        raise ValueError("a confidence lies between 0 and 1")
    return number
