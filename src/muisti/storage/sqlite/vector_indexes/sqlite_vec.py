"""Finds the nearest vectors with sqlite-vec: exact, uses no memory, time grows with size."""

from __future__ import annotations

from typing import TYPE_CHECKING

import apsw
import numpy as np

from muisti.errors import IndexCorrupt, SettingsError
from muisti.storage.sqlite.rows import fetch
from muisti.storage.sqlite.sign_bits import Numbers, quantize
from muisti.storage.sqlite.vector_spaces import to_json

if TYPE_CHECKING:
    from muisti.ports import Space, Vector

# A cosine does not depend on the scale of the codes.
_DISTANCE = "vec_distance_cosine(vec_int8(codes), vec_int8(?))"
_ALL = f"SELECT v FROM vectors WHERE space = ? ORDER BY {_DISTANCE} LIMIT ?"
_AMONG = f"""SELECT v FROM json_each(?) JOIN vectors ON v = value
    WHERE space = ? ORDER BY {_DISTANCE} LIMIT ?"""


class VecScan:
    """Compares every vector of a space. Raises SettingsError without the package."""

    def __init__(self) -> None:
        try:
            import sqlite_vec  # an extra
        except ImportError as error:
            raise SettingsError(
                "the vector index sqlite-vec needs a package; run pip install muisti[sqlite-vec]"
            ) from error
        self._extension = str(sqlite_vec.loadable_path())

    def find_nearest(
        self,
        db: apsw.Connection,
        file: object,
        space: Space,
        query: Vector,
        take: int,
        among: Numbers | None = None,
    ) -> Numbers:
        """Return the numbers of the nearest vectors. Raises IndexCorrupt for damaged vectors."""
        if not fetch(db, "SELECT 1 FROM pragma_function_list WHERE name = 'vec_distance_cosine'"):
            try:
                db.enable_load_extension(True)
                db.load_extension(self._extension)
            except (AttributeError, apsw.ExtensionLoadingError) as error:
                raise SettingsError(
                    f"this SQLite cannot load sqlite-vec ({error}); set vector_index to bits"
                ) from error
            finally:
                db.enable_load_extension(False)
        codes = quantize(query[None, :])[0].tobytes()
        try:
            if among is None:
                rows = db.execute(_ALL, (space.number, codes, take)).fetchall()
            else:
                rows = db.execute(
                    _AMONG, (to_json(among.tolist()), space.number, codes, take)
                ).fetchall()
        except apsw.SQLError as error:
            raise IndexCorrupt(
                f"the index has damaged vectors ({error}); it is rebuilt from the files"
            ) from error
        return np.array([v for (v,) in rows], np.int64)


SPEC = VecScan
