"""The suite of the port `Store`: every store passes all of it, unchanged. Its index follows each
change.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import pytest

from muisti.errors import Conflict, InvalidRequest, MemoryNotFound, VaultBusy
from muisti.model import Event, EventName, Exchange, Filter, Link, LinkType, Memory, Message
from muisti.ports import ChangeSet, Committed, SearchIndex, Store, Stored, Update
from muisti.remember.derive import derive_fields
from tests.conftest import FakeClock
from tests.contract.making import find_ids, ident
from tests.unit.making import NOON, a_memory

CHAT = "telegram_1"
ALL = Filter(all_sessions=True, include_deleted=True)


@dataclass(frozen=True)
class Opened:
    """A store with its index, both empty at first."""

    store: Store
    index: SearchIndex

    def commit(self, **changes: Any) -> Committed:
        """Write one change under the lock."""
        with self.store.lock():
            return self.store.commit(ChangeSet(**changes))

    def create(self, *memories: Memory) -> list[Memory]:
        """Create memories, and return them as they are stored."""
        committed = self.commit(created=memories)
        return [committed.memories[memory.id] for memory in memories]

    def stored(self, number: int) -> Stored:
        """Return a memory as the store has it now."""
        known = self.index.get(ident(number), include_deleted=True)
        assert known is not None
        stored = self.store.current(known)
        assert stored is not None
        return stored

    def known(self, number: int) -> Memory:
        """Return a memory as the index has it, deleted or not."""
        found = self.index.get(ident(number), include_deleted=True)
        assert found is not None
        return found


def an_event(name: str, *numbers: int, **data: Any) -> Event:
    """Return an event about these memories."""
    return Event(name, NOON, tuple(ident(number) for number in numbers), data=data)


def a_message(number: int, content: str = "", **fields: Any) -> Message:
    """Return a message of the conversation."""
    plain = Message(
        id=f"m{number}",
        conversation=CHAT,
        role="user",
        content=content or f"message {number}",
        at=NOON,
    )
    return replace(plain, **fields)


def rewritten(stored: Stored, content: str) -> Memory:
    """Return the memory with another text, and everything that follows from it."""
    return derive_fields(replace(stored.memory, content=content, concepts=()))


class StoreContract:
    """Subclasses give the fixtures `opened` and `clock`, which it goes by."""

    # -- Memories

    def test_an_empty_store(self, opened: Opened) -> None:
        store = opened.store
        store.prepare(wait=True)
        assert (
            store.versions("x"),
            store.merged_ids(),
            store.archived(),
            store.archived_ids(),
        ) == ([], [], [], [])
        assert (store.archived_memory("x"), store.events("x")) == (None, [])
        assert (store.core().user, store.core().agent) == ({}, {})

    def test_created_memories_are_stored_and_indexed(self, opened: Opened) -> None:
        link = Link(
            source=ident(1),
            type=LinkType.CONFIRMS,
            target=ident(2),
            created_at=NOON,
            confidence=0.5,
        )
        first = a_memory(1, "Apples are red", keywords=("fruit",), project="app", links=(link,))
        committed = opened.commit(
            created=[first, a_memory(2, "Pears")],
            events=[an_event("saved", 1, 2)],
            extra={ident(1): {"status": "active"}},
        )
        assert committed.indexed
        assert set(committed.memories) == {ident(1), ident(2)}
        one = committed.memories[ident(1)]
        assert replace(one, file_path=None) == first
        assert one.file_path != committed.memories[ident(2)].file_path
        stored = opened.stored(1)
        assert (stored.memory, stored.indexed) == (one, True)
        assert not stored.text or "status: active\n" in stored.text
        assert find_ids(opened.index, "apples") == [ident(1)]
        assert opened.known(1).links == (link,)

    def test_memories_of_one_title_are_two(self, opened: Opened) -> None:
        opened.create(*(a_memory(number, f"Text {number}", title="Same") for number in range(1, 5)))
        assert {opened.stored(number).memory.content for number in range(1, 5)} == {
            f"Text {n}" for n in range(1, 5)
        }

    def test_an_update_replaces_what_it_was_based_on(self, opened: Opened) -> None:
        opened.create(a_memory(1, "Old"))
        before = opened.stored(1)
        changed = replace(before.memory, title="New", kind="decision", project="app")
        committed = opened.commit(updated=[Update(changed, before.revision)])
        now = opened.stored(1)
        assert now.memory == committed.memories[ident(1)]
        assert (now.memory.title, now.memory.kind, now.memory.project) == ("New", "decision", "app")
        assert now.revision != before.revision
        assert opened.known(1).title == "New"
        assert opened.store.versions(ident(1)) == []

    def test_an_update_of_something_else_is_refused(self, opened: Opened) -> None:
        opened.create(a_memory(1, "Old"))
        first = opened.stored(1)
        opened.commit(updated=[Update(replace(first.memory, title="Theirs"), first.revision)])
        with pytest.raises(Conflict):
            opened.commit(updated=[Update(replace(first.memory, title="Mine"), first.revision)])
        assert opened.stored(1).memory.title == "Theirs"
        opened.commit(
            updated=[Update(replace(first.memory, title="Mine"), first.revision, optional=True)]
        )
        assert opened.stored(1).memory.title == opened.known(1).title == "Theirs"

    def test_the_version_before_is_kept_if_asked_for(
        self, opened: Opened, clock: FakeClock
    ) -> None:
        opened.create(a_memory(1, "First"))
        for content in ("Second", "Third"):
            stored = opened.stored(1)
            update = Update(rewritten(stored, content), stored.revision, keep_version=True)
            opened.commit(
                updated=[update], events=[an_event("updated", 1), an_event("recalled", 1)]
            )
        first, second = opened.store.versions(ident(1))
        assert [one.memory.content for one in (first, second)] == ["First", "Second"]
        assert (first.merged, first.at, second.at > first.at) == (False, clock.now(), True)
        told = [event.data.get("kept") for event in opened.store.events(ident(1))]
        assert told == [first.reference, None, second.reference, None]
        assert opened.store.merged_ids() == []

    def test_merged_texts_are_kept_beside_a_memory(self, opened: Opened, clock: FakeClock) -> None:
        opened.create(a_memory(1, "One"), a_memory(2, "Two"))
        link = Link(source=ident(9), type=LinkType.CONFIRMS, target=ident(2), created_at=NOON)
        merged = a_memory(9, "Nearly one", keywords=("k",), links=(link,))
        opened.commit(merged=[(merged, ident(1)), (a_memory(8, "Also"), ident(1))])
        clock.forward(hours=1)
        opened.commit(merged=[(a_memory(7, "Nearly two"), ident(2))])
        kept = opened.store.versions(ident(1))
        assert [one.merged for one in kept] == [True, True]
        assert replace(kept[0].memory, file_path=None) == merged
        assert opened.store.merged_ids() == [ident(2), ident(1)]
        assert opened.index.get(ident(9)) is None
        opened.commit(dropped=[kept[0]])
        opened.commit(dropped=[kept[0]])  # that it is gone already is fine
        assert opened.store.versions(ident(1)) == [kept[1]]

    def test_trash_and_restore(self, opened: Opened, clock: FakeClock) -> None:
        opened.create(a_memory(1, "Apples", project="app"))
        before = opened.stored(1)
        clock.forward(hours=1)
        committed = opened.commit(trashed=[opened.known(1)], events=[an_event("deleted", 1)])
        assert committed.memories[ident(1)].deleted_at == clock.now()
        assert opened.index.get(ident(1)) is None
        assert opened.known(1).deleted_at == clock.now()
        trashed = opened.stored(1)
        assert (trashed.memory.content, trashed.memory.project, trashed.memory.deleted_at) == (
            "Apples",
            "app",
            clock.now(),
        )
        committed = opened.commit(restored=[ident(1)])
        assert committed.memories[ident(1)] == before.memory
        assert opened.known(1).deleted_at is None
        assert find_ids(opened.index, "apples") == [ident(1)]

    def test_restoring_what_is_nowhere(self, opened: Opened) -> None:
        with pytest.raises(MemoryNotFound):
            opened.commit(restored=[ident(1)])

    # -- The archive

    def test_archive_and_restore(self, opened: Opened) -> None:
        opened.create(a_memory(1, "Apples", project="app"), a_memory(2, "Pears"))
        before = opened.stored(1)
        opened.commit(archived=[opened.known(1)], events=[an_event("archived", 1)])
        assert opened.index.get(ident(1), include_deleted=True) is None
        assert find_ids(opened.index, "apples") == []
        assert opened.store.archived_ids() == [ident(1)]
        found = opened.store.archived_memory(ident(1))
        assert found is not None
        assert (found.id, found.content, found.deleted_at) == (ident(1), "Apples", None)
        assert str(found.file_path).startswith("archive/")
        assert opened.store.archived_memory(ident(2)) is None
        assert opened.store.archived() == [found]
        stored = opened.store.current(found)
        assert stored is not None
        changed = replace(before.memory, valid_until=NOON)
        opened.commit(updated=[Update(replace(stored.memory, valid_until=NOON), stored.revision)])
        assert opened.index.get(ident(1), include_deleted=True) is None
        committed = opened.commit(restored=[ident(1)])
        assert committed.memories[ident(1)] == changed
        assert opened.store.archived_ids() == []
        assert find_ids(opened.index, "apples") == [ident(1)]

    def test_pages_of_the_archive(self, opened: Opened) -> None:
        opened.create(
            *(
                a_memory(
                    n,
                    f"text {n}",
                    created_at=NOON + timedelta(days=n),
                    project="app" if n % 2 else "",
                )
                for n in range(1, 6)
            )
        )
        opened.commit(archived=[opened.known(number) for number in (2, 5, 1, 3, 4)])
        assert [found.content for found in opened.store.archived(2)] == ["text 5", "text 4"]
        assert [found.content for found in opened.store.archived(2, 2)] == ["text 3", "text 2"]
        assert [found.content for found in opened.store.archived(None, 3)] == ["text 2", "text 1"]
        assert opened.store.archived(0) == opened.store.archived(2, 9) == []

    @pytest.mark.parametrize("where", ["live", "trash", "archive"])
    def test_erased_leaves_nothing(self, opened: Opened, where: str) -> None:
        opened.create(a_memory(1, "Secret"), a_memory(2, "Stays"))
        stored = opened.stored(1)
        update = Update(rewritten(stored, "Secret again"), stored.revision, keep_version=True)
        opened.commit(updated=[update], merged=[(a_memory(9, "Nearly secret"), ident(1))])
        if where == "trash":
            opened.commit(trashed=[opened.known(1)])
        elif where == "archive":
            opened.commit(archived=[opened.known(1)])
        opened.commit(erased=[ident(1)], events=[an_event("erased", 1)])
        assert opened.index.get(ident(1), include_deleted=True) is None
        assert (
            opened.store.versions(ident(1)),
            opened.store.archived_ids(),
            opened.store.merged_ids(),
        ) == ([], [], [])
        assert find_ids(opened.index, "secret", ALL) == []
        assert opened.known(2).content == "Stays"
        opened.commit(erased=[ident(1), "nobody"])  # that it is gone already is fine

    # -- The journal

    def test_events_are_told_in_their_order_and_reach_the_index(self, opened: Opened) -> None:
        opened.create(a_memory(1, "One"), a_memory(2, "Two"))
        opened.commit(
            events=[an_event("recalled", 1, 2), an_event("linked", 2, target=ident(1))],
            durable=False,
        )
        opened.commit(events=[an_event("reinforced", 1, salience=0.25, note="ä\n", nothing=None)])
        told = opened.store.events(ident(1))
        assert [event.name for event in told] == ["recalled", "linked", "reinforced"]
        assert told[-1] == an_event("reinforced", 1, salience=0.25, note="ä\n", nothing=None)
        assert opened.known(1).access_count == 2
        assert opened.known(1).salience == 0.25
        assert [event.name for event in opened.store.events(ident(2))] == ["recalled", "linked"]

    def test_sessions_reach_the_index(self, opened: Opened) -> None:
        opened.commit(events=[Event(EventName.SESSION_STARTED, NOON, (), "s", {"project": "app"})])
        session = opened.index.session("s")
        assert session is not None
        assert (session.project, session.status) == ("app", "active")
        opened.commit(events=[Event(EventName.SESSION_ENDED, NOON, (), "s", {"summary": "done"})])
        session = opened.index.session("s")
        assert session is not None
        assert (session.status, session.summary) == ("completed", "done")

    # -- Core memory

    def test_core_memory(self, opened: Opened) -> None:
        opened.commit(core={"user": {"name": "Anna", "city": "Turku"}})
        opened.commit(
            core={"user": {"city": None, "none": None}, "agent": {"tone": "kurz\nund knapp"}}
        )
        core = opened.store.core()
        assert (dict(core.user), dict(core.agent)) == (
            {"name": "Anna"},
            {"tone": "kurz\nund knapp"},
        )

    # -- Conversations

    def test_messages_are_written_and_indexed(self, opened: Opened) -> None:
        said = a_message(
            1, "Hyvää\npäivää", role="tool", type="subagent_result", meta={"n": [1, {"ä": None}]}
        )
        committed = opened.commit(messages=[said, a_message(2, "apples")])
        assert (committed.indexed, dict(committed.memories)) == (True, {})
        opened.commit(messages=[a_message(3)])
        assert opened.index.window(CHAT, 10) == [said, a_message(2, "apples"), a_message(3)]
        (found,) = find_ids(opened.index, "apples")
        assert found == f"message:{CHAT}/2026-03-10/m2"

    def test_the_order_of_messages_is_that_of_writing(self, opened: Opened) -> None:
        """A clock that runs backwards does not change it."""
        for number, days in enumerate((0, 1, 0, 3)):
            opened.commit(messages=[a_message(number, at=NOON + timedelta(days=days))])
        assert [message.id for message in opened.index.window(CHAT, 10)] == ["m0", "m1", "m2", "m3"]
        found = find_ids(opened.index, "message")
        assert {one.split("/")[1] for one in found} == {"2026-03-10", "2026-03-11", "2026-03-13"}

    def test_a_message_that_is_repeated_counts_once(self, opened: Opened) -> None:
        for content in ("same", "same", "other"):
            opened.commit(messages=[a_message(1, content)])
        assert [message.content for message in opened.index.window(CHAT, 10)] == ["same", "other"]

    # -- All or nothing

    def test_everything_in_one_change(self, opened: Opened) -> None:
        opened.create(*(a_memory(number, f"Text {number}") for number in range(1, 6)))
        opened.commit(trashed=[opened.known(3)], merged=[(a_memory(8, "Merged"), ident(2))])
        (merged,) = opened.store.versions(ident(2))
        stored = opened.stored(1)
        committed = opened.commit(
            created=[a_memory(6, "Created")],
            merged=[(a_memory(9, "Nearly 1"), ident(1))],
            updated=[Update(rewritten(stored, "Updated"), stored.revision, keep_version=True)],
            trashed=[opened.known(2)],
            restored=[ident(3)],
            archived=[opened.known(4)],
            erased=[ident(5)],
            dropped=[merged],
            core={"agent": {"tone": "short"}},
            messages=[a_message(1)],
            events=[an_event("saved", 6), an_event("updated", 1)],
        )
        assert committed.indexed
        assert {memory.content for memory in committed.memories.values()} == {
            "Created",
            "Updated",
            "Text 2",
            "Text 3",
        }
        found = opened.index.select(ALL, order="created_at", limit=None)
        assert {(one.content, one.deleted_at is None) for one in found} == {
            ("Updated", True), ("Text 2", False), ("Text 3", True), ("Created", True),
        }  # fmt: skip
        assert opened.store.archived_ids() == [ident(4)]
        assert sorted(one.memory.content for one in opened.store.versions(ident(1))) == [
            "Nearly 1",
            "Text 1",
        ]
        assert opened.store.versions(ident(2)) == []
        assert dict(opened.store.core().agent) == {"tone": "short"}
        assert len(opened.index.window(CHAT, 5)) == 1
        assert len(opened.store.events(ident(6))) == 1

    def test_a_change_that_is_refused_creates_and_tells_nothing(self, opened: Opened) -> None:
        opened.create(a_memory(1, "There"))
        stored = opened.stored(1)
        late = Update(replace(stored.memory, title="Late"), "another revision")
        with pytest.raises(Conflict):
            opened.commit(
                created=[a_memory(2, "Apples")],
                updated=[late],
                core={"user": {"a": "b"}},
                events=[an_event("saved", 1, 2)],
            )
        assert opened.index.get(ident(2)) is None
        assert opened.stored(1) == stored
        assert (dict(opened.store.core().user), opened.store.events(ident(1))) == ({}, [])
        assert find_ids(opened.index, "apples") == []
        opened.create(a_memory(2, "Apples"))
        assert find_ids(opened.index, "apples") == [ident(2)]

    @pytest.mark.parametrize(
        "changes",
        [
            {"events": [Event("ended", NOON, (), "s", {"summary": "\ud800"})]},
            {"messages": [a_message(1, "\ud800")]},
        ],
        ids=["event", "message"],
    )
    def test_what_is_no_text_is_refused(self, opened: Opened, changes: dict[str, Any]) -> None:
        with pytest.raises(InvalidRequest, match="surrogate"):
            opened.commit(**changes)
        opened.commit(events=[an_event("saved", 1)])
        assert opened.index.window(CHAT, 5) == []

    def test_nothing_to_write(self, opened: Opened) -> None:
        assert opened.commit() == Committed({}, True)

    # -- The lock

    def test_the_lock_keeps_threads_apart_and_is_reentrant(self, opened: Opened) -> None:
        inside: list[int] = []
        most: list[int] = []

        def work() -> None:
            for _ in range(10):
                with opened.store.lock(), opened.store.lock():
                    inside.append(1)
                    most.append(len(inside))
                    inside.pop()

        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert most == [1] * 30

    @pytest.fixture
    def held(self, opened: Opened) -> Iterator[None]:
        """Another thread holds the lock; there is one memory."""
        opened.create(a_memory(1, "There"))
        taken, done = threading.Event(), threading.Event()

        def hold() -> None:
            with opened.store.lock():
                taken.set()
                done.wait(10)

        thread = threading.Thread(target=hold)
        thread.start()
        taken.wait(10)
        yield
        done.set()
        thread.join()

    @pytest.mark.usefixtures("held")
    def test_a_lock_that_is_held_is_not_waited_for_longer_than_asked(self, opened: Opened) -> None:
        for timeout in (0.0, 0.05):
            with pytest.raises(VaultBusy), opened.store.lock(timeout):
                pytest.fail("another thread holds it")

    @pytest.mark.usefixtures("held")
    def test_reading_needs_no_lock(self, opened: Opened) -> None:
        opened.store.prepare(wait=False)
        assert opened.stored(1).memory.content == "There"
        assert (
            opened.store.events(ident(1)),
            opened.store.versions(ident(1)),
            opened.store.archived(),
        ) == ([], [], [])
        assert dict(opened.store.core().user) == {}

    # -- The index, the queue

    def test_a_repaired_index_has_everything(self, opened: Opened) -> None:
        opened.create(a_memory(1, "Apples"), a_memory(2, "Pears"))
        opened.commit(
            trashed=[opened.known(2)],
            events=[an_event("recalled", 1)],
            messages=[a_message(1, "plums")],
        )
        before = opened.index.select(ALL, order="created_at", limit=None)
        opened.store.repair()
        assert opened.index.select(ALL, order="created_at", limit=None) == before
        assert len(find_ids(opened.index, "plums")) == 1
        opened.create(a_memory(3, "It goes on"))
        assert find_ids(opened.index, "goes") == [ident(3)]

    def test_the_queue(self, opened: Opened) -> None:
        queue = opened.store.queue
        for number in (1, 2):
            queue.put(
                Exchange(
                    id=ident(number), at=NOON, session_id="s", user="I like apples", assistant=""
                )
            )
        assert queue.take_over() == []  # they are this process's own
        assert (queue.status().waiting, queue.status().oldest) == (2, NOON)
        queue.done(ident(1))
        assert queue.status().waiting == 1
        queue.done(ident(1))
        queue.done("nobody")
        queue.close()
        queue.close()
