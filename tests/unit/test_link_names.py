"""Which memory a wikilink means."""

from __future__ import annotations

from typing import Any

import pytest

from muisti.model import Tier
from muisti.ports.link_names import (
    KEY_LENGTH,
    choose_target,
    find_id_end,
    is_named,
    list_labels,
    make_link_key,
    normalize_name,
)
from tests.unit.making import a_memory


@pytest.mark.parametrize(
    ("name", "normal", "key"),
    [
        ("Auth  Design", "auth design", "auth design"),
        ("notes/Auth.md", "notes/auth", "auth"),
        ("/notes/Straße/", "notes/strasse", "strasse"),
        ("ﬁles", "files", "files"),
        ("a / b", "a / b", "b"),
        ("/", "", ""),
        ("ä" * 500, "ä" * 500, "ä" * KEY_LENGTH),
    ],
)
def test_names_are_normalized(name: str, normal: str, key: str) -> None:
    assert (normalize_name(name), make_link_key(name)) == (normal, key)


def test_a_file_name_with_the_id_needs_no_label() -> None:
    memory = a_memory(1, "x", title="Auth", aliases=("Login",))
    stem = f"2026-03-10_auth_{memory.id[-6:]}"
    own = a_memory(1, "x", title="Auth", aliases=("Login",), file_path=f"notes/{stem}.md")
    assert list_labels(own) == [("name", "auth"), ("name", "login")]
    assert find_id_end(stem.upper()) == memory.id[-6:]
    assert is_named(own, f"notes/{stem}")
    by_hand = a_memory(1, "see [[B/c]]", title="Auth", file_path="notes/By hand.md")
    assert list_labels(by_hand) == [("name", "auth"), ("name", "by hand"), ("wikilink", "c")]
    assert find_id_end("By hand_abcdef") == ""


def test_the_choice_does_not_depend_on_the_order() -> None:
    source = a_memory(1, "see [[Plan]]", title="Log", project="app", user="anna")
    places: list[dict[str, Any]] = [
        {"project": "shop"},
        {"project": "app", "user": "anna"},
        {"project": "app"},
        {"project": "app", "user": "bo"},
        {"project": "app", "user": "anna", "tier": Tier.SESSION, "session_id": "s1"},
    ]
    same = [a_memory(n, f"text {n}", title="Plan", **one) for n, one in enumerate(places, start=2)]
    allowed = same[1:3]
    newest = max(allowed, key=lambda one: (one.created_at, one.id))
    assert choose_target(source, "plan", same) == newest
    assert choose_target(source, "plan", reversed(same)) == newest
    assert choose_target(source, "plan", [same[0], source]) == same[0]
    assert choose_target(source, same[1].id, same) == same[1]
    assert choose_target(source, "log", [source]) == source
    assert choose_target(source, "plan", same[3:]) is None
