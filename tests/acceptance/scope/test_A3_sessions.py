"""Sessions, conversations and unknown names: what they fix, and what they do not find (A3)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from muisti import Muisti, bootstrap
from muisti.errors import InvalidMemory, InvalidRequest, MemoryNotFound, SessionNotFound
from tests.acceptance.fixture_vault import unpack
from tests.conftest import Opener
from tests.rest.conftest import check_problem, client_of

from .world import build_world, read_scopes

TEXT = "The harbour has seven cranes"


def contents(found: Any) -> list[str]:
    return sorted(one.memory.content for one in found)


# -- Sessions

READS: dict[str, Any] = {
    "search": lambda m, s: m.search("harbour", session_id=s),
    "search_compact": lambda m, s: m.search_compact("harbour", session_id=s),
    "search_by_keywords": lambda m, s: m.search_by_keywords(["harbour"], session_id=s),
    "search_messages": lambda m, s: m.search_messages("harbour", session_id=s),
    "list": lambda m, s: m.list(session_id=s),
    "context": lambda m, s: m.context("harbour", session_id=s),
    "get": lambda m, s: m.get(m.list()[0].id, session_id=s),
    "details": lambda m, s: m.details([m.list()[0].id], session_id=s),
    "timeline": lambda m, s: m.timeline(m.list()[0].id, session_id=s),
    "related": lambda m, s: m.related(m.list()[0].id, session_id=s),
    "explain": lambda m, s: m.explain("harbour", m.list()[0].id, session_id=s),
    "links": lambda m, s: m.links(m.list()[0].id, session_id=s),
    "graph": lambda m, s: m.graph(m.list()[0].id, session_id=s),
    "history": lambda m, s: m.history(m.list()[0].id, session_id=s),
    "superseding": lambda m, s: m.superseding(m.list()[0].id, session_id=s),
    "export_memories": lambda m, s: m.export_memories(session_id=s),
    "get_relevant_memories": lambda m, s: m.get_relevant_memories(s, "harbour"),
    "get_by_session": lambda m, s: m.get_by_session(s),
    "get_session_context": lambda m, s: m.get_session_context(s),
    "get_raw_session_content": lambda m, s: m.get_raw_session_content(s),
    "get_session_token_count": lambda m, s: m.get_session_token_count(s),
    "session_uses": lambda m, s: m.session_uses(s),
    "get_session": lambda m, s: m.get_session(s),
}


def test_A3_an_unknown_session_is_not_found_by_any_read(chat: Muisti) -> None:
    chat.save(TEXT)
    for name, read in READS.items():
        with pytest.raises(SessionNotFound):
            read(chat, "never-started")
            pytest.fail(f"{name} finds an unknown session")


def test_A3_an_unknown_session_is_404_over_http(chat: Muisti) -> None:
    saved = chat.save(TEXT)
    paths = ["search", "search/compact", "memories", "export", f"memories/{saved.id}"]
    paths += [f"memories/{saved.id}/{what}" for what in ("links", "graph", "history", "related")]
    with client_of(chat) as client:
        for path in paths:
            params = {"sessionId": "never-started"}
            if path.startswith("search"):
                params["query"] = "harbour"
            response = client.get(f"/api/{path}", params=params)
            check_problem(response, 404, "session-not-found")
        for what in ("memories", "context", "text", "uses"):
            response = client.get(f"/api/sessions/never-started/{what}")
            check_problem(response, 404, "session-not-found")


def test_A3_a_write_begins_an_unknown_session(chat: Muisti) -> None:
    saved = chat.save(TEXT, session_id="new", tier="session", project="shop", user="anna")
    session = chat.get_session("new")
    assert (session.project, session.user) == ("shop", "anna")
    assert contents(chat.search("harbour", session_id="new")) == [TEXT]
    assert chat.search("harbour", project="shop", user="anna") == []
    chat.extract_and_save("newer", "Remember: the quay is open on Sundays.", user="ben")
    chat.flush()
    assert chat.get_session("newer").user == "ben"
    assert all(one.user == "ben" for one in chat.get_session_context("newer"))
    assert saved.id not in [one.id for one in chat.list(session_id="newer")]


@pytest.mark.parametrize("scope", [{"project": "other"}, {"user": "ben"}, {"user": ""}])
def test_A3_a_session_of_another_project_or_user_is_not_found(
    chat: Muisti, scope: dict[str, str]
) -> None:
    chat.start_session("shop", session_id="s", user="anna")
    saved = chat.save(TEXT, session_id="s")
    for call in (
        lambda: chat.search("harbour", session_id="s", **scope),
        lambda: chat.list(session_id="s", **scope),
        lambda: chat.get(saved.id, session_id="s", **scope),
        lambda: chat.export_memories(session_id="s", **scope),
        lambda: chat.context("harbour", session_id="s", **scope),
    ):
        with pytest.raises(SessionNotFound):
            call()
    with client_of(chat) as client:
        given = {"query": "harbour", "sessionId": "s", **scope}
        check_problem(client.get("/api/search", params=given), 404, "session-not-found")


@pytest.mark.parametrize("scope", [{"project": "other"}, {"user": "ben"}, {"user": ""}])
def test_A3_a_write_to_a_session_of_another_project_or_user_names_the_field(
    chat: Muisti, scope: dict[str, str]
) -> None:
    """It says what to change, not that the session is unknown, and tells nobody whose it is."""
    chat.start_session("shop", session_id="s", user="anna")
    before = chat.get_session("s")
    [(field, value)] = scope.items()
    with pytest.raises(InvalidRequest, match=f"{field} must be that of session s") as raised:
        chat.start_session(scope.get("project"), session_id="s", user=scope.get("user"))
    assert (raised.value.option, raised.value.value) == (field, value)
    assert "anna" not in str(raised.value)
    assert "shop" not in str(raised.value)
    if "user" in scope:
        with pytest.raises(InvalidRequest, match="user must be that of session s") as raised:
            chat.extract_and_save("s", "The quay is open on Sundays.", **scope)
        assert "anna" not in str(raised.value)
    with client_of(chat) as client:
        response = client.post("/api/sessions", json={"sessionId": "s", **scope})
        check_problem(response, 422, "invalid-request")
        assert response.json()["field"] == field
    assert chat.get_session("s") == before


def test_A3_both_another_project_and_another_user_names_the_user(chat: Muisti) -> None:
    chat.append_message("chan_1", "user", TEXT, project="shop", user="anna")
    with pytest.raises(InvalidRequest, match="user must be that of session chan_1"):
        chat.start_session("other", session_id="chan_1", user="ben")
    assert chat.start_session(session_id="chan_1").user == "anna"


def test_A3_a_session_without_a_user_sees_only_what_has_none(chat: Muisti) -> None:
    chat.start_session("shop", session_id="s")
    chat.save(f"{TEXT} of Anna", project="shop", user="anna")
    chat.save(f"{TEXT} of all", project="shop")
    chat.save(f"{TEXT} of Ben, everywhere", tier="global", user="ben")
    chat.append_message("chan_1", "user", f"{TEXT}, said Anna", project="shop", user="anna")
    chat.core_update("user", "name", "Anna", user="anna")
    assert contents(chat.search("harbour", session_id="s")) == [f"{TEXT} of all"]
    assert [one.content for one in chat.get_relevant_memories("s", "harbour")] == [f"{TEXT} of all"]
    assert "Anna" not in chat.context("harbour", session_id="s")


def test_A3_a_session_fixes_project_and_user(chat: Muisti) -> None:
    chat.start_session("user-2", session_id="t2")
    chat.save("Anna has diabetes", project="user-1")
    assert chat.get_relevant_memories("t2", "Do I have diabetes?") == []


# -- Names that do not exist


def test_A3_an_unknown_project_or_user_sees_what_is_global_and_gets_a_hint(chat: Muisti) -> None:
    chat.save(f"{TEXT} in the shop", project="shop", user="anna")
    chat.save(f"{TEXT} everywhere", tier="global")
    chat.append_message("chan_1", "user", f"{TEXT}, somewhere", project="shop")
    chat.append_message("chan_2", "user", f"{TEXT}, nowhere")
    found = chat.search("harbour", project="shp")
    assert contents(found) == [f"{TEXT} everywhere"]
    assert found.hint == "there is no project 'shp'; did you mean 'shop'?"
    found = chat.search("harbour", user="ana")
    assert contents(found) == [f"{TEXT} everywhere", f"{TEXT}, somewhere"]
    assert "did you mean 'anna'" in found.hint
    assert chat.search("harbour", project="shop", user="anna").hint == ""
    assert "there is no user" in chat.scope_hint(user="zzzz")


# -- Conversations


def test_A3_a_conversation_keeps_the_scope_of_its_first_message(chat: Muisti) -> None:
    chat.append_message("chan_1", "user", TEXT, project="shop", user="anna")
    again = chat.append_message("chan_1", "assistant", f"{TEXT}, indeed")
    assert (again.project, again.user) == ("shop", "anna")
    chat.session_break("chan_1")
    [known] = chat.list_conversations(project="shop", user="anna")
    assert known.messages == 2
    assert chat.search("harbour", user="ben") == []
    assert len(chat.search("harbour", user="anna", project="shop")) == 2


@pytest.mark.parametrize(
    "scope",
    [{"user": "ben"}, {"project": "other"}, {"meta": {"user": "ben"}}, {"user": "../anna"}],
)
def test_A3_a_message_of_another_user_is_an_error_and_nothing_is_written(
    chat: Muisti, vault: Path, scope: dict[str, Any]
) -> None:
    chat.append_message("chan_1", "user", TEXT, project="shop", user="anna")
    before = {path: path.read_bytes() for path in vault.glob("conversations/**/*.jsonl")}
    with pytest.raises((InvalidRequest, InvalidMemory), match="user|project"):
        chat.append_message("chan_1", "user", "Something of another user", **scope)
    assert {path: path.read_bytes() for path in vault.glob("conversations/**/*.jsonl")} == before
    assert len(chat.window("chan_1")) == 1


def test_A3_a_window_is_not_shown_to_another_user_or_project(chat: Muisti) -> None:
    chat.append_message("chan_1", "user", TEXT, project="shop", user="anna")
    assert len(chat.window("chan_1", user="anna", project="shop")) == 1
    assert len(chat.window("chan_1", user="*", project="*")) == 1
    for scope in ({"user": "ben"}, {"project": "other"}, {"user": ""}):
        with pytest.raises(SessionNotFound):
            chat.window("chan_1", **scope)


def test_A3_messages_of_nobody_are_found_without_a_scope_and_in_their_session(
    chat: Muisti,
) -> None:
    chat.append_message("chan_1", "user", TEXT)
    chat.save("Something else", project="shop", user="anna")
    assert contents(chat.search("harbour")) == [TEXT]
    assert contents(chat.search("harbour", session_id="chan_1")) == [TEXT]
    for scope in ({"project": "shop"}, {"user": "anna"}, {"user": ""}, {"project": ""}):
        assert chat.search("harbour", **scope) == []


def test_A3_a_conversation_that_gets_an_owner_later_is_the_owners_session(chat: Muisti) -> None:
    chat.append_message("chan_1", "user", TEXT)
    chat.append_message("chan_1", "user", f"{TEXT}, says Anna", user="anna")
    chat.save(f"{TEXT}, remembers Anna", user="anna")
    chat.save(f"{TEXT}, remembers Ben", user="ben")
    seen = contents(chat.search("harbour", session_id="chan_1"))
    assert seen == [TEXT, f"{TEXT}, remembers Anna", f"{TEXT}, says Anna"]


def test_A3_a_conversation_is_assigned_once(chat: Muisti) -> None:
    chat.append_message("chan_1", "user", TEXT)
    assigned = chat.assign_conversation("chan_1", project="shop", user="anna")
    assert (assigned.project, assigned.user) == ("shop", "anna")
    assert contents(chat.search("harbour", user="anna")) == [TEXT]
    assert chat.search("harbour", user="ben") == []
    chat.assign_conversation("chan_1", project="shop", user="anna")  # again: nothing changes
    for bad in ({"user": "ben"}, {"project": "other"}, {}, {"user": "", "project": ""}):
        with pytest.raises(InvalidRequest):
            chat.assign_conversation("chan_1", **bad)
    with pytest.raises(InvalidRequest):
        chat.assign_conversation("chan_unknown", user="anna")
    later = chat.append_message("chan_1", "user", f"{TEXT}, later")
    assert (later.project, later.user) == ("shop", "anna")
    assert len(chat.search("harbour", user="anna", project="shop")) == 2


def test_A3_a_rebuilt_index_has_the_same_scopes(
    opened: Opener, vault: Path, tmp_path: Path
) -> None:
    memory = opened(embedder="none")
    world = build_world(memory, "reindex", tmp_path / "documents")
    memory.assign_conversation("chan_4", user="chen")
    memory.append_message("chan_9", "user", TEXT)
    before = read_scopes(world)
    memory.reindex()
    assert read_scopes(world) == before
    report = memory.verify(deep=True)
    assert report.ok, report.problems


@pytest.mark.needs_files("a vault of an earlier version is a folder")
def test_A3_messages_of_an_earlier_version_belong_to_nobody(tmp_path: Path) -> None:
    root = unpack(tmp_path)
    with bootstrap.open(root, settings={"embedder": "none"}) as memory:
        conversations = memory.list_conversations()
        assert conversations
        assert {(one.project, one.user) for one in conversations} == {("", "")}
        name = conversations[0].name
        message = next(one for one in memory.window(name, 1000, whole=True) if one.content)
        found = memory.search_messages(message.content, limit=50)
        assert message.id in [one.message.id for one in found if one.message]
        scoped = memory.search_messages(message.content, limit=50, user="anna")
        assert scoped == []
        own = memory.search_messages(message.content, limit=50, session_id=name)
        assert message.id in [one.message.id for one in own if one.message]


def test_A3_a_memory_of_another_user_is_not_explained(chat: Muisti) -> None:
    saved = chat.save(TEXT, user="anna", project="shop")
    with pytest.raises(MemoryNotFound):
        chat.explain("harbour", saved.id, user="ben")
    own = chat.explain("harbour", saved.id, user="anna", project="other")
    assert any("project" in reason for reason in own.reasons)
