"""Conversations in files and in the SQLite index pass the suites of their ports."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from muisti.ports import Conversations, Index, Messages
from muisti.settings import Settings
from muisti.storage.files.conversations import FileConversations
from muisti.storage.sqlite.connect import Database
from muisti.storage.sqlite.index import SqliteIndex
from muisti.storage.sqlite.messages import SqliteMessages
from tests.conftest import FakeClock
from tests.contract.conversations_suite import ConversationsContract, MessagesContract


class TestSqliteMessages(MessagesContract):
    @pytest.fixture
    def database(self, tmp_path: Path, clock: FakeClock) -> Database:
        return Database(tmp_path, 5, clock)

    @pytest.fixture
    def index(self, database: Database) -> Iterator[Index]:
        index = SqliteIndex(database, 5)
        assert index.open() is True
        index.behind = False
        yield index
        index.close()

    @pytest.fixture
    def messages(self, database: Database) -> Messages:
        return SqliteMessages(database)


class TestFileConversations(ConversationsContract):
    @pytest.fixture
    def conversations(self, tmp_path: Path) -> Conversations:
        return FileConversations(tmp_path, Settings())

    @pytest.fixture
    def rewrite(self, tmp_path: Path) -> Callable[[str, bytes, bytes], None]:
        def change(path: str, old: bytes, new: bytes) -> None:
            """The last that is so; written in place."""
            before, found, after = (tmp_path / path).read_bytes().rpartition(old)
            assert found
            (tmp_path / path).write_bytes(before + new + after)

        return change
