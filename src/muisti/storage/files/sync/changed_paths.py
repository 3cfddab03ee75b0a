"""Files that are said to have changed: whether there is anything to take in. Most are muisti's own writes."""

from __future__ import annotations

from collections.abc import Collection

from muisti.errors import BrokenFile
from muisti.ports import Known, Parts
from muisti.storage.files.sync.sources import Following

UNREADABLE = "\ufffd"
"""Stands for what of a name is not UTF-8: such a file is not found by that name."""


def as_known(parts: Parts, paths: Collection[str]) -> bool:
    """Whether the index has these files as they are, or will have: whoever writes holds the lock from file to index."""
    if _as_known(parts, paths):
        return True
    with parts.vault.lock():
        return _as_known(parts, paths)


def _as_known(parts: Parts, paths: Collection[str]) -> bool:
    pages = [path for path in paths if path.endswith(".md")]
    known = parts.index.known(pages)
    if not all(_is_same(parts, path, known.get(path)) for path in pages):
        return False
    beside = [path for path in paths if path not in known and not _is_no_text(path)]
    if not all(path.endswith((".md", ".jsonl")) for path in beside):
        return False  # a folder
    return not beside or not Following(parts, parts.index).something_new()


def _is_no_text(path: str) -> bool:
    """Core memory and settings, which are read when they are needed. What programs keep in `memories/` may be of any form."""
    return path.endswith((".json", ".toml")) and not path.startswith("memories/")


def _is_same(parts: Parts, path: str, known: Known | None) -> bool:
    try:
        sha, stamp, _ = parts.vault.looked_at(path)
    except BrokenFile:
        return known is None and UNREADABLE not in path  # was there for a moment only
    return known is not None and (sha == known.sha if known.memory_id is not None else stamp == known.stamp)
