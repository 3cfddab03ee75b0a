"""What is suggested for a name that does not exist."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pydantic import BaseModel, ValidationError

from muisti import Muisti
from muisti.errors import MuistiError
from muisti.surfaces.cli.main import MODULES
from muisti.surfaces.mcp.errors import describe_argument_errors
from muisti.text import near_names
from muisti.text.near_names import suggest_command, suggest_field

SEARCH = ["query", "limit", "keywords", "kind", "since", "until", "project", "sessionId", "session"]


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("serach", "search"),
        ("ls", "list"),
        ("LS", "list"),
        ("rm", "delete"),
        ("find", "search"),
        ("add", "save"),
        ("new", "save"),
        ("cat", "show"),
        ("get", "show"),
        ("updat", "update"),
        ("serve_", "serve"),
    ],
)
def test_J2_a_command_of_another_tool_is_known(typed: str, meant: str) -> None:
    assert suggest_command(typed, MODULES)[0] == meant


def test_J2_every_suggested_command_exists() -> None:
    inner = {"log", "start", "end", "window", "set", "get", "link", "list", "show"}
    for meant in near_names.COMMANDS.values():
        assert set(meant.split()) <= set(MODULES) | inner
    assert not set(near_names.COMMANDS) & set(MODULES)


def test_J2_nothing_is_suggested_for_what_is_like_nothing() -> None:
    assert suggest_command("xyzzy", MODULES) == []
    assert suggest_command("x" * 100_000, MODULES) == []
    assert suggest_field("colour", SEARCH) == ""
    assert suggest_field("", SEARCH) == ""


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("q", "query"),
        ("tags", "keywords"),
        ("tag", "keywords"),
        ("top_k", "limit"),
        ("topK", "limit"),
        ("type", "kind"),
        ("session_id", "sessionId"),
        ("SESSION-ID", "sessionId"),
        ("projcet", "project"),
        ("after", "since"),
        ("before", "until"),
    ],
)
def test_J3_a_name_of_another_interface_is_known(given: str, meant: str) -> None:
    assert suggest_field(given, SEARCH) == meant


def test_J3_a_name_is_only_suggested_where_it_exists() -> None:
    assert suggest_field("text", ["content", "role"]) == "content"
    assert suggest_field("text", SEARCH) == "query"
    assert suggest_field("content", ["text"]) == "text"
    assert suggest_field("tag", ["keyword", "limit"]) == "keyword"


def test_J4_a_model_is_told_the_name_of_an_argument() -> None:
    class Arguments(BaseModel, extra="forbid"):
        content: str

    with pytest.raises(ValidationError) as raised:
        Arguments.model_validate({"text": "x"})
    told = describe_argument_errors("memory_save", ["content"], raised.value)
    assert "there is no argument 'text'; did you mean 'content'?" in told


@pytest.mark.parametrize(
    ("call", "meant"),
    [
        (lambda memory, _: memory.save("x", user_id="anna"), "user"),
        (lambda memory, _: memory.save_batch([{"content": "x", "userId": "anna"}]), "user"),
        (lambda memory, id_: memory.update(id_, text="x"), "content"),
        (lambda memory, _: memory.search("x", top_k=3), "limit"),
        (lambda memory, _: memory.list(projekt="shop"), "project"),
    ],
)
def test_J1_an_unknown_option_is_answered_with_the_right_name(
    memory: Muisti, call: Callable[[Muisti, str], object], meant: str
) -> None:
    saved = memory.save("The harbour opens at noon")
    with pytest.raises(MuistiError, match=f"did you mean '{meant}'"):
        call(memory, saved.id)
    assert memory.list() == [saved]
