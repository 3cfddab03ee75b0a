"""Versions of a memory, so that two editors do not overwrite each other (ETag and If-Match)."""

from __future__ import annotations

import re

from muisti.errors import MemoryNotFound
from muisti.model import Memory
from muisti.surfaces.rest.problems import HttpProblem

_TAG = re.compile(r'(W/)?("[^"]*")')


def etag(memory: Memory) -> str:
    """A name for exactly this version: its content and all that an editor may change."""
    return f'"{memory.version}"'


def match_version(if_match: str | None, memory_id: str, memory: Memory | None) -> str | None:
    """The version that is to be changed; None for any. Raises MemoryNotFound, and Refused if the client knows only others."""
    if memory is None:
        raise MemoryNotFound(memory_id)
    if if_match is None or if_match.strip() == "*":
        return None
    known = [tag for weak, tag in _TAG.findall(if_match) if not weak]
    if etag(memory) not in known:
        raise stale_version(memory_id)
    return memory.version


def stale_version(memory_id: str) -> HttpProblem:
    """The answer to who knows an older version only."""
    detail = f"{memory_id} was changed since you read it; read it again and repeat the change"
    return HttpProblem(412, "stale-version", "It was changed in the meantime", detail)
