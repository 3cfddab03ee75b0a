"""The names that others build upon, and what importing them costs."""

from __future__ import annotations

import inspect
import subprocess
import sys

import pytest

import muisti
from muisti import MemoryService, Muisti
from muisti.deprecation import RENAMED_METHODS

PUBLIC = [
    "KINDS", "BrokenFile", "CompactResult", "Conflict", "Conversation", "ConversationNotFound", "CoreEntryNotFound",
    "CoreMemory", "DocumentSource", "Draft", "EmbedderProblem", "EntryType", "Explanation",
    "Extracted", "ExtractorProblem", "ForgetReport", "FoundMemories", "Graph", "HistoryEntry", "ImportFailed", "IndexedDocument", "InvalidMemory",
    "InvalidRequest", "Kind", "Link", "LinkType", "Memory", "MemoryNotFound", "MemoryService",
    "Message", "MessageNotFound", "Metrics", "Muisti", "MuistiError", "NotFound", "QueueStatus", "ReviewCount",
    "ReviewItem", "SearchResult", "SearchResults", "Sector", "Session", "SessionAction", "SessionNotFound", "SettingsError",
    "Signal", "Stats", "SyncReport", "Tier", "Unsupported", "UpkeepReport", "Utterance",
    "VaultError", "VerifyReport", "__version__",
]  # fmt: skip
METHODS = sorted(
    name for name in dir(Muisti) if not name.startswith("_") and name not in RENAMED_METHODS
)
INNER = {"make_ready", "fill_core"}
"""For the parts of the package, not for callers."""
PROMISED = [
    "save", "save_batch", "get", "update", "delete", "restore", "list", "touch", "reinforce", "deemphasize", "search",
    "search_by_keywords", "search_compact", "timeline", "details", "related", "explain", "start_session", "end_session",
    "context", "get_relevant_memories", "build_memory_context", "core_get", "core_update", "core_delete", "core_init", "link", "links", "supersede", "superseding", "decay_salience", "cleanup", "evict", "reindex_missing",
    "link_to_session", "get_by_session", "get_session_context", "get_raw_session_content", "get_session_token_count", "get_stats",
    "append_message", "window", "search_messages", "index_path", "extract_and_save", "export_memories", "import_memories", "reindex", "verify", "close", "open",
]  # fmt: skip


def test_the_public_names_are_these() -> None:
    assert muisti.__all__ == PUBLIC
    for name in PUBLIC:
        assert getattr(muisti, name) is not None


def test_every_error_is_a_muisti_error() -> None:
    errors = [
        value
        for name in PUBLIC
        if isinstance(value := getattr(muisti, name), type) and issubclass(value, Exception)
    ]
    assert len(errors) >= 10
    assert all(issubclass(error, muisti.MuistiError) for error in errors)


def test_a_name_that_does_not_exist() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        muisti.nothing  # noqa: B018


@pytest.mark.parametrize(
    "code",
    ["import muisti", "import muisti; muisti.Memory, muisti.MuistiError, muisti.__version__"],
)
def test_importing_loads_nothing_heavy(code: str) -> None:
    code += "; import sys; print(*(n for n in ('apsw', 'click', 'rich', 'ruamel.yaml', 'slugify', 'Stemmer') if n in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


@pytest.mark.parametrize("name", PROMISED)
def test_the_contract_names_it(name: str) -> None:
    assert name in METHODS


@pytest.mark.parametrize("name", METHODS)
def test_every_method_says_what_it_does(name: str) -> None:
    assert inspect.getdoc(getattr(Muisti, name))


def as_called(owner: type, name: str) -> inspect.Signature:
    """How it is called: without the name of `self`, and without what an async method answers with."""
    signature = inspect.signature(getattr(owner, name))
    kept = [
        parameter
        for parameter in signature.parameters.values()
        if parameter.name not in ("self", "cls")
    ]
    return inspect.Signature(kept)


@pytest.mark.parametrize("name", [name for name in METHODS if name not in INNER])
def test_the_async_service_has_the_same_methods(name: str) -> None:
    ours, theirs = inspect.getattr_static(Muisti, name), inspect.getattr_static(MemoryService, name)
    assert inspect.getdoc(getattr(MemoryService, name))
    if isinstance(ours, property):
        assert isinstance(theirs, property)
        return
    assert inspect.iscoroutinefunction(getattr(MemoryService, name))
    assert as_called(MemoryService, name) == as_called(Muisti, name)
    if name not in ("open", "close"):
        assert inspect.getdoc(theirs) == inspect.getdoc(ours)


def test_the_async_service_has_no_others() -> None:
    others = {name for name in vars(MemoryService) if not name.startswith("_")} - {*METHODS}
    assert others == {*RENAMED_METHODS, "root"}  # each Muisti has its own root
