"""Watch the files of a vault, with watchfiles."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from watchfiles import Change, watch

from muisti.filesystem import Tree

log = logging.getLogger("muisti")
IGNORED = frozenset({"archive", "journal"})
"""Only muisti writes here and in hidden folders, and it updates the index itself."""
TRASH = ".trash"
NOTES = "memories"
"""Agents keep notes here, in files of any type."""
ENDINGS = (".md", ".json", ".jsonl", ".toml")


class FolderWatch:
    """Reports changes of files that a person may edit."""

    def __init__(self, root: Path, stop: threading.Event) -> None:
        self._root = root
        self._stop = stop

    def batches(self, settle: float, wake: float) -> Iterator[set[str]]:
        """Yield the paths that changed at about the same time, relative to the root.

        Settle: seconds to wait for further changes. Wake: seconds after which an empty set is
        yielded if nothing changed.
        """
        for polling in (None, True):
            try:
                yield from self._watch(settle, wake, polling=polling)
            except (OSError, RuntimeError) as error:  # too many watches, or an unsupported disk
                log.warning("cannot watch files, polling every second instead: %s", error)
            else:
                return
            if self._stop.is_set():
                return

    def _watch(self, settle: float, wake: float, *, polling: bool | None) -> Iterator[set[str]]:
        while not self._stop.is_set():
            folders = self._list_folders()
            changes = watch(
                *(folders or [self._root]),
                watch_filter=self._is_relevant,
                debounce=max(1, int(settle * 5000)),
                step=max(1, int(settle * 1000)),
                stop_event=self._stop,
                rust_timeout=max(1, int(wake * 1000)),
                yield_on_timeout=True,
                raise_interrupt=False,
                force_polling=polling,
                poll_delay_ms=1000,
                recursive=not folders,
            )
            for batch in changes:
                names = {Path(path).relative_to(self._root).as_posix() for _, path in batch}
                for name in sorted(names):
                    names |= self._find_files(name)
                yield names
                if folders and self._list_folders() != folders:
                    break  # watch the new ones, too
            else:
                return

    def _list_folders(self) -> list[Path]:
        """Return the folders to watch one by one; none if all can be watched at once.

        Watching a folder with all below it would follow links out of the vault.
        """
        tree = Tree(self._root)
        folders, has_links = [self._root], False
        for folder in folders:  # grows while it is read
            with suppress(OSError), tree.scan(folder) as entries:
                for entry in entries:
                    has_links = has_links or entry.is_symlink()
                    is_hidden = entry.name.startswith(".") and entry.name != TRASH
                    if not is_hidden and entry.is_dir(follow_symlinks=False):
                        folders.append(folder / entry.name)
        return sorted(folders) if has_links else []

    def _find_files(self, folder: str) -> set[str]:
        """Return the files in a new folder: some may be older than the watch on it."""
        paths = [f"{folder}/{name}" for name in Tree(self._root).list_files(folder, "")]
        return {path for path in paths if self._is_relevant(Change.added, str(self._root / path))}

    def _is_relevant(self, change: Change, path: str) -> bool:
        """Return whether a path may be a memory, a conversation, a setting or a folder of such."""
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
        # If a folder is added or removed, only its own path is reported.
        return change is not Change.modified and ("." not in name or Path(path).is_dir())
