"""The values that muisti works with. All are frozen; all times are timezone-aware UTC."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from muisti.model.conversations import (
        ROLES,
        SESSION_BREAK,
        Conversation,
        Exchange,
        Extracted,
        Message,
        Utterance,
    )
    from muisti.model.core_memory import CoreMemory
    from muisti.model.details import (
        CompactResult,
        Explanation,
        Graph,
        HistoryEntry,
        UnresolvedLink,
    )
    from muisti.model.document_sources import DocumentSource
    from muisti.model.documents import IndexedDocument
    from muisti.model.draft import Draft
    from muisti.model.journal import (
        Event,
        EventName,
        Usage,
    )
    from muisti.model.memory import (
        CORE_SECTIONS,
        KINDS,
        RATES,
        EntryType,
        Kind,
        Link,
        LinkSource,
        LinkType,
        Memory,
        Sector,
        Tier,
    )
    from muisti.model.problems import Problem, SyncReport
    from muisti.model.reports import (
        DatabaseStatus,
        DuplicatePair,
        ForgetReport,
        Histogram,
        ImportReport,
        Metrics,
        ModelState,
        MoveReport,
        QueueStatus,
        Stats,
        UpkeepReport,
        VerifyReport,
        WorkReport,
    )
    from muisti.model.results import (
        Filter,
        FoundMemories,
        SearchResult,
        SearchResults,
        Signal,
    )
    from muisti.model.review import ReviewCount, ReviewItem
    from muisti.model.sessions import Session, SessionAction, SessionUse

_MODULES = {
    "conversations": "ROLES SESSION_BREAK Conversation Exchange Extracted Message Utterance",
    "core_memory": "CoreMemory",
    "document_sources": "DocumentSource",
    "documents": "IndexedDocument",
    "draft": "Draft",
    "journal": "Event EventName Usage",
    "memory": (
        "CORE_SECTIONS KINDS RATES EntryType Kind Link LinkSource LinkType Memory Sector Tier"
    ),
    "problems": "Problem SyncReport",
    "reports": (
        "DatabaseStatus DuplicatePair ForgetReport Histogram ImportReport Metrics ModelState"
        " MoveReport QueueStatus Stats UpkeepReport VerifyReport WorkReport"
    ),
    "sessions": "Session SessionAction SessionUse",
    "review": "ReviewCount ReviewItem",
    "details": "CompactResult Explanation Graph HistoryEntry UnresolvedLink",
    "results": "Filter FoundMemories SearchResult SearchResults Signal",
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
    "DatabaseStatus",
    "DocumentSource",
    "Draft",
    "DuplicatePair",
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
    "ImportReport",
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
    "UnresolvedLink",
    "UpkeepReport",
    "Usage",
    "Utterance",
    "VerifyReport",
    "WorkReport",
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
