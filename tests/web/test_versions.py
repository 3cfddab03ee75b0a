"""What is another in a later text is told so that both texts can be read out of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muisti.surfaces.web.versions import MOST_LINES, Piece, differences

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
            [("on ", "same"), ("15", "gone"), ("29", "new"), (" March", "same")],
        ),
        ("same", "same", [("same", "same")]),
        ("", "new", [("new", "new")]),
        ("old", "", [("old", "gone")]),
        ("", "", []),
        ("red green blue", "1 + 1 = 2", [("red green blue", "gone"), ("1 + 1 = 2", "new")]),
        ("数据库", "数据 库", [("数据库", "gone"), ("数据 库", "new")]),
    ],
)
def test_B3_words_that_came_and_went(
    before: str, after: str, pieces: list[tuple[str, str]]
) -> None:
    assert [(one.text, one.how) for one in differences(before, after)] == pieces


def test_B3_lines_far_from_a_change_are_left_out() -> None:
    before = "".join(f"line {n}\n" for n in range(50))
    found = list(differences(before, before.replace("line 25\n", "line 25 and more\n")))
    assert [one.text for one in found if one.how == "left out"] == [
        "23 lines as before",
        "22 lines as before",
    ]
    assert "line 23\nline 24\n" in [one.text for one in found]


@given(LINES, LINES)
def test_B3_both_texts_can_be_read_out_of_it(before: str, after: str) -> None:
    found = list(differences(before, after))
    if not any(one.how == "left out" for one in found):
        assert "".join(one.text for one in found if one.how != "new") == before
        assert "".join(one.text for one in found if one.how != "gone") == after


def test_B3_very_long_texts_are_not_compared() -> None:
    before, after = "a\n" * MOST_LINES, "b\n" * MOST_LINES
    assert list(differences(before, after)) == [Piece(before, "gone"), Piece(after, "new")]


def test_B3_a_long_rewritten_passage_takes_no_square_of_time() -> None:
    before, after = (
        " ".join(f"w{n}" for n in range(50_000)),
        " ".join(f"w{n}" for n in range(50_000, 0, -1)),
    )
    assert [one.how for one in differences(before, after)] == ["gone", "new"]
