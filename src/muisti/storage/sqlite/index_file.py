"""The index file that is in use: opening it, following it, putting it aside."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from muisti.storage.sqlite.connect import Database


class IndexFile:
    """The file that the vault's pointer names."""

    _db: Database
    _stale = False

    @property
    def stale(self) -> bool:
        """Whether something was written that the index does not have yet."""
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
        """Return whether the file in use is open, or can be opened, and complete."""
        return not self._stale and (self._db.is_current() or self._db.open_complete())

    def open_complete(self) -> bool:
        """Open the file in use, if there is one that is complete: nothing is made or repaired, and no lock is needed."""
        return self._db.open_complete()

    def open(self) -> bool:
        """Open the file in use, or make one, which then is stale: nobody may take it for complete."""
        stale, self._stale = self._stale, True
        fresh = self._db.open()
        self._stale = fresh or stale
        return fresh

    def quarantine(self) -> None:
        """Put a damaged file out of the way."""
        self._db.quarantine()

    def close(self) -> None:
        """Close the file."""
        self._db.close()
