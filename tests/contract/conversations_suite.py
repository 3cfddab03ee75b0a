"""What the files of conversations must do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from muisti.model import Message
from muisti.storage.files.conversations import FileConversations
from tests.unit.making import NOON

CHAT = "telegram_1"
PATH = f"conversations/{CHAT}/2026-03-10.jsonl"


class ConversationsContract:
    """Subclasses give `conversations` (empty), and `rewrite`, which changes stored bytes: (path,
    old, new).
    """

    def message(self, content: str, **fields: object) -> Message:
        return replace(
            Message(id=f"id {content}", conversation=CHAT, role="user", content=content, at=NOON),
            **fields,
        )

    def test_nothing_was_said(self, conversations: FileConversations) -> None:
        assert list(conversations.files()) == []

    def test_what_is_appended_is_read_once(self, conversations: FileConversations) -> None:
        one = self.message("Hyvää\npäivää", role="tool", type="x", meta={"n": [1, {"ä": None}]})
        path = conversations.append(CHAT, [one, self.message("two")])
        assert path == PATH
        [(found, stamp)] = conversations.files()
        first = conversations.read(path, None)
        assert (found, stamp, first.conversation, first.restarted, first.problems) == (
            path,
            first.offset.stat,
            CHAT,
            True,
            (),
        )
        line = first.lines[0]
        assert (line.place, line.id, line.at, line.role, line.content, line.type) == (
            0,
            one.id,
            NOON,
            "tool",
            one.content,
            "x",
        )
        assert line.meta == one.meta
        assert conversations.read(path, first.offset).lines == []
        conversations.append(CHAT, [self.message("three")])
        more = conversations.read(path, first.offset)
        assert ([line.content for line in more.lines], more.restarted) == (["three"], False)

    def test_new_lines_go_to_the_latest_file(self, conversations: FileConversations) -> None:
        tomorrow = NOON + timedelta(days=1)
        paths = [
            conversations.append(CHAT, [self.message(f"{at}", at=at)])
            for at in (NOON, tomorrow, NOON)
        ]
        assert [path.rpartition("/")[2] for path in paths] == [
            "2026-03-10.jsonl",
            "2026-03-11.jsonl",
            "2026-03-11.jsonl",
        ]

    @pytest.mark.parametrize("new", ["other", "something longer"])
    def test_a_rewritten_file_starts_over(
        self,
        conversations: FileConversations,
        rewrite: Callable[[str, bytes, bytes], None],
        new: str,
    ) -> None:
        path = conversations.append(CHAT, [self.message("first"), self.message("x" * 1000)])
        known = conversations.read(path, None).offset
        rewrite(path, b'"first"', f'"{new}"'.encode())
        again = conversations.read(path, known)
        assert again.restarted
        assert again.lines[0].content == new

    def test_a_torn_line_is_told_of_and_set_aside_only_when_asked(
        self, conversations: FileConversations, rewrite: Callable[[str, bytes, bytes], None]
    ) -> None:
        path = conversations.append(CHAT, [self.message("one"), self.message("two")])
        rewrite(path, b'"content":"two"', b'"content')
        rewrite(path, b'"}}\n', b"")
        torn = conversations.read(path, None)
        assert ([line.content for line in torn.lines], len(torn.problems)) == (["one"], 1)
        mended = conversations.read(path, torn.offset, repair=True)
        assert (list(mended.lines), len(mended.problems)) == ([], 1)
        conversations.append(CHAT, [self.message("three")])
        assert [line.content for line in conversations.read(path, None).lines] == ["one", "three"]
