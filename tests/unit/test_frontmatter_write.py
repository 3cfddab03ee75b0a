"""Front matter, writing: what muisti writes is read back the same, by muisti and by other YAML
parsers.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from muisti.storage.files.frontmatter import (
    Value,
    _read_own,
    _read_yaml,
    compose,
    edit,
    format_scalar,
    parse,
)
from muisti.storage.files.memory_codec import TYPED
from tests.unit.making import ANY_TEXT

KEYS = st.sampled_from(["id", "title", "summary", "keywords", "files", "source", "importance"])
VALUES = ANY_TEXT | st.lists(ANY_TEXT, min_size=1, max_size=4).map(tuple)
TRICKY = [
    "", " ", "~", "null", "Null", "yes", "No", "on", "y", "TRUE", "1", "1.0", "-1", "+1", "1e5", "12e03", "0x1F", "0o17", "0b1",
    "1_000", ".5", ".inf", "-.INF", ".nan", "2026-01-31", "2026-1-1", "2026-01-31T12:00:00Z", "2026-01-31 12:00:00", "12:30:45",
    "a: b", "a #b", "#a", "- a", "-", "---", "...", "? a", "!tag", "&a", "*a", "|", ">", "%a", "@a", "`a`", "{a}", "[a]", "a, b",
    "'", '"', "\\", "\\n", "a\nb", "a\r\nb", "\ttab", "trailing ", "\x00", "\x7f", "\x85", "\u2028", "\u2029", "\ufeff", "\ufffe",
    "\U0001f389", "päätös", "决定", "e\u0301", "=", "<<", "a" * 5000,
]  # fmt: skip


@pytest.mark.parametrize("text", TRICKY, ids=repr)
def test_tricky_texts_stay_texts(text: str) -> None:
    written = compose({"title": text, "keywords": (text, "x")}, "Body")
    assert parse(written).values == {"title": text, "keywords": (text, "x")}
    others = YAML(typ="safe", pure=True).load(written.split("---\n")[1])
    assert others == {"title": text, "keywords": [text, "x"]}


@pytest.mark.parametrize(
    "text", ["word", "Two words", "päätös 2", "src/auth/index.ts", "决定", "v1.2-rc1"]
)
def test_simple_texts_are_written_without_quotes(text: str) -> None:
    assert format_scalar(text) == text


@settings(max_examples=200)
@given(st.dictionaries(KEYS, VALUES, max_size=5), ANY_TEXT)
def test_what_is_composed_is_read_back(values: dict[str, Value], body: str) -> None:
    document = parse(compose(values, body))
    assert document.values == values
    assert document.body == body


@settings(max_examples=200)
@given(st.dictionaries(KEYS, VALUES, max_size=5))
def test_the_fast_reader_and_the_yaml_reader_agree(values: dict[str, Value]) -> None:
    written = compose(values, "Body")
    start, end = 4, written.rindex("---\n\nBody")
    fast, slow = _read_own(written, start, end), _read_yaml(written, start, end)
    assert fast is not None
    assert {key: entry.value for key, entry in fast.items()} == {
        key: entry.value for key, entry in slow.items()
    }
    for key in values:
        assert (fast[key].start, fast[key].after_key) == (slow[key].start, slow[key].after_key)
        assert fast[key].items == slow[key].items


@settings(max_examples=150)
@given(st.dictionaries(KEYS, VALUES, max_size=5))
def test_other_parsers_read_the_same_values(values: dict[str, Value]) -> None:
    head = compose(values, "").removeprefix("---\n").removesuffix("---\n\n\n")
    expected = {
        key: value if isinstance(value, str) else list(value) for key, value in values.items()
    }
    assert (YAML(typ="safe", pure=True).load(head) or {}) == expected


def test_numbers_and_times_are_what_they_are_to_other_parsers() -> None:
    written = compose(
        {"importance": "0.5", "created_at": "2026-03-10T12:00:00Z", "title": "0.5"},
        "x",
        numbers=TYPED,
    )
    others = YAML(typ="safe", pure=True).load(written.split("---\n")[1])
    assert others["importance"] == 0.5
    assert others["created_at"].year == 2026
    assert others["title"] == "0.5"


@pytest.mark.parametrize(
    "body",
    [
        "",
        "\n",
        "\n\n",
        "\r",
        "\r\n",
        "x\r",
        "x\r\n",
        "x\n",
        "x\n\n\n",
        "\nx",
        "---\na: b\n---\n",
        "...",
        "---",
        "\ufeff",
        " x ",
        "\t",
    ],
    ids=repr,
)
def test_bodies_are_kept_to_the_last_byte(body: str) -> None:
    written = compose({"title": "x"}, body)
    assert parse(written).body == body
    assert parse(edit(parse(compose({"title": "x"}, "old")), {}, body)).body == body
    crlf = parse("---\r\ntitle: x\r\n---\r\n\r\nold\r\n")
    assert parse(edit(crlf, {}, body)).body == body


@settings(max_examples=150)
@given(ANY_TEXT, ANY_TEXT, st.sampled_from(["\n", "\r\n"]))
def test_any_body_replaces_any_other(old: str, new: str, newline: str) -> None:
    text = f"---{newline}title: x # mine{newline}---{newline}{newline}{old}{newline}"
    edited = edit(parse(text), {"title": "new"}, new)
    assert parse(edited).body == new
    assert edited.startswith(f"---{newline}title: new # mine{newline}---{newline}")
