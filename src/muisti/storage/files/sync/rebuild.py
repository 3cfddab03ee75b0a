"""Rebuild the index from the files, beside the old one, while others keep reading and writing."""

from __future__ import annotations

from muisti.commit import writing
from muisti.model import SyncReport
from muisti.ports import Parts, Progress
from muisti.storage.files.sync.reconcile import fill, sync


def reindex(parts: Parts, progress: Progress | None = None) -> SyncReport:
    """Build anew from files and journal, then swap. What happens meanwhile is taken along before the swap."""
    with parts.index.shadow() as shadow:
        fill(parts, shadow, adopt=False, progress=progress)
        with writing(parts):
            report = sync(parts)
            fill(parts, shadow, adopt=True)
            shadow.swap()
            parts.index.behind = False
    return report
