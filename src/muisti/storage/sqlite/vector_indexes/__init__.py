"""Methods to find the nearest vectors. To add one, add a module with a `SPEC` to this package.

The module's name, with `-` for `_`, is the value of the setting `vector_index`. `SPEC` is a class
or function that creates a `Scan`; it raises SettingsError if a package is missing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from muisti.errors import SettingsError
from muisti.registry import Registry

if TYPE_CHECKING:
    import apsw

    from muisti.ports import Space, Vector
    from muisti.storage.sqlite.sign_bits import Numbers

DEFAULT = "bits"


class Scan(Protocol):
    """Finds the vectors that are probably nearest. Their exact cosines are computed afterwards."""

    def find_nearest(
        self,
        db: apsw.Connection,
        file: object,
        space: Space,
        query: Vector,
        take: int,
        among: Numbers | None = None,
    ) -> Numbers:
        """Return the numbers of about `take` of the nearest vectors, in no order.

        Among: consider only these numbers. File: the index file. Raises IndexCorrupt.
        """
        ...


VECTOR_INDEXES: Registry[Callable[[], Scan]] = Registry("muisti.storage.sqlite.vector_indexes")


def make_scan(name: str) -> Scan:
    """Create the scan with this name. Raises SettingsError if it or its package is missing."""
    make = VECTOR_INDEXES.find(name)
    if make is None:
        *others, last = VECTOR_INDEXES.names(first=DEFAULT)
        known = f"{', '.join(others)} or {last}"
        raise SettingsError(f"unknown vector index {name!r}: choose {known}")
    return make()
