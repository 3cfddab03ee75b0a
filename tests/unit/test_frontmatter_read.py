"""Front matter, reading: what people and tools write is understood, and what cannot be is refused
with a cure.
"""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from muisti.storage.files.errors import BadFrontMatter
from muisti.storage.files.frontmatter import (
    MAX_DEPTH,
    Document,
    edit,
    parse,
)
from muisti.storage.files.safe_read import MAX_HEAD


def a_file(head: str, body: str = "The body.") -> str:
    return f"---\n{head}---\n\n{body}\n"


@pytest.mark.parametrize(
    ("head", "values"),
    [
        ("title: Plain words\n", {"title": "Plain words"}),
        ("title: Plain # a comment\n", {"title": "Plain"}),
        ("title: 'it''s'\n", {"title": "it's"}),
        ('title: "tab\\tand \\u00e9"\n', {"title": "tab\tand é"}),
        ("title: |\n  one\n  two\n", {"title": "one\ntwo\n"}),
        ("title: >-\n  one\n  two\n", {"title": "one two"}),
        ("title: one\n  two\n", {"title": "one two"}),
        ("title:\n", {"title": ""}),
        ("title: ~\n", {"title": ""}),
        ('title: "~"\n', {"title": "~"}),
        ("title: no\n", {"title": "no"}),
        ("version: 1.10\n", {"version": "1.10"}),
        ("at: 2026-01-31\n", {"at": "2026-01-31"}),
        ("keywords: [a, 'b, c', d]\n", {"keywords": ("a", "b, c", "d")}),
        ("keywords:\n- a\n- b\n", {"keywords": ("a", "b")}),
        ("keywords:\n  - a # why\n  # between\n  - b\n", {"keywords": ("a", "b")}),
        ("keywords: []\n", {"keywords": ()}),
        ("extra: {a: {b: c}}\n", {"extra": None}),
        ("extra:\n  a: 1\n  b: [2]\n", {"extra": None}),
        ("'quoted key': x\n", {"quoted key": "x"}),
        ("ключ: значение\n键: 值\n", {"ключ": "значение", "键": "值"}),
        ("z: 1\n\n# in between\n\na: 2\n", {"z": "1", "a": "2"}),
        ("", {}),
        ("# only a comment\n", {}),
        ("title: !!python/object/apply:os.system [echo]\n", {"title": ("echo",)}),
        ("title: &name x\n", {"title": "x"}),
    ],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n"], ids=["LF", "CRLF"])
@pytest.mark.parametrize("mark", ["", "\ufeff"], ids=["", "BOM"])
@pytest.mark.parametrize("end", ["---", "...", "--- \t"])
def test_values_are_read_as_text(
    head: str, values: dict[str, Any], newline: str, mark: str, end: str
) -> None:
    document = parse(mark + f"---\n{head}{end}\n\nThe body.\n".replace("\n", newline))
    assert document.values == values
    assert document.body == "The body."
    assert edit(document, {}) == document.text


BAD = {
    "an alias": ("a: &x 1\nb: *x\n", "alias", "write the value out"),
    "an alias bomb": (
        "a: &a [x]\n" + "".join(f"k{n}: &k{n} [*a, *a, *a]\n" for n in range(50)),
        "alias",
        "write",
    ),
    "an anchor twice": ("a: &x 1\nb: &x 2\n", "&x", "remove"),
    "a key twice": ("title: 1\ntitle: 2\n", "'title' twice", "remove"),
    "a tab for indentation": ("a:\n\t- b\n", "line 3", "fix"),
    "no YAML": ("just some words\n", "key: value", "must be"),
    "a list": ("- a\n- b\n", "key: value", "must be"),
    "a flow table": ("{a: 1}\n", "key: value", "must be"),
    "an open quote": ('title: "never closed\n', "not valid YAML", "fix"),
    "an open list": ("keywords: [a, b\n", "not valid YAML", "fix"),
    "a NUL": ("title: \0\n", "not valid YAML", "fix"),
    "a bad escape": ('title: "\\xZZ"\n', "line 2", "fix"),
    "an escape beyond Unicode": ('title: "\\UFFFFFFFF"\n', "not valid YAML", "fix"),
    "half of a pair": ('title: "\\ud800"\n', "surrogate", "remove"),
    "half of a pair in a list": ('keywords: [a, "\\udfff"]\n', "surrogate", "remove"),
    "a key without a colon": ("? title\n", "without a colon", "key: value"),
    "deep brackets": ("a: " + "[" * 5000 + "\n", f"deeper than {MAX_DEPTH}", "flatter"),
    "deep tables": (
        "".join(" " * n + "a:\n" for n in range(300)),
        f"deeper than {MAX_DEPTH}",
        "flatter",
    ),
    "deep keys": ("? " * 3000 + "\n", f"deeper than {MAX_DEPTH}", "flatter"),
    "a directive": ("%YAML 1.1\n", "not valid YAML", "fix"),
    "a reserved sign": ("title: @home\n", "line 2", "fix"),
    "ten megabytes": ("a: b\n" * 2_000_000, f"over {MAX_HEAD}", "close it"),
    "one endless line": ("a" * 10_000_000 + "\n", f"over {MAX_HEAD}", "close it"),
}


@pytest.mark.parametrize(("head", "names", "cure"), BAD.values(), ids=BAD.keys())
def test_bad_front_matter_names_what_and_cure(head: str, names: str, cure: str) -> None:
    with pytest.raises(BadFrontMatter) as raised:
        parse(a_file(head))
    message = str(raised.value)
    assert names in message
    assert cure in message
    assert "\n" not in message
    assert len(message) < 250


def test_front_matter_that_is_never_closed() -> None:
    with pytest.raises(BadFrontMatter, match="not closed: add a line ---"):
        parse("---\ntitle: x\n\nText.\n")


@pytest.mark.parametrize(
    ("text", "body"),
    [
        ("", ""),
        ("Only text\n", "Only text"),
        ("Only text", "Only text"),
        ("\ufeffOnly text\n", "Only text"),
        ("--- not a fence\n", "--- not a fence"),
        ("----\na: b\n----\n", "----\na: b\n----"),
        ("---", "---"),
        ("Text\r\n", "Text"),
        ("\n---\na: b\n---\n", "\n---\na: b\n---"),
    ],
)
def test_a_file_without_front_matter_is_all_body(text: str, body: str) -> None:
    document = parse(text)
    assert document.head is None
    assert document.values == {}
    assert document.body == body
    assert edit(document, {}) == text


_NOISE = st.text("ab:-#|>&*!%@?{}[],'\"\\ \n\n\t\r~0. é记\u2028\x85", max_size=60)


@settings(max_examples=300)
@given(_NOISE)
def test_any_head_is_read_or_refused(head: str) -> None:
    parsed_or_refused(a_file(f"{head}\n"))


@settings(max_examples=150)
@given(st.text(max_size=40))
def test_any_text_at_all_is_read_or_refused(head: str) -> None:
    parsed_or_refused(a_file(f"{head}\n"))
    parsed_or_refused(head)


def parsed_or_refused(text: str) -> Document | None:
    try:
        document = parse(text)
    except BadFrontMatter as error:
        assert str(error)
        return None
    assert edit(document, {}) == text
    return document


_TREE = st.recursive(
    st.text(max_size=15) | st.integers() | st.booleans() | st.none() | st.dates(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text("abc é", min_size=1, max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)


@settings(max_examples=80)
@given(
    st.dictionaries(st.text(min_size=1, max_size=8), _TREE, min_size=1, max_size=5),
    st.sampled_from([False, None]),
    st.sampled_from([10, 80]),
    st.sampled_from([2, 4]),
)
def test_what_a_yaml_library_writes_is_read_as_it_reads_it(
    data: dict[str, Any], flow: bool | None, width: int, indent: int
) -> None:
    writer = YAML()
    writer.default_flow_style, writer.width, writer.map_indent = flow, width, indent
    out = StringIO()
    writer.dump(data, out)
    try:
        expected = YAML(typ="safe", pure=True).load(out.getvalue())
    except (YAMLError, ValueError):
        return
    document = parsed_or_refused(a_file(out.getvalue()))
    if document is None or not isinstance(expected, dict):
        return
    for key, value in expected.items():
        if isinstance(key, str) and isinstance(value, str) and value not in ("", "~"):
            assert document.values[key] == value
