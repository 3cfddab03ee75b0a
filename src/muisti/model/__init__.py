"""The values that muisti is about. All of them are frozen; all times are timezone-aware UTC."""

from __future__ import annotations

from muisti.model.answers import CompactResult, Explanation, Filter, Graph, SearchResult, SearchResults, Signal
from muisti.model.journal import Event, Happening, Session, SessionUse, Usage, Use
from muisti.model.memory import (
    CORE_SECTIONS,
    KINDS,
    RATES,
    CoreMemory,
    Draft,
    Finder,
    Kind,
    Link,
    LinkType,
    Memory,
    Origin,
    Sector,
    Tier,
)
from muisti.model.reports import Histogram, Metrics, ModelState, Problem, Stats, SyncReport, UpkeepReport, VerifyReport
from muisti.model.talk import ROLES, SESSION_BREAK, Chat, Exchange, Extracted, Message, Shelf, Utterance

__all__ = [
    "CORE_SECTIONS",
    "KINDS",
    "RATES",
    "ROLES",
    "SESSION_BREAK",
    "Chat",
    "CompactResult",
    "CoreMemory",
    "Draft",
    "Event",
    "Exchange",
    "Explanation",
    "Extracted",
    "Filter",
    "Finder",
    "Graph",
    "Happening",
    "Histogram",
    "Kind",
    "Link",
    "LinkType",
    "Memory",
    "Message",
    "Metrics",
    "ModelState",
    "Origin",
    "Problem",
    "SearchResult",
    "SearchResults",
    "Sector",
    "Session",
    "SessionUse",
    "Shelf",
    "Signal",
    "Stats",
    "SyncReport",
    "Tier",
    "UpkeepReport",
    "Usage",
    "Use",
    "Utterance",
    "VerifyReport",
]
