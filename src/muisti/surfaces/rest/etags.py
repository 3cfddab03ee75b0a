"""ETag and If-Match, so that two editors do not overwrite each other's changes."""

from __future__ import annotations

import re

from muisti.errors import Conflict, MemoryNotFound
from muisti.model import Memory
from muisti.surfaces.rest.problems import HttpProblem

_TAG = re.compile(r'(W/)?("[^"]*")')


def make_etag(memory: Memory) -> str:
    """Return the ETag of this version: its content and every field that can be updated."""
    return f'"{memory.version}"'


def match_version(if_match: str, memory_id: str, memory: Memory | None) -> str | None:
    """Return the version that an update must find, or None for any.

    Raises MemoryNotFound, and HttpProblem (412) if the memory has another version by now.
    """
    if memory is None:
        raise MemoryNotFound(memory_id)
    if if_match.strip() == "*":
        return None
    known = [tag for weak, tag in _TAG.findall(if_match) if not weak]
    if make_etag(memory) not in known:
        raise stale_version(memory_id)
    return memory.version


def stale_version(memory_id: str) -> HttpProblem:
    """Return the error for an update of a version that is not the current one."""
    detail = f"{memory_id} has changed since it was read; read it again and repeat the change"
    return HttpProblem(412, "stale-version", Conflict.title, detail)
