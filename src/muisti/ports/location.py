"""Where a vault is stored, and what can be done there beside reading and writing memories."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


class FileWatch(Protocol):
    """Reports files that a person changed."""

    def batches(self, settle: float, wake: float) -> Iterator[set[str]]:
        """Yield the paths that changed, relative to the vault; those of one moment together.

        Settle: seconds to wait for further changes. Wake: an empty set is yielded after so many
        seconds without a change.
        """
        ...


@dataclass(frozen=True, slots=True)
class NotebookEntry:
    """A file or a folder of a notebook."""

    name: str
    size: int
    is_folder: bool


class Notebook(Protocol):
    """Plain text files that an agent keeps below one folder of the vault.

    Paths are relative to that folder, with forward slashes; "" is the folder itself. The caller has
    checked that a path stays below the folder. Links are never followed.
    """

    @property
    def place(self) -> Path:
        """The folder."""
        ...

    def lock(self) -> AbstractContextManager[None]:
        """Hold the vault for writing. Raises VaultBusy, VaultReadOnly, VaultNotFound."""
        ...

    def status(self, path: str) -> os.stat_result | None:
        """Return what is there; None if nothing is. A link on the way is returned itself."""
        ...

    def entries(self, path: str) -> list[NotebookEntry]:
        """Return what a folder holds, by name, without hidden files and links."""
        ...

    def read(self, path: str, most: int) -> bytes:
        """Return a file's bytes, up to one more than `most`. Raises FileNotFoundError, VaultError."""
        ...

    def prepare(self) -> None:
        """Create the folder. Call this and all that follow under the lock."""
        ...

    def create(self, path: str, data: bytes) -> None:
        """Create a file and the folders above it. Never replaces a file that exists."""
        ...

    def replace(self, path: str, data: bytes) -> None:
        """Replace a file's bytes; the earlier ones are kept as a version."""
        ...

    def move(self, path: str, target: str) -> None:
        """Rename a file or a folder; the new name must be free."""
        ...

    def trash(self, path: str) -> str:
        """Move a file or a folder to the trash; returns its new path, relative to the vault."""
        ...


class Location(Protocol):
    """Where a vault is stored. `str()` of it is for people: a folder or an address."""

    @property
    def name(self) -> str:
        """A short name that tells nothing of the machine, such as the name of the folder."""
        ...

    @property
    def is_writable(self) -> bool:
        """Whether the vault could be written when it was opened."""
        ...

    def check_available(self) -> None:
        """Raise VaultNotFound if the vault is not there any more."""
        ...

    def disk_usage(self) -> int:
        """Return how many bytes the vault takes up, without its index."""
        ...

    def watch(self, stop: threading.Event) -> FileWatch:
        """Return what reports changed files until `stop` is set. Raises Unsupported without files."""
        ...

    def notebook(self, folder: str) -> Notebook:
        """Return the notebook in a folder of the vault. Raises Unsupported without files."""
        ...
