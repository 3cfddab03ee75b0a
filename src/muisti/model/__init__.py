"""The values that muisti is about. All of them are frozen; all times are timezone-aware UTC."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from muisti.model.conversations import (
        ROLES,
        SESSION_BREAK,
        Conversation,
        DocumentSource,
        Exchange,
        Extracted,
        Message,
        Utterance,
    )
    from muisti.model.journal import (
        Event,
        EventName,
        HistoryEntry,
        Session,
        SessionAction,
        SessionUse,
        Usage,
    )
    from muisti.model.memory import (
        CORE_SECTIONS,
        KINDS,
        RATES,
        CoreMemory,
        Draft,
        EntryType,
        Kind,
        Link,
        LinkSource,
        LinkType,
        Memory,
        Sector,
        Tier,
    )
    from muisti.model.reports import (
        Histogram,
        Metrics,
        ModelState,
        Problem,
        QueueStatus,
        Stats,
        SyncReport,
        UpkeepReport,
        VerifyReport,
    )
    from muisti.model.results import (
        CompactResult,
        Explanation,
        Filter,
        Graph,
        SearchResult,
        SearchResults,
        Signal,
    )


_HOMES = {
    "results": "CompactResult Explanation Filter Graph SearchResult SearchResults Signal",
    "journal": "Event EventName HistoryEntry Session SessionUse Usage SessionAction",
    "memory": "CORE_SECTIONS KINDS RATES CoreMemory Draft LinkSource Kind Link LinkType Memory EntryType Sector Tier",
    "reports": "Histogram Metrics ModelState Problem QueueStatus Stats SyncReport UpkeepReport VerifyReport",
    "conversations": "ROLES SESSION_BREAK Conversation Exchange Extracted Message DocumentSource Utterance",
}
"""Where each name is at home."""

__all__ = [
    "CORE_SECTIONS",
    "KINDS",
    "RATES",
    "ROLES",
    "SESSION_BREAK",
    "CompactResult",
    "Conversation",
    "CoreMemory",
    "DocumentSource",
    "Draft",
    "EntryType",
    "Event",
    "EventName",
    "Exchange",
    "Explanation",
    "Extracted",
    "Filter",
    "Graph",
    "Histogram",
    "HistoryEntry",
    "Kind",
    "Link",
    "LinkSource",
    "LinkType",
    "Memory",
    "Message",
    "Metrics",
    "ModelState",
    "Problem",
    "QueueStatus",
    "SearchResult",
    "SearchResults",
    "Sector",
    "Session",
    "SessionAction",
    "SessionUse",
    "Signal",
    "Stats",
    "SyncReport",
    "Tier",
    "UpkeepReport",
    "Usage",
    "Utterance",
    "VerifyReport",
]


def __getattr__(name: str) -> object:
    """Loaded when first asked for: a hook that runs with every prompt needs a few of them."""
    home = next((home for home, names in _HOMES.items() if name in names.split()), None)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    globals()[name] = found = getattr(import_module(f"{__name__}.{home}"), name)
    return found
