"""The values that muisti works with. All are frozen; all times are timezone-aware UTC."""

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
        IndexedDocument,
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
        ForgetReport,
        Histogram,
        Metrics,
        ModelState,
        MoveReport,
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
        FoundMemories,
        Graph,
        SearchResult,
        SearchResults,
        Signal,
    )
    from muisti.model.review import ReviewCount, ReviewItem

_MODULES = {
    "conversations": (
        "ROLES SESSION_BREAK Conversation DocumentSource Exchange Extracted IndexedDocument Message"
        " Utterance"
    ),
    "journal": "Event EventName HistoryEntry Session SessionAction SessionUse Usage",
    "memory": (
        "CORE_SECTIONS KINDS RATES CoreMemory Draft EntryType Kind Link LinkSource LinkType Memory"
        " Sector Tier"
    ),
    "reports": (
        "ForgetReport Histogram Metrics ModelState MoveReport Problem QueueStatus Stats SyncReport"
        " UpkeepReport VerifyReport"
    ),
    "review": "ReviewCount ReviewItem",
    "results": (
        "CompactResult Explanation Filter FoundMemories Graph SearchResult SearchResults Signal"
    ),
}
"""Which module defines each name."""

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
    "ForgetReport",
    "FoundMemories",
    "Graph",
    "Histogram",
    "HistoryEntry",
    "IndexedDocument",
    "Kind",
    "Link",
    "LinkSource",
    "LinkType",
    "Memory",
    "Message",
    "Metrics",
    "ModelState",
    "MoveReport",
    "Problem",
    "QueueStatus",
    "ReviewCount",
    "ReviewItem",
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
    """Import a name on first use: a hook runs with every prompt and needs few of them."""
    for module, names in _MODULES.items():
        if name in names.split():
            from importlib import import_module

            value = getattr(import_module(f"{__name__}.{module}"), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
