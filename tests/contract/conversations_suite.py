"""What every store of conversations must do: the files, and the part of the index that answers from them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from muisti.model import SESSION_BREAK, Message
from muisti.ports import Changes, Conversations, Index, Line, Mark, Messages, Stamp, TalkFile, TalkReading
from tests.unit.making import NOON

CHAT = "telegram_1"
PATH = f"conversations/{CHAT}/2026-03-10.jsonl"


def a_line(place: int, content: str, **fields: object) -> Line:
    return Line(place, f"m{place}", NOON, "user", content, None, {})._replace(**fields)


def a_reading(*lines: Line, path: str = PATH, restarted: bool = False) -> TalkReading:
    end = lines[-1].place + 10 if lines else 0
    file = TalkFile(Stamp(end, 1, 1), 2, Mark(end, f"tail {end}"))
    return TalkReading(path.split("/")[1], path, file, lines, restarted)


class MessagesContract:
    """Subclasses give the fixtures `index`, which is open and empty, and `messages`, which reads it."""

    def said(self, messages: Messages, limit: int = 100, chat: str = CHAT) -> list[str]:
        return [message.content for message in messages.window(chat, limit)]

    def test_nothing_was_said(self, index: Index, messages: Messages) -> None:
        assert (messages.window(CHAT, 5), messages.chats(), messages.by_ids(["x"])) == ([], [], {})
        assert index.talk() == {}

    def test_a_message_comes_back_as_it_was(self, index: Index, messages: Messages) -> None:
        line = a_line(0, "Hyvää\n\0päivää", role="tool", type="subagent_result", meta={"n": [1, {"ä": None}]}, id="a/b ~1")
        reading = a_reading(line)
        index.apply(Changes(talk=[reading]))
        expected = Message(id=line.id, chat=CHAT, role="tool", content=line.content, at=NOON, type=line.type, meta=line.meta)
        assert messages.window(CHAT, 5) == [expected]
        assert messages.known(CHAT, [line.id, "x"]) == {line.id: expected}
        assert messages.known("other_1", [line.id]) == {}
        assert index.talk() == {PATH: reading.file}

    def test_order_limit_and_break(self, index: Index, messages: Messages) -> None:
        """By file and place; times say nothing."""
        later = PATH.replace("-10.", "-11.")
        lines = [a_line(n * 10, f"line {n}", at=NOON - timedelta(hours=n)) for n in range(12)]
        index.apply(Changes(talk=[a_reading(*lines[6:], path=later), a_reading(*lines[:6])]))
        assert self.said(messages) == [f"line {n}" for n in range(12)]
        assert self.said(messages, 3) == ["line 9", "line 10", "line 11"]
        more = [a_line(200, "", type=SESSION_BREAK), a_line(210, "after")]
        index.apply(Changes(talk=[a_reading(*more, path=later)]))
        assert self.said(messages) == ["after"]
        [chat] = messages.chats()
        assert (chat.name, chat.messages, chat.since_break, chat.last_at) == (CHAT, 13, 1, NOON)

    def test_a_file_that_is_read_anew_or_gone(self, index: Index, messages: Messages) -> None:
        index.apply(Changes(talk=[a_reading(a_line(0, "one"), a_line(10, "two"))]))
        index.apply(Changes(talk=[a_reading(a_line(0, "uno"), restarted=True)]))
        assert self.said(messages) == ["uno"]
        index.apply(Changes(talk=[a_reading(a_line(10, "dos"))]))
        assert self.said(messages) == ["uno", "dos"]
        index.apply(Changes(talk_gone=[PATH]))
        assert (self.said(messages), index.talk(), messages.chats()) == ([], {}, [])

    def test_a_line_that_repeats_another_counts_once(self, index: Index, messages: Messages) -> None:
        index.apply(Changes(talk=[a_reading(a_line(0, "one", id="x"), a_line(10, "one", id="x"))]))
        index.apply(Changes(talk=[a_reading(a_line(20, "one", id="x"), a_line(30, "other", id="x"))]))
        assert self.said(messages) == ["one", "other"]

    def test_one_id_in_many_files(self, index: Index, messages: Messages) -> None:
        paths = [PATH.replace("-10.", f"-{day}.") for day in range(10, 15)]
        for path in paths:
            index.apply(Changes(talk=[a_reading(a_line(0, path, id="msg_001"), path=path)]))
        assert self.said(messages) == paths

    @pytest.mark.parametrize("how", ["arrives late", "goes", "is read anew"])
    def test_the_index_does_not_depend_on_the_order_of_events(self, index: Index, how: str) -> None:
        """Two files with one id, and what a rebuild makes of them."""
        first, second = (a_reading(a_line(0, path, id="x"), path=path) for path in (PATH.replace("-10.", "-09."), PATH))
        end = [first, second]
        if how == "arrives late":
            index.apply(Changes(talk=[second]))
            index.apply(Changes(talk=[first]))
        elif how == "goes":
            index.apply(Changes(talk=[first, second]))
            index.apply(Changes(talk_gone=[first.path]))
            end = [second]
        else:
            index.apply(Changes(talk=[first, second]))
            first = replace(first, lines=[a_line(0, "another", id="y")], restarted=True)
            index.apply(Changes(talk=[first]))
            end = [first, second]
        with index.shadow() as shadow:
            shadow.apply(Changes(talk=[replace(reading, restarted=True) for reading in end]))
            assert index.fingerprint() == shadow.fingerprint()


class ConversationsContract:
    """Subclasses give `conversations` (empty), and `rewrite`, which changes stored bytes: (path, old, new)."""

    def message(self, content: str, **fields: object) -> Message:
        return replace(Message(id=f"id {content}", chat=CHAT, role="user", content=content, at=NOON), **fields)

    def test_nothing_was_said(self, conversations: Conversations) -> None:
        assert list(conversations.files()) == []

    def test_what_is_appended_is_read_once(self, conversations: Conversations) -> None:
        one = self.message("Hyvää\npäivää", role="tool", type="x", meta={"n": [1, {"ä": None}]})
        path = conversations.append(CHAT, [one, self.message("two")])
        assert path == PATH
        [(found, stamp)] = conversations.files()
        first = conversations.read(path, None)
        assert (found, stamp, first.chat, first.restarted, first.problems) == (path, first.file.stamp, CHAT, True, ())
        line = first.lines[0]
        assert (line.place, line.id, line.at, line.role, line.content, line.type) == (0, one.id, NOON, "tool", one.content, "x")
        assert line.meta == one.meta
        assert conversations.read(path, first.file).lines == []
        conversations.append(CHAT, [self.message("three")])
        more = conversations.read(path, first.file)
        assert ([line.content for line in more.lines], more.restarted) == (["three"], False)

    def test_new_lines_go_to_the_latest_file(self, conversations: Conversations) -> None:
        tomorrow = NOON + timedelta(days=1)
        paths = [conversations.append(CHAT, [self.message(f"{at}", at=at)]) for at in (NOON, tomorrow, NOON)]
        assert [path.rpartition("/")[2] for path in paths] == ["2026-03-10.jsonl", "2026-03-11.jsonl", "2026-03-11.jsonl"]

    @pytest.mark.parametrize("new", ["other", "something longer"])
    def test_a_rewritten_file_starts_over(
        self, conversations: Conversations, rewrite: Callable[[str, bytes, bytes], None], new: str
    ) -> None:
        path = conversations.append(CHAT, [self.message("first"), self.message("x" * 1000)])
        known = conversations.read(path, None).file
        rewrite(path, b'"first"', f'"{new}"'.encode())
        again = conversations.read(path, known)
        assert again.restarted
        assert again.lines[0].content == new

    def test_a_torn_line_is_told_of_and_set_aside_only_when_asked(
        self, conversations: Conversations, rewrite: Callable[[str, bytes, bytes], None]
    ) -> None:
        path = conversations.append(CHAT, [self.message("one"), self.message("two")])
        rewrite(path, b'"content":"two"', b'"content')
        rewrite(path, b'"}}\n', b"")
        torn = conversations.read(path, None)
        assert ([line.content for line in torn.lines], len(torn.problems)) == (["one"], 1)
        mended = conversations.read(path, torn.file, mend=True)
        assert (list(mended.lines), len(mended.problems)) == ([], 1)
        conversations.append(CHAT, [self.message("three")])
        assert [line.content for line in conversations.read(path, None).lines] == ["one", "three"]
