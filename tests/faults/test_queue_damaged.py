"""Queues that a crash or a person damaged: what was accepted is not lost, and nothing foreign
breaks the vault (I1, K2).
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from muisti import bootstrap
from muisti.ports import Clock
from muisti.remember.identity import make_id
from muisti.storage.files.queue import FileQueue

from .invariants import check_sound
from .queues import AT, check_once, events, exchange, finish, learnt, note, queue_files

# Damaged queues -----------------------------------------------------------------------------------


@pytest.fixture
def two(vault: Path, clock: Clock) -> Path:
    """The file of a process that accepted two exchanges and died."""
    with bootstrap.open(vault, clock=clock):
        pass
    waiting = FileQueue(vault)
    for n in range(2):
        waiting.put(exchange(n))
    waiting.close()
    (path,) = (vault / ".queue").glob("*.jsonl")
    return path


def test_K2_a_last_line_that_was_cut_short(two: Path, vault: Path) -> None:
    """Cut at every byte: it was never acknowledged, so it is no exchange, and the one before is not
    harmed.
    """
    whole = two.read_bytes()
    end = whole.index(b"\n") + 1
    for cut in range(end, len(whole) + 1):
        two.write_bytes(whole[:cut])
        waiting = FileQueue(vault)
        found = waiting.take_over()
        assert [one.user for one in found] == [note(0), note(1)][: 1 + (cut == len(whole))]
        for one in found[:-1]:
            waiting.done(one.id)
        waiting.close()
        again = FileQueue(vault)
        assert again.take_over() == found[-1:], "what is done stays done"
        again.close()


def test_K2_a_cut_line_through_the_engine(two: Path, vault: Path, clock: Clock) -> None:
    two.write_bytes(two.read_bytes()[:-10])
    with finish(vault, clock) as memory:
        assert [one.content for one in memory.list()] == [learnt(0)]
        check_sound(memory)
    check_once(vault)


WHOLE: dict[str, Any] = {
    "at": "2026-03-10T12:00:00Z",
    "id": make_id(AT),
    "session_id": "s",
    "user": "I like tea.",
    "assistant": "",
}
GARBAGE: dict[str, bytes] = {
    "list": b"[]",
    "text": b'"done"',
    "number": b"7",
    "null": b"null",
    "object": b"{}",
    "no JSON": b"<<<<<<< HEAD",
    "bytes": b"\xff\xfe\x00garbage",
    "zeros": b"\0" * 600,
    "deep": b"[" * 100_000,
    "no id": json.dumps({**WHOLE, "id": None}).encode(),
    "id no uuid": json.dumps({**WHOLE, "id": "../../up"}).encode(),
    "id a number": json.dumps({**WHOLE, "id": 5}).encode(),
    "no time": json.dumps({**WHOLE, "at": "yesterday"}).encode(),
    "time a list": json.dumps({**WHOLE, "at": []}).encode(),
    "user a number": json.dumps({**WHOLE, "user": 5}).encode(),
    "session missing": json.dumps({**WHOLE, "session_id": None}).encode(),
    "surrogate": json.dumps({**WHOLE, "user": "\ud800"}).encode(),
    "session surrogate": json.dumps({**WHOLE, "session_id": "\ud800"}).encode(),
}


@pytest.mark.parametrize("garbage", GARBAGE)
@pytest.mark.parametrize("place", ["first", "middle", "last"])
def test_K2_foreign_lines_in_a_queue(
    two: Path, vault: Path, clock: Clock, garbage: str, place: str, caplog: pytest.LogCaptureFixture
) -> None:
    """They are set aside and reported; the others are done, and the vault opens."""
    lines = two.read_bytes().splitlines()
    lines.insert({"first": 0, "middle": 1, "last": 2}[place], GARBAGE[garbage])
    two.write_bytes(b"\n".join(lines) + b"\n")
    with finish(vault, clock) as memory:
        assert {one.content for one in memory.list()} == {learnt(0), learnt(1)}
        check_sound(memory)
    assert queue_files(vault) == [f"{two.name}.corrupt"]
    assert (vault / ".queue" / f"{two.name}.corrupt").read_bytes() == GARBAGE[garbage] + b"\n"
    assert "cannot be read" in caplog.text
    assert set(Counter(one["exchange"] for one in events(vault)).values()) == {1}


@pytest.mark.parametrize(
    "odd",
    [
        {"session_id": "a\nb"},
        {"session_id": ""},
        {"session_id": "s" * 500},
        {"mode": "poetry"},
        {"project": "../up"},
        {"user": "\0"},
    ],
    ids=str,
)
def test_K2_an_exchange_that_can_never_be_saved_is_done(
    two: Path, vault: Path, clock: Clock, odd: dict[str, str]
) -> None:
    """It must not come back at every start, nor keep the others from being learnt."""
    line = json.dumps({**WHOLE, "user": note(5), **odd}).encode()
    two.write_bytes(line + b"\n" + two.read_bytes())
    with finish(vault, clock) as memory:
        assert (
            {learnt(0), learnt(1)}
            <= {one.content for one in memory.list()}
            <= {learnt(0), learnt(1), learnt(5)}
        )
        check_sound(memory)
    assert len(events(vault)) == 3
    check_once(vault)


def test_K2_a_file_that_cannot_be_read_does_not_keep_the_others_back(
    two: Path, vault: Path, clock: Clock
) -> None:
    (vault / ".queue" / "0.jsonl").mkdir()
    with finish(vault, clock) as memory:
        assert len(memory.list()) == 2
    assert queue_files(vault) == ["0.jsonl"]


def test_K3_a_link_out_of_the_vault_is_not_followed(
    two: Path, vault: Path, clock: Clock, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    theirs = elsewhere / "theirs.jsonl"
    theirs.write_bytes(b"somebody's own\nwithout an end")
    (vault / ".queue" / "0.jsonl").symlink_to(theirs)
    with finish(vault, clock) as memory:
        assert len(memory.list()) == 2
    shutil.rmtree(vault / ".queue")
    (vault / ".queue").symlink_to(elsewhere)
    with finish(vault, clock) as memory:
        assert memory.extract_and_save("chat", note(3)) is False
    assert {path.name: path.read_bytes() for path in elsewhere.iterdir()} == {
        "theirs.jsonl": b"somebody's own\nwithout an end"
    }


def test_K2_two_readers_never_get_the_same(two: Path, vault: Path) -> None:
    first, second = FileQueue(vault), FileQueue(vault)
    assert len(first.take_over()) == 2
    assert second.take_over() == []
    assert first.take_over() == [], "nor the same reader twice"
    first.close()
    assert len(second.take_over()) == 2
    second.close()


def test_K2_an_empty_file_of_the_dead_is_removed_and_the_own_one_is_kept(
    vault: Path, clock: Clock
) -> None:
    with bootstrap.open(vault, clock=clock):
        pass
    mine = FileQueue(vault)
    one = exchange(1)
    mine.put(one)
    mine.done(one.id)
    (own,) = (vault / ".queue").glob("*.jsonl")
    assert own.read_bytes() == b""
    (vault / ".queue" / "dead.jsonl").touch()
    assert mine.take_over() == []
    assert queue_files(vault) == [own.name]
    mine.close()
    assert queue_files(vault) == []
