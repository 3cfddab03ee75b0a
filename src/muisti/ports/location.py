"""Where a vault is stored, and its services besides memories: file watching and notebooks."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


class FileWatch(Protocol):
    """Reports files that were changed by other programs."""

    def batches(self, settle: float, wake: float) -> Iterator[set[str]]:
        """Yield sets of changed paths, relative to the vault, until the watch is stopped.

        Settle: seconds without a change that end a set. Wake: seconds without a change after which
        an empty set is yielded.
        """
        ...


class ChangeQueue(Protocol):
    """Collects which files other programs changed."""

    def take(self) -> set[str] | None:
        """Return the paths that changed since the last call; None: any file may have changed.

        Raises OSError if changes can no longer be collected.
        """
        ...

    def close(self) -> None:
        """Stop collecting."""
        ...


@dataclass(frozen=True, slots=True)
class NotebookEntry:
    """A file or folder in a notebook."""

    name: str
    size: int
    is_folder: bool


class Notebook(Protocol):
    """Plain text files that an agent keeps in one folder of the vault.

    Paths are relative to that folder, with forward slashes; "" is the folder itself. Callers check
    that a path stays inside the folder. Symbolic links are never followed. All methods may raise
    VaultError.
    """

    @property
    def place(self) -> Path:
        """The folder; relative to the vault if that is in a database."""
        ...

    def lock(self) -> AbstractContextManager[None]:
        """Hold the vault's write lock. Raises VaultBusy, VaultReadOnly, VaultNotFound."""
        ...

    def status(self, path: str) -> os.stat_result | None:
        """Return the status of a path, or None. If a link is on the way, its own status."""
        ...

    def entries(self, path: str) -> list[NotebookEntry]:
        """Return a folder's entries sorted by name, without hidden files and links.

        Empty if the folder cannot be read.
        """
        ...

    def read(self, path: str, most: int) -> bytes:
        """Return a file's bytes, at most `most` + 1. Raises FileNotFoundError."""
        ...

    def prepare(self) -> None:
        """Create the folder. Call this and the methods below within `lock`."""
        ...

    def create(self, path: str, data: bytes) -> None:
        """Create a file and its parent folders. Never replaces an existing file."""
        ...

    def replace(self, path: str, data: bytes) -> None:
        """Replace a file's bytes. The previous ones are kept as a version."""
        ...

    def move(self, path: str, target: str) -> None:
        """Rename a file or folder. `target` must not exist."""
        ...

    def trash(self, path: str) -> str:
        """Move a file or folder to the trash. Return its new path, relative to the vault."""
        ...


class Location(Protocol):
    """Where a vault is stored. `str()` returns a folder or an address, for display."""

    @property
    def name(self) -> str:
        """A short name that reveals nothing about the machine, such as the folder's name."""
        ...

    @property
    def is_writable(self) -> bool:
        """Whether the vault was writable when it was opened."""
        ...

    def check_available(self) -> None:
        """Raise VaultNotFound if the vault no longer exists. Waits for nothing."""
        ...

    def disk_usage(self) -> int:
        """Return the vault's size on disk in bytes, without its index."""
        ...

    def watch(self, stop: threading.Event) -> FileWatch:
        """Return a watch that runs until `stop` is set. Raises Unsupported without files."""
        ...

    def queue_changes(self) -> ChangeQueue:
        """Return a queue of all changes from now on.

        Raises OSError if the system cannot report them reliably, Unsupported without files.
        """
        ...

    def notebook(self, folder: str) -> Notebook:
        """Return the notebook in a folder of the vault. Raises Unsupported in memory."""
        ...
