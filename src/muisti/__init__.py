"""muisti: memory for AI agents that people own. Markdown files, fast search, no key, no server, no download.

from muisti import Muisti

with Muisti.open("notes") as memory:
memory.save("We chose PostgreSQL as our database", kind="decision")
print(memory.search("which database")[0].memory.content)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from muisti.aio import MemoryService
    from muisti.engine import Muisti
    from muisti.errors import (
        BrokenFile,
        Conflict,
        CoreEntryNotFound,
        EmbedderProblem,
        ExtractorProblem,
        ImportFailed,
        InvalidMemory,
        InvalidRequest,
        MemoryNotFound,
        MuistiError,
        NotFound,
        SessionNotFound,
        SettingsError,
        Unsupported,
        VaultError,
    )
    from muisti.model import (
        KINDS,
        Chat,
        CompactResult,
        CoreMemory,
        Draft,
        Explanation,
        Extracted,
        Graph,
        Happening,
        Kind,
        Link,
        LinkType,
        Memory,
        Message,
        Metrics,
        Origin,
        QueueStatus,
        SearchResult,
        SearchResults,
        Sector,
        Session,
        Shelf,
        Signal,
        Stats,
        SyncReport,
        Tier,
        UpkeepReport,
        Use,
        Utterance,
        VerifyReport,
    )

__version__ = "0.1.0"

__all__ = [
    "KINDS",
    "BrokenFile",
    "Chat",
    "CompactResult",
    "Conflict",
    "CoreEntryNotFound",
    "CoreMemory",
    "Draft",
    "EmbedderProblem",
    "Explanation",
    "Extracted",
    "ExtractorProblem",
    "Graph",
    "Happening",
    "ImportFailed",
    "InvalidMemory",
    "InvalidRequest",
    "Kind",
    "Link",
    "LinkType",
    "Memory",
    "MemoryNotFound",
    "MemoryService",
    "Message",
    "Metrics",
    "Muisti",
    "MuistiError",
    "NotFound",
    "Origin",
    "QueueStatus",
    "SearchResult",
    "SearchResults",
    "Sector",
    "Session",
    "SessionNotFound",
    "SettingsError",
    "Shelf",
    "Signal",
    "Stats",
    "SyncReport",
    "Tier",
    "Unsupported",
    "UpkeepReport",
    "Use",
    "Utterance",
    "VaultError",
    "VerifyReport",
    "__version__",
]


def __getattr__(name: str) -> object:
    """Everything is loaded when it is first asked for, so that importing muisti costs next to nothing: hooks of agents do so
    after every call of a tool.
    """
    if name not in __all__:
        raise AttributeError(f"module 'muisti' has no attribute {name!r}")
    from importlib import import_module

    module = {"Muisti": "engine", "MemoryService": "aio"}.get(name)
    for place in (module,) if module else ("model", "errors"):
        found = getattr(import_module(f"muisti.{place}"), name, None)
        if found is not None:
            globals()[name] = found
            return found
    raise AttributeError(f"module 'muisti' has no attribute {name!r}")
