"""Files that are forgotten while another process lists them."""

from __future__ import annotations

import shutil
from pathlib import Path

from muisti import bootstrap
from muisti.storage.clock import SystemClock
from tests.conftest import file_store


def test_F6_a_conversation_that_is_forgotten_while_files_are_listed(vault: Path) -> None:
    """A reindex lists files without the lock; another process may remove one meanwhile."""
    with bootstrap.open(vault, clock=SystemClock()) as memory:
        for number in range(4):
            memory.append_message(f"cli_{number}", "user", "Hello")
        listing = file_store(memory).conversations.files()
        first, _ = next(listing)
        assert first.startswith("conversations/cli_0/")
        shutil.rmtree(vault / "conversations" / "cli_1")
        for file in (vault / "conversations" / "cli_2").glob("*.jsonl"):
            file.unlink()
        assert [path.split("/")[1] for path, _ in listing] == ["cli_3"]
