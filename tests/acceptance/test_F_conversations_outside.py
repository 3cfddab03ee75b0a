"""F3, B5 · Conversations whose files others write too: programs, people, crashes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from muisti import Muisti
from muisti.errors import VaultUnusable
from tests.acceptance.test_F_conversations import (
    CHAT,
    DAY,
    SECRET,
    check_rebuilt,
    day_file,
    found,
    line,
    said,
    settled,
    write,
)
from tests.conftest import FakeClock, Opener
from tests.faults.invariants import fingerprint
from tests.tiers import sample


@pytest.fixture(autouse=True)
def _no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUISTI_EMBEDDER", "none")


# -- Written by other programs and by hand


def test_F3_what_other_programs_write(memory: Muisti, vault: Path) -> None:
    path = write(
        vault,
        b'\xef\xbb\xbf{"content": "other order", "role": "tool", "extra": [1], "ts": "2026-03-10T12:00:00+02:00"}\r\n',
        line({"text": "ä"}, ts="2026-03-10T12:00:00", meta=None, id=17),
        line("unknown type", type="reaction", meta={}, id=""),
        line(None, role="assistant", meta={"tool_calls": [1]}, id="null"),
        b"\n", b"   \n",
        line("nul \0 in it", id="nul"),
        line("again"), line("again"),
    )  # fmt: skip
    before = path.read_bytes()
    report = memory.sync()
    assert report.problems == ()
    assert said(memory) == [
        "other order",
        '{"text": "ä"}',
        "unknown type",
        "",
        "nul \0 in it",
        "again",
        "again",
    ]
    window = memory.window(CHAT)
    assert [m.at.hour for m in window[:3]] == [10, 12, 12]
    assert (window[0].role, window[1].id, window[2].type, window[3].meta) == (
        "tool",
        "17",
        "reaction",
        {"tool_calls": [1]},
    )
    assert len({m.id for m in window}) == len(window)
    assert path.read_bytes() == before
    check_rebuilt(memory)
    memory.append_message(CHAT, "user", "and ours")
    assert said(memory)[-1] == "and ours"
    assert day_file(vault).read_bytes().startswith(before)


BROKEN = [
    b"not json", b"[1, 2]", b"{}", b"null", b'"text"', b"\x00\xff\xfe", b"[" * 100_000, b'{"a":' * 100_000, line("x", role="robot").strip(), line("x", role=...).strip(),
    line("x", ts=...).strip(), line("x", ts="yesterday").strip(), line("x", ts=17).strip(), line(..., id="c").strip(), line("x", meta="m").strip(),
    line("\ud800").strip(), line("x", ts="0001-01-01T00:00:00+10:00").strip(), line("x", role=["user"]).strip(),
    b'{"ts":"2026-03-10T12:00:00Z","role":"user","content":"x","meta":{"a":' + b"[" * 200 + b"]" * 200 + b"}}",
]  # fmt: skip


@pytest.mark.parametrize("broken", BROKEN, ids=range(len(BROKEN)))
def test_F3_a_broken_line_in_the_middle_is_told_of_and_left_alone(
    memory: Muisti, vault: Path, broken: bytes
) -> None:
    first = line("before", id="a")
    path = write(vault, first, broken + b"\n", line("after", id="b"))
    before = path.read_bytes()
    [problem] = memory.sync().problems
    assert problem.path == f"conversations/{CHAT}/{DAY}.jsonl"
    assert f"byte {len(first)}" in problem.reason
    assert said(memory) == ["before", "after"]
    memory.append_message(CHAT, "user", "ours")
    assert memory.problems() == [problem], "it stays told of until it is mended"
    memory.reindex()
    assert memory.problems() == [problem]
    check_rebuilt(memory)
    assert path.read_bytes().startswith(before)
    write(vault, first, line("after", id="b"))
    assert memory.sync().problems == ()
    assert said(memory) == ["before", "after"]
    check_rebuilt(memory)


def test_C1_what_others_wrote_into_the_files_stays_out_of_the_index(
    memory: Muisti, vault: Path
) -> None:
    path = write(vault, line("left <private>canary4711</private> right", id="a"), line("<private>canary4711</private>", id="b"),
                 line("hello", id="c", meta={"note": "<private>canary4711</private>", "key": [SECRET]}), line("plain", id="d"))  # fmt: skip
    before = path.read_bytes()
    memory.sync()
    assert said(memory) == ["left  right", "[private]", "hello", "plain"]
    assert memory.window(CHAT)[2].meta == {"note": "", "key": ["[redacted:aws-access-key]"]}
    memory.close()
    index = b"".join(path.read_bytes() for path in (vault / ".muisti").rglob("*") if path.is_file())
    assert (b"canary4711" in index, SECRET.encode() in index) == (False, False)
    assert path.read_bytes() == before


def test_B5_ids_that_begin_anew_every_day(memory: Muisti, vault: Path) -> None:
    """As in spec 2: `msg_001`."""
    for day in (8, 9, 10, 11):
        lines = [
            line(text, id=f"msg_{n:03}", ts=f"2026-03-{day:02}T12:00:0{n}Z")
            for n, text in enumerate(["hello", f"day {day}"])
        ]
        write(vault, *lines, day=f"2026-03-{day:02}")
    memory.sync()
    assert said(memory) == [text for day in (8, 9, 10, 11) for text in ("hello", f"day {day}")]
    check_rebuilt(memory)


def test_B5_lines_without_an_id_are_each_their_own(memory: Muisti, vault: Path) -> None:
    for day in ("2026-03-08", "2026-03-09"):
        write(vault, line("hello"), line("hello"), day=day)
    memory.sync()
    assert said(memory) == ["hello"] * 4


def test_B5_an_id_that_looks_like_one_we_made(memory: Muisti, vault: Path) -> None:
    first = line("A", id="x")
    write(vault, first, line("B", id="x"), line("C", id=f"x~{len(first)}"))
    memory.sync()
    assert said(memory) == ["A", "B", "C"]
    assert len({hit.memory.id for hit in memory.search_messages("A B C", mode="keyword")}) == 3
    check_rebuilt(memory)


def test_B5_a_line_that_is_moved_to_another_day(memory: Muisti, vault: Path) -> None:
    a, b, c = (line(text, id=text) for text in "abc")
    write(vault, a, day="2026-03-09")
    write(vault, b, c)
    memory.sync()
    write(vault, a, b, day="2026-03-09")
    write(vault, c)
    memory.sync()
    assert said(memory) == ["a", "b", "c"]
    check_rebuilt(memory)


def test_B5_a_file_of_an_earlier_day_arrives_late(memory: Muisti, vault: Path) -> None:
    write(vault, line("new", id="x"))
    memory.sync()
    write(vault, line("old", id="x"), day="2026-03-09")
    memory.sync()
    assert said(memory) == ["old", "new"]
    check_rebuilt(memory)


def test_B5_the_first_of_two_with_one_id_goes(memory: Muisti, vault: Path) -> None:
    write(vault, line("one", id="x"), day="2026-03-09")
    write(vault, line("two", id="x"))
    memory.sync()
    day_file(vault, "2026-03-09").unlink()
    memory.sync()
    assert said(memory) == ["two"]
    check_rebuilt(memory)


@pytest.mark.parametrize(
    ("old", "new"), [("kissa", "koira"), ("kissa", "a longer word"), ("kissa", "k")]
)
@pytest.mark.parametrize("in_place", [True, False])
def test_B5_a_hand_edit_of_an_earlier_line(
    memory: Muisti, vault: Path, old: str, new: str, in_place: bool
) -> None:
    for text in (old, "x" * 400, "last"):
        memory.append_message(CHAT, "user", text)
    settled(day_file(vault))
    memory.sync()
    changed = day_file(vault).read_bytes().replace(old.encode(), new.encode())
    if not in_place:
        day_file(vault).unlink()
    day_file(vault).write_bytes(changed)
    memory.sync()
    assert said(memory)[0] == new
    assert (found(memory, new), found(memory, old)) == ([new], [])
    check_rebuilt(memory)
    settled(day_file(vault))
    day_file(vault).write_bytes(changed.replace(new.encode(), old.encode()))
    memory.append_message(CHAT, "user", "the next to append sees it too")
    assert said(memory)[0] == old
    check_rebuilt(memory)


def test_B5_a_file_vanishes_and_comes_back(memory: Muisti, vault: Path, clock: FakeClock) -> None:
    for number in range(4):
        memory.append_message(CHAT, "user", f"ferry day{number}")
        clock.forward(days=1)
    before = (memory.window(CHAT), fingerprint(memory))
    away = day_file(vault, "2026-03-11")
    away.rename(vault / "away")
    assert not memory.sync().paused
    assert said(memory) == ["ferry day0", "ferry day2", "ferry day3"]
    assert found(memory, "day1") == []
    check_rebuilt(memory)
    (vault / "away").rename(away)
    memory.sync()
    assert (memory.window(CHAT), fingerprint(memory)) == before


def test_B5_many_files_vanish_at_once(memory: Muisti, vault: Path, clock: FakeClock) -> None:
    for number in range(10):
        memory.append_message(CHAT, "user", f"ferry day{number}")
        clock.forward(days=1)
    (vault / "conversations").rename(vault / "elsewhere")
    report = memory.sync()
    assert (report.paused, report.missing) == (True, 10)
    assert len(said(memory)) == 10
    (vault / "elsewhere").rename(vault / "conversations")
    assert not memory.sync().paused
    check_rebuilt(memory)
    for path in sorted(day_file(vault).parent.iterdir())[:3]:
        path.unlink()
    assert memory.sync().missing == 3
    assert not memory.sync(confirm=True).paused
    assert len(said(memory)) == 7
    check_rebuilt(memory)


def test_B5_many_files_are_renamed(memory: Muisti, vault: Path) -> None:
    for day in range(1, 6):
        write(vault, line(f"day {day}", id=f"m{day}"), day=f"2026-03-0{day}")
    memory.sync()
    for day in range(1, 6):
        day_file(vault, f"2026-03-0{day}").rename(day_file(vault, f"2025-03-0{day}"))
    memory.sync()
    memory.sync(confirm=True)
    assert said(memory) == [f"day {day}" for day in range(1, 6)]
    check_rebuilt(memory)


# -- A last line that a crash cut short


@pytest.mark.parametrize("how", ["sync", "reindex", "append", "open"])
def test_F3_cut_at_every_byte_of_the_last_line(opened: Opener, vault: Path, how: str) -> None:
    memory = opened()
    memory.append_message(CHAT, "user", "first", id="a")
    whole = day_file(vault).read_bytes()
    memory.append_message(CHAT, "assistant", "sécond", id="b")
    last = day_file(vault).read_bytes()[len(whole) :]
    corrupt = day_file(vault).with_name(f"{DAY}.jsonl.corrupt")
    for cut in sample(range(len(last)), 6):
        day_file(vault).write_bytes(whole + last[:cut])
        corrupt.unlink(missing_ok=True)
        if how == "open":
            memory.close()
            memory = opened()
        elif how != "append":
            getattr(memory, how)()
        torn = 0 < cut < len(last) - 1
        if how != "append":
            assert [problem.path for problem in memory.problems()] == [
                f"conversations/{CHAT}/{DAY}.jsonl"
            ] * torn
            assert said(memory) == (["first", "sécond"] if cut == len(last) - 1 else ["first"])
            assert day_file(vault).read_bytes() == (whole + last if cut == len(last) - 1 else whole)
        memory.append_message(CHAT, "user", "third")
        assert corrupt.exists() == torn
        if torn:
            assert corrupt.read_bytes() == last[:cut] + b"\n"
            assert ".corrupt" in memory.problems()[0].reason
        assert all(json.loads(one) for one in day_file(vault).read_bytes().splitlines())
        assert said(memory) == (
            ["first", "sécond", "third"] if cut == len(last) - 1 else ["first", "third"]
        )
    check_rebuilt(memory)


def test_F3_once_the_set_aside_line_was_looked_at_the_problem_is_gone(
    memory: Muisti, vault: Path
) -> None:
    path = write(vault, line("first"), b'{"id": "cut')
    memory.sync()
    settled(path)
    assert len(memory.sync().problems) == 1
    path.with_name(f"{path.name}.corrupt").unlink()
    assert memory.sync().problems == ()
    assert memory.verify(deep=True).ok


@pytest.mark.parametrize("text", [b"precious, without an end", b"precious\n"])
def test_K3_nothing_is_written_through_a_link(
    memory: Muisti, vault: Path, tmp_path: Path, text: bytes
) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_bytes(text)
    day_file(vault).parent.mkdir(parents=True)
    day_file(vault).symlink_to(outside)
    for act in (lambda: memory.append_message(CHAT, "user", "hello"), memory.sync, memory.reindex):
        try:
            act()
        except VaultUnusable as error:
            assert "link" in str(error)
        assert outside.read_bytes() == text
    shutil.rmtree(vault / "conversations")
    (vault / "conversations").symlink_to(tmp_path, target_is_directory=True)
    with pytest.raises(VaultUnusable, match="link"):
        memory.append_message(CHAT, "user", "hello")
