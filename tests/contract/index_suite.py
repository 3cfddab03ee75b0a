"""What every search index must do: follow the memories and the journal, in whole transactions."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings

from muisti.errors import MuistiError
from muisti.model import DocumentSource, Event, Filter, SessionAction, Usage
from muisti.ports import IndexChanges, JournalChanges, SearchIndex
from muisti.remember.index_rows import project_memory
from tests.contract.making import add, filed, find_ids, happen, ident, remove
from tests.unit.making import NOON, faded
from tests.unit.test_memory_codec import memories

_QUICK = settings(
    max_examples=25,
    suppress_health_check=[
        HealthCheck.function_scoped_fixture,
        HealthCheck.too_slow,
        HealthCheck.differing_executors,
    ],
)


class IndexContract:
    """Subclasses give a fixture `index`: an open, empty index."""

    @_QUICK
    @given(memory=memories())
    def test_any_memory_comes_back(self, index: SearchIndex, memory) -> None:
        memory = replace(memory, file_path=f"notes/{memory.id}.md")
        add(index, memory)
        found = index.get(memory.id)
        assert found is not None
        assert found.salience == pytest.approx(faded(memory).salience)
        assert replace(found, salience=memory.salience) == memory
        index.apply(IndexChanges(removed=[memory.id]))
        assert index.get(memory.id, include_deleted=True) is None

    def test_a_memory_written_again_replaces_itself(self, index: SearchIndex) -> None:
        add(index, filed(1, "old apples"))
        add(index, filed(1, "new pears", file_path="facts/moved.md"))
        found = index.get(ident(1))
        assert found is not None
        assert (found.content, found.file_path) == ("new pears", "facts/moved.md")
        assert find_ids(index, "apples") == []

    def test_memories_that_swap_their_places(self, index: SearchIndex) -> None:
        first, second = (
            filed(1, "one", file_path="notes/a.md"),
            filed(2, "two", file_path="notes/b.md"),
        )
        add(index, first, second)
        add(index, replace(first, file_path="notes/b.md"), replace(second, file_path="notes/a.md"))
        assert [m.file_path for m in index.get_many([first.id, second.id])] == [
            "notes/b.md",
            "notes/a.md",
        ]

    def test_removed_and_written_in_one_transaction_is_written(self, index: SearchIndex) -> None:
        add(index, filed(1, "old"))
        index.apply(
            IndexChanges(memories=[project_memory(filed(1, "new"))], removed=[ident(1), "nobody"])
        )
        found = index.get(ident(1))
        assert found is not None
        assert found.content == "new"

    def test_one_transaction_is_all_or_nothing(self, index: SearchIndex) -> None:
        add(index, filed(1, "there"))
        no_text = project_memory(replace(filed(3, "three"), source="\ud800"))
        usage = JournalChanges(usage={ident(1): Usage(access_count=7)})
        with pytest.raises(MuistiError, match="surrogate"):
            index.apply(
                IndexChanges(
                    [project_memory(filed(2, "two")), no_text], removed=[ident(1)], journal=usage
                )
            )
        found = index.get(ident(1))
        assert found is not None
        assert found.access_count == 0
        assert index.get(ident(2)) is None
        assert find_ids(index, "two") == []
        assert index.frequencies([]).documents == 1
        add(index, filed(4, "afterwards it works"))
        assert find_ids(index, "afterwards") == [ident(4)]

    def test_a_snapshot_goes_on_after_a_release(self, index: SearchIndex) -> None:
        add(index, filed(1, "before"))
        with index.snapshot():
            assert index.get(ident(1)) is not None
            with index.release():
                assert index.get(ident(1)) is not None
            assert index.get(ident(1)) is not None
        with index.release():
            assert index.get(ident(1)) is not None

    def test_a_snapshot_does_not_see_what_comes_later(self, index: SearchIndex) -> None:
        add(index, filed(1, "there"))
        done = threading.Event()

        def write() -> None:
            add(index, filed(2, "later"))
            done.set()

        writer = threading.Thread(target=write)
        with index.snapshot():
            assert index.get(ident(1)) is not None
            writer.start()
            done.wait(0.1)
            assert index.get(ident(2)) is None
            assert find_ids(index, "later") == []
            with index.snapshot():
                assert len(index.select(Filter(), order="created_at", limit=None)) == 1
        writer.join(10)
        assert index.get(ident(2)) is not None

    # -- The journal

    def test_use_is_folded_into_memories(self, index: SearchIndex) -> None:
        memory = filed(1, "used")
        add(index, memory)
        later = NOON + timedelta(hours=1)
        happen(
            index,
            Event("recalled", NOON, (memory.id,)),
            Event("reinforced", later, (memory.id,), None, {"salience": 0.4}),
        )
        found = index.get(memory.id)
        assert found is not None
        assert (found.salience, found.access_count, found.last_accessed) == (0.4, 2, later)
        add(index, replace(memory, content="edited"))
        again = index.get(memory.id)
        assert again is not None
        assert (again.salience, again.access_count) == (0.4, 2)

    def test_usage_is_what_was_written(self, index: SearchIndex) -> None:
        usage = Usage(
            0.25, NOON, 3, NOON + timedelta(hours=1), NOON, 1.5, NOON, NOON - timedelta(days=1)
        )
        index.apply(IndexChanges(journal=JournalChanges(usage={ident(1): usage})))
        assert index.usage([ident(1), ident(2)]) == {ident(1): usage}
        assert index.usage([]) == {}

    def test_an_edit_shows_as_an_update(self, index: SearchIndex) -> None:
        add(index, filed(1, "edited"))
        happen(index, Event("edited", NOON + timedelta(hours=1), (ident(1),)))
        found = index.get(ident(1))
        assert found is not None
        assert found.updated_at == NOON + timedelta(hours=1)

    def test_use_outlives_a_memory_that_goes_away_and_comes_back(self, index: SearchIndex) -> None:
        memory = filed(1, "away and back")
        add(index, memory)
        happen(index, Event("recalled", NOON, (memory.id,)))
        remove(index, 1)
        add(index, memory)
        found = index.get(memory.id)
        assert found is not None
        assert found.access_count == 1

    def test_a_restarted_journal_is_counted_from_the_start(self, index: SearchIndex) -> None:
        memory = filed(1, "counted")
        add(index, memory)
        happen(
            index,
            *[Event("recalled", NOON, (memory.id,), "s")] * 3,
            Event("session_started", NOON, (), "old"),
        )
        happen(index, Event("decayed", NOON), Event("documents_added", NOON, data={"path": "docs"}))
        happen(index, Event("recalled", NOON, (memory.id,), "s"), restart=True)
        found = index.get(memory.id)
        assert found is not None
        assert found.access_count == 1
        assert len(index.session_uses(memory_id=memory.id)) == 1
        assert index.session("old") is None
        assert index.decayed_at() is None
        assert index.sources() == []

    @pytest.mark.parametrize("count", [10**30, -(10**30), True, "7", 1.5])
    def test_numbers_that_no_database_holds(self, index: SearchIndex, count) -> None:
        happen(
            index,
            Event("session_started", NOON, (), "s"),
            Event("session_ended", NOON, (), "s", {"tool_calls": count, "summary": None}),
            Event("imported", NOON, ("m",), None, {"access_count": count, "salience": 0.5}),
        )
        session = index.session("s")
        assert session is not None
        assert session.tool_calls == 0

    def test_sessions_and_uses(self, index: SearchIndex) -> None:
        memory = filed(1, "made in a session", session_id="s", created_at=NOON)
        add(index, memory)
        happen(
            index,
            Event("session_started", NOON, (), "s", {"project": "app"}),
            Event("recalled", NOON + timedelta(minutes=1), (memory.id,), "s"),
            Event("used", NOON + timedelta(minutes=2), (memory.id,), "s", {"use": "updated"}),
            Event("used", NOON + timedelta(minutes=2), (memory.id,), "s", {"use": "nonsense"}),
            Event(
                "session_ended",
                NOON + timedelta(minutes=3),
                (),
                "s",
                {"summary": "done", "tool_calls": 4},
            ),
        )
        session = index.session("s")
        assert session is not None
        assert (session.project, session.status, session.summary, session.tool_calls) == (
            "app",
            "completed",
            "done",
            4,
        )
        assert session.ended_at == NOON + timedelta(minutes=3)
        assert [use.use for use in index.session_uses(session_id="s")] == [
            SessionAction.CREATED,
            SessionAction.RECALLED,
            SessionAction.UPDATED,
        ]
        assert index.session_uses(session_id="other") == []

    def test_the_latest_time_up_to_which_decay_was_recorded(self, index: SearchIndex) -> None:
        assert index.decayed_at() is None
        happen(index, Event("decayed", NOON))
        happen(index, Event("decayed", NOON - timedelta(hours=1)), Event("saved", NOON))
        assert index.decayed_at() == NOON

    def test_document_sources_come_and_go(self, index: SearchIndex) -> None:
        happen(
            index,
            Event(
                "documents_added",
                NOON,
                data={"path": "notes", "source": "Notes", "project": "app", "trusted": 1},
            ),
            Event("documents_added", NOON, data={"path": "docs"}),
        )
        assert index.sources() == [
            DocumentSource("docs", ""),
            DocumentSource("notes", "Notes", "app", True),
        ]
        happen(index, Event("documents_dropped", NOON, data={"path": "docs"}))
        assert [source.path for source in index.sources()] == ["notes"]

    def test_nothing_is_wrong_with_an_empty_index(self, index: SearchIndex) -> None:
        assert index.problems() == []
        assert index.select(Filter(include_deleted=True), order="created_at", limit=None) == []
        index.close()
        index.close()
