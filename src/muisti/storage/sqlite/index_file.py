"""The index file in use: opening, reopening and quarantining it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from muisti.storage.sqlite.connect import Database


class IndexFile:
    """The current index file."""

    _db: Database
    _stale = False

    @property
    def stale(self) -> bool:
        """Whether the vault has changes that the index lacks."""
        return self._stale

    @stale.setter
    def stale(self, stale: bool) -> None:
        if not stale:
            self._db.mark_complete()
        self._stale = stale

    def is_current(self) -> bool:
        """Return whether the open file is still the one in use."""
        return self._db.is_current()

    def is_ready(self) -> bool:
        """Return whether the current file is open, or can be opened, and is complete."""
        if self._stale or self._db.is_current():
            return not self._stale
        return self.open_complete() and not self._stale

    def open_complete(self) -> bool:
        """Open the current file if it is complete. Creates nothing and needs no lock."""
        before = self._db.path
        is_open = self._db.open_complete()
        if is_open and before not in (None, self._db.path):
            # Rebuilt by another process, or restored from a backup and older than the files.
            self._stale = True
        return is_open

    @property
    def moved(self) -> bool:
        """Whether the open file was filled from another folder, and may be of another vault."""
        return self._db.moved

    def accept(self) -> None:
        """Use a file that was filled from another folder: it is of this vault."""
        self._db.accept()

    def open(self) -> bool:
        """Open the current file, or create one, which is then stale. Return whether it is new."""
        stale, self._stale = self._stale, True
        fresh = self._db.open()
        self._stale = fresh or stale
        return fresh

    def quarantine(self) -> None:
        """Move a damaged file aside."""
        self._db.quarantine()

    def close(self) -> None:
        """Close the file."""
        self._db.snapshots.stop()
        self._db.close()
