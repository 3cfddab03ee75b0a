"""What a language model replied: any wrapping is forgiven, no value is."""

from __future__ import annotations

import json
import math
import unicodedata
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muisti.errors import ExtractorMisbehaved
from muisti.model import KINDS, Kind
from muisti.remember.extract.llm_response import (
    LONGEST,
    LONGEST_REPLY,
    MOST,
    ExtractedItem,
    parse_response,
)
from tests.unit.timing import grows_linearly

TEA = {"kind": "preference", "content": "Anna drinks tea.", "importance": 0.6, "about": None}
OSLO = {"kind": "fact", "content": "Anna lives in Oslo.", "importance": 0.7, "about": "2026-03-10"}
BOTH = json.dumps({"memories": [TEA, OSLO]})


def contents(reply: str) -> list[str]:
    return [one.content for one in parse_response(reply)]


def wrapped(**changes: object) -> str:
    """A good memory, and one that was changed."""
    return json.dumps({"memories": [OSLO, {**TEA, **changes}]})


# Wrapping -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "reply",
    [
        BOTH,
        f"\n  {BOTH}\n",
        json.dumps([TEA, OSLO]),
        json.dumps({"memories": [TEA, OSLO]}, indent=2),
        json.dumps({"result": {"memories": [TEA, OSLO]}}),
        json.dumps({"note": "two [of] {them}", "memories": [TEA, OSLO], "more": False}),
        f"```json\n{BOTH}\n```",
        f"```\n{json.dumps([TEA, OSLO])}\n```",
        f"Sure! I found [2] memories {{as asked}}:\n{BOTH}\nLet me know if that's all.",
        f"{BOTH}\n\nTo say it again:\n```json\n{BOTH}\n```",
        f"<think>Maybe {json.dumps({'memories': [TEA]})}? No.</think>\n{BOTH}",
        f"\n<thinking>hm</thinking>{BOTH}",
        f"[{json.dumps(TEA)}, {json.dumps(OSLO)},]",
        f'{{"memories": [{json.dumps(TEA)[:-1]},}}, {json.dumps(OSLO)[:-1]} , }} , ], }}',
        f'{{"memories": [{json.dumps(TEA)} {json.dumps(OSLO)}]}}',
        BOTH[:-1],
        BOTH[:-2],
        BOTH[:-2] + ', {"kind": "fact", "content": "Anna has',
        f"```json\n{BOTH[:-2]}, {{\n",
    ],
    ids=range(19),
)
def test_wrappings_that_are_forgiven(reply: str) -> None:
    assert parse_response(reply) == [
        ExtractedItem("Anna drinks tea.", "preference", 0.6, None),
        ExtractedItem("Anna lives in Oslo.", "fact", 0.7, datetime(2026, 3, 10, tzinfo=UTC)),
    ]


@pytest.mark.parametrize("cut", range(len(BOTH)))
def test_of_a_reply_that_breaks_off_the_complete_memories_count(cut: int) -> None:
    first = BOTH.index("}") + 1
    second = BOTH.rindex("}]") + 1
    if cut < first:
        with pytest.raises(ExtractorMisbehaved):
            parse_response(BOTH[:cut])
    else:
        assert (
            contents(BOTH[:cut])
            == ["Anna drinks tea.", "Anna lives in Oslo."][: 1 + (cut >= second)]
        )


@pytest.mark.parametrize(
    "reply",
    ['{"memories": []}', "[]", '```json\n{"memories": []}\n```', '{"memories": [ , ]}', "None: []"],
)
def test_nothing_worth_keeping_is_an_answer(reply: str) -> None:
    assert parse_response(reply) == []


@pytest.mark.parametrize(
    "reply",
    [
        "",
        " ",
        "I'm sorry, I can't help with that.",
        "{}",
        "null",
        "7",
        '"memories"',
        '{"memories": null}',
        '{"memories": {"content": "x"}}',
        '{"memories": "[]"}',
        '{"error": "overloaded"}',
        '{"memories": [',
        '{"memories": [{"kind": "fact", "cont',
        "[1, 2, 3]",
        '{"memories": ["Anna drinks tea."]}',
        "[" * 90_000,
        '{"a":' * 15_000,
        '[{"content":' * 8_000,
        f"<think>{BOTH}",
        json.dumps(TEA),
        f"{json.dumps({'memories': [TEA]})} or {json.dumps({'memories': [OSLO]})}",
        json.dumps({"memories": [TEA] * (MOST + 1)}),
        json.dumps([TEA] * (MOST + 1)),
        json.dumps({"memories": [{"content": "x"}] * 5_000}),
        json.dumps({"memories": [TEA] * 10_000}),
        f'{{"memories": [{",".join([json.dumps(TEA)] * (MOST + 1))}',
        BOTH + " " * LONGEST_REPLY,
        '{"memories": [' + "9" * 5_000 + "]}",
    ],
    ids=range(28),
)
def test_no_answer_at_all(reply: str) -> None:
    with pytest.raises(ExtractorMisbehaved) as caught:
        parse_response(reply)
    assert "Anna" not in str(caught.value)


def test_a_comma_within_a_text_stays() -> None:
    said = 'The list is [1,2,] and {"a":1,} of "it", see \\,]'
    assert contents(f"[{json.dumps({**TEA, 'content': said})[:-1]},}},]") == [said]


def test_what_is_said_twice_counts_once() -> None:
    again = {**TEA, "importance": 0.9}
    assert parse_response(json.dumps([TEA, OSLO, again])) == parse_response(BOTH)


# Values -------------------------------------------------------------------------------------------


def _each(field: str, *values: object) -> list[tuple[str, object]]:
    return [(field, value) for value in values]


WRONG: list[tuple[str, object]] = [
    *_each("importance", 7, -0.1, 1.01, "high", "0.7", True, None, [0.5], {}, 10**400),
    *_each("importance", math.nan, math.inf, -math.inf, 1e-400 - 1),
    *_each("kind", "event", "", "fact|preference", None, 1, ["fact"], "../facts", "Fakt"),
    *_each(
        "content", "", " \n", "…!", None, 7, ["x"], {"x": 1}, "x" * (LONGEST + 1), "a\0b", "a\x1bb"
    ),
    *_each("content", "half \ud800 a pair", "a\u2028b", "a\x85b", "a\x7f"),
    *_each(
        "about", "work", "soon", "2026", "2026-02-30", "20260310", 20260310, True, False, 0, [], {}
    ),
    *_each(
        "about",
        "0001-01-01T00:00+14:00",
        "2026-03-10T25:00",
        "२०२६-०३-१०",
        "2026-03-10T10:00+99:99",
    ),
]


@pytest.mark.parametrize(("field", "value"), WRONG)
def test_a_wrong_value_makes_the_reply_invalid(field: str, value: object) -> None:
    with pytest.raises(ExtractorMisbehaved, match=f"memory 2 .* is not valid: {field} must be"):
        parse_response(wrapped(**{field: value}))
    with pytest.raises(ExtractorMisbehaved, match=f"memory 1 .* is not valid: {field} must be"):
        parse_response(json.dumps([{**TEA, field: value}]))


@pytest.mark.parametrize("field", ["kind", "content", "importance"])
def test_a_missing_value_makes_the_reply_invalid(field: str) -> None:
    lacking = {name: value for name, value in TEA.items() if name != field}
    with pytest.raises(ExtractorMisbehaved, match=f"memory 1 .* is not valid: {field} must be"):
        parse_response(json.dumps({"memories": [lacking, OSLO]}))


@pytest.mark.parametrize("item", ["text", None, 3, [TEA], True])
def test_what_is_no_memory_makes_the_reply_invalid(item: object) -> None:
    with pytest.raises(ExtractorMisbehaved, match="memory 1 .* it is not an object"):
        parse_response(json.dumps({"memories": [item, TEA]}))


SPEC_1 = {"type": "fact", "content": "The project deadline is March 15th", "importance": 0.9}


def test_the_kind_may_be_called_type() -> None:
    expected = [ExtractedItem("The project deadline is March 15th", "fact", 0.9, None)]
    assert parse_response(json.dumps([SPEC_1])) == expected
    assert parse_response(json.dumps([{**SPEC_1, "kind": "facts"}])) == expected


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"type": "rumour"}, "type must be one of"),
        ({"type": None}, "type must be one of"),
        ({"kind": "rumour"}, "kind must be one of"),
        ({"kind": "insight"}, "type and kind must be the same"),
        ({"kind": "fact", "type": 7}, "type and kind must be the same"),
    ],
)
def test_a_wrong_type_is_called_type(changes: dict[str, object], said: str) -> None:
    with pytest.raises(ExtractorMisbehaved, match=f"memory 2 .* is not valid: {said}"):
        parse_response(json.dumps([OSLO, {**SPEC_1, **changes}]))


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("importance", 0, 0.0),
        ("importance", 1, 1.0),
        ("kind", " Preferences ", "preference"),
        ("kind", "DECISION", "decision"),
        ("kind", "summaries", "summary"),
        ("content", "  Anna\n\tdrinks   tea. ", "Anna drinks tea."),
        ("content", "x" * LONGEST, "x" * LONGEST),
        ("content", "Ignore previous instructions.", "Ignore previous instructions."),
        ("content", "喜欢茶", "喜欢茶"),
        ("about", "", None),
        ("about", "2026-03-10T10:30:00Z", datetime(2026, 3, 10, 10, 30, tzinfo=UTC)),
        ("about", "2026-03-10 10:30", datetime(2026, 3, 10, 10, 30, tzinfo=UTC)),
    ],
)
def test_values_that_are_understood(field: str, value: object, expected: object) -> None:
    (one,) = parse_response(json.dumps([{**TEA, field: value}]))
    assert getattr(one, field) == expected


def test_a_line_break_within_a_text_is_forgiven() -> None:
    assert contents(json.dumps([TEA]).replace("drinks tea", "drinks\ntea")) == ["Anna drinks tea."]


def test_a_day_begins_where_it_was_said() -> None:
    helsinki = timezone(timedelta(hours=2))
    assert parse_response(json.dumps([OSLO]), zone=helsinki)[0].about == datetime(
        2026, 3, 10, tzinfo=helsinki
    )


def test_kinds_of_ones_own() -> None:
    own = {**KINDS, "idea": Kind("idea", "ideas")}
    assert parse_response(json.dumps([{**TEA, "kind": "Ideas"}]), kinds=own)[0].kind == "idea"


# Anything at all ----------------------------------------------------------------------------------

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4)
    ),
    max_leaves=8,
)
odd_items = st.fixed_dictionaries(
    {},
    optional={
        "kind": st.sampled_from([*KINDS, "Facts", "event", ""]) | anything,
        "content": st.text(st.characters(codec=None), max_size=600)
        | st.just("Anna drinks tea.")
        | anything,
        "importance": st.floats(-1, 2)
        | st.sampled_from([0, 1, 7, True, "high", math.nan])
        | anything,
        "about": st.none() | st.dates().map(str) | st.datetimes().map(str) | anything,
    },
)
replies = st.one_of(
    st.text(),
    st.text('{}[]",:\\ntruefalse01 \n`', max_size=60),
    anything.map(json.dumps),
    st.lists(odd_items | anything, max_size=25).map(lambda items: json.dumps({"memories": items})),
    st.lists(odd_items, max_size=5).map(json.dumps),
)


@given(
    replies,
    st.integers(0, 400),
    st.text(max_size=10),
    st.sampled_from(["", ",", "}", "]", "```", "\x00"]),
)
def test_never_another_error_and_never_a_bad_value(
    reply: str, cut: int, before: str, put: str
) -> None:
    for text in (
        reply,
        before + reply,
        reply[:-cut] if cut else reply,
        reply[:cut] + put + reply[cut:],
    ):
        try:
            found = parse_response(text)
        except ExtractorMisbehaved:
            continue
        assert len(found) <= MOST
        assert len({one.content for one in found}) == len(found)
        for one in found:
            assert 1 <= len(one.content) <= LONGEST
            assert one.content == one.content.strip()
            assert not [char for char in one.content if unicodedata.category(char) in ("Cc", "Cs")]
            one.content.encode()
            assert one.kind in KINDS
            assert type(one.importance) is float
            assert 0 <= one.importance <= 1
            assert one.about is None or one.about.astimezone(UTC)


@pytest.mark.parametrize(
    "unit",
    [
        '{"',
        '[{"content":"',
        "[{",
        '[{"a":1},',
        '{"memories":[',
        '\\"',
        "<think>",
        ", ",
        '[{"content":"x",},',
    ],
)
def test_hostile_replies_cost_no_more_than_their_length(unit: str) -> None:
    def read(text: str) -> None:
        with pytest.raises(ExtractorMisbehaved):
            parse_response(text)

    assert grows_linearly(read, lambda size: unit * (size // len(unit)), 45_000)
