"""Three-way merges of memories, core memory and logs."""

from __future__ import annotations

import json
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muisti.storage.files import frontmatter
from muisti.storage.files.errors import BadFrontMatter
from muisti.storage.files.three_way import Sides, merge_core, merge_log, merge_memory
from muisti.surfaces.git.driver import merge_versions

ID = "0195801f-7d3c-7a41-9d0e-2f6b3c9f12ab"
HEAD = """\
title: Python
kind: decision
importance: 0.5
keywords:
  - python
  - backend # the server
# mine
mine: 'as I like it'
updated_at: 2026-03-10T12:00:00Z
"""
BODY = "One.\n\nTwo.\n\nThree.\n"
LATER = ("2026-03-10T12", "2026-03-11T12")


def write(head: str = HEAD, body: str = BODY, memory_id: str = ID) -> str:
    return f"---\nid: {memory_id}\n{head}---\n\n{body}"


def merge(ours: str, theirs: str, base: str | None = None) -> str:
    """Return the merged text; the three texts that are left must be one."""
    merged = merge_memory(Sides(write() if base is None else base, ours, theirs))
    assert len(set(merged)) == 1, merged
    return merged.ours


def change(*pairs: tuple[str, str]) -> str:
    text = write()
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    return text


@pytest.mark.parametrize(
    ("ours", "theirs", "wanted"),
    [
        ([], [("0.5", "0.7")], [("0.5", "0.7")]),
        ([("0.5", "0.7")], [], [("0.5", "0.7")]),
        ([("Python", "Go")], [("0.5", "0.7")], [("Python", "Go"), ("0.5", "0.7")]),
        ([("0.5", "0.6"), LATER], [("0.5", "0.7")], [("0.5", "0.6"), LATER]),
        ([("0.5", "0.6")], [("0.5", "0.7"), LATER], [("0.5", "0.7"), LATER]),
        ([("0.5", "0.6")], [("0.5", "0.7")], [("0.5", "0.7")]),
        (
            [("  - python\n", "  - python\n  - api\n")],
            [("  - backend # the server\n", "  - backend # the server\n  - web # new\n")],
            [("  - python\n  - backend # the server\n", "  - python\n  - api\n  - backend # the server\n  - web # new\n")],
        ),
        ([("  - python\n", "")], [("server\n", "server\n  - web\n")], [("  - python\n", ""), ("server\n", "server\n  - web\n")]),
        ([("# mine\n", "# yours\n")], [("# mine\n", "# mine\n# ours\n")], [("# mine\n", "# ours\n# yours\n")]),
        ([("mine: 'as I like it'\n", "")], [], [("mine: 'as I like it'\n", "")]),
        ([("importance: 0.5\n", "")], [("0.5", "0.7")], [("0.5", "0.7")]),
        ([("Z\n---", "Z\nnew: 1\n---")], [("Z\n---", "Z\nother: [a, b] # c\n---")], [("Z\n---", "Z\nother: [a, b] # c\nnew: 1\n---")]),
    ],
)  # fmt: skip
def test_keys_are_merged_and_all_else_stays(
    ours: list[tuple[str, str]], theirs: list[tuple[str, str]], wanted: list[tuple[str, str]]
) -> None:
    assert merge(change(*ours), change(*theirs)) == change(*wanted)


def test_links_of_both_sides_stay_and_one_that_both_confirmed_is_there_once() -> None:
    link = "  - RELATED_TO 1 confidence=0.7 by=system at=2026-03-10T12:00:00Z\n"
    confirmed = "  - RELATED_TO 1 at=2026-03-1{}T12:00:00Z\n"
    base = write(f"{HEAD}links:\n{link}")
    ours = write(f"{HEAD}links:\n{confirmed.format(1)}  - CONFIRMS 2\n")
    theirs = write(f"{HEAD.replace(*LATER)}links:\n{confirmed.format(2)}  - CONFIRMS 3\n")
    merged = merge(ours, theirs, base)
    assert merged.count("RELATED_TO 1") == 1
    assert confirmed.format(2) in merged
    assert "CONFIRMS 2" in merged
    assert "CONFIRMS 3" in merged
    assert merge(theirs, ours, base).count("RELATED_TO 1") == 1


def test_removing_all_links_does_not_remove_a_new_one() -> None:
    base = write(f"{HEAD}links:\n  - CONFIRMS 1\n")
    theirs = write(f"{HEAD}links:\n  - CONFIRMS 1\n  - CONFIRMS 2\n")
    assert merge(write(), theirs, base) == write(f"{HEAD}links:\n  - CONFIRMS 2\n")


@pytest.mark.parametrize("old", ["Python", "'as I like it'"])
def test_texts_that_both_changed_are_a_conflict_in_their_line_only(old: str) -> None:
    ours, theirs = change((old, "One"), ("0.5", "0.6")), change((old, "Other"), LATER)
    data, is_conflict = merge_versions(*(text.encode() for text in (write(), ours, theirs)), "x.md")
    assert is_conflict
    head, rest = data.decode().split("<<<<<<< ours\n")
    inside, tail = rest.split(">>>>>>> theirs\n")
    assert inside.count("\n") <= 4
    assert "One" in inside
    assert "Other" in inside
    assert "0.6" in head + tail
    assert BODY in tail


def test_bodies_are_merged_by_lines() -> None:
    ours, theirs = write(body=BODY.replace("One", "1")), write(body=BODY.replace("Three", "3"))
    sides = [text.encode() for text in (write(), ours, theirs)]
    data, is_conflict = merge_versions(*sides, "facts/x.md")
    assert (data.decode(), is_conflict) == (write(body="1.\n\nTwo.\n\n3.\n"), False)
    data, is_conflict = merge_versions(sides[0], sides[1], sides[1].replace(b"1.", b"one"), "x.md")
    assert is_conflict
    assert b"<<<<<<< ours\n1.\n=======\none\n>>>>>>> theirs\n" in data


def test_line_ends_stay() -> None:
    ours, theirs = change(("0.5", "0.6")), change(("Python", "Go"))
    merged = merge(*(text.replace("\n", "\r\n") for text in (ours, theirs, write())))
    assert merged == change(("0.5", "0.6"), ("Python", "Go")).replace("\n", "\r\n")
    converted = ours.replace("\n", "\r\n")
    assert merge(converted, theirs) == merged


def test_two_memories_are_a_conflict_and_an_id_that_both_gave_is_one() -> None:
    other = ID.replace("ab", "ac")
    sides = [write().encode(), write().encode(), write(memory_id=other, body="Else.\n").encode()]
    data, is_conflict = merge_versions(*sides, "x.md")
    assert is_conflict
    assert b"Else." in data
    assert b"Two." in data
    base = write().replace(f"id: {ID}\n", "")
    assert merge(write(), write(memory_id=other), base) == write()
    assert merge(write(memory_id=other), write(), base) == write()


@pytest.mark.parametrize("text", ["no front matter\n", "---\nid: 1\n", "---\na: 1\na: 2\n---\n"])
def test_what_cannot_be_read_is_left_to_git(text: str) -> None:
    with pytest.raises(BadFrontMatter):
        merge_memory(Sides(write(), text, write()))
    sides = [part.encode() for part in (write(), text, change(("0.5", "0.6")))]
    assert merge_versions(*sides, "x.md")[1]


CORE = '{\n  "user": {\n    "a": "1",\n    "b": "2"\n  },\n  "agent": {}\n}\n'


def test_core_memory_is_merged_key_by_key() -> None:
    ours = json.dumps({"user": {"a": "1", "c": "3"}, "agent": {"x": "y"}, "own": [1]})
    theirs = json.dumps({"user": {"b": "2", "a": "one", "d": "4"}, "agent": {}})
    merged = merge_core(Sides(CORE, ours, theirs))
    assert len(set(merged)) == 1
    user = {"a": "one", "c": "3", "d": "4"}
    assert json.loads(merged.ours) == {"user": user, "agent": {"x": "y"}, "own": [1]}


def test_an_entry_that_both_changed_is_a_conflict_but_not_in_the_backup() -> None:
    ours, theirs = CORE.replace("1", "one"), CORE.replace("1", "uno").replace("2", "dos")
    sides = [text.encode() for text in (CORE, ours, theirs)]
    data, is_conflict = merge_versions(*sides, "users/anna/core_memory.json")
    assert is_conflict
    assert data.count(b"dos") == 1
    data, is_conflict = merge_versions(*sides, ".history/core_memory.json")
    assert not is_conflict
    assert json.loads(data)["user"] == {"a": "one", "b": "dos"}
    assert merge_versions(b"{", b"[1]", b"[2]", "core_memory.json")[1]


def line(at: str, name: str) -> bytes:
    return json.dumps({"at": f"2026-03-10T{at}:00Z", "event": name}).encode() + b"\n"


def test_lines_of_both_sides_are_there_once_and_in_order() -> None:
    base = line("10:00", "a") + line("11:00", "b")
    ours = base + line("12:00", "c") + line("14:00", "e") + line("15:00", "both")
    theirs = base + line("10:30", "late") + line("13:00", "d") + line("15:00", "both")
    wanted = [
        *("10:00 a", "10:30 late", "11:00 b", "12:00 c", "13:00 d", "14:00 e", "15:00 both"),
    ]
    merged = merge_log(base, ours, theirs)
    assert merged == b"".join(line(*one.split()) for one in wanted)
    assert merge_log(base, theirs, ours) == merged


def test_a_line_that_one_side_removed_stays_removed() -> None:
    base = line("10:00", "a") + line("11:00", "secret")
    ours, theirs = line("10:00", "a"), base + line("12:00", "c")
    assert merge_log(base, ours, theirs) == line("10:00", "a") + line("12:00", "c")


def test_lines_without_a_time_follow_the_one_above_and_a_last_line_gets_an_end() -> None:
    ours = line("12:00", "c") + b"not an event\n" + line("14:00", "e")
    assert merge_log(b"", ours, line("13:00", "d").rstrip()) == b"".join(
        (line("12:00", "c"), b"not an event\n", line("13:00", "d"), line("14:00", "e"))
    )


def test_many_lines_of_one_moment_take_little_memory() -> None:
    """An import writes thousands of lines at once."""
    ours, theirs = (
        b"".join(line("12:00", f"{side}{number}" + 1000 * "x") for number in range(200))
        for side in "ab"
    )
    tracemalloc.start()
    merged = merge_log(b"", ours, theirs)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert merged == ours + theirs
    assert peak < 10 * len(merged)


events = st.lists(st.tuples(st.integers(0, 59), st.integers(0, 3)), max_size=8)


@given(events, events, events)
def test_no_line_is_lost_whatever_the_order(
    old: list[tuple[int, int]], mine: list[tuple[int, int]], their: list[tuple[int, int]]
) -> None:
    base, own, other = (
        [line(f"10:{minute:02}", str(name)) for minute, name in events]
        for events in (old, mine, their)
    )
    ours, theirs = b"".join(base + own), b"".join(base + other)
    merged = merge_log(b"".join(base), ours, theirs)
    assert set(merged.splitlines()) == set(ours.splitlines()) | set(theirs.splitlines())
    assert merged == merge_log(b"".join(base), theirs, ours)
    kept = [one for one in merged.splitlines(keepends=True) if one in set(base)]
    assert kept == base


CHANGES = {
    "title: Python\n": ("title: Ours\n", "title: Theirs\n"),
    "kind: decision\n": ("kind: fact\n", "kind: note\n"),
    "importance: 0.5\n": ("importance: 0.6\n", "importance: 0.7\n"),
    "  - python\n": ("  - python\n  - ours\n", "  - python\n  - theirs\n"),
    "  - backend # the server\n": ("  - backend # ours\n", "  - backend # theirs\n"),
    "# mine\n": ("# our comment\n", "# their comment\n"),
    "mine: 'as I like it'\n": ("mine: ours\n", "mine: theirs\n"),
    "One.\n": ("Our one.\n", "Their one.\n"),
    "Three.\n": ("Our three.\n", "Their three.\n"),
}
"""By text of the ancestor: what either side makes of it."""
some = st.sets(st.sampled_from(sorted(CHANGES)))


@given(some, some)
def test_no_change_of_either_side_is_lost(mine: set[str], their: set[str]) -> None:
    ours = change(*((old, CHANGES[old][0]) for old in mine))
    theirs = change(*((old, CHANGES[old][1]) for old in their))
    data, is_conflict = merge_versions(write().encode(), ours.encode(), theirs.encode(), "x.md")
    merged = data.decode()
    written = {"title: Python\n", "mine: 'as I like it'\n", "One.\n", "Three.\n"}
    assert is_conflict == bool(mine & their & written)
    for side, changed, others in ((0, mine, their), (1, their, mine)):
        for old in changed:
            is_chosen = old.startswith(("kind", "importance", "  - backend"))
            if not (is_chosen and old in others):
                assert all(line in merged for line in CHANGES[old][side].splitlines())
    turned, _ = merge_versions(write().encode(), theirs.encode(), ours.encode(), "x.md")
    if not is_conflict:
        both = [frontmatter.parse(text).values for text in (merged, turned.decode())]
        one, other = ({key: sorted(value or "") for key, value in head.items()} for head in both)
        assert one == other
