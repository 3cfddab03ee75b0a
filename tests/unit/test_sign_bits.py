"""Sign bits, quantized vectors, and the table that is searched."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from muisti.storage.sqlite.sign_bits import BLOCK, SignTable, compute_signs, count_words, quantize

DIMENSIONS = st.integers(1, 200)
SEEDS = st.integers(0, 2**32 - 1)


def vectors(count: int, dimensions: int, seed: int = 1) -> np.ndarray:
    return np.asarray(np.random.default_rng(seed).normal(size=(count, dimensions)), np.float32)


def different(bits: np.ndarray, asked: np.ndarray) -> np.ndarray:
    return np.asarray(np.bitwise_count(bits ^ asked).sum(axis=1))


def a_table(count: int, dimensions: int, seed: int = 1) -> tuple[SignTable, np.ndarray]:
    table, bits = SignTable(dimensions), compute_signs(vectors(count, dimensions, seed), None)
    table.add(np.arange(1, count + 1), bits)
    return table, bits


class TestSigns:
    @pytest.mark.parametrize(
        ("dimensions", "expected"),
        [(1, 1), (63, 1), (64, 1), (65, 2), (128, 2), (384, 6), (385, 7)],
    )
    def test_words(self, dimensions: int, expected: int) -> None:
        assert count_words(dimensions) == expected
        assert compute_signs(vectors(3, dimensions), None).shape == (3, expected)

    @given(dimensions=DIMENSIONS, seed=SEEDS, centred=st.booleans())
    def test_as_many_bits_differ_as_signs_do(
        self, dimensions: int, seed: int, centred: bool
    ) -> None:
        rows = vectors(6, dimensions, seed)
        centre = vectors(1, dimensions, seed + 1)[0] if centred else None
        above = (rows - centre if centre is not None else rows) > 0
        bits = compute_signs(rows, centre)
        for at in range(6):
            assert different(bits, bits[at]).tolist() == (above != above[at]).sum(axis=1).tolist()

    def test_a_vector_has_the_same_signs_whatever_stands_beside_it(self) -> None:
        rows = vectors(10, 70)
        assert (compute_signs(rows[3:4], None)[0] == compute_signs(rows, None)[3]).all()

    def test_none(self) -> None:
        assert compute_signs(np.zeros((0, 70), np.float32), None).shape == (0, 2)


class TestBytes:
    @given(dimensions=DIMENSIONS, seed=SEEDS, size=st.floats(1e-6, 1e6))
    def test_close_to_the_numbers(self, dimensions: int, seed: int, size: float) -> None:
        rows = vectors(5, dimensions, seed) * np.float32(size)
        codes, scale = quantize(rows)
        assert (str(codes.dtype), str(scale.dtype)) == ("int8", "float32")
        assert (np.abs(codes).max(axis=1) == 127).all()
        assert (np.abs(codes * scale[:, None] - rows) <= scale[:, None] * 0.51).all()

    @given(seed=SEEDS)
    def test_cosines_are_off_by_little(self, seed: int) -> None:
        rows = vectors(40, 384, seed)
        rows /= np.linalg.norm(rows, axis=1)[:, None]
        codes, scale = quantize(rows)
        assert np.abs((codes * scale[:, None]) @ rows.T - rows @ rows.T).max() < 0.005

    def test_nothing_but_zeros(self) -> None:
        codes, scale = quantize(np.zeros((2, 8), np.float32))
        assert not codes.any()
        assert np.isfinite(scale).all()

    def test_none(self) -> None:
        codes, scale = quantize(np.zeros((0, 8), np.float32))
        assert (codes.shape, scale.shape) == ((0, 8), (0,))


class TestTable:
    def test_empty(self) -> None:
        table = SignTable(70)
        table.add(np.zeros(0, np.int64), np.zeros((0, 2), np.uint64))
        assert (table.count, table.last) == (0, 0)
        assert table.find_nearest(compute_signs(vectors(1, 70), None)[0], 5).tolist() == []
        assert (
            table.find_nearest(compute_signs(vectors(1, 70), None)[0], 5, np.array([1, 2])).tolist()
            == []
        )

    @given(dimensions=DIMENSIONS, seed=SEEDS, take=st.integers(1, 60), count=st.integers(1, 50))
    def test_no_other_shares_more_signs(
        self, dimensions: int, seed: int, take: int, count: int
    ) -> None:
        """Few dimensions make many ties; any of the equal ones will do."""
        table, bits = a_table(count, dimensions, seed)
        asked = compute_signs(vectors(1, dimensions, seed + 1), None)[0]
        found = table.find_nearest(asked, take)
        distances = different(bits, asked)
        assert len(set(found.tolist())) == len(found) >= min(take, count)
        assert distances[found - 1].max() <= sorted(distances)[min(take, count) - 1]

    @given(seed=SEEDS, take=st.integers(1, 30), among=st.sets(st.integers(1, 80)))
    def test_among_some(self, seed: int, take: int, among: set[int]) -> None:
        table, bits = a_table(60, 70, seed)
        asked = compute_signs(vectors(1, 70, seed + 1), None)[0]
        found = table.find_nearest(asked, take, np.array(sorted(among), np.int64))
        there = [n for n in among if n <= 60]
        assert set(found.tolist()) <= set(there)
        assert len(found) >= min(take, len(there))
        distances = different(bits, asked)
        assert sorted(distances[found - 1]) == sorted(distances[n - 1] for n in there)[: len(found)]

    @pytest.mark.parametrize(
        "steps", [[BLOCK], [BLOCK - 1, 1, 1], [10, BLOCK, 3 * BLOCK], [5 * BLOCK, 1]]
    )
    def test_it_grows(self, steps: list[int]) -> None:
        total = sum(steps)
        rows = compute_signs(vectors(total, 33), None)
        table, start = SignTable(33), 0
        for step in steps:
            table.add(np.arange(start + 1, start + step + 1) * 2, rows[start : start + step])
            start += step
            assert (table.count, table.last) == (start, 2 * start)
        for at in (0, total // 2, total - 1):
            found = table.find_nearest(rows[at], 20)
            distances = different(rows, rows[at])
            assert len(found) >= 20
            assert sorted(distances[found // 2 - 1]) == sorted(distances)[: len(found)]

    def test_what_was_found_is_not_changed_by_what_comes_later(self) -> None:
        table, bits = a_table(10, 70)
        found = table.find_nearest(bits[0], 100)
        before = found.copy()
        table.add(np.arange(11, 11 + 2 * BLOCK), compute_signs(vectors(2 * BLOCK, 70), None))
        assert (found == before).all()
