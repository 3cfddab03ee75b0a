"""K7: journals and conversations of any size are read in parts, and lines of any size are skipped."""

from __future__ import annotations

import json
import tracemalloc
from datetime import UTC, datetime
from pathlib import Path

import pytest

from muisti import Muisti, bootstrap
from muisti.errors import VaultUnusable
from muisti.settings import Settings
from muisti.storage.files import journal, jsonl
from muisti.storage.files.conversations import FileConversations
from tests.conftest import Opener, file_store

pytestmark = pytest.mark.needs_files("looks at files of lines")
CHAT = "web_1"


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> int:
    """Read only so many bytes at a time."""
    for module in (jsonl, journal):
        monkeypatch.setattr(module, "MAX_READ", 400)
    return 400


def write_day(vault: Path, lines: list[bytes]) -> Path:
    path = vault / "conversations" / CHAT / "2026-01-01.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(lines))
    return path


def make_line(number: int, text: str = "walrus") -> bytes:
    at = f"2026-01-01T00:{number // 60:02}:{number % 60:02}Z"
    line = {"id": f"m{number}", "ts": at, "role": "user", "content": f"{text} {number}"}
    return json.dumps(line).encode() + b"\n"


def read_window(memory: Muisti) -> list[str]:
    return [message.content for message in memory.window(CHAT, 1000, whole=True)]


def test_K7_a_long_conversation_is_read_in_parts(opened: Opener, small_parts: int) -> None:
    memory = opened(embedder="none")
    write_day(memory.root, [make_line(number) for number in range(100)])
    memory.sync()
    assert read_window(memory) == [f"walrus {number}" for number in range(100)]
    memory.append_message(CHAT, "user", "the last one")
    assert read_window(memory)[-1] == "the last one"
    memory.reindex()
    assert len(read_window(memory)) == 101
    assert memory.verify(deep=True).ok


def test_K7_a_line_that_is_too_long_is_skipped_and_told(opened: Opener, small_parts: int) -> None:
    memory = opened(embedder="none")
    lines = [make_line(0), make_line(1, "x" * 1000), make_line(2), make_line(3, "y" * 5000)]
    path = write_day(memory.root, [*lines, make_line(4)])
    memory.sync()
    assert read_window(memory) == ["walrus 0", "walrus 2", "walrus 4"]
    places = [len(lines[0]), sum(map(len, lines[:3]))]
    reasons = [problem.reason for problem in memory.problems()]
    for place, reason in zip(places, reasons, strict=True):
        assert f"at byte {place}:" in reason
    assert not memory.verify().ok
    path.write_bytes(b"".join([lines[0], lines[2]]))
    memory.sync()
    assert memory.problems() == []
    assert memory.verify(deep=True).ok


def test_K7_an_endless_last_line_is_not_moved_and_not_appended_to(
    opened: Opener, small_parts: int
) -> None:
    memory = opened(embedder="none")
    path = write_day(memory.root, [make_line(0), b"z" * 2000])
    before = path.read_bytes()
    memory.sync()
    assert read_window(memory) == ["walrus 0"]
    with pytest.raises(VaultUnusable, match=r"2026-01-01\.jsonl: its last line"):
        memory.append_message(CHAT, "user", "hello", at=datetime(2026, 1, 1, tzinfo=UTC))
    assert path.read_bytes() == before
    assert any(problem.path.endswith(path.name) for problem in memory.verify().problems)


def test_K7_a_long_journal_is_read_in_parts(
    opened: Opener, small_parts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = opened(embedder="none")
    for number in range(12):
        memory.start_session(session_id=f"s{number}", project="shop")
        memory.save(f"Walrus number {number}", session_id=f"s{number}")
    for session in ("s1", "s5"):
        memory.end_session(session, "done")
    memory.reindex()
    in_parts = file_store(memory).index.fingerprint()
    assert memory.verify(deep=True).ok
    events = memory.verify().journal_events
    monkeypatch.undo()
    memory.reindex()
    assert file_store(memory).index.fingerprint() == in_parts
    assert memory.verify().journal_events == events
    assert len(memory.list_sessions(limit=100)) == 12


def test_K7_reading_goes_on_where_a_killed_process_stopped(
    opened: Opener, small_parts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = opened(embedder="none")
    write_day(memory.root, [make_line(number) for number in range(60)])
    read, calls = FileConversations.read, []

    def dying(*arguments: object, **options: object) -> object:
        calls.append(1)
        if len(calls) == 5:
            raise KeyboardInterrupt
        return read(*arguments, **options)

    with monkeypatch.context() as patched:
        patched.setattr(FileConversations, "read", dying)
        with pytest.raises(KeyboardInterrupt):
            memory.sync()
    with bootstrap.open(memory.root, settings={"embedder": "none"}) as again:
        assert read_window(again) == [f"walrus {number}" for number in range(60)]
        assert again.verify(deep=True).ok


def test_K7_memory_does_not_grow_with_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jsonl, "MAX_READ", 50_000)
    path = write_day(tmp_path, [make_line(number % 3600) for number in range(40_000)])
    assert path.stat().st_size > 3_000_000
    conversations = FileConversations(tmp_path, Settings())
    name = path.relative_to(tmp_path).as_posix()
    conversations.read(name, None)  # imports what it needs
    count, offset = 0, None
    tracemalloc.start()
    try:
        while True:
            delta = conversations.read(name, offset)
            count, offset = count + len(delta.lines), delta.offset
            if delta.is_complete:
                break
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert count == 40_000
    assert peak < 3_000_000, "less than the file"
