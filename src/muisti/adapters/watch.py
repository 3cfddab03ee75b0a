"""Hears of changes to files, by watchfiles."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from pathlib import Path

from watchfiles import Change, watch

log = logging.getLogger("muisti")
IGNORED = frozenset({".muisti", ".git", ".queue", "journal"})
"""Written by every process for itself: what it tells is in the index already."""


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
            except (OSError, RuntimeError) as error:  # too many watches, or a disk that cannot be watched
                log.warning("files are looked at every second, for they cannot be watched: %s", error)
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

    def _is_theirs(self, _: Change, path: str) -> bool:
        """Whether it may be a memory, a conversation, core memory or a setting."""
        try:
            parts = Path(path).relative_to(self._root).parts
        except ValueError:
            return False
        if not parts or parts[0] in IGNORED:
            return False
        return not parts[-1].startswith(".") and parts[-1].endswith((".md", ".json", ".jsonl", ".toml"))
