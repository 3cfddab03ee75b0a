"""The names that others build upon, and what importing them costs."""

from __future__ import annotations

import inspect
import subprocess
import sys
from dataclasses import replace

import pytest
from scripts.docs_python import describe_signature

import muisti
from muisti import MemoryService, Muisti, SearchResult, Session
from muisti.deprecation import RENAMED_METHODS
from muisti.model.fields import Given
from muisti.model.memory import FIELDS
from tests.unit import making

PUBLIC = [
    "KINDS", "BrokenFile", "CompactResult", "Conflict", "Conversation", "ConversationNotFound", "CoreEntryNotFound",
    "CoreMemory", "DocumentSource", "Draft", "DuplicatePair", "EmbedderProblem", "EntryType", "Explanation",
    "Extracted", "ExtractorProblem", "ForgetReport", "FoundMemories", "Graph", "HistoryEntry", "ImportFailed", "ImportReport", "IndexedDocument", "InvalidMemory",
    "InvalidRequest", "Kind", "Link", "LinkType", "Memory", "MemoryNotFound", "MemoryService",
    "Message", "MessageNotFound", "Metrics", "MoveReport", "Muisti", "MuistiError", "NotFound", "QueueStatus", "ReviewCount",
    "ReviewItem", "SearchResult", "SearchResults", "Sector", "Session", "SessionAction", "SessionNotFound", "SettingsError",
    "Signal", "Stats", "SyncReport", "Tier", "UnresolvedLink", "Unsupported", "UpkeepReport", "Utterance",
    "VaultError", "VerifyReport", "WorkReport", "__version__", "pull", "push",
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


# -- What a person sees in a Python shell


def test_dir_lists_the_public_names() -> None:
    assert set(muisti.__all__) <= set(dir(muisti))


@pytest.mark.parametrize("name", METHODS)
def test_no_signature_hides_its_options(name: str) -> None:
    if name == "open":
        return  # the settings have a page of their own
    for owner in (Muisti, MemoryService):
        method = getattr(owner, name)
        if callable(method):
            kinds = {one.kind for one in inspect.signature(method).parameters.values()}
            assert inspect.Parameter.VAR_KEYWORD not in kinds


def test_the_signature_of_save_has_the_defaults_and_its_help_a_line_for_each_option() -> None:
    parameters = inspect.signature(Muisti.save).parameters
    assert parameters["keywords"].annotation == "Sequence[str]"
    assert (parameters["trusted"].default, parameters["source"].default) == (True, "user")
    told = inspect.getdoc(Muisti.save) or ""
    for field in FIELDS:
        if field.given >= Given.SAVE and field.name != "content":
            assert f"\n- `{field.name}`: " in told
    assert (
        repr(inspect.signature(Muisti.update).parameters["title"])
        == "<Parameter \"title: 'str' = ...\">"
    )


LONG = "One two three\n" * 1000


def test_a_repr_is_one_short_line_without_the_content() -> None:
    memory = making.a_memory(content=f"hunter2 {LONG}", title=LONG[:300], project="p" * 200)
    session = Session(id="s" * 36, project="web", user="anna", started_at=making.NOON, summary=LONG)
    result = SearchResult(memory, 0.5, None, LONG, weak=True, outdated=True)
    for value in (memory, session, result):
        said = repr(value)
        assert len(said) <= 130
        assert "\n" not in said
        assert "hunter2" not in said
    assert len(repr(memory)) <= 100
    small = replace(memory, title="We chose Redis", project="web", kind="decision")
    assert repr(small) == f"<Memory …{memory.id[-8:]} decision 'We chose Redis' in web>"
    assert repr(SearchResult(small, 0.876, None, "")) == f"<SearchResult 0.88 {small!r}>"


def test_help_of_update_names_no_defaults() -> None:
    """What is not given to `update` is unchanged, so a default would be wrong."""
    assert "Default:" in (inspect.getdoc(Muisti.save) or "")
    assert "Default:" not in (inspect.getdoc(Muisti.update) or "")


def test_reference_of_python_folds_options() -> None:
    signature, options = describe_signature("search", Muisti.search)
    assert options == "FilterOptions"
    assert signature.endswith("    **options: FilterOptions,\n) -> SearchResults")
    assert "min_salience" not in signature
    assert describe_signature("get_stats", Muisti.get_stats) == ("get_stats() -> Stats", "")
