"""What may be kept: bad values are named with their field, and nothing else goes through (contract
A4).
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muisti.errors import InvalidMemory
from muisti.model import KINDS, Kind, Memory, Sector, Tier
from muisti.remember.validate import (
    MAX_ITEMS,
    MAX_NAME,
    MAX_TITLE,
    validate_id,
    validate_memory,
    validate_project,
)
from muisti.settings import Settings
from tests.unit.making import ANY_CONTENT, ANY_LINE, ANY_SHARE, ANY_TIME, NOON, a_memory

SETTINGS = Settings(max_content_bytes=1000)
FAR_EAST = timezone(timedelta(hours=14))

BAD: list[tuple[str, Any]] = [
    ("content", ""), ("content", " \n\t"), ("content", None), ("content", 5), ("content", b"x"), ("content", "a\0b"),
    ("content", "half \ud800"), ("content", "x" * 1001), ("content", "ä" * 501),
    ("title", "a\0b"), ("title", "two\nlines"), ("title", "a\u2028b"), ("title", "\x1b[31m"), ("title", "\udc00"),
    ("title", "x" * (MAX_TITLE + 1)), ("title", None), ("title", 5),
    ("kind", "nonsense"), ("kind", ""), ("kind", None), ("kind", 5), ("kind", ["note"]),
    ("sector", "nonsense"), ("sector", ""), ("sector", None), ("sector", 1),
    ("tier", "nonsense"), ("tier", ""), ("tier", None), ("tier", True),
    ("project", "../up"), ("project", "a/b"), ("project", "a\\b"), ("project", ".hidden"), ("project", "_x"), ("project", "x" * 101),
    ("project", "ä" * 99), ("project", "dot."), ("project", " x"), ("project", "a\0"), ("project", "a\n"), ("project", None), ("project", 5),
    ("session_id", ""), ("session_id", " "), ("session_id", 0), ("session_id", False), ("session_id", "x" * (MAX_NAME + 1)),
    ("session_id", "a\nb"), ("source", ""), ("source", None), ("source", "a\0"), ("source", 7),
    ("summary", None), ("summary", 5), ("summary", "a\0"), ("summary", "\ud800"), ("summary", "x" * 1001),
    ("keywords", "text"), ("keywords", None), ("keywords", 5), ("keywords", ("",)), ("keywords", (" ",)), ("keywords", ("a", 5)),
    ("keywords", ("a\nb",)), ("keywords", tuple(map(str, range(MAX_ITEMS + 1)))), ("keywords", ("x" * (MAX_TITLE + 1),)),
    ("files", "text"), ("files", {"a": 1}), ("files", (None,)), ("files", ("a\0",)),
    ("importance", -0.01), ("importance", 1.01), ("importance", float("nan")), ("importance", float("inf")), ("importance", "0.5"),
    ("importance", True), ("importance", None), ("salience", -1), ("salience", 2), ("salience", "x"), ("salience", False),
    ("created_at", None), ("created_at", 0), ("created_at", "2026-01-01"), ("created_at", datetime(2026, 1, 1)),
    ("created_at", datetime(1, 1, 1, tzinfo=FAR_EAST)), ("updated_at", datetime(2026, 1, 1)),
    ("valid_from", 0), ("valid_from", ""), ("valid_from", datetime(2026, 1, 1)), ("valid_until", False), ("valid_until", datetime(2026, 1, 1)),
]  # fmt: skip


@pytest.mark.parametrize(("field", "value"), BAD, ids=lambda value: repr(value)[:30])
def test_a_bad_value_is_named_with_its_field(field: str, value: Any) -> None:
    with pytest.raises(InvalidMemory) as raised:
        validate_memory(a_memory_with(field, value), SETTINGS)
    assert raised.value.field == field
    assert str(raised.value).startswith(f"{field} ")
    assert raised.value.reason in str(raised.value)
    assert len(str(raised.value)) < 500


def a_memory_with(field: str, value: Any) -> Memory:
    """As a caller may give it; the dataclass itself checks nothing."""
    return replace(a_memory(), **{field: value})


def test_an_end_before_the_beginning() -> None:
    with pytest.raises(InvalidMemory, match="valid_until must not be before") as raised:
        validate_memory(a_memory(valid_from=NOON, valid_until=NOON - timedelta(days=1)), SETTINGS)
    assert "before valid_from" in raised.value.reason


GOOD: list[tuple[str, Any, Any]] = [
    ("content", "x" * 1000, "x" * 1000), ("content", " \n keep \r\n", " \n keep \r\n"), ("content", "\x07 bell", "\x07 bell"),
    ("title", "Any — Ünïcode 🎉 'title': #1", "Any — Ünïcode 🎉 'title': #1"), ("title", "x" * MAX_TITLE, "x" * MAX_TITLE),
    ("kind", "Decisions", "decision"), ("kind", " NOTE ", "note"), ("kind", "summaries", "summary"), ("kind", "bugfixes", "bugfix"),
    ("sector", "EMOTIONAL", Sector.EMOTIONAL), ("tier", " Global ", Tier.GLOBAL),
    ("project", "", ""), ("project", "my app 2.0", "my app 2.0"), ("project", "проект", "проект"), ("project", "c++", "c++"),
    ("project", "a\u0308", "ä"), ("session_id", None, None), ("session_id", "s-1", "s-1"),
    ("keywords", [" a ", "b", "a"], ("a", "b")), ("keywords", (), ()), ("files", ("src/a.py",), ("src/a.py",)),
    ("importance", 0, 0.0), ("importance", 1, 1.0), ("salience", 0.05, 0.05),
    ("created_at", datetime(2026, 1, 1, 14, tzinfo=FAR_EAST), datetime(2026, 1, 1, tzinfo=UTC)),
    ("valid_from", None, None), ("valid_until", NOON, NOON),
]  # fmt: skip


@pytest.mark.parametrize(("field", "value", "kept"), GOOD, ids=lambda value: repr(value)[:30])
def test_a_good_value_is_kept_in_its_proper_form(field: str, value: Any, kept: Any) -> None:
    found = getattr(validate_memory(a_memory_with(field, value), SETTINGS), field)
    assert found == kept
    assert type(found) is type(kept)


def test_every_kind_is_known_by_its_name_and_its_folder() -> None:
    for kind in KINDS.values():
        for name in (kind.name, kind.folder, kind.name.upper()):
            assert validate_memory(a_memory_with("kind", name), SETTINGS).kind == kind.name


def test_kinds_of_ones_own() -> None:
    own = Settings(kinds={**KINDS, "idea": Kind("idea", "Ideas")})
    assert validate_memory(a_memory_with("kind", "ideas"), own).kind == "idea"
    with pytest.raises(InvalidMemory, match="one of decision.*\\[kinds\\] in muisti.toml"):
        validate_memory(a_memory_with("kind", "ideas"), SETTINGS)


@given(ANY_CONTENT, ANY_LINE, st.lists(ANY_LINE, max_size=5), ANY_SHARE, ANY_TIME)
def test_checking_again_changes_nothing(
    content: str, title: str, keywords: list[str], share: float, at: datetime
) -> None:
    memory = a_memory(
        1,
        content,
        title=title,
        keywords=tuple(keywords),
        importance=share,
        salience=share,
        created_at=at,
    )
    checked = validate_memory(memory, Settings())
    assert validate_memory(checked, Settings()) == checked
    assert checked.content == content
    assert checked.title == title


@pytest.mark.parametrize(
    "text", ["", " ", "a b", "../x", "a/b", "x" * 65, "-a", "a\n", "ä", None, 5, "a.b"]
)
def test_bad_ids(text: Any) -> None:
    with pytest.raises(InvalidMemory, match=r"^id must be up to 64"):
        validate_id(text)


@pytest.mark.parametrize(
    "text", ["a", "0", "0195f000-0000-7000-8000-000000000001", "A_b-9", "x" * 64]
)
def test_good_ids(text: str) -> None:
    assert validate_id(text) == text


@given(st.text(max_size=120))
def test_a_project_is_a_plain_folder_name_or_refused(name: str) -> None:
    try:
        kept = validate_project(name)
    except InvalidMemory:
        return
    assert "/" not in kept
    assert kept.strip() == kept
    assert kept not in (".", "..")
    assert not kept.startswith(".")
    assert len(kept.encode()) < 250
