"""Statistics: totals and plots."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from itertools import accumulate
from math import inf

from fastapi import APIRouter, Request, Response

from muisti.engine.other_vaults import use_own_vault
from muisti.model import Memory
from muisti.model.jsonable import Jsonable
from muisti.recall.filters import ALL
from muisti.surfaces.web.page_context import Context
from muisti.surfaces.web.render import PageRoute, render

router = APIRouter(route_class=PageRoute)
MAX_COUNTED = 20_000
"""The plots by day count this many of the newest memories."""
USE_DAYS = 90
BINS = 20
MOST_RECALLED = 10
PERIODS: tuple[tuple[float, str, Callable[[date], date]], ...] = (
    (120, "day", lambda day: day),
    (800, "week", lambda day: day - timedelta(days=day.weekday())),
    (inf, "month", lambda day: day.replace(day=1)),
)
"""Up to how many days new memories are counted by day, week or month: about 120 bars fit."""


@router.get("/stats")
def show_stats(request: Request, context: Context) -> Response:
    """Show totals, plots and the memories recalled most."""
    stats = context.memory.get_stats()
    with use_own_vault(context.memory):  # as the totals
        memories = context.memory.list(limit=MAX_COUNTED, project=ALL, user=ALL)
    recalled = [one for one in memories if one.access_count]
    recalled.sort(key=lambda one: one.access_count, reverse=True)
    return render(
        request,
        "stats.html",
        stats=stats,
        recalled=recalled[:MOST_RECALLED],
        plots=compute_plots(memories, stats.by_kind, datetime.now(UTC)),
        counted=len(memories),
    )


def compute_plots(
    memories: Sequence[Memory], by_kind: Mapping[str, int], now: datetime
) -> dict[str, Jsonable]:
    """Return the data of every plot. Pure."""
    created = [one.created_at for one in memories]
    kinds = sorted(by_kind.items(), key=lambda item: -item[1])
    salience = Counter(min(BINS - 1, int(one.salience * BINS)) for one in memories)
    return {
        "growth": count_growth(created, now),
        "new": count_new(created, now),
        "kinds": {"labels": [name for name, _ in kinds], "values": [count for _, count in kinds]},
        "salience": {
            "labels": [f"{n / BINS:.2f}" for n in range(BINS)],
            "values": [salience[n] for n in range(BINS)],
        },
        "use": count_recent_use(memories, now),
    }


def count_growth(created: Sequence[datetime], now: datetime) -> dict[str, Jsonable]:
    """Return the number of memories at the end of each day, from the first to today."""
    if not created:
        return {"days": [], "all": []}
    counts = Counter(at.date() for at in created)
    days = _list_days(counts, now)
    totals = accumulate(counts[day] for day in days)
    return {"days": _timestamps(days), "all": list(totals)}


def count_new(created: Sequence[datetime], now: datetime) -> dict[str, Jsonable]:
    """Return the new memories of each day; of each week or month if there are too many days."""
    days = _list_days([at.date() for at in created], now) if created else []
    period, start = next(one[1:] for one in PERIODS if len(days) <= one[0])
    counts = Counter(start(at.date()) for at in created)
    starts = sorted({start(day) for day in days})
    return {
        "period": period,
        "days": _timestamps(starts),
        "labels": [str(day) for day in starts],
        "new": [counts[day] for day in starts],
    }


def _list_days(days: Iterable[date], now: datetime) -> list[date]:
    first, last = min(days), max(*days, now.date())
    return [first + timedelta(days=n) for n in range((last - first).days + 1)]


def count_recent_use(memories: Sequence[Memory], now: datetime) -> dict[str, Jsonable]:
    """Return how many memories were last recalled on each recent day, and how many never."""
    today = now.date()
    counts = Counter(one.last_accessed.date() for one in memories if one.last_accessed)
    days = [today - timedelta(days=n) for n in reversed(range(USE_DAYS))]
    return {
        "days": _timestamps(days),
        "used": [counts[day] for day in days],
        "never": sum(not one.access_count for one in memories),
    }


def _timestamps(days: Iterable[date]) -> list[Jsonable]:
    return [int(datetime.combine(day, time(), UTC).timestamp()) for day in days]
