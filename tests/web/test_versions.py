"""A diff contains both texts, and is fast for long ones."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muisti.surfaces.web.versions import MAX_LINES, DiffPart, diff

LINES = st.lists(
    st.sampled_from(
        ["a b c\n", "a x c\n", "\n", "one two three four\n", "one two 3 four\n", "last"]
    ),
    max_size=12,
).map("".join)


@pytest.mark.parametrize(
    ("before", "after", "pieces"),
    [
        (
            "on 15 March",
            "on 29 March",
            [("on ", "equal"), ("15", "removed"), ("29", "added"), (" March", "equal")],
        ),
        ("same", "same", [("same", "equal")]),
        ("", "new", [("new", "added")]),
        ("old", "", [("old", "removed")]),
        ("", "", []),
        ("red green blue", "1 + 1 = 2", [("red green blue", "removed"), ("1 + 1 = 2", "added")]),
        ("数据库", "数据 库", [("数据库", "removed"), ("数据 库", "added")]),
    ],
)
def test_B3_words_that_came_and_went(
    before: str, after: str, pieces: list[tuple[str, str]]
) -> None:
    assert [(one.text, one.change) for one in diff(before, after)] == pieces


def test_B3_lines_far_from_a_change_are_left_out() -> None:
    before = "".join(f"line {n}\n" for n in range(50))
    found = list(diff(before, before.replace("line 25\n", "line 25 and more\n")))
    assert [one.text for one in found if one.change == "omitted"] == [
        "23 unchanged lines",
        "22 unchanged lines",
    ]
    assert "line 23\nline 24\n" in [one.text for one in found]


@given(LINES, LINES)
def test_B3_both_texts_can_be_read_out_of_it(before: str, after: str) -> None:
    found = list(diff(before, after))
    if not any(one.change == "omitted" for one in found):
        assert "".join(one.text for one in found if one.change != "added") == before
        assert "".join(one.text for one in found if one.change != "removed") == after


def test_B3_very_long_texts_are_not_compared() -> None:
    before, after = "a\n" * MAX_LINES, "b\n" * MAX_LINES
    assert list(diff(before, after)) == [DiffPart(before, "removed"), DiffPart(after, "added")]


def test_B3_a_long_rewritten_passage_takes_no_square_of_time() -> None:
    before, after = (
        " ".join(f"w{n}" for n in range(50_000)),
        " ".join(f"w{n}" for n in range(50_000, 0, -1)),
    )
    assert [one.change for one in diff(before, after)] == ["removed", "added"]
