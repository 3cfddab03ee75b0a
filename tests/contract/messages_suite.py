"""What every search index must do: read conversations and documents."""

from __future__ import annotations

from datetime import timedelta

from muisti.model import SESSION_BREAK, DocumentSource, EntryType, Event, Filter, Message
from muisti.ports import IndexChanges, MessageLine, SearchIndex
from muisti.remember.index_rows import Section, make_message_ids, project_document, project_messages
from tests.contract.making import add, filed, find_ids, happen, ids
from tests.unit.making import NOON

CHAT = "telegram_1"
PATH = f"conversations/{CHAT}/2026-03-10.jsonl"
DOCS = DocumentSource("docs", "Manual", "app", trusted=True)


def a_line(place: int, content: str, **fields: object) -> MessageLine:
    """Return a line of a conversation."""
    return MessageLine(place, f"m{place}", NOON, "user", content, None, {})._replace(**fields)


def say(index: SearchIndex, *lines: MessageLine, path: str = PATH) -> None:
    """Add new lines to a conversation."""
    chat = path.split("/")[1]
    known = index.messages(make_message_ids(path, lines))
    taken = {id_: (message.role, message.content) for id_, message in known.items()}
    index.apply(IndexChanges(texts=project_messages(chat, path, lines, taken)))


def write(index: SearchIndex, path: str, *sections: Section) -> None:
    """Replace the sections of a document."""
    rows = project_document(path, DOCS, "Manual", NOON, sections)
    index.apply(IndexChanges(texts=rows, emptied=[("document", path)]))


def said(index: SearchIndex, limit: int = 100, chat: str = CHAT) -> list[str]:
    """Return what a window shows."""
    return [message.content for message in index.window(chat, limit)]


class MessagesContract:
    """Subclasses give a fixture `index`: an open, empty index."""

    def test_nothing_was_said(self, index: SearchIndex) -> None:
        assert (index.window(CHAT, 5), index.list_conversations(), index.messages(["x"])) == (
            [],
            [],
            {},
        )
        assert index.document_sources() == []

    def test_a_message_comes_back_as_it_was(self, index: SearchIndex) -> None:
        line = a_line(
            0,
            "Hyvää\n\0päivää",
            role="tool",
            type="subagent_result",
            meta={"n": [1, {"ä": None}]},
            id="a/b ~1",
        )
        say(index, line)
        expected = Message(
            id=line.id,
            conversation=CHAT,
            role="tool",
            content=line.content,
            at=NOON,
            type=line.type,
            meta=line.meta,
        )
        assert index.window(CHAT, 5) == [expected]
        assert index.find_messages(CHAT, [line.id, "x"]) == {line.id: expected}
        assert index.find_messages("other_1", [line.id]) == {}

    def test_order_limit_and_break(self, index: SearchIndex) -> None:
        """By file and place; times say nothing."""
        later = PATH.replace("-10.", "-11.")
        lines = [a_line(n * 10, f"line {n}", at=NOON - timedelta(hours=n)) for n in range(12)]
        say(index, *lines[6:], path=later)
        say(index, *lines[:6])
        assert said(index) == [f"line {n}" for n in range(12)]
        assert said(index, 3) == ["line 9", "line 10", "line 11"]
        say(index, a_line(200, "", type=SESSION_BREAK), a_line(210, "after"), path=later)
        assert said(index) == ["after"]
        whole = index.window(CHAT, 100, whole=True)
        assert [message.content for message in whole] == [
            *(f"line {n}" for n in range(12)),
            "",
            "after",
        ]
        [chat] = index.list_conversations()
        assert (chat.name, chat.messages, chat.since_break, chat.last_at) == (CHAT, 13, 1, NOON)
        assert chat.first_at == NOON - timedelta(hours=11)

    def test_the_latest_conversation_first(self, index: SearchIndex) -> None:
        for number, hours in enumerate((1, 3, 2)):
            path = f"conversations/irc_{number}/2026-03-10.jsonl"
            say(index, a_line(0, "hello", at=NOON + timedelta(hours=hours)), path=path)
        assert [chat.name for chat in index.list_conversations()] == ["irc_1", "irc_2", "irc_0"]

    def test_a_file_that_is_emptied(self, index: SearchIndex) -> None:
        say(index, a_line(0, "one"), a_line(10, "two"))
        rows = project_messages(CHAT, PATH, [a_line(0, "uno")], {})
        index.apply(IndexChanges(texts=rows, emptied=[("message", PATH)]))
        assert said(index) == ["uno"]
        assert find_ids(index, "two") == []
        say(index, a_line(10, "dos"))
        assert said(index) == ["uno", "dos"]
        index.apply(IndexChanges(emptied=[("message", PATH)]))
        assert (said(index), index.list_conversations(), find_ids(index, "dos")) == ([], [], [])
        assert index.frequencies([]).documents == 0

    def test_a_line_that_repeats_another_counts_once(self, index: SearchIndex) -> None:
        say(index, a_line(0, "one", id="x"), a_line(10, "one", id="x"))
        say(index, a_line(20, "one", id="x"), a_line(30, "other", id="x"))
        assert said(index) == ["one", "other"]

    def test_one_id_in_many_files(self, index: SearchIndex) -> None:
        paths = [PATH.replace("-10.", f"-{day}.") for day in range(10, 15)]
        for path in paths:
            say(index, a_line(0, path, id="msg_001"), path=path)
        assert said(index) == paths

    def test_a_copy_of_a_file_is_shown_once(self, index: SearchIndex) -> None:
        """What a program that syncs folders leaves."""
        for path in (PATH, PATH.replace(".jsonl", "-conflict.jsonl")):
            say(index, a_line(0, "hello", id="x"), path=path)
        assert said(index) == ["hello"]

    def test_messages_are_found_by_their_words_and_are_no_memories(
        self, index: SearchIndex
    ) -> None:
        add(index, filed(1, "apples in a memory"))
        say(
            index,
            a_line(0, "apples in a message", meta={"project": "app"}),
            a_line(10, "pears", role="assistant"),
        )
        found = find_ids(index, "apples")
        assert len(found) == 2
        assert find_ids(index, "apples", Filter(origins=("memory",))) == [filed(1, "x").id]
        (message_id,) = find_ids(index, "apples", Filter(origins=("message",)))
        assert [message.content for message in index.messages([message_id]).values()] == [
            "apples in a message"
        ]
        assert find_ids(index, "apples", Filter(session=CHAT)) == [message_id]
        assert index.get(message_id) is None
        text = index.get(message_id, any_origin=True)
        assert text is not None
        assert (text.origin, text.project, text.session_id, text.created_at) == (
            EntryType.MESSAGE,
            "app",
            CHAT,
            NOON,
        )
        assert (text.kind, text.trusted, text.file_path) == ("message", True, PATH)
        assert ids(index.select(Filter(), order="created_at", limit=None)) == [filed(1, "x").id]
        assert index.stats().total_count == 1

    def test_neighbours_are_those_of_the_conversation(self, index: SearchIndex) -> None:
        add(index, filed(1, "a memory of the same time"))
        say(index, *(a_line(10 * n, f"line {n}") for n in range(6)))
        middle = index.get(f"message:{CHAT}/2026-03-10/m30", any_origin=True)
        assert middle is not None
        assert [one.content for one in index.get_neighbours(middle, 2, 1, Filter())] == [
            "line 1",
            "line 2",
            "line 3",
            "line 4",
        ]
        found = index.candidates([middle.id], Filter())[middle.id]
        assert [one.rpartition("/")[2] for one in (*found.before, *found.after)] == [
            "m20",
            "m10",
            "m40",
            "m50",
        ]

    # -- Documents

    def test_sections_of_documents(self, index: SearchIndex) -> None:
        happen(index, Event("documents_added", NOON, data={"path": "docs", "source": "Manual"}))
        write(
            index,
            "docs/a.md",
            Section("", "", "Opening words"),
            Section("setup", "Set up", "Install apples first"),
        )
        (section_id,) = find_ids(index, "apples")
        assert section_id == "docs/a.md#setup"
        section = index.get(section_id, any_origin=True)
        assert section is not None
        assert (section.origin, section.source, section.title, section.project) == (
            EntryType.DOCUMENT,
            "Manual",
            "Set up",
            "app",
        )
        assert (section.kind, section.trusted, section.file_path) == ("document", True, "docs/a.md")
        assert index.document_sources() == ["Manual"]
        assert find_ids(index, "apples", Filter(documents=("Manual",))) == [section_id]
        assert find_ids(index, "apples", Filter(documents=("Other",))) == []
        write(index, "docs/a.md", Section("", "", "Nothing of the kind"))
        assert find_ids(index, "apples") == []
        assert index.get(section_id, any_origin=True) is None
        index.apply(IndexChanges(emptied=[("document", "docs/a.md")]))
        assert index.document_sources() == []

    def test_neighbours_of_a_section_are_those_of_its_document(self, index: SearchIndex) -> None:
        write(index, "docs/a.md", *(Section(f"s{n}", f"Part {n}", f"text {n}") for n in range(4)))
        write(index, "docs/b.md", Section("", "", "another document"))
        middle = index.get("docs/a.md#s2", any_origin=True)
        assert middle is not None
        assert [one.title for one in index.get_neighbours(middle, 9, 9, Filter())] == [
            "Part 0",
            "Part 1",
            "Part 2",
            "Part 3",
        ]

    def test_ids_of_memories_come_before_those_of_other_texts(self, index: SearchIndex) -> None:
        say(index, a_line(0, "hello", id="0195f000"))
        add(index, filed(1, "a memory"))
        assert index.find_ids("0195f000", 10) == [
            filed(1, "x").id,
            f"message:{CHAT}/2026-03-10/0195f000",
        ]
