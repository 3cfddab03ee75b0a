"""A snapshot is the same however few rows are read and postings written at a time."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

import apsw
import numpy as np
import pytest

from muisti import Muisti
from muisti.processes import count_cores, release_memory
from muisti.storage.snapshot import build as arrays
from muisti.storage.sqlite.snapshot import build
from muisti.storage.sqlite.snapshot.file import map_snapshot

WORDS = [f"{first}{second}" for first in "kmpt" for second in ("ala", "ovi", "uro", "ine", "esk")]
START = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def index(tmp_path: Path) -> Path:
    """An index of texts in and outside of sessions, some saved at the same time, one deleted."""
    chosen = random.Random(5)
    with Muisti.open(tmp_path / "vault", embedder="hashing", merge_duplicates=False) as memory:
        saved = memory.save_batch(
            {
                "content": " ".join(chosen.choices(WORDS, k=chosen.randint(1, 30))),
                "session_id": chosen.choice(["monday", "tuesday", None]),
                "created_at": START + timedelta(minutes=place // 3),
            }
            for place in range(40)
        )
        memory.reindex_missing()
        in_session = next(one for one in saved if one.session_id == "monday")
        memory.delete(in_session.id)
    return next((tmp_path / "vault" / ".muisti").glob("index-*.db"))


def test_batches_and_slices_do_not_change_a_snapshot(
    index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    db = apsw.Connection(str(index))
    found = []
    for batch, postings in ((1000, 1_000_000), (7, 5), (1, 1)):
        monkeypatch.setattr(build, "BATCH", batch)
        monkeypatch.setattr(arrays, "SLICE", postings)
        name = f"snapshot-{batch}.bin"
        build.build_snapshot(db, tmp_path / name, index.name)
        found.append(map_snapshot(tmp_path, name, index.name))
    db.close()
    (columns, values), *others = found
    assert len(columns["n"]) == 40
    assert len(columns["posting_text"]) > 100
    assert (columns["beside"] >= 0).sum() > 60
    for other, other_values in others:
        assert other_values == values
        assert other.keys() == columns.keys()
        for key, column in columns.items():
            np.testing.assert_array_equal(other[key], column, strict=True)


def test_neighbours_are_those_of_the_session(index: Path, tmp_path: Path) -> None:
    db = apsw.Connection(str(index))
    build.build_snapshot(db, tmp_path / "snapshot-1.bin", index.name)
    columns, _ = map_snapshot(tmp_path, "snapshot-1.bin", index.name)
    sessions: dict[str, list[int]] = {}
    for n, session in db.execute(
        """SELECT n, session_id FROM entries WHERE session_id IS NOT NULL AND deleted_at IS NULL
           ORDER BY created_at, id"""
    ):
        sessions.setdefault(session, []).append(n)
    db.close()
    places = {n: place for place, n in enumerate(columns["n"].tolist())}
    expected = np.full((len(places) + 1, 4), -1)
    for numbers in sessions.values():
        for at, n in enumerate(numbers):
            for column, other in enumerate((at - 1, at - 2, at + 1, at + 2)):
                if 0 <= other < len(numbers):
                    expected[places[n], column] = places[numbers[other]]
    np.testing.assert_array_equal(columns["beside"], expected)


def test_memory_is_released_and_cores_are_counted() -> None:
    release_memory()
    assert count_cores() >= 1
