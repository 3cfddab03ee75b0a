"""`make soak` itself: that it runs, and that it notices what grows."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks import soak


def _samples(**growing: float) -> list[soak.Sample]:
    flat = {"memory MB": 100.0, "descriptors": 20.0, "threads": 9.0, "log MB": 1.0}
    return [
        {"seconds": float(at), **{k: v + growing.get(k[:6], 0) * at for k, v in flat.items()}}
        for at in range(90)
    ]


def test_K1_soak_notices_what_grows() -> None:
    assert soak.judge(_samples())[1]
    for name in ("memory", "descri", "thread", "log MB"):
        table, ok = soak.judge(_samples(**{name: 0.5}))
        assert not ok
        assert "GROWS" in table.text()


@pytest.mark.exhaustive
def test_K1_soak_runs(tmp_path: Path) -> None:
    """A few seconds are too short to judge growth; but no request may fail."""
    samples, counts = soak.run(tmp_path / "vault", 6)
    assert len(samples) > 3
    assert counts["save"] >= soak.OWN
    assert not [name for name in counts if name.startswith("error")], counts
