"""The journal cut, spoiled or replaced: whole lines count, torn ones are set aside, the index
follows.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from muisti import Muisti, bootstrap
from muisti.ports import Clock
from tests.tiers import sample

from .invariants import check_rebuild, check_sound, fingerprint, usage


def _journal(vault: Path) -> Path:
    return max((vault / "journal").glob("*.jsonl"))


def _used(memory: Muisti) -> list[str]:
    """A vault with a history: sessions, reinforcement, neglect, touches."""
    ids = [memory.save(f"Memory {n} about subject{n}").id for n in range(3)]
    session = memory.start_session("apollo", session_id="work").id
    memory.deemphasize(ids[0], 0.5)
    memory.reinforce(ids[0], 0.3, session_id=session)
    memory.touch(ids[1])
    memory.end_session(session, "Done", tool_calls=4)
    memory.deemphasize(ids[2], 0.2)
    return ids


def test_B3_journal_cut_at_every_byte_of_its_last_line(vault: Path, clock: Clock) -> None:
    with bootstrap.open(vault, clock=clock) as memory:
        ids = _used(memory)
        without = {**usage(memory)}
    whole = _journal(vault).read_bytes()
    start = whole.rfind(b"\n", 0, -1) + 1
    for cut in sample(range(start, len(whole) + 1), 8):
        _journal(vault).write_bytes(whole[:cut])
        with bootstrap.open(vault, clock=clock) as memory:
            assert memory.get(ids[2]).salience == (0.8 if cut == len(whole) else 1.0)  # type: ignore[union-attr]
            assert memory.get(ids[0]).salience == without[ids[0]][0]  # type: ignore[union-attr]
            memory.touch(ids[0])
            reported = [problem.reason for problem in memory.verify().problems]
            assert all(".jsonl.corrupt" in reason for reason in reported)
            assert bool(reported) == (start < cut < len(whole))
            _check_set_aside(vault, whole[start:cut])
            check_sound(memory)
    check_rebuild(vault, clock)


def _check_set_aside(vault: Path, tail: bytes) -> None:
    """The torn tail is kept elsewhere; the line that follows begins on a fresh line."""
    corrupt = _journal(vault).with_suffix(".jsonl.corrupt")
    torn = bool(tail) and not tail.endswith(b"\n")
    assert corrupt.exists() == torn
    if torn:
        assert corrupt.read_bytes() == tail + b"\n"
        corrupt.unlink()
    lines = _journal(vault).read_bytes().splitlines()
    assert all(json.loads(line) for line in lines)
    assert json.loads(lines[-1])["event"] == "touched"


GARBAGE = [
    b"\x00\xff\xfe",
    b"not json",
    b"[1, 2]",
    b"{}",
    b'"text"',
    b'{"at": "x", "event": "touched"}',
    b"null",
    b"1" * 5000,
]
GARBAGE += [b'{"at":"2026-03-10T12:00:00Z","event":"reinforced","memories":"abc"}', b"[" * 100_000]


@pytest.mark.parametrize("garbage", GARBAGE, ids=range(len(GARBAGE)))
def test_K2_garbage_in_the_middle_of_the_journal(vault: Path, clock: Clock, garbage: bytes) -> None:
    with bootstrap.open(vault, clock=clock) as memory:
        _used(memory)
        before = usage(memory)
        lines = _journal(vault).read_bytes().splitlines(keepends=True)
        _journal(vault).write_bytes(b"".join([*lines[:3], garbage + b"\n", *lines[3:]]))
        report = memory.sync()
        assert usage(memory) == before
        assert [problem.path for problem in report.problems] == [f"journal/{_journal(vault).name}"]
        assert {problem.path for problem in memory.verify(deep=True).problems} == {
            f"journal/{_journal(vault).name}"
        }
        live = fingerprint(memory)
        memory.reindex()
        assert fingerprint(memory) == live
        _journal(vault).write_bytes(b"".join(lines))
        assert not memory.sync().problems
        check_sound(memory)
    check_rebuild(vault, clock)


@pytest.mark.parametrize("lines", range(10))
def test_B5_journal_replaced_by_an_older_copy(vault: Path, clock: Clock, lines: int) -> None:
    """As `git checkout` does, while the vault is open; and then back."""
    with bootstrap.open(vault, clock=clock) as memory:
        _used(memory)
        latest, present = _journal(vault).read_bytes(), usage(memory)
        old = b"".join(latest.splitlines(keepends=True)[:lines])
        _journal(vault).unlink()
        _journal_named(vault).write_bytes(old)
        memory.sync()
        check_sound(memory)
        assert (len(memory.list_sessions()) == 1) == (b"session_started" in old)
        _journal(vault).write_bytes(latest)
        memory.sync()
        assert usage(memory) == present
        check_sound(memory)
    check_rebuild(vault, clock)


def _journal_named(vault: Path) -> Path:
    return vault / "journal" / "2026-03.jsonl"


def test_B5_older_copy_that_has_grown_differently(vault: Path, clock: Clock) -> None:
    """The other branch is longer than ours: the offset alone would not tell."""
    with bootstrap.open(vault, clock=clock) as memory:
        ids = _used(memory)
        common = b"".join(_journal(vault).read_bytes().splitlines(keepends=True)[:3])
        ours = _journal(vault).read_bytes()
        line = json.dumps(
            {
                "at": "2026-03-10T12:00:00Z",
                "event": "reinforced",
                "memories": [ids[1]],
                "salience": 0.4,
            }
        )
        _journal(vault).write_bytes(common + (line + "\n").encode() * 30)
        assert _journal(vault).stat().st_size > len(ours)
        memory.sync()
        assert memory.get(ids[1]).salience == 0.4  # type: ignore[union-attr]
        assert memory.get(ids[1]).access_count == 30  # type: ignore[union-attr]
        assert memory.get(ids[0]).salience == 1.0  # type: ignore[union-attr]
        check_sound(memory)


@pytest.mark.parametrize("name", ["2026-01.jsonl", "2026-02.jsonl"])
def test_B5_lines_of_an_earlier_month_arrive_late(vault: Path, clock: Clock, name: str) -> None:
    """From another machine, by git or a file synchroniser. The order of months counts, not the
    order of arrival.
    """
    (vault / "journal").mkdir(parents=True)
    (vault / "journal" / "2026-02.jsonl").write_bytes(b"")
    with bootstrap.open(vault, clock=clock) as memory:
        ids = _used(memory)
        before = usage(memory)[ids[0]]
        line = {
            "at": "2026-01-05T12:00:00Z",
            "event": "deemphasized",
            "memories": [ids[0]],
            "salience": 0.07,
        }
        (vault / "journal" / name).write_text(json.dumps(line) + "\n")
        memory.sync()
        assert usage(memory)[ids[0]] == before
        check_sound(memory)
    check_rebuild(vault, clock)


def test_B5_journal_removed_while_open(vault: Path, clock: Clock) -> None:
    with bootstrap.open(vault, clock=clock) as memory:
        ids = _used(memory)
        _journal(vault).unlink()
        memory.touch(ids[0])
        check_sound(memory)
        assert memory.get(ids[0]).salience == 1.0  # type: ignore[union-attr]
        assert memory.list_sessions() == []
    check_rebuild(vault, clock)
