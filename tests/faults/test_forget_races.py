"""Files that are forgotten while another process lists them."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from muisti import bootstrap
from muisti.storage.clock import SystemClock
from tests.conftest import file_store


def test_F6_a_conversation_that_is_forgotten_while_files_are_listed(vault: Path) -> None:
    """A reindex lists files without the lock; another process may remove one meanwhile."""
    with bootstrap.open(vault, clock=SystemClock()) as memory:
        for day in (1, 2):  # each has its file
            memory.append_message("cli_1", "user", "Hello", at=datetime(2026, 3, day, tzinfo=UTC))
        listing = file_store(memory).conversations.files()
        first, _ = next(listing)
        for file in (vault / "conversations").glob("*/*.jsonl"):
            if file.relative_to(vault).as_posix() != first:
                file.unlink()
        assert list(listing) == []
