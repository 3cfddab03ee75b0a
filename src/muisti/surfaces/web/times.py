"""Times as people read them: in the time zone of this machine. Pure but for that."""

from __future__ import annotations

from datetime import date, datetime


def shown_time(at: datetime) -> str:
    """`12 March 2026, 14:05`."""
    local = at.astimezone()
    return f"{local.day} {local:%B %Y, %H:%M}"


def shown_day(day: date) -> str:
    """`Thursday, 12 March 2026`."""
    local = day.astimezone() if isinstance(day, datetime) else day
    return f"{local:%A}, {local.day} {local:%B %Y}"


def spoken(at: datetime, now: datetime) -> str:
    """How long ago, as one says it; the day itself if that is longer ago than a week."""
    then, today = at.astimezone(), now.astimezone()
    days = (today.date() - then.date()).days
    if days == 0:
        return f"today, {then:%H:%M}"
    if days == 1:
        return f"yesterday, {then:%H:%M}"
    if 1 < days < 7:
        return f"{days} days ago"
    return f"{then.day} {then:%b}" if then.year == today.year else f"{then.day} {then:%b %Y}"
