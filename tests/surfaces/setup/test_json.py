"""Changing one place of a JSON text, and taking the change back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muisti.surfaces.setup.agents import AGENTS, File
from muisti.surfaces.setup.contents import LaunchCommand, add_muisti, find_entries, remove_muisti
from muisti.surfaces.setup.errors import Malformed, locate
from muisti.surfaces.setup.jsonedit import append_value, remove_value, set_value
from muisti.surfaces.setup.jsontext import PLAIN, Grammar, parse, to_value

LOOSE = Grammar(comments=True, trailing_commas=True)
STARTING = LaunchCommand(("/opt/my tools/muisti",), Path('/a "quoted" vault'))
ENTRY = {"command": "/bin/muisti", "args": ["mcp"]}

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)
objects = st.dictionaries(
    st.text().filter(lambda name: name not in ("servers", "hooks")), values, max_size=5
)
styles = st.fixed_dictionaries(
    {
        "indent": st.sampled_from([None, 0, 1, 2, 4, "\t"]),
        "ensure_ascii": st.booleans(),
        "separators": st.sampled_from([(",", ":"), (", ", ": "), (",", " : ")]),
    }
)


@given(value=values, style=styles)
def test_reads_as_the_standard_library_does(value: object, style: dict[str, Any]) -> None:
    text = json.dumps(value, **style)
    assert to_value(parse(text)) == json.loads(text)


@given(
    others=objects,
    style=styles,
    servers=st.none() | objects,
    end=st.sampled_from(["", "\n", "\r\n", "\n\n"]),
)
def test_what_was_put_in_comes_out_again(
    others: dict[str, Any], style: dict[str, Any], servers: dict[str, Any] | None, end: str
) -> None:
    whole = others if servers is None else {**others, "servers": servers}
    text = json.dumps(whole, **style) + end
    changed = set_value(text, ("servers", "muisti"), ENTRY, PLAIN)
    assert json.loads(changed) == {**whole, "servers": {**(servers or {}), "muisti": ENTRY}}
    assert (
        remove_value(changed, ("servers", "muisti") if servers is not None else ("servers",), PLAIN)
        == text
    )


@given(others=objects, style=styles, groups=st.lists(values, max_size=3))
def test_an_element_that_was_added_comes_out_again(
    others: dict[str, Any], style: dict[str, Any], groups: list[Any]
) -> None:
    text = json.dumps({"hooks": {"Stop": groups}, **others}, **style)
    changed = append_value(text, ("hooks", "Stop"), ENTRY, PLAIN)
    assert json.loads(changed) == {**others, "hooks": {"Stop": [*groups, ENTRY]}}
    assert remove_value(changed, ("hooks", "Stop", len(groups)), PLAIN) == text


names = st.sampled_from(
    ["hooks", "Stop", "mcpServers", "servers", "muisti", "command", "args", "matcher", "x", ""]
)
likely = st.recursive(
    st.none() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=4),
    max_leaves=20,
)
FILES = [file for agent in AGENTS.values() for file in agent.user if not file.toml]


@given(file=st.sampled_from(FILES), had=st.dictionaries(names, likely, max_size=4), style=styles)
def test_J6_install_and_uninstall_of_whatever_was_there(
    file: File, had: dict[str, Any], style: dict[str, Any]
) -> None:
    text = json.dumps(had, **style)
    try:
        installed, before = add_muisti(text, file, STARTING)
    except Malformed:
        return  # something else stands where we would write; that is told, and tested elsewhere
    assert find_entries(installed, file)
    assert add_muisti(installed, file, STARTING)[0] == installed
    assert not find_entries(remove_muisti(installed, file, None), file)
    assert remove_muisti(installed, file, before) == text


@given(text=st.text(alphabet='{}[]",:/* \n\\ab01.-e\ufeff', max_size=30))
def test_accepts_what_the_standard_library_accepts(text: str) -> None:
    try:
        expected = json.loads(text)
    except ValueError:
        with pytest.raises(Malformed):
            parse(text)
    else:
        assert to_value(parse(text)) == expected


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("{}", '{\n  "s": {\n    "m": 1\n  }\n}'),
        ('{"a":1}', '{"a":1,"s":{"m":1}}'),
        ('{"a": 1, "b": 2}', '{"a": 1, "b": 2, "s": {"m": 1}}'),
        ('{\n\t"a": 1\n}\n', '{\n\t"a": 1,\n\t"s": {\n\t\t"m": 1\n\t}\n}\n'),
        ('{\r\n    "a": 1\r\n}', '{\r\n    "a": 1,\r\n    "s": {\r\n        "m": 1\r\n    }\r\n}'),
        ('{\n  "s": {}\n}', '{\n  "s": {\n    "m": 1\n  }\n}'),
        ('{\n  "s": {"x": 0}\n}', '{\n  "s": {"x": 0, "m": 1}\n}'),
        (
            '{\n  "a": 1 // one\n  // end\n}',
            '{\n  "a": 1, // one\n  // end\n  "s": {\n    "m": 1\n  }\n}',
        ),
        ('{\n  "a": 1, // one\n}', '{\n  "a": 1, // one\n  "s": {\n    "m": 1\n  },\n}'),
        ('{"a": 1 // one\n}', '{"a": 1, // one\n  "s": {"m": 1}\n}'),
        ("{\n  // nothing yet\n}", '{\n  // nothing yet\n  "s": {\n    "m": 1\n  }\n}'),
        ('/* top */ {"a": [1, /* two */ 2]}', '/* top */ {"a": [1, /* two */ 2], "s": {"m": 1}}'),
    ],
)
def test_is_written_like_the_rest(before: str, after: str) -> None:
    changed = set_value(before, ("s", "m"), 1, LOOSE)
    assert changed == after


@pytest.mark.parametrize(
    "text",
    [
        '{\n  "a": 1 // one\n  // end\n}',
        '{\n  "a": 1, // one\n}',
        "{\n  // nothing yet\n}",
        '{"a": 1 // one\n}',
        '{ "a": 1 }',
        '{\n\n  "a": 1\n\n}\n',
    ],
)
def test_comments_and_blanks_outlive_a_round_trip(text: str) -> None:
    assert remove_value(set_value(text, ("s", "m"), 1, LOOSE), ("s",), LOOSE) == text


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        ("", (1, 1), "empty"),
        (" \n ", (1, 1), "empty"),
        ('\ufeff{"a": 1}', (1, 1), "byte order mark"),
        ('{\n  "a": 1,\n}', (2, 9), "trailing comma"),
        ('{\n  // hello\n  "a": 1\n}', (2, 3), "comments are not allowed"),
        ('{"a": 1 "b": 2}', (1, 9), "expected a comma or }"),
        ('{"a" 1}', (1, 6), "expected a colon"),
        ("{a: 1}", (1, 2), "double quotes"),
        ('{"a": }', (1, 7), "expected a value"),
        ('{"a": NaN}', (1, 7), "expected a value"),
        ('{"a": 01}', (1, 7), "expected a value"),
        ('{"a": "x', (1, 7), "invalid string"),
        ('{"a": "x\ny"}', (1, 9), "invalid string"),
        ('{"a": 1', (1, 8), "expected a comma"),
        ('{"a": 1} x', (1, 10), "unexpected text after the end"),
        ("[" * 200 + "]" * 200, (1, 102), "nested"),
    ],
)
def test_tells_where_it_is_broken(text: str, place: tuple[int, int], said: str) -> None:
    with pytest.raises(Malformed, match=said) as caught:
        parse(text)
    assert locate(text, caught.value.position) == place


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[]", "the whole file must be an object"),
        ('"x"', "the whole file must be an object"),
        ('{"s": []}', '"s" must be an object'),
        ('{"s": null}', '"s" must be an object'),
        ('{"s": {}, "s": {}}', "duplicate key"),
    ],
)
def test_does_not_write_into_what_is_something_else(text: str, said: str) -> None:
    with pytest.raises(Malformed, match=said):
        set_value(text, ("s", "m"), 1, PLAIN)


def test_a_value_is_replaced_where_it_stands() -> None:
    text = '{\n  "s": {"m": {"command": "old", "env": {"A": "1"}}}, "t": [ 1,2 ]\n}'
    assert set_value(text, ("s", "m", "command"), "new", PLAIN) == text.replace('"old"', '"new"')
    assert remove_value(text, ("s", "nobody"), PLAIN) == text


@pytest.mark.parametrize(
    ("step", "left"), [(0, "[\n  2,\n  3\n]"), (1, "[\n  1,\n  3\n]"), (2, "[\n  1,\n  2\n]")]
)
def test_any_element_can_go(step: int, left: str) -> None:
    assert remove_value('{"a": [\n  1,\n  2,\n  3\n]}', ("a", step), PLAIN) == f'{{"a": {left}}}'
