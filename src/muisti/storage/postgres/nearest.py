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
EXACTLY = 4
"""This many times `limit` texts are compared by whole vectors, after all were by their codes."""
SPARE = 5
"""This many times fewer are read beyond that: some are as near as the last one."""
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


class Compared(NamedTuple):
    """Vectors that share the most signs with the query, compared by their codes."""

    read_count: int
    """How many were read, with those that were left out since."""
    vectors: Array
    """Their numbers."""
    numbers: Array
    """Of their texts."""
    scales: Array
    codes: Array
    cosines: Array
    first: Array
    last: Array

    def keep(self, kept: Array) -> Compared:
        """Return those that are kept."""
        return Compared(self.read_count, *(column[kept] for column in self[1:]))


# One value for each column: reading a row for each vector takes longer than comparing them.
_PACKED = """SELECT count(*), string_agg(int8send(v.n), ''), string_agg(float4send(v.scale), ''),
    string_agg(v.codes, '')"""
_NEAREST = f"""
{_PACKED}, string_agg(int8send(v.v), ''), string_agg(int4send(v.first), ''),
    string_agg(int4send(v.last), ''), string_agg(int4send(near.distance::integer), '')
FROM (
    SELECT s.v, s.signs <~> %s::bit({{dimensions}}) AS distance
    FROM muisti.signs_{{space}} s {{beside}}
    WHERE s.tenant = {{tenant}} AND {{condition}}
    ORDER BY distance LIMIT {{take}}
) near JOIN vectors_{{space}} v ON v.v = near.v
"""
_RESTS = """SELECT string_agg(int8send(v.v), ''), string_agg(v.rest, '')
FROM vectors_{space} v WHERE v.v = ANY(%s::bigint[])"""
_CODES = f"{_PACKED}, string_agg(v.rest, '') FROM vectors_{{space}} v WHERE v.n = ANY(%s::bigint[])"
_BESIDE = "JOIN entries m ON m.n = s.n LEFT JOIN usage u ON u.id = m.id"
_ALLOWED = """SELECT m.n FROM entries m LEFT JOIN usage u ON u.id = m.id
WHERE m.n = ANY(%s::bigint[]) AND {condition}"""


class NearestVectors:
    """Finds the vectors of one space that are nearest to a query, in one read transaction."""

    def __init__(self, database: Database, space: Space, query: Vector, limit: int) -> None:
        """Limit: how many texts are looked for. Raises InvalidRequest."""
        check_length(space, query)
        self._db = database
        self._space = space
        self.query = query
        self.limit = limit
        with database.read_transaction() as db:
            centre, centred_on = read_centre(db, space.number)
        self._is_known = centred_on >= 0
        self._all: Compared | None = None
        [self._signs] = format_signs(query[None, :], centre)
        # A centre is computed again when there are four times as many vectors.
        self._take = count_compared(2 * centred_on, limit)
        if database.index_builder is not None and centred_on >= vector_codes.LAST_CENTRE:
            database.index_builder.start(space.number)

    def find(self) -> Near:
        """Return the nearest texts of all. Empty if another process replaced the space."""
        return self._compare_exactly(self._read_all())

    def find_matching(self, where: Filter) -> Near:
        """Return the nearest texts that match a filter: at least `limit`, if there are enough."""
        with self._db.read_transaction() as db:
            condition, values = build_condition(db, where, self._db.salience)
            # Most filters match most texts: find the nearest first, then apply the filter.
            near = self._read_all()
            sql = _ALLOWED.format(condition=condition)
            rows = fetch(db, sql, (format_numbers(near.numbers.tolist()), *values))
            allowed = np.isin(near.numbers, [n for (n,) in rows])
            take = self._take
            if near.read_count > take and allowed.sum() < MOST * take:
                near = self._read(condition, values, take)
            else:
                near = near.keep(allowed)
            while len(np.unique(near.numbers)) < self.limit and near.read_count > take:
                take *= 4  # many vectors belong to the same texts
                near = self._read(condition, values, take)
            return self._compare_exactly(near)

    def _read_all(self) -> Compared:
        """Return the vectors with the most equal signs. They are read once."""
        if self._all is None:
            self._all = self._read("true", [], self._take)
        return self._all

    def _read(self, condition: str, values: Sequence[Any], take: int) -> Compared:
        """Return the vectors with the most equal signs of texts that meet a condition."""
        if not self._is_known:
            return Compared(0, *np.zeros((7, 0), np.int64))
        with self._db.read_transaction() as db:
            sql = self.make_query(condition, take)
            row = fetch(db, sql, (self._signs, *values), binary=True)[0]
        scales, codes = _decode_codes(row, len(self.query))
        near = Compared(
            row[0],
            decode_column(row[4], ">i8"),
            decode_column(row[1], ">i8"),
            scales,
            codes,
            codes.astype(np.float32) @ self.query * scales,
            decode_column(row[5], ">i4"),
            decode_column(row[6], ">i4"),
        )
        if row[0] > take:
            # All that are as near as the last one: which of them are first is chance.
            distances = decode_column(row[7], ">i4")
            near = near.keep(distances <= np.partition(distances, take - 1)[take - 1])
        return near

    def _compare_exactly(self, near: Compared) -> Near:
        """Return the nearest texts by their nearest pieces.

        Codes alone are wrong by less than .001, and take half of the bytes.
        """
        order = np.argsort(-near.cosines)
        texts, firsts = np.unique(near.numbers[order], return_index=True)
        best = texts[np.argsort(firsts)[: EXACTLY * self.limit]]
        near = near.keep(np.isin(near.numbers, best))
        if not len(best):
            return Near(*np.zeros((4, 0), np.int64))
        with self._db.read_transaction() as db:
            sql = _RESTS.format(space=self._space.number)
            [row] = fetch(db, sql, (format_numbers(near.vectors.tolist()),), binary=True)
        known = decode_column(row[0], ">i8")
        _check_length(row[1], near.codes.size)
        rests = decode_column(row[1], "i1").reshape(near.codes.shape)
        rests = rests[np.argsort(known)][np.argsort(np.argsort(near.vectors))]
        cosines = _compute(near.codes, rests, near.scales, self.query).astype(np.float64)
        order = np.lexsort((near.first, -cosines))
        _, firsts = np.unique(near.numbers[order], return_index=True)
        order = order[np.sort(firsts)]
        return Near(near.numbers[order], cosines[order], near.first[order], near.last[order])

    def make_query(self, condition: str, take: int) -> str:
        """Return the query for the nearest vectors whose texts meet a condition.

        The tenant is a constant in it, so that an index of its own can be used.
        """
        return _NEAREST.format(
            space=self._space.number,
            tenant=self._db.state.tenant,
            dimensions=self._space.identity.dimensions,
            take=take + take // SPARE,
            condition=condition,
            beside="" if condition == "true" else _BESIDE,
        )


def compute_cosines(db: Connection, space: Space, query: Vector, numbers: Array) -> Array:
    """Return the cosine of each text's nearest piece; NaN for a text without vectors."""
    sql = _CODES.format(space=space.number)
    row = fetch(db, sql, (format_numbers(numbers.tolist()),), binary=True)[0]
    order = np.argsort(numbers)
    at = order[np.searchsorted(numbers, decode_column(row[1], ">i8"), sorter=order)]
    best = np.full(len(numbers), -2.0)
    scales, codes = _decode_codes(row, len(query))
    _check_length(row[4], codes.size)
    rests = decode_column(row[4], "i1").reshape(codes.shape)
    np.maximum.at(best, at, _compute(codes, rests, scales, query))
    best[best < -1] = np.nan
    return best


def _decode_codes(row: Sequence[Any], dimensions: int) -> tuple[Array, Array]:
    """Return the scales and codes in a row of _PACKED. Raises IndexCorrupt."""
    count, _, scales, codes = row[:4]
    _check_length(codes, count * dimensions)
    shape = (count, dimensions)
    return decode_column(scales, ">f4").astype(np.float32), decode_column(codes, "i1").reshape(
        shape
    )


def _check_length(codes: bytes | None, length: int) -> None:
    if len(codes or b"") != length:
        raise IndexCorrupt(
            "the index has vectors of the wrong length; it is rebuilt from the files"
        )


def _compute(codes: Array, rests: Array, scales: Array, query: Vector) -> Array:
    # Rounding can push the cosine of equal vectors above 1.
    cosines: Array = np.clip(vector_codes.dequantize(codes, rests, scales) @ query, -1, 1)
    return cosines


def decode_column(cell: bytes | None, dtype: str) -> Array:
    """Return the numbers that were sent as bytes; none for no row."""
    numbers = np.frombuffer(cell or b"", dtype)
    return numbers.astype(numbers.dtype.newbyteorder("="))
