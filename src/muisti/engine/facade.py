"""Muisti: the whole product as one object. It holds the services and delegates; the rules live elsewhere."""

from __future__ import annotations

import os

from muisti.deprecation import renamed_methods
from muisti.engine.conversations import Conversations
from muisti.engine.extraction import Extraction
from muisti.engine.lifecycle import Lifecycle
from muisti.engine.location import VaultInfo
from muisti.engine.maintenance import Maintenance
from muisti.engine.sessions import Sessions


@renamed_methods
class Muisti(Conversations, Extraction, Sessions, Lifecycle, Maintenance, VaultInfo):
    """A vault, open for use from any number of threads. `Muisti.open(path)` makes one; `close` it, or use `with`."""

    @classmethod
    def open(
        cls, path: str | os.PathLike[str] | None = None, **settings: str | int | float | bool
    ) -> Muisti:
        """Open the vault at this path, or the one that is found from here; a missing one is created.

        `:memory:` opens one that ends with the process and leaves nothing on the disk.
        """
        from muisti.bootstrap import (
            open as open_vault,
        )  # the only import upwards: this is where a caller begins

        return open_vault(path, settings=settings)
