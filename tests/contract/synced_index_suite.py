"""What an index that follows files must do beside searching: remember what it saw, be rebuilt,
checked and thrown away.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muisti.model import Event, Memory, Problem
from muisti.ports import IndexChanges, MessageLine
from muisti.remember.index_rows import project_memory, project_messages
from muisti.storage.files.sync.batch import IndexBatch
from muisti.storage.sync_state import (
    ConversationDelta,
    ConversationOffset,
    FileStat,
    IndexState,
    JournalDelta,
    ReadOffset,
    SeenFile,
    StateChanges,
    StoredFile,
    SyncedIndex,
)
from tests.contract.making import SHARED_SUITE, filed, find_ids, ident
from tests.contract.messages_suite import CHAT, PATH, a_line
from tests.unit.making import NOON

_QUICK = settings(max_examples=25, suppress_health_check=SHARED_SUITE)


def seen(memory: Memory) -> SeenFile:
    """Return what is seen of a memory's file."""
    return SeenFile(FileStat(len(memory.content), 1, 1), 2, f"sha of {memory.content}", memory.id)


def put(index: IndexState, *memories: Memory) -> None:
    """Put files into the index, as the file store does."""
    batch = IndexBatch(index)
    for memory in memories:
        batch.put_file(StoredFile(memory, seen(memory)))
    batch.write()


def forget(index: IndexState, *memories: Memory) -> None:
    """Take files out of the index, as the file store does."""
    batch = IndexBatch(index)
    for memory in memories:
        batch.forget_file(str(memory.file_path), memory.id)
    batch.write()


def read_journal(index: IndexState, delta: JournalDelta) -> None:
    """Read new events of the journal, as the file store does."""
    batch = IndexBatch(index)
    batch.read_journal(delta)
    batch.write()


def a_delta(*lines: MessageLine, path: str = PATH, restarted: bool = False) -> ConversationDelta:
    """Return what was read of a conversation's file."""
    end = lines[-1].place + 10 if lines else 0
    offset = ConversationOffset(FileStat(end, 1, 1), 2, ReadOffset(end, f"tail {end}"))
    return ConversationDelta(path.split("/")[1], path, offset, lines, restarted)


def read_conversations(
    index: IndexState, *deltas: ConversationDelta, gone: Sequence[str] = ()
) -> None:
    """Read new lines of conversations, as the file store does."""
    for delta in deltas:
        batch = IndexBatch(index)
        batch.read_conversation(delta)
        batch.write()
    batch = IndexBatch(index)
    for path in gone:
        batch.forget_conversation(path)
    batch.write()


class SyncedIndexContract:
    """Subclasses give a fixture `index`: an open, empty index."""

    def test_an_empty_index(self, index: SyncedIndex) -> None:
        assert index.is_current()
        assert (index.seen(), index.journal_offsets(), index.problems()) == ({}, {}, [])
        assert (index.conversation_offsets(), index.documents()) == ({}, {})
        assert index.check() == []
        assert index.open() is False

    # -- What was seen of files

    def test_a_file_is_seen_with_its_memory(self, index: SyncedIndex) -> None:
        put(index, filed(1, "there"))
        assert index.seen() == {"notes/1.md": seen(filed(1, "there"))}
        forget(index, filed(1, "there"))
        assert index.seen() == {}
        assert index.get(ident(1)) is None

    def test_what_is_seen_and_what_is_wrong(self, index: SyncedIndex) -> None:
        no_memory = SeenFile(FileStat(1, 2, 3), 4, "", None)
        index.write(
            IndexChanges(),
            StateChanges(seen={"README.md": no_memory}, problems={"notes/x.md": ["broken"]}),
        )
        assert index.seen() == {"README.md": no_memory}
        assert index.seen(["README.md", "other.md"]) == {"README.md": no_memory}
        assert index.seen(["other.md"]) == index.seen([]) == {}
        assert index.problems() == [Problem("notes/x.md", "broken")]
        index.write(IndexChanges(), StateChanges(problems={"notes/x.md": ["still broken"]}))
        assert index.problems() == [Problem("notes/x.md", "still broken")]
        put(index, filed(1, "mended", file_path="notes/x.md"))
        assert index.problems() == []

    def test_files_that_swap_their_places(self, index: SyncedIndex) -> None:
        first, second = (
            filed(1, "one", file_path="notes/a.md"),
            filed(2, "two", file_path="notes/b.md"),
        )
        put(index, first, second)
        put(index, replace(first, file_path="notes/b.md"), replace(second, file_path="notes/a.md"))
        assert [m.file_path for m in index.get_many([first.id, second.id])] == [
            "notes/b.md",
            "notes/a.md",
        ]
        assert {path: one.memory_id for path, one in index.seen().items()} == {
            "notes/a.md": second.id,
            "notes/b.md": first.id,
        }

    def test_rows_and_what_was_seen_are_one_transaction(self, index: SyncedIndex) -> None:
        put(index, filed(1, "there"))
        clash = [filed(number, f"text {number}", file_path="notes/same.md") for number in (2, 3)]
        with pytest.raises(Exception, match=r".+"):
            index.write(
                IndexChanges(
                    memories=[project_memory(memory) for memory in clash], removed=[ident(1)]
                ),
                StateChanges(seen={"notes/1.md": None, "notes/same.md": seen(clash[0])}),
            )
        assert index.get(ident(1)) is not None
        assert index.get(ident(2)) is None
        assert list(index.seen()) == ["notes/1.md"]
        assert index.check() == []
        put(index, filed(4, "afterwards it works"))

    def test_the_size_of_a_memory_is_that_of_its_file(self, index: SyncedIndex) -> None:
        batch = IndexBatch(index)
        batch.put_file(
            StoredFile(
                filed(1, "short"), seen(filed(1, "short"))._replace(stat=FileStat(1000, 1, 1))
            )
        )
        batch.write()
        assert index.live_bytes() == 1000
        assert [one.size for one in index.longest_unused(())] == [1000]

    # -- The journal

    def test_offsets_are_kept(self, index: SyncedIndex) -> None:
        read_journal(
            index,
            JournalDelta([Event("saved", NOON)], {"2026-03.jsonl": ReadOffset(1, "x")}, False),
        )
        assert index.journal_offsets() == {"2026-03.jsonl": ReadOffset(1, "x")}
        put(index, filed(1, "says nothing of the journal"))
        assert index.journal_offsets() == {"2026-03.jsonl": ReadOffset(1, "x")}

    def test_problems_of_the_journal_are_reported_once(self, index: SyncedIndex) -> None:
        bad = Problem("journal/2026-03.jsonl", "no event")
        for restarted in (False, True):
            read_journal(index, JournalDelta([], {}, restarted, (bad,)))
        assert index.problems() == [bad]

    # -- Conversations

    def test_how_far_conversations_were_read(self, index: SyncedIndex) -> None:
        delta = a_delta(a_line(0, "one"), a_line(10, "two"))
        read_conversations(index, delta)
        assert (
            index.conversation_offsets() == index.conversation_offsets(PATH) == {PATH: delta.offset}
        )
        assert index.conversation_offsets("other") == {}
        message_id = "message:telegram_1/2026-03-10/m0"
        assert index.get_message_texts([message_id, "other"]) == {message_id: ("user", "one")}
        assert index.last_message_at(CHAT, PATH) is not None
        assert index.last_message_at(CHAT, "other") is None
        read_conversations(index, gone=[PATH])
        assert (index.conversation_offsets(), index.window(CHAT, 5)) == ({}, [])

    def test_a_file_that_is_read_anew(self, index: SyncedIndex) -> None:
        read_conversations(index, a_delta(a_line(0, "one"), a_line(10, "two")))
        read_conversations(
            index, a_delta(a_line(0, "uno"), restarted=True), a_delta(a_line(10, "dos"))
        )
        assert [message.content for message in index.window(CHAT, 5)] == ["uno", "dos"]

    @pytest.mark.parametrize("how", ["arrives late", "goes", "is read anew"])
    def test_the_index_does_not_depend_on_the_order_of_events(
        self, index: SyncedIndex, how: str
    ) -> None:
        """Two files with one id, and what a rebuild makes of them."""
        first, second = (
            a_delta(a_line(0, path, id="x"), path=path)
            for path in (PATH.replace("-10.", "-09."), PATH)
        )
        end = [first, second]
        if how == "arrives late":
            read_conversations(index, second, first)
        elif how == "goes":
            read_conversations(index, first, second, gone=[first.path])
            end = [second]
        else:
            read_conversations(index, first, second)
            first = first._replace(lines=[a_line(0, "another", id="y")], restarted=True)
            read_conversations(index, first)
            end = [first, second]
        with index.builder() as builder:
            read_conversations(builder, *(delta._replace(restarted=True) for delta in end))
            assert index.fingerprint() == builder.fingerprint()

    # -- Opening

    def test_an_index_is_opened_without_the_lock_once_it_is_complete(
        self, index: SyncedIndex
    ) -> None:
        index.stale = False
        put(index, filed(1, "there"))
        index.close()
        assert index.open_complete()
        assert index.is_current()
        assert index.get(ident(1)) is not None

    def test_quarantine_and_begin_anew(self, index: SyncedIndex) -> None:
        put(index, filed(1, "damaged"))
        index.quarantine()
        assert not index.is_current()
        assert index.open() is True
        assert index.stale
        assert index.get(ident(1)) is None

    def test_purged_and_closed(self, index: SyncedIndex) -> None:
        put(index, filed(1, "secret"))
        forget(index, filed(1, "secret"))
        index.purge()
        index.close()
        index.close()

    # -- Building anew, fingerprints

    def test_a_builder_replaces_the_index_when_swapped(self, index: SyncedIndex) -> None:
        put(index, filed(1, "old"))
        with index.builder() as builder:
            put(builder, filed(2, "new"))
            read_journal(builder, JournalDelta([], {"j": ReadOffset(1, "x")}, False))
            assert (list(builder.seen()), builder.journal_offsets()) == (
                ["notes/2.md"],
                {"j": ReadOffset(1, "x")},
            )
            assert index.get(ident(1)) is not None
            builder.swap()
        assert index.get(ident(1)) is None
        assert index.get(ident(2)) is not None
        assert find_ids(index, "new") == [ident(2)]
        assert index.is_current()
        put(index, filed(3, "goes on"))

    def test_a_builder_that_is_not_swapped_leaves_nothing(self, index: SyncedIndex) -> None:
        with pytest.raises(ZeroDivisionError), index.builder() as builder:
            put(builder, filed(2, "new"))
            raise ZeroDivisionError
        assert index.get(ident(2)) is None

    @_QUICK
    @given(order=st.permutations(range(5)), again=st.lists(st.integers(0, 4), max_size=4))
    def test_equal_contents_have_equal_fingerprints_however_they_came_about(
        self, index: SyncedIndex, order, again
    ) -> None:
        every = [
            filed(n, f"text number {n} with word{n % 2}", keywords=(f"k{n}",)) for n in range(5)
        ]
        with index.builder() as straight, index.builder() as devious:
            put(straight, *every)
            for n in order:
                put(devious, replace(every[n], content="first draft", title="Draft"))
            forget(devious, *(every[n] for n in again))
            put(devious, *reversed(every))
            assert devious.fingerprint() == straight.fingerprint()

    def test_different_contents_have_different_fingerprints(self, index: SyncedIndex) -> None:
        put(index, filed(1, "one"))
        before = index.fingerprint()
        put(index, filed(1, "two"))
        after = index.fingerprint()
        assert {part for part in before if before[part] != after[part]} >= {"memories", "words"}

    def test_an_index_that_is_sound_says_so_after_any_change(self, index: SyncedIndex) -> None:
        put(index, *(filed(n, f"text {n} 记忆") for n in range(1, 6)))
        index.apply(IndexChanges(texts=project_messages(CHAT, PATH, [a_line(0, "text 1")], {})))
        forget(index, filed(2, "text 2 记忆"), filed(3, "text 3 记忆"))
        put(index, filed(1, "something else"))
        assert index.check() == []
