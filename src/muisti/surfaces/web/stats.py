"""The vault in numbers and plots."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, time, timedelta

from fastapi import APIRouter, Request, Response

from muisti.model import Memory
from muisti.model.jsonable import Jsonable
from muisti.recall.filters import ALL_PROJECTS
from muisti.surfaces.web.page_context import At
from muisti.surfaces.web.render import PageRoute, show

router = APIRouter(route_class=PageRoute)
READ = 20_000
"""So many of the newest memories are counted day by day."""
USE_DAYS = 90
BINS = 20


@router.get("/numbers")
def numbers(request: Request, desk: At) -> Response:
    """Totals, plots, and what was used most."""
    stats = desk.memory.get_stats()
    read = desk.memory.list(limit=READ, project=ALL_PROJECTS)
    used = sorted(
        (one for one in read if one.access_count), key=lambda one: one.access_count, reverse=True
    )[:10]
    plots = figures(read, stats.by_kind, datetime.now(UTC))
    return show(request, "numbers.html", stats=stats, used=used, plots=plots, read=len(read))


def figures(
    memories: Sequence[Memory], by_kind: Mapping[str, int], now: datetime
) -> dict[str, Jsonable]:
    """The points of every plot. Pure."""
    kinds = sorted(by_kind.items(), key=lambda item: -item[1])
    salience = Counter(min(BINS - 1, int(one.salience * BINS)) for one in memories)
    return {
        "growth": growth([one.created_at for one in memories], now),
        "kinds": {"labels": [name for name, _ in kinds], "values": [count for _, count in kinds]},
        "salience": {
            "labels": [f"{n / BINS:.2f}" for n in range(BINS)],
            "values": [salience[n] for n in range(BINS)],
        },
        "use": recent_use(memories, now),
    }


def growth(made: Sequence[datetime], now: datetime) -> dict[str, Jsonable]:
    """How many were made on each day from the first to today, and how many there were by then."""
    if not made:
        return {"days": [], "new": [], "all": []}
    counts = Counter(at.date() for at in made)
    first, last = min(counts), max(*counts, now.date())
    days = [first + timedelta(days=n) for n in range((last - first).days + 1)]
    so_far, total = [], 0
    for day in days:
        total += counts[day]
        so_far.append(total)
    stamps = [int(datetime.combine(day, time(), UTC).timestamp()) for day in days]
    return {"days": [*stamps], "new": [counts[day] for day in days], "all": [*so_far]}


def recent_use(memories: Sequence[Memory], now: datetime) -> dict[str, Jsonable]:
    """On which of the last days memories were last used."""
    today = now.date()
    counts = Counter(one.last_accessed.date() for one in memories if one.last_accessed)
    days = [today - timedelta(days=n) for n in reversed(range(USE_DAYS))]
    stamps = [int(datetime.combine(day, time(), UTC).timestamp()) for day in days]
    return {
        "days": [*stamps],
        "used": [counts[day] for day in days],
        "never": sum(not one.access_count for one in memories),
    }
