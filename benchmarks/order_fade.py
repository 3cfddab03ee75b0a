"""Fading of all memories, next to plain numpy."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import apsw
import numpy as np

from benchmarks.order_vaults import Found, Plan, in_turn, opened
from muisti import Muisti
from muisti.model import KINDS, RATES
from muisti.model.salience import FLOOR, IDLE_DAYS, MOST_PROTECTION, PROTECTION

# Fading -------------------------------------------------------------------------------------------


def fading(plan: Plan, size: int) -> Found:
    with opened(plan, size) as memory:
        # No method of the product reads every salience and nothing else.
        statistics = memory._services.index
        plain = plan.folder / "plain.db"
        plain.unlink(missing_ok=True)
        index = memory.root / ".muisti"
        _copy_traces(index / (index / "current").read_text("ascii").strip(), plain)
        actions: dict[str, Callable[[int], object]] = {
            "decay_salience": lambda _: memory.decay_salience(dry_run=True),
            "every salience, sorted": lambda _: statistics.weakest(2.0, []),
            "numpy": lambda _: _by_numpy(plain, _moment(), faded=True),
            "numpy, once, sorted": lambda _: np.argsort(_by_numpy(plain, _moment(), ids=True)[1]),
        }
        taken = in_turn(actions, range(plan.fadings))
        difference = _difference(memory, plain)
        changed = memory.decay_salience()
    figures: Found = {name: spent.summary() for name, spent in taken.items()}
    for ours, theirs in (
        ("decay_salience", "numpy"),
        ("every salience, sorted", "numpy, once, sorted"),
    ):
        figures[ours]["ratio"] = taken[ours].wall.p50 / taken[theirs].wall.p50
        figures[ours]["ratio_cpu"] = taken[ours].processor.p50 / taken[theirs].processor.p50
    return {**figures, "memories": size, "faded": changed, "difference": difference}


def _moment() -> int:
    return time.time_ns() // 1000


def _copy_traces(index: Path, plain: Path) -> None:
    """What strength depends on, in one plain table."""
    db = apsw.Connection(str(plain))
    db.execute("ATTACH ? AS index_", (str(index),))
    db.execute(
        """CREATE TABLE traces AS SELECT m.id, coalesce(u.salience, m.salience) AS salience, m.importance, m.sector, m.kind,
        coalesce(u.touched_at, m.created_at) AS weighed, coalesce(u.last_accessed, 0) AS used,
        coalesce(u.idle_days, 0) AS idle, coalesce(u.access_count, 0) AS uses
        FROM index_.memories m LEFT JOIN index_.usage u ON u.id = m.id WHERE m.deleted_at IS NULL"""
    )
    db.close()


def _by_numpy(
    plain: Path, now: int, *, ids: bool = False, faded: bool = False
) -> tuple[list[str], Any]:
    """The strengths, with ids if they are wanted. Faded: how many lost a thousandth, which takes
    the strength at two moments.
    """
    db = apsw.Connection(str(plain))
    rows = db.execute(
        "SELECT salience, importance, sector, kind, weighed, used, idle, uses FROM traces ORDER BY rowid"
    ).fetchall()
    names = [id_ for (id_,) in db.execute("SELECT id FROM traces ORDER BY rowid")] if ids else []
    db.close()
    salience, importance, sector, kind, weighed, used, idle, uses = (
        np.array(column) for column in zip(*rows, strict=True)
    )
    rates = _of_each(sector, {str(name): rate for name, rate in RATES.items()})
    decays = _of_each(
        kind, {k.name: k.decay_per_day for k in KINDS.values() if k.decay_per_day is not None}
    )

    def strength(now: int) -> Any:
        by_sector = np.exp(-rates / (importance + 0.1) * _days(weighed, now))
        by_kind = np.power(
            decays, idle + np.maximum(0, _days(np.maximum(weighed, used), now) - IDLE_DAYS)
        )
        protection = np.minimum(MOST_PROTECTION, PROTECTION * np.log1p(uses))
        left = np.where(np.isnan(decays), by_sector, by_kind)
        return np.maximum(
            np.minimum(FLOOR, salience), np.minimum(salience, salience * left + protection)
        )

    strengths = strength(now)
    return names, np.count_nonzero(strength(0) - strengths >= 0.001) if faded else strengths


def _of_each(names: Any, values: Mapping[str, float]) -> Any:
    known, place = np.unique(names, return_inverse=True)
    return np.array([values.get(str(name), np.nan) for name in known])[place]


def _days(since: Any, now: int) -> Any:
    return np.maximum(0, now - since) // 3_600_000_000 / 24


def _difference(memory: Muisti, plain: Path) -> float:
    """The largest, between ours and numpy's. Strength goes by whole hours: if one began meanwhile,
    it is asked anew.
    """
    differences = []
    for _ in range(2):
        ours = {one.id: one.salience for one in memory.list(limit=None)}
        ids, strengths = _by_numpy(plain, _moment(), ids=True)
        differences.append(
            max(abs(ours[id_] - value) for id_, value in zip(ids, strengths.tolist(), strict=True))
        )
    return float(min(differences))
