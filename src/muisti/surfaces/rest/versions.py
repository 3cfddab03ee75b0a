"""Versions of a memory, so that two editors do not overwrite each other (ETag and If-Match)."""

from __future__ import annotations

import hashlib
import json
import re

from muisti.errors import MemoryNotFound
from muisti.model import Memory
from muisti.plain import plain
from muisti.surfaces.rest.problems import Refused

_VOLATILE = (
    "salience",
    "access_count",
    "last_accessed",
    "chunk_count",
    "embedding_model",
    "index_pending",
    "simhash",
    "concepts",
)
"""What changes by use and by upkeep of the index: nobody edits it."""
_TAG = re.compile(r'(W/)?("[^"]*")')


def etag(memory: Memory) -> str:
    """A name for exactly this version: its content and all that an editor may change."""
    fields = plain(memory)
    assert isinstance(fields, dict)
    kept = {name: value for name, value in fields.items() if name not in _VOLATILE}
    return f'"{hashlib.sha256(json.dumps(kept, sort_keys=True).encode()).hexdigest()[:32]}"'


def check_match(if_match: str | None, memory_id: str, memory: Memory | None) -> None:
    """Raises MemoryNotFound, and Refused if it is not a version that the client knows."""
    if memory is None:
        raise MemoryNotFound(memory_id)
    if if_match is None or if_match.strip() == "*":
        return
    known = [tag for weak, tag in _TAG.findall(if_match) if not weak]
    if etag(memory) not in known:
        raise stale(memory_id)


def stale(memory_id: str) -> Refused:
    """The answer to who knows an older version only."""
    detail = f"{memory_id} was changed since you read it; read it again and repeat the change"
    return Refused(412, "stale-version", "It was changed in the meantime", detail)
