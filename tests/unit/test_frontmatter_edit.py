"""Front matter, editing: one value changes, every other byte that a person wrote stays (contract
B2).
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muisti.storage.files.errors import BadFrontMatter
from muisti.storage.files.frontmatter import Value, edit, parse
from tests.unit.making import ANY_TEXT

BODY = "\nThe body.\n---\nNot a fence: this is the body.\n"


@dataclass(frozen=True)
class Line:
    """One key as a person may write it."""

    text: str
    value: Value | None
    comment: str = ""
    """What must still be there when the value was replaced."""


LINES = {
    "plain": Line("K: two words\n", "two words"),
    "plain, comment": Line("K: word   # mine\n", "word", "   # mine"),
    "trailing spaces": Line("K: word   \n", "word"),
    "two lines": Line("K: one\n  two # mine\n", "one two", " # mine"),
    "on the next line": Line("K:\n  word # mine\n", "word", " # mine"),
    "single quotes": Line("K: 'it''s # no comment' # mine\n", "it's # no comment", " # mine"),
    "double quotes": Line('K: "a \\" b" # mine\n', 'a " b', " # mine"),
    "quotes over lines": Line('K: "a\n\n  b" # mine\n', "a\nb", " # mine"),
    "empty": Line("K:\n", ""),
    "empty, comment": Line("K: # mine\n", "", " # mine"),
    "null": Line("K: ~ # mine\n", "", " # mine"),
    "literal": Line("K: |\n  one\n   two\n", "one\n two\n"),
    "literal, comment": Line("K: |- # mine\n  one\n", "one", " # mine"),
    "literal, kept": Line("K: |+\n  one\n\n", None),
    "literal, blank": Line("K: |\n\n", None),
    "folded": Line("K: >\n  one\n  two\n\n  three\n", "one two\nthree\n"),
    "flow": Line("K: [a, 'b'] # mine\n", ("a", "b"), " # mine"),
    "flow over lines": Line("K: [a,\n    b,\n  ] # mine\n", ("a", "b"), " # mine"),
    "empty flow": Line("K: [] # mine\n", (), " # mine"),
    "block": Line("K:\n  - a\n  - b\n", ("a", "b")),
    "block, comments": Line(
        "K: # mine\n  # above\n  - a # one\n  # over b\n  - 'b'\n",
        ("a", "b"),
        "K: # mine\n  # above\n",
    ),
    "block at the margin": Line("K:\n- a\n- b\n", ("a", "b")),
    "block of block texts": Line("K:\n  - |\n    a\n  - >-\n    b\n", ("a\n", "b")),
    "block with a gap": Line("K:\n  - a\n  -\n  - b\n", ("a", "", "b")),
    "block, empty at the end": Line("K:\n  - a\n  -\n", ("a", "")),
    "table": Line("K:\n  a: 1\n  b: [2]\n", None),
    "flow table": Line("K: {a: {b: c}}\n", None),
    "list of lists": Line("K:\n  - [a]\n  - b\n", None),
    "tag": Line("K: !!str 12 # mine\n", "12", " # mine"),
    "tagged list": Line("K: !!seq\n  - a\n  - b\n", ("a", "b")),
    "anchor": Line("K: &here word # mine\n", "word", " # mine"),
    "question": Line("? K\n: word # mine\n", "word", " # mine"),
    "quoted key": Line("'K' : word # mine\n", "word", " # mine"),
    "unicode": Line("K: päätös 决定 🎉 # mine\n", "päätös 决定 🎉", " # mine"),
}
NEW_VALUES: list[Value] = [
    "word",
    "a: b # c",
    "",
    "line\nline",
    "no",
    ("one",),
    ("b", "new, item"),
    ("x\ny", "'", "#"),
]
NEWLINES = pytest.mark.parametrize("newline", ["\n", "\r\n"], ids=["LF", "CRLF"])


@NEWLINES
@pytest.mark.parametrize("new", NEW_VALUES, ids=repr)
@pytest.mark.parametrize("line", LINES.values(), ids=LINES.keys())
def test_only_the_value_changes(line: Line, new: Value, newline: str) -> None:
    before, after = "# first\nabove: 1 # one\n\n", "\n# last\nbelow: [x] # two\n"
    own = line.text.replace("K", "key").replace("\n", newline)
    before, after = (
        f"---\n{before}".replace("\n", newline),
        f"{after}---\n{BODY}".replace("\n", newline),
    )
    document = parse(before + own + after)
    if line.value is not None:
        assert document.values["key"] == line.value
    edited = edit(document, {"key": new})
    assert edited.startswith(before)
    assert edited.endswith(after)
    assert parse(edited).values == {"above": "1", "key": new, "below": ("x",)}
    keeps = isinstance(new, tuple) or isinstance(line.value, str) or "[" in line.text
    if keeps and line.comment:
        assert line.comment.replace("K", "key").replace("\n", newline) in edited


@NEWLINES
@pytest.mark.parametrize("line", LINES.values(), ids=LINES.keys())
def test_a_key_is_removed_with_its_value_and_nothing_else(line: Line, newline: str) -> None:
    before, after = "---\n# first\nabove: 1\n", f"below: [x] # two\n---\n{BODY}"
    text = (before + line.text.replace("K", "key") + after).replace("\n", newline)
    edited = edit(parse(text), {"key": None})
    assert edited.startswith(before.replace("\n", newline))
    assert edited.endswith(after.replace("\n", newline))
    assert parse(edited).values == {"above": "1", "below": ("x",)}


@pytest.mark.parametrize("end", ["---", "..."])
@NEWLINES
def test_new_keys_are_added_below_the_old(newline: str, end: str) -> None:
    text = f"\ufeff---\nmine: yes # mine\n# last word\n{end}\n{BODY}".replace("\n", newline)
    edited = edit(parse(text), {"title": "New: one", "keywords": ("a", "b")})
    added = 'title: "New: one"\nkeywords:\n  - a\n  - b\n'
    assert edited == text.replace(
        f"# last word{newline}", f"# last word{newline}" + added.replace("\n", newline)
    )


def test_items_that_stay_keep_their_lines_and_comments() -> None:
    text = (
        "---\nkeywords:\n    - old\n    # databases\n    - 'sql' # why\n    - \"py\"\n---\n\nBody\n"
    )
    edited = edit(parse(text), {"keywords": ("py", "new", "sql")})
    assert (
        edited
        == "---\nkeywords:\n    - \"py\"\n    - new\n    # databases\n    - 'sql' # why\n---\n\nBody\n"
    )


@NEWLINES
def test_another_body(newline: str) -> None:
    text = f"---\ntitle: x # mine\n---\n{BODY}".replace("\n", newline)
    edited = edit(parse(text), {}, "Other\r")
    assert edited == text[: text.index("---", 5) + 3] + newline * 2 + "Other\r" + newline
    assert parse(edited).body == "Other\r"


@pytest.mark.parametrize("text", ["Text\n", "\ufeffText\r\nmore\r\n", "\n\nText", "---"])
def test_front_matter_is_put_above_a_file_that_has_none(text: str) -> None:
    edited = parse(edit(parse(text), {"id": "x", "gone": None}))
    assert edited.values == {"id": "x"}
    assert edited.body == parse(text).body
    assert edited.text.startswith("\ufeff") == text.startswith("\ufeff")


_FILLERS = st.sampled_from(["", "", "\n", "# a comment\n", "\n\n  \n# another: one\n"])
_NAMES = [f"k{number}" for number in range(4)]


@settings(max_examples=150)
@given(
    st.lists(st.tuples(st.sampled_from(sorted(LINES)), _FILLERS), min_size=1, max_size=4),
    st.integers(0, 3),
    ANY_TEXT | st.lists(ANY_TEXT, min_size=1, max_size=3, unique=True).map(tuple),
    st.sampled_from(["\n", "\r\n"]),
)
def test_any_value_among_any_others(
    drawn: list[tuple[str, str]], which: int, new: Value, newline: str
) -> None:
    which %= len(drawn)
    parts = [
        (LINES[style].text.replace("K", name) + filler).replace("here", name).replace("\n", newline)
        for name, (style, filler) in zip(_NAMES, drawn, strict=False)
    ]
    text = f"---{newline}{''.join(parts)}---{newline}{BODY}"
    document = parse(text)
    assert edit(document, {}) == text
    edited = edit(document, {_NAMES[which]: new})
    assert parse(edited).values == {**document.values, _NAMES[which]: new}
    assert edited.startswith(f"---{newline}{''.join(parts[:which])}")
    assert edited.endswith(f"{''.join(parts[which + 1 :])}---{newline}{BODY}")


# Without tabs, which our parser takes inside block texts only; the vault checks what it is about to
# write.
_HEADS = st.text("ab:-#|>&!?{}[],'\"\\ \n\n\n~é", max_size=40).map(
    lambda noise: f"a: {noise}\nb: {noise}\n"
)


@settings(max_examples=250)
@given(_HEADS, st.sampled_from(["new", "a: b # c", ("x", "y z")]))
def test_whatever_was_understood_can_be_edited(head: str, new: Value) -> None:
    try:
        document = parse(f"---\n{head}---\n{BODY}")
    except BadFrontMatter:
        return
    for key in document.values:
        assert parse(edit(document, {key: new})).values == {**document.values, key: new}
        left = {other: value for other, value in document.values.items() if other != key}
        assert parse(edit(document, {key: None})).values == left
