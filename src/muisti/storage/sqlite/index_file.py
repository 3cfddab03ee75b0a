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
        return not self._stale and (self._db.is_current() or self._db.open_complete())

    def open_complete(self) -> bool:
        """Open the current file if it is complete. Creates nothing and needs no lock."""
        return self._db.open_complete()

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
        self._db.close()
