"""The ID in the front matter of a file, found without parsing it."""

from __future__ import annotations

import re

_MEMORY_ID = rb"(?m)^id: *[\"']?([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\b"


def has_memory_id(head: bytes) -> bool:
    """Return whether a file starts with front matter that has an ID in muisti's format."""
    return read_memory_id(head) is not None


def read_memory_id(head: bytes) -> str | None:
    """Return the ID in the front matter at the start of a file, or None."""
    text = head.removeprefix(b"\xef\xbb\xbf")
    if not text.startswith(b"---"):
        return None
    end = max(text.find(b"\n---", 3), text.find(b"\n...", 3))
    found = re.compile(_MEMORY_ID).search(text, 3, end)
    return found[1].decode() if found else None
