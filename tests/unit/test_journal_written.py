"""The journal does not read again what it has just written, and notices what others wrote."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from muisti.model import Event, EventName
from muisti.storage.files import journal as module
from muisti.storage.files.journal import FileJournal
from muisti.storage.sync_state import ReadOffset

NOON = datetime(2026, 3, 10, 12, tzinfo=UTC)


class Clock:
    def now(self) -> datetime:
        return NOON


def an_event(number: int) -> Event:
    return Event(EventName.SAVED, NOON, (f"memory-{number}",))


@pytest.fixture
def journal(tmp_path: Path) -> FileJournal:
    return FileJournal(tmp_path, Clock())


def read_ids(journal: FileJournal, offsets: dict[str, ReadOffset]) -> list[str]:
    """Return the IDs of new events; the offsets become those of what was read."""
    delta = journal.read(offsets)
    offsets.clear()
    offsets.update(delta.offsets)
    return [event.memory_ids[0] for event in delta.events]


def test_written_lines_are_not_read_from_the_file(
    journal: FileJournal, monkeypatch: pytest.MonkeyPatch
) -> None:
    offsets: dict[str, ReadOffset] = {}
    journal.append([an_event(0)], durable=False)
    assert read_ids(journal, offsets) == ["memory-0"]
    journal.append([an_event(1)], durable=False)
    assert read_ids(journal, offsets) == ["memory-1"]
    for name in ("read_lines", "hash_tail", "quarantine_torn_tail"):
        monkeypatch.delattr(module, name)
    for number in range(2, 12):
        journal.append([an_event(number)], durable=False)
        assert read_ids(journal, offsets) == [f"memory-{number}"]
        assert read_ids(journal, offsets) == []


def test_offsets_are_those_of_a_reader_of_the_file(journal: FileJournal, tmp_path: Path) -> None:
    offsets: dict[str, ReadOffset] = {}
    for number in range(8):  # the digest is of 256 bytes: first of less, then of more lines
        journal.append([an_event(number)], durable=False)
        read_ids(journal, offsets)
        fresh = FileJournal(tmp_path, Clock()).read({})
        assert offsets == dict(fresh.offsets)
        assert not FileJournal(tmp_path, Clock()).read(offsets).events


@pytest.mark.parametrize("torn", [False, True])
def test_lines_of_others_are_read(journal: FileJournal, tmp_path: Path, torn: bool) -> None:
    offsets: dict[str, ReadOffset] = {}
    for number in range(3):
        journal.append([an_event(number)], durable=False)
        read_ids(journal, offsets)
    other = FileJournal(tmp_path, Clock())
    other.append([an_event(7)], durable=False)
    if torn:
        with open(tmp_path / "journal" / "2026-03.jsonl", "ab") as file:
            file.write(b'{"at":"2026')
    journal.append([an_event(8)], durable=False)
    assert read_ids(journal, offsets) == ["memory-7", "memory-8"]
    assert (tmp_path / "journal" / "2026-03.jsonl.corrupt").exists() is torn


def test_a_rewritten_file_is_read_from_its_start(journal: FileJournal, tmp_path: Path) -> None:
    offsets: dict[str, ReadOffset] = {}
    for number in range(4):
        journal.append([an_event(number)], durable=False)
        read_ids(journal, offsets)
    path = tmp_path / "journal" / "2026-03.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[::-1]))
    journal.append([an_event(9)], durable=False)
    assert sorted(read_ids(journal, offsets)) == [f"memory-{n}" for n in (0, 1, 2, 3, 9)]
