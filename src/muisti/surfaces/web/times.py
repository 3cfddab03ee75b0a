"""Times for people, in the time zone of this machine."""

from __future__ import annotations

from datetime import date, datetime


def format_time(at: datetime) -> str:
    """Return a time like `12 March 2026, 14:05`."""
    local = at.astimezone()
    return f"{local.day} {local:%B %Y, %H:%M}"


def format_day(day: date) -> str:
    """Return a day like `Thursday, 12 March 2026`."""
    local = day.astimezone() if isinstance(day, datetime) else day
    return f"{local:%A}, {local.day} {local:%B %Y}"


def format_relative(at: datetime, now: datetime) -> str:
    """Return how long ago it was, or the date if that is a week or more."""
    then, today = at.astimezone(), now.astimezone()
    days = (today.date() - then.date()).days
    if days == 0:
        return f"today, {then:%H:%M}"
    if days == 1:
        return f"yesterday, {then:%H:%M}"
    if 1 < days < 7:
        return f"{days} days ago"
    return f"{then.day} {then:%b}" if then.year == today.year else f"{then.day} {then:%b %Y}"
