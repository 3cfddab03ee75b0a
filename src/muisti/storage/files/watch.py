"""Hears of changes to files, by watchfiles."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from pathlib import Path

from watchfiles import Change, watch

log = logging.getLogger("muisti")
IGNORED = frozenset({"archive", "journal"})
"""Written by every process for itself: what it tells is in the index already. So it is with hidden folders, but for one."""
TRASH = ".trash"
NOTES = "memories"
"""What programs keep here may be of any form."""
ENDINGS = (".md", ".json", ".jsonl", ".toml")


class FolderWatch:
    """The files of a vault that a person may edit."""

    def __init__(self, root: Path, stop: threading.Event) -> None:
        self._root = root
        self._stop = stop

    def batches(self, settle: float, wake: float) -> Iterator[set[str]]:
        """Paths that changed, relative to the root: those of one moment together. An empty set after so many seconds without."""
        for polling in (None, True):
            try:
                yield from self._watched(settle, wake, polling=polling)
            except (
                OSError,
                RuntimeError,
            ) as error:  # too many watches, or a disk that cannot be watched
                log.warning(
                    "files are looked at every second, for they cannot be watched: %s", error
                )
            else:
                return
            if self._stop.is_set():
                return

    def _watched(self, settle: float, wake: float, *, polling: bool | None) -> Iterator[set[str]]:
        changes = watch(
            self._root,
            watch_filter=self._is_theirs,
            debounce=max(1, int(settle * 5000)),
            step=max(1, int(settle * 1000)),
            stop_event=self._stop,
            rust_timeout=max(1, int(wake * 1000)),
            yield_on_timeout=True,
            raise_interrupt=False,
            force_polling=polling,
            poll_delay_ms=1000,
        )
        for batch in changes:
            yield {self._name(path) for _, path in batch}

    def _name(self, path: str) -> str:
        return Path(path).relative_to(self._root).as_posix()

    def _is_theirs(self, change: Change, path: str) -> bool:
        """Whether it may be a memory, a conversation, core memory, a setting, or a folder of such."""
        try:
            parts = Path(path).relative_to(self._root).parts
        except ValueError:
            return False
        if not parts or parts[0] in IGNORED or (parts[0].startswith(".") and parts[0] != TRASH):
            return False
        name = parts[-1]
        if name.startswith("."):
            return False
        if name.endswith(ENDINGS) or parts[0] == NOTES:
            return True
        # A folder that comes or goes is told by its own name only.
        return change is not Change.modified and ("." not in name or Path(path).is_dir())
