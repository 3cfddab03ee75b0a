"""Muisti: the whole product as one object. It holds the parts and delegates; the rules live elsewhere."""

from __future__ import annotations

import os

from muisti.engine.attending import Attending
from muisti.engine.keeping import Keeping
from muisti.engine.knowing import Knowing
from muisti.engine.location import Located
from muisti.engine.ordering import Ordering
from muisti.engine.talking import Talking


class Muisti(Knowing, Talking, Attending, Ordering, Keeping, Located):
    """A vault, open for use from any number of threads. `Muisti.open(path)` makes one; `close` it, or use `with`."""

    @classmethod
    def open(cls, path: str | os.PathLike[str] | None = None, **settings: str | int | float | bool) -> Muisti:
        """Open the vault at this path, or the one that is found from here; a missing one is created."""
        from muisti.bootstrap import open_vault  # the only import upwards: this is where a caller begins

        memory = open_vault(path, arguments=settings)
        memory.resume_extraction()
        return memory


__all__ = ["Muisti"]
