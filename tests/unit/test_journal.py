"""The journal's files: months, torn tails, lines that are no events."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from muisti.errors import InvalidRequest
from muisti.model import Event
from muisti.storage.files.journal import FileJournal
from tests.conftest import FakeClock
from tests.unit.making import NOON


@pytest.fixture
def journal(tmp_path: Path, clock: FakeClock) -> FileJournal:
    return FileJournal(tmp_path, clock)


def files(root: Path) -> list[str]:
    return sorted(path.name for path in (root / "journal").iterdir())


def names(journal: FileJournal) -> list[str]:
    return [event.name for event in journal.read({}).events]


def test_a_line_is_plain_json(journal: FileJournal, tmp_path: Path) -> None:
    journal.append(
        [Event("reinforced", NOON, ("m1",), "s", {"salience": 0.5, "note": "ä"})], durable=True
    )
    line = (tmp_path / "journal" / "2026-03.jsonl").read_bytes()
    assert line.endswith(b"\n")
    assert json.loads(line) == {
        "at": "2026-03-10T12:00:00Z",
        "event": "reinforced",
        "memories": ["m1"],
        "session": "s",
        "salience": 0.5,
        "note": "ä",
    }
    assert "ä".encode() in line


def test_each_month_has_its_file_and_a_clock_that_steps_back_does_not_reorder(
    journal: FileJournal, clock: FakeClock, tmp_path: Path
) -> None:
    for name, month in (("first", 3), ("second", 4), ("third", 2)):
        clock.at = datetime(2026, month, 1, tzinfo=UTC)
        journal.append([Event(name, clock.at)], durable=False)
    assert files(tmp_path) == ["2026-03.jsonl", "2026-04.jsonl"]
    assert names(journal) == ["first", "second", "third"]


def test_a_torn_tail_is_set_aside_at_every_byte(tmp_path: Path, clock: FakeClock) -> None:
    whole = FileJournal(tmp_path / "whole", clock)
    whole.append([Event("one", NOON), Event("two", NOON, ("ä",))], durable=False)
    data = (tmp_path / "whole" / "journal" / "2026-03.jsonl").read_bytes()
    start = data.index(b"\n") + 1
    for cut in range(start + 1, len(data) - 1):
        root = tmp_path / str(cut)
        path = root / "journal" / "2026-03.jsonl"
        path.parent.mkdir(parents=True)
        path.write_bytes(data[:cut])
        journal = FileJournal(root, clock)
        assert names(journal) == ["one"]
        marks = journal.read({}).offsets
        journal.append([Event("three", NOON)], durable=True)
        assert names(journal) == ["one", "three"]
        assert path.with_name("2026-03.jsonl.corrupt").read_bytes() == data[start:cut] + b"\n"
        after = journal.read(marks)
        assert [event.name for event in after.events] == ["three"]
        assert not after.restarted


@pytest.mark.parametrize(
    "line",
    [
        b"5", b"null", b"[1]", b'"x"', b"{}", b"{", b"\xff\xfe", b"[" * 50_000, b"<<<<<<< HEAD", b'{"event":"x"}', b'{"at":"2026-01-01"}',
        b'{"at":5,"event":"x"}', b'{"at":"soon","event":"x"}', b'{"at":"0001-01-01T00:00:00+10:00","event":"x"}',
        b'{"at":"2026-01-01","event":5}', b'{"at":"2026-01-01","event":"x","memories":"m"}',
        b'{"at":"2026-01-01","event":"x","memories":[5]}', b'{"at":"2026-01-01","event":"x","session":5}',
        b'{"at":"2026-01-01","event":"x","memories":["\\ud800"]}', b'{"at":"2026-01-01","event":"x","session":"\\udfff"}',
    ],
    ids=lambda line: repr(line[:30]),
)  # fmt: skip
def test_a_line_that_is_no_event_is_skipped_and_reported(
    journal: FileJournal, tmp_path: Path, line: bytes
) -> None:
    journal.append([Event("before", NOON)], durable=False)
    with (tmp_path / "journal" / "2026-03.jsonl").open("ab") as file:
        file.write(line + b"\n\n")
    journal.append([Event("after", NOON)], durable=False)
    reading = journal.read({})
    assert [event.name for event in reading.events] == ["before", "after"]
    (problem,) = reading.problems
    assert problem.path == "journal/2026-03.jsonl"
    assert "fix or remove it" in problem.reason
    assert journal.read(reading.offsets).problems == ()


@pytest.mark.parametrize("data", [b"", b"torn without an end"])
def test_a_file_without_a_whole_line_is_no_reason_to_start_over(
    journal: FileJournal, tmp_path: Path, data: bytes
) -> None:
    (tmp_path / "journal").mkdir()
    (tmp_path / "journal" / "2026-03.jsonl").write_bytes(data)
    first = journal.read({})
    assert (list(first.events), first.restarted) == ([], False)
    assert not journal.read(first.offsets).restarted


def test_an_event_that_no_file_can_hold_is_refused(journal: FileJournal, tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match="surrogate"):
        journal.append(
            [Event("fine", NOON), Event("session_ended", NOON, (), "s", {"summary": "\ud800"})],
            durable=True,
        )
    assert names(journal) == []


def test_other_files_are_not_read(journal: FileJournal, tmp_path: Path) -> None:
    journal.append([Event("one", NOON)], durable=False)
    (tmp_path / "journal" / "notes.txt").write_text("x\n")
    (tmp_path / "journal" / "2026-03.jsonl.corrupt").write_text("x\n")
    assert names(journal) == ["one"]
    assert journal.read({}).problems == ()
