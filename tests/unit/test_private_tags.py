"""`<private>…</private>` is always removed, whatever surrounds it (contract C1)."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from muisti.settings import Settings
from muisti.text.private_tags import remove_private
from muisti.text.redact import redact_text
from tests.unit.making import ANY_TEXT

TOKEN = "ghp_" + "a1B2" * 9

REMOVED = [
    ("a <private>x</private> b", "a  b"),
    ("a<private>x</private>b", "ab"),
    ("<private>x</private>", ""),
    ("<private></private>b", "b"),
    ("<PRIVATE>x</Private>b", "b"),
    ("<PRİVATE>x</prıvate>b", "b"),
    ("a\n<private\n>\nx\n</private\n>\nb", "a\n\nb"),
    ("< private >x< / private >b", "b"),
    ("<private\t\u00a0>x</private>b", "b"),
    ('<private reason="a>b">x</private>b', "b"),
    ("<private reason='a>b' level = \"</private>\">x</private>b", "b"),
    ('<private reason="<private>">x</private>b', "b"),
    ("<private it's mine>x</private>it's b", "it's b"),
    ("<private a=b c==>x</private>b", "b"),
    ("a<private>x<private>y</private>z</private>b", "ab"),
    ("a<private>x</private>b<private>y</private>c", "abc"),
    ("a</private>b", "ab"),
    ("a</private>b<private>x</private>c", "abc"),
    ("<private>x</private></private>b", "b"),
    ("```\n<private>x</private>\n```", "```\n\n```"),
    ("`<private>`x", "`"),
    (r"\<private>x</private>b", "\\b"),
    ("<\u200bprivate>x</\u200bprivate>b", "b"),
    ("<pri\u200bvate\ufeff>x</private>b", "b"),
    ("＜private＞x＜／private＞b", "b"),
    ("<ｐｒｉｖａｔｅ>x</ＰＲＩＶＡＴＥ>b", "b"),
    # As an opening that forgot its bracket
    ("a<private x</private>b", "ab"),
    ("a<private<private>x</private>y</private>b", "ab"),
    ("a<private <private>x</private>y</private>b", "ab"),
]  # fmt: skip
DROPPED = [
    "<private>x", "<private>x<private>y</private>z", "<private", "<private ", "<private\n", "<private x", "<private/>x", "<private />x",
    '<private a="x>y</private>z', "<private a='x>y</private>z", "<private a=", "<private>x</private", "<private>x</private and>y",
    "<private>x</privateer>y", "<private>x&lt;/private&gt;y", "<private>x<!-- </private -->y", "<PRIVATE\u200b", "<private>x< /privat>",
    "<pri<private>x</private>vate>y",
]  # fmt: skip
KEPT = [
    "", "a", "a < b > c", "<b>bold</b>", "<privateer>x</privateer>", "#include <private/path.h> x", "<private-key>x", "<private_key>", "<private.x>", "<privat>e", "private",
    "&lt;private&gt;x&lt;/private&gt;", "</privateer>", "<//private>", "</private x>", "<<>>", "a<", "<p rivate>", "<xprivate>", "if a <privates:",
]  # fmt: skip


@pytest.mark.parametrize(("text", "public"), REMOVED, ids=repr)
def test_a_private_part_is_removed_and_nothing_else(text: str, public: str) -> None:
    assert remove_private(text) == public


@pytest.mark.parametrize("tail", DROPPED, ids=repr)
def test_what_does_not_close_drops_the_rest(tail: str) -> None:
    assert remove_private(f"before {tail} and after") == "before "
    assert remove_private(f"before {tail}") == "before "


@pytest.mark.parametrize("text", KEPT, ids=repr)
def test_text_without_a_tag_is_the_very_same(text: str) -> None:
    assert remove_private(text) is text


@given(st.text(st.characters(exclude_characters="<＜﹤")))
def test_any_text_without_a_bracket_is_the_very_same(text: str) -> None:
    assert remove_private(text) is text


@given(
    st.lists(
        st.sampled_from(
            [
                *"<>/\"'= \npx＜",
                "private",
                "<private",
                "<private>",
                "</private>",
                "pri",
                "vate",
                ' a="',
                "\u200b",
            ]
        )
    )
)
@example(["<", "pri", "<private>", "x", "</private>", "vate", ">", "p"])
def test_twice_is_once(pieces: list[str]) -> None:
    once = remove_private("".join(pieces))
    assert remove_private(once) == once


OPENING = st.sampled_from(
    [
        "<private>",
        "<PRIVATE\n>",
        '<private why="a>b">',
        "<private why='</private>'>",
        "< private >",
        "<private/>",
        "<\u200bprivate x>",
    ]
)
CLOSING = st.sampled_from(["</private>", "</PRIVATE >", "< / private\n>", "＜/private>"])
PLAIN = st.sampled_from(
    [
        "<b>",
        "</b>",
        "<privateer>",
        "&lt;private&gt;",
        " ",
        "\n",
        '"',
        "'",
        "=",
        ">",
        "</privates>",
        "ordinary",
    ]
)


def expected(pieces: list[tuple[str, str]]) -> str:
    """The obvious way: count what is open, keep what stands outside."""
    depth, kept = 0, ""
    for sort, piece in pieces:
        if sort == "opening":
            depth += 1
        elif sort == "closing":
            depth = max(0, depth - 1)
        elif depth == 0:
            kept += piece
    return kept


def sorts_of_pieces() -> st.SearchStrategy[list[tuple[str, str]]]:
    choices = (
        st.tuples(st.just("opening"), OPENING),
        st.tuples(st.just("closing"), CLOSING),
        st.tuples(st.just("plain"), PLAIN),
        st.tuples(st.just("canary"), st.integers(0, 99).map(lambda number: f"canary{number:02d};")),
    )
    return st.lists(st.one_of(choices), max_size=30)


@given(sorts_of_pieces())
def test_a_soup_of_tags_gives_what_counting_gives(pieces: list[tuple[str, str]]) -> None:
    assert remove_private("".join(piece for _, piece in pieces)) == expected(pieces)


@given(
    st.lists(
        st.sampled_from(["<private", "<b", "<private>", " a=", '"', "'", ">", " ", "/", "x", "<"])
    ),
    ANY_TEXT.filter(lambda t: "/" not in t),
)
def test_what_stands_in_an_open_tag_never_leaks(pieces: list[str], tail: str) -> None:
    """No piece can close: whatever else they make together, nothing after the first tag is left."""
    assert "canary" not in remove_private("<private>" + "".join(pieces) + "canary" + tail)


@given(ANY_TEXT, ANY_TEXT, ANY_TEXT)
def test_nothing_private_is_left_between_any_texts(before: str, inside: str, after: str) -> None:
    assert "canary" not in remove_private(f"{before}<private>{inside}canary</private>{after}")


def test_megabytes_of_tags_end() -> None:
    """The time is measured in benchmarks/privacy.py; what is quadratic would not end here."""
    for piece in (
        "<private>",
        "<private ",
        '<private a="',
        "<",
        "< ",
        "</private>",
        "<private></private>",
        "<private a=b",
        "＜\u200b",
    ):
        assert len(remove_private(piece * 100_000)) <= len(piece) * 100_000


def test_cleaned_removes_both_unless_redaction_is_off() -> None:
    text = f"use {TOKEN} <private>{TOKEN}</private> here"
    assert redact_text(text, Settings()) == "use [redacted:github-token]  here"
    assert redact_text(text, Settings(redact_secrets=False)) == f"use {TOKEN}  here"
    assert redact_text("nothing to hide", Settings()) == "nothing to hide"


def test_a_secret_torn_by_a_private_part_is_seen() -> None:
    assert (
        redact_text(TOKEN[:9] + "<private>x</private>" + TOKEN[9:], Settings())
        == "[redacted:github-token]"
    )
