"""File names, and values as plain JSON."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from slugify import slugify

from muisti.model import Filter, Kind, Problem, Sector, SessionAction, Signal, SyncReport
from muisti.model.jsonable import to_jsonable
from muisti.settings import Settings
from muisti.storage.files.file_names import MAX_BYTES, make_file_name, make_slug
from tests.unit.making import NOON, a_memory


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("We chose PostgreSQL", "we_chose_postgresql"),
        ("Päätös: käytetään Postgresia!", "päätös_käytetään_postgresia"),
        ("решение о базе", "решение_о_базе"),
        ("数据库的决定", "数据库的决定"),
        ("日本語の題名", "日本語の題名"),
        ("한국어 제목", "한국어_제목"),
        ("../../etc/passwd", "etc_passwd"),
        ("a/b\\c:d", "a_b_c_d"),
        ("CON", "con"),
        ("...", "memory"),
        ("", "memory"),
        ("🎉", "memory"),
        ("&#0;", "memory"),
        ("e\u0301", "é"),
    ],
)
def test_slugs(title: str, expected: str) -> None:
    assert make_slug(title) == expected


@given(st.text("Ab09 ,'_-&.;\n\0~", max_size=200))
@example("It's 1,000,000 or 1,a; 'twas 5','6")
def test_ascii_titles_become_what_slugify_makes_of_them(title: str) -> None:
    slug = slugify(title, allow_unicode=True, separator="_", lowercase=True)
    assert make_slug(title) == (slug[:MAX_BYTES].strip("_") or "memory")


@given(
    st.text(max_size=300)
    | st.integers(0, 10**25).map(lambda number: f"&#{number};")
    | st.text("Жä记a_ ", min_size=100, max_size=300)
)
def test_any_title_becomes_a_name_that_every_disk_takes(title: str) -> None:
    name = make_slug(title)
    assert 0 < len(name.encode()) <= MAX_BYTES
    assert not set(name) & set('/\\:*?"<>|.\0 \n')
    assert not name.startswith("_")
    assert make_slug(title) == name


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({}, "notes/2026-03-10_a_title_000001.md"),
        ({"kind": "decision"}, "decisions/2026-03-10_a_title_000001.md"),
        ({"kind": "idea", "project": "app"}, "projects/app/my ideas/2026-03-10_a_title_000001.md"),
    ],
)
def test_file_names(fields: dict[str, Any], path: str) -> None:
    settings = Settings(kinds={**Settings().kinds, "idea": Kind("idea", "my ideas")})
    assert make_file_name(a_memory(title="A title", **fields), settings) == path


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (True, True),
        (5, 5),
        (0.5, 0.5),
        ("x", "x"),
        (Sector.EPISODIC, "episodic"),
        (SessionAction.CREATED, "created"),
        (NOON, "2026-03-10T12:00:00Z"),
        (datetime(2026, 3, 10, 14, tzinfo=timezone(timedelta(hours=2))), "2026-03-10T12:00:00Z"),
        ((1, "a"), [1, "a"]),
        ({"a": (NOON,)}, {"a": ["2026-03-10T12:00:00Z"]}),
        ({1: 2}, {"1": 2}),
        (frozenset(("a",)), ["a"]),
        (Signal("n", None, 0.5), {"name": "n", "rank": None, "score": 0.5, "note": ""}),
        (
            SyncReport(changed=2, problems=(Problem("a", "b"),)),
            {
                "added": 0,
                "changed": 2,
                "moved": 0,
                "removed": 0,
                "missing": 0,
                "problems": [{"path": "a", "reason": "b"}],
            },
        ),
    ],
)
def test_plain(value: object, expected: object) -> None:
    found = to_jsonable(value)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize("value", [b"x", object(), 1j])
def test_values_without_a_plain_form(value: object) -> None:
    with pytest.raises(TypeError, match="cannot be converted to JSON"):
        to_jsonable(value)


@pytest.mark.parametrize(
    "value",
    [a_memory(keywords=("a",)), Filter(kinds=("note",)), Settings()],
    ids=lambda value: type(value).__name__,
)
def test_every_value_can_be_json(value: object) -> None:
    assert json.loads(json.dumps(to_jsonable(value))) == to_jsonable(value)
