"""Finds the nearest vectors: by their signs in the database, then exactly here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from muisti.errors import IndexCorrupt
from muisti.ports.vectors import check_length, count_compared
from muisti.storage import vector_codes
from muisti.storage.postgres.connect import fetch
from muisti.storage.postgres.filters import build_condition
from muisti.storage.postgres.rows import format_numbers
from muisti.storage.postgres.vector_rows import format_signs, read_centre

if TYPE_CHECKING:
    from muisti.model import Filter
    from muisti.ports import Space, Vector
    from muisti.storage.postgres.connect import Connection, Database

MOST = 0.9
"""If fewer of the nearest vectors match the filter, it is applied before they are chosen."""
SPARE = 5
"""So many times fewer are read beyond that: some are as near as the last one."""
Array = NDArray[Any]


class Near(NamedTuple):
    """Texts by their nearest piece, best first: row numbers, cosines, and the ends of the piece."""

    numbers: Array
    cosines: Array
    first: Array
    last: Array

    def cut(self, count: int) -> Near:
        """Return the first `count`, and those that are as near as the last of them."""
        if len(self.cosines) > count:
            count = int((self.cosines >= self.cosines[count - 1]).sum())
        return Near(*(column[:count] for column in self))


# One value for each column: reading a row for each vector takes longer than comparing them.
_PACKED = """SELECT count(*), string_agg(int8send(v.n), ''), string_agg(float4send(v.scale), ''),
    string_agg(v.codes, ''), string_agg(v.rest, '')"""
_NEAREST = f"""
{_PACKED}, string_agg(int4send(v.first), ''), string_agg(int4send(v.last), ''),
    string_agg(int4send(near.distance::integer), ''),
    string_agg(boolsend(coalesce({{allowed}}, false)), '')
FROM (
    SELECT s.v, s.signs <~> %s::bit({{dimensions}}) AS distance
    FROM muisti.signs_{{space}} s {{beside}}
    WHERE s.tenant = {{tenant}} AND {{condition}}
    ORDER BY distance LIMIT {{take}}
) near JOIN vectors_{{space}} v ON v.v = near.v {{allowed_beside}}
"""
_CODES = f"{_PACKED} FROM vectors_{{space}} v WHERE v.n = ANY(%s::bigint[])"
_BESIDE = "JOIN entries m ON m.n = {}.n LEFT JOIN usage u ON u.id = m.id"


class NearestVectors:
    """Finds the vectors of one space that are nearest to a query, in one read transaction."""

    def __init__(self, database: Database, space: Space, query: Vector, limit: int) -> None:
        """Limit: how many texts are looked for. Raises InvalidRequest."""
        check_length(space, query)
        self._db = database
        self._space = space
        self._query = query
        self._limit = limit
        with database.read_transaction() as db:
            centre, centred_on = read_centre(db, space.number)
        self._is_known = centred_on >= 0
        [self._signs] = format_signs(query[None, :], centre)
        # A centre is computed again when there are four times as many vectors.
        self._take = count_compared(2 * centred_on, limit)
        if database.index_builder is not None and centred_on >= vector_codes.LAST_CENTRE:
            database.index_builder.start(space.number)

    def find(self) -> Near:
        """Return the nearest texts of all. Empty if another process replaced the space."""
        return self._read("true", "true", [])[0]

    def find_matching(self, where: Filter) -> Near:
        """Return the nearest texts that match a filter: at least `limit`, if there are so many."""
        with self._db.read_transaction() as db:
            condition, values = build_condition(db, where, self._db.salience)
            # Most filters match most texts: find the nearest first, then apply the filter.
            near, count, allowed = self._read("true", condition, values)
            if count > self._take and allowed < MOST * self._take:
                near, count, _ = self._read(condition, "true", values)
            while len(near.numbers) < self._limit and count > self._take:
                self._take *= 4  # many vectors belong to the same texts
                near, count, _ = self._read(condition, "true", values)
        return near

    def _read(self, condition: str, allowed: str, values: Sequence[Any]) -> tuple[Near, int, int]:
        """Return texts, how many vectors were compared, and how many of them are allowed."""
        if not self._is_known:
            return Near(*np.zeros((4, 0), np.int64)), 0, 0
        sql = self.make_query(condition, allowed)
        with self._db.read_transaction() as db:
            before, after = (values, []) if allowed != "true" else ([], values)
            row = fetch(db, sql, (*before, self._signs, *after), binary=True)[0]
        kept = np.frombuffer(row[-1] or b"", bool)
        if row[0] > self._take:
            # All that are as near as the last one: which of them are first is chance.
            distances = decode_column(row[-2], ">i4")
            kept = kept & (distances <= np.partition(distances, self._take - 1)[self._take - 1])
        return _rank(row, self._query, kept), row[0], int(kept.sum())

    def make_query(self, condition: str, allowed: str) -> str:
        """Return the query for the nearest vectors whose texts meet a condition.

        Allowed: another condition, which is returned for each of them. The tenant is a constant in
        it, so that an index of its own can be used.
        """
        return _NEAREST.format(
            space=self._space.number,
            tenant=self._db.state.tenant,
            dimensions=self._space.identity.dimensions,
            take=self._take + self._take // SPARE,
            condition=condition,
            beside="" if condition == "true" else _BESIDE.format("s"),
            allowed=allowed,
            allowed_beside="" if allowed == "true" else _BESIDE.format("v"),
        )


def compute_cosines(db: Connection, space: Space, query: Vector, numbers: Array) -> Array:
    """Return the cosine of each text's nearest piece; NaN for a text without vectors."""
    sql = _CODES.format(space=space.number)
    row = fetch(db, sql, (format_numbers(numbers.tolist()),), binary=True)[0]
    order = np.argsort(numbers)
    at = order[np.searchsorted(numbers, decode_column(row[1], ">i8"), sorter=order)]
    best = np.full(len(numbers), -2.0)
    np.maximum.at(best, at, _compare(row, query))
    best[best < -1] = np.nan
    return best


def _rank(row: Sequence[Any], query: Vector, allowed: Array) -> Near:
    """Return the allowed texts in a row of _NEAREST by their nearest pieces."""
    numbers = decode_column(row[1], ">i8")[allowed]
    cosines = _compare(row, query).astype(np.float64)[allowed]
    first, last = (decode_column(cell, ">i4")[allowed] for cell in row[5:7])
    order = np.lexsort((first, -cosines))
    _, firsts = np.unique(numbers[order], return_index=True)
    order = order[np.sort(firsts)]
    return Near(numbers[order], cosines[order], first[order], last[order])


def _compare(row: Sequence[Any], query: Vector) -> Array:
    """Return the cosines of the vectors in a row of _PACKED. Raises IndexCorrupt."""
    count, _, scales, codes, rest = row[:5]
    if len(codes or b"") != count * len(query) or len(rest or b"") != count * len(query):
        raise IndexCorrupt(
            "the index has vectors of the wrong length; it is rebuilt from the files"
        )
    shape = (count, len(query))
    vectors = vector_codes.dequantize(
        decode_column(codes, "i1").reshape(shape),
        decode_column(rest, "i1").reshape(shape),
        decode_column(scales, ">f4").astype(np.float32),
    )
    # Rounding can push the cosine of equal vectors above 1.
    cosines: Array = np.clip(vectors @ query, -1, 1)
    return cosines


def decode_column(cell: bytes | None, dtype: str) -> Array:
    """Return the numbers that were sent as bytes; none for no row."""
    numbers = np.frombuffer(cell or b"", dtype)
    return numbers.astype(numbers.dtype.newbyteorder("="))
