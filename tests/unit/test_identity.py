"""Ids: UUID version 7."""

from __future__ import annotations

import threading
import uuid
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muisti.remember import identity
from muisti.remember.identity import make_id
from tests.unit.making import NOON


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last moment is one per process; these tests must not push it into the future for others."""
    monkeypatch.setattr(identity, "_clock", identity._Clock())


def milliseconds(memory_id: str) -> int:
    return uuid.UUID(memory_id).int >> 80


def test_version_variant_and_time() -> None:
    made = uuid.UUID(make_id(NOON))
    assert made.version == 7
    assert made.variant == uuid.RFC_4122
    assert milliseconds(str(made)) == int(NOON.timestamp() * 1000)


def test_ids_of_one_moment_ascend() -> None:
    made = [make_id(NOON) for _ in range(10_000)]
    assert made == sorted(made)
    assert len(set(made)) == len(made)


def test_ids_ascend_when_the_clock_steps_back() -> None:
    first = make_id(NOON)
    second = make_id(NOON - timedelta(days=400))
    third = make_id(NOON + timedelta(milliseconds=1))
    assert first < second < third


@given(st.lists(st.integers(-5_000_000, 5_000_000), min_size=2, max_size=20))
def test_ids_ascend_whatever_the_clock_does(jumps: list[int]) -> None:
    made = [make_id(NOON + timedelta(microseconds=jump)) for jump in jumps]
    assert made == sorted(set(made))
    assert all(uuid.UUID(memory_id).version == 7 for memory_id in made)


@pytest.mark.parametrize(
    "at",
    [
        datetime(1950, 1, 1, tzinfo=UTC),
        datetime(1970, 1, 1, tzinfo=UTC),
        datetime(9999, 12, 31, tzinfo=UTC),
    ],
)
def test_strange_clocks(at: datetime) -> None:
    assert uuid.UUID(make_id(at)).version == 7


def test_threads_never_get_the_same() -> None:
    made: list[str] = []
    threads = [
        threading.Thread(target=lambda: made.extend(make_id(NOON) for _ in range(500)))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({uuid.UUID(memory_id).int >> 64 for memory_id in made}) == 4000
