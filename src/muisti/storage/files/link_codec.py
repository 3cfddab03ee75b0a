"""A link as one line of front matter: `SUPERSEDES 0197…`, then options like `by=system`."""

from __future__ import annotations

import math
from datetime import datetime
from enum import StrEnum
from typing import TypeVar

from muisti.model import Link, LinkSource, LinkType
from muisti.storage.files.errors import BadFrontMatter
from muisti.storage.files.timestamps import format_time, parse_time

_FIX = "write it like `SUPERSEDES 0197d3a0-…` or `RELATED_TO 0197d3a0-… confidence=0.8`"
_KEYS = {"confidence", "by", "at", "from", "until"}

Name = TypeVar("Name", bound=StrEnum)


def format_link(link: Link) -> str:
    """Return the line of a link. Default values are left out."""
    options = {
        "confidence": repr(link.confidence) if link.confidence != 1 else "",
        "by": link.extracted_by.value if link.extracted_by is not LinkSource.USER else "",
        "at": format_time(link.created_at),
        "from": format_time(link.valid_from) if link.valid_from else "",
        "until": format_time(link.valid_until) if link.valid_until else "",
    }
    words = [f"{key}={value}" for key, value in options.items() if value]
    return " ".join((link.type.value, link.target, *words))


def parse_link(source: str, text: str, otherwise: datetime) -> Link:
    """Parse the line of a link. Otherwise: its time if it has none. Raises BadFrontMatter."""
    words = text.split()
    options = dict(word.split("=", 1) for word in words[2:] if "=" in word)
    if len(words) < 2 or len(options) != len(words) - 2 or set(options) - _KEYS:
        raise BadFrontMatter(f"links: {text!r} is not a link: {_FIX}")
    try:
        confidence = float(options.get("confidence", "1"))
    except ValueError:
        confidence = math.nan
    try:
        if not 0 <= confidence <= 1:
            raise ValueError("confidence must be a number between 0 and 1")
        return Link(
            source=source,
            type=_parse_name(LinkType, words[0].upper().replace("-", "_"), "type"),
            target=words[1],
            created_at=parse_time("links: at", options["at"]) if "at" in options else otherwise,
            confidence=confidence,
            extracted_by=_parse_name(LinkSource, options.get("by", "user").lower(), "by"),
            valid_from=parse_time("links: from", options["from"]) if "from" in options else None,
            valid_until=parse_time("links: until", options["until"])
            if "until" in options
            else None,
        )
    except ValueError as error:
        raise BadFrontMatter(f"links: {text!r} is not a link ({error}): {_FIX}") from error


def _parse_name(names: type[Name], text: str, what: str) -> Name:
    if text not in tuple(names):
        raise ValueError(f"{what} must be one of {', '.join(names)}")
    return names(text)
