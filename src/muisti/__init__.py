"""muisti: memory for AI agents, in Markdown files you own.

from muisti import Muisti

with Muisti.open("notes") as memory:
    memory.save("We chose PostgreSQL as our database", kind="decision")
    print(memory.search("which database")[0].memory.content)
"""

from __future__ import annotations

TYPE_CHECKING = False  # `typing` takes longer to import than Python to start

if TYPE_CHECKING:
    from muisti.aio import MemoryService
    from muisti.bootstrap_moving import pull, push
    from muisti.engine import Muisti
    from muisti.errors import (
        BrokenFile,
        Conflict,
        ConversationNotFound,
        CoreEntryNotFound,
        EmbedderProblem,
        ExtractorProblem,
        ImportFailed,
        InvalidMemory,
        InvalidRequest,
        MemoryNotFound,
        MessageNotFound,
        MuistiError,
        NotFound,
        SessionNotFound,
        SettingsError,
        Unsupported,
        VaultError,
    )
    from muisti.model import (
        KINDS,
        CompactResult,
        Conversation,
        CoreMemory,
        DocumentSource,
        Draft,
        DuplicatePair,
        EntryType,
        Explanation,
        Extracted,
        ForgetReport,
        FoundMemories,
        Graph,
        HistoryEntry,
        ImportReport,
        IndexedDocument,
        Kind,
        Link,
        LinkType,
        Memory,
        Message,
        Metrics,
        MoveReport,
        QueueStatus,
        ReviewCount,
        ReviewItem,
        SearchResult,
        SearchResults,
        Sector,
        Session,
        SessionAction,
        Signal,
        Stats,
        SyncReport,
        Tier,
        UnresolvedLink,
        UpkeepReport,
        Utterance,
        VerifyReport,
        WorkReport,
    )

__version__ = "0.1.0"

__all__ = [
    "KINDS",
    "BrokenFile",
    "CompactResult",
    "Conflict",
    "Conversation",
    "ConversationNotFound",
    "CoreEntryNotFound",
    "CoreMemory",
    "DocumentSource",
    "Draft",
    "DuplicatePair",
    "EmbedderProblem",
    "EntryType",
    "Explanation",
    "Extracted",
    "ExtractorProblem",
    "ForgetReport",
    "FoundMemories",
    "Graph",
    "HistoryEntry",
    "ImportFailed",
    "ImportReport",
    "IndexedDocument",
    "InvalidMemory",
    "InvalidRequest",
    "Kind",
    "Link",
    "LinkType",
    "Memory",
    "MemoryNotFound",
    "MemoryService",
    "Message",
    "MessageNotFound",
    "Metrics",
    "MoveReport",
    "Muisti",
    "MuistiError",
    "NotFound",
    "QueueStatus",
    "ReviewCount",
    "ReviewItem",
    "SearchResult",
    "SearchResults",
    "Sector",
    "Session",
    "SessionAction",
    "SessionNotFound",
    "SettingsError",
    "Signal",
    "Stats",
    "SyncReport",
    "Tier",
    "UnresolvedLink",
    "Unsupported",
    "UpkeepReport",
    "Utterance",
    "VaultError",
    "VerifyReport",
    "WorkReport",
    "__version__",
    "pull",
    "push",
]


_RENAMED = {
    "Chat": "Conversation",
    "Happening": "HistoryEntry",
    "Origin": "EntryType",
    "Shelf": "DocumentSource",
    "Use": "SessionAction",
}
"""Old class names that still work (contract M2)."""


_PACKAGES = {
    "Muisti": ("engine",),
    "MemoryService": ("aio",),
    "pull": ("bootstrap_moving",),
    "push": ("bootstrap_moving",),
}
"""Where names are defined that are neither values nor errors."""


def __getattr__(name: str) -> object:
    """Import a public name on first use: hooks must start quickly."""
    from importlib import import_module

    if name in _RENAMED:
        from muisti.deprecation import warn_renamed

        new = _RENAMED[name]
        warn_renamed(f"muisti.{name}", f"muisti.{new}")
        return getattr(import_module("muisti"), new)
    if name not in __all__:
        raise AttributeError(f"module 'muisti' has no attribute {name!r}")
    packages = _PACKAGES.get(name, ("model", "errors"))
    for package in packages:
        module = import_module(f"muisti.{package}")
        if hasattr(module, name):
            globals()[name] = getattr(module, name)
            return globals()[name]
    raise AttributeError(f"module 'muisti' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return the public names, also those that are not imported yet."""
    return sorted({*globals(), *__all__})
