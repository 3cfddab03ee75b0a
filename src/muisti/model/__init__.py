"""The values that muisti is about. All of them are frozen; all times are timezone-aware UTC."""

from __future__ import annotations

from muisti.model.answers import CompactResult, Explanation, Filter, Graph, SearchResult, SearchResults, Signal
from muisti.model.journal import Event, Happening, Session, SessionUse, Usage, Use
from muisti.model.memory import CORE_SECTIONS, KINDS, RATES, CoreMemory, Draft, Finder, Kind, Link, LinkType, Memory, Sector, Tier
from muisti.model.reports import ModelState, Problem, Stats, SyncReport, UpkeepReport, VerifyReport
from muisti.model.talk import Extracted, Utterance

__all__ = [
    "CORE_SECTIONS",
    "KINDS",
    "RATES",
    "CompactResult",
    "CoreMemory",
    "Draft",
    "Event",
    "Explanation",
    "Extracted",
    "Filter",
    "Finder",
    "Graph",
    "Happening",
    "Kind",
    "Link",
    "LinkType",
    "Memory",
    "ModelState",
    "Problem",
    "SearchResult",
    "SearchResults",
    "Sector",
    "Session",
    "SessionUse",
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
