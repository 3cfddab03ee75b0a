"""Ways to find the nearest vectors. To add one, add a module to this package with a `SPEC`.

The module's name, with `-` for `_`, is what `vector_index = "…"` in the settings calls it. `SPEC`
is a function, or a class, that makes a `Scan`; it raises SettingsError if a package is missing.
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
    """Finds the vectors that are probably nearest; their cosines are compared afterwards."""

    def find_nearest(
        self,
        db: apsw.Connection,
        file: object,
        space: Space,
        query: Vector,
        take: int,
        among: Numbers | None = None,
    ) -> Numbers:
        """Return the numbers of about `take` of the most similar vectors, in no order.

        Among: only of these; None: of all.
        """
        ...


VECTOR_INDEXES: Registry[Callable[[], Scan]] = Registry("muisti.storage.sqlite.vector_indexes")


def make_scan(name: str) -> Scan:
    """Return the scan with this name. Raises SettingsError if the name or its package is missing."""
    make = VECTOR_INDEXES.find(name)
    if make is None:
        *others, last = VECTOR_INDEXES.names(first=DEFAULT)
        known = f"{', '.join(others)} or {last}"
        raise SettingsError(f"there is no vector index {name!r}: choose {known}")
    return make()
