"""What every index must do: follow the files and the journal, in whole transactions."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from muisti.model import Event, Problem, Use
from muisti.ports import Changes, Known, Mark, Reading, Stamp
from tests.contract.making import Parts, filed, known, stored
from tests.unit.making import NOON, faded
from tests.unit.test_fields import memories

_QUICK = settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


class IndexContract:
    """Subclasses give a fixture `parts`: an open, empty index."""

    def test_an_empty_index(self, parts: Parts) -> None:
        assert parts.index.is_current()
        assert (parts.index.known(), parts.index.marks(), parts.index.problems()) == ({}, {}, [])
        assert parts.index.check() == []
        assert parts.index.open() is False

    @_QUICK
    @given(memory=memories())
    def test_any_memory_comes_back(self, parts: Parts, memory) -> None:
        memory = replace(memory, file_path=f"notes/{memory.id}.md")
        parts.add(memory)
        found = parts.reader.get(memory.id)
        assert found is not None
        assert found.salience == pytest.approx(faded(memory).salience)
        assert replace(found, salience=memory.salience) == memory
        assert parts.index.known()[str(memory.file_path)] == known(memory)
        parts.index.apply(Changes(removed=[str(memory.file_path)]))
        assert parts.reader.get(memory.id, include_deleted=True) is None
        assert str(memory.file_path) not in parts.index.known()

    def test_a_memory_written_again_replaces_itself(self, parts: Parts) -> None:
        parts.add(filed(1, "old apples"))
        parts.add(filed(1, "new pears", file_path="facts/moved.md"))
        found = parts.reader.get(filed(1, "x").id)
        assert found is not None
        assert (found.content, found.file_path) == ("new pears", "facts/moved.md")
        assert parts.index.check() == []

    def test_files_that_swap_their_places(self, parts: Parts) -> None:
        first, second = filed(1, "one", file_path="notes/a.md"), filed(2, "two", file_path="notes/b.md")
        parts.add(first, second)
        swapped = [replace(first, file_path="notes/b.md"), replace(second, file_path="notes/a.md")]
        parts.index.apply(Changes(files=[stored(memory) for memory in swapped], removed=["notes/a.md", "notes/b.md"]))
        assert [m.file_path for m in parts.reader.many([first.id, second.id])] == ["notes/b.md", "notes/a.md"]

    def test_one_transaction_is_all_or_nothing(self, parts: Parts) -> None:
        parts.add(filed(1, "there"))
        clash = [stored(filed(2, "two", file_path="notes/same.md")), stored(filed(3, "three", file_path="notes/same.md"))]
        with pytest.raises(Exception, match=r".+"):
            parts.index.apply(Changes(files=clash, removed=["notes/1.md"]))
        assert parts.reader.get(filed(1, "x").id) is not None
        assert parts.reader.get(filed(2, "x").id) is None
        assert parts.index.check() == []
        parts.add(filed(4, "afterwards it works"))

    def test_an_index_is_opened_without_the_lock_once_it_is_complete(self, parts: Parts) -> None:
        parts.index.behind = False
        parts.add(filed(1, "there"))
        parts.index.close()
        assert parts.index.open_complete()
        assert parts.index.is_current()
        assert parts.reader.get(filed(1, "x").id) is not None

    def test_what_is_seen_and_what_is_wrong(self, parts: Parts) -> None:
        no_memory = Known(Stamp(1, 2, 3), 4, "", None)
        parts.index.apply(Changes(seen={"README.md": no_memory}, problems={"notes/x.md": "broken"}))
        assert parts.index.known() == {"README.md": no_memory}
        assert parts.index.known(["README.md", "other.md"]) == {"README.md": no_memory}
        assert parts.index.known(["other.md"]) == parts.index.known([]) == {}
        assert parts.index.problems() == [Problem("notes/x.md", "broken")]
        parts.index.apply(Changes(problems={"notes/x.md": "still broken"}))
        assert parts.index.problems() == [Problem("notes/x.md", "still broken")]
        parts.add(filed(1, "mended", file_path="notes/x.md"))
        assert parts.index.problems() == []

    # -- The journal

    def test_marks_are_kept(self, parts: Parts) -> None:
        parts.happen(Event("saved", NOON))
        assert parts.index.marks() == {"2026-03.jsonl": Mark(1, "x")}

    def test_use_is_folded_into_memories(self, parts: Parts) -> None:
        memory = filed(1, "used")
        parts.add(memory)
        later = NOON + timedelta(hours=1)
        parts.happen(Event("recalled", NOON, (memory.id,)), Event("reinforced", later, (memory.id,), None, {"salience": 0.4}))
        found = parts.reader.get(memory.id)
        assert found is not None
        assert (found.salience, found.access_count, found.last_accessed) == (0.4, 2, later)
        parts.add(replace(memory, content="edited"))
        again = parts.reader.get(memory.id)
        assert again is not None
        assert (again.salience, again.access_count) == (0.4, 2)

    def test_use_outlives_a_file_that_goes_away_and_comes_back(self, parts: Parts) -> None:
        memory = filed(1, "away and back")
        parts.add(memory)
        parts.happen(Event("recalled", NOON, (memory.id,)))
        parts.index.apply(Changes(removed=["notes/1.md"]))
        parts.add(memory)
        found = parts.reader.get(memory.id)
        assert found is not None
        assert found.access_count == 1

    def test_a_restarted_journal_is_counted_from_the_start(self, parts: Parts) -> None:
        memory = filed(1, "counted")
        parts.add(memory)
        parts.happen(*[Event("recalled", NOON, (memory.id,), "s")] * 3, Event("session_started", NOON, (), "old"))
        parts.happen(Event("recalled", NOON, (memory.id,), "s"), restarted=True)
        found = parts.reader.get(memory.id)
        assert found is not None
        assert found.access_count == 1
        assert len(parts.reader.uses(memory_id=memory.id)) == 1
        assert parts.reader.session("old") is None

    def test_problems_of_the_journal_are_reported_once(self, parts: Parts) -> None:
        bad = Problem("journal/2026-03.jsonl", "no event")
        for restarted in (False, True):
            parts.index.apply(Changes(reading=Reading([], {}, restarted, (bad,))))
        assert parts.index.problems() == [bad]

    @pytest.mark.parametrize("count", [10**30, -(10**30), True, "7", 1.5])
    def test_numbers_that_no_database_holds(self, parts: Parts, count) -> None:
        parts.happen(
            Event("session_started", NOON, (), "s"),
            Event("session_ended", NOON, (), "s", {"tool_calls": count, "summary": None}),
            Event("imported", NOON, ("m",), None, {"access_count": count, "salience": 0.5}),
        )
        session = parts.reader.session("s")
        assert session is not None
        assert session.tool_calls == 0

    def test_sessions_and_uses(self, parts: Parts) -> None:
        memory = filed(1, "made in a session", session_id="s", created_at=NOON)
        parts.add(memory)
        parts.happen(
            Event("session_started", NOON, (), "s", {"project": "app"}),
            Event("recalled", NOON + timedelta(minutes=1), (memory.id,), "s"),
            Event("used", NOON + timedelta(minutes=2), (memory.id,), "s", {"use": "updated"}),
            Event("used", NOON + timedelta(minutes=2), (memory.id,), "s", {"use": "nonsense"}),
            Event("session_ended", NOON + timedelta(minutes=3), (), "s", {"summary": "done", "tool_calls": 4}),
        )
        session = parts.reader.session("s")
        assert session is not None
        assert (session.project, session.status, session.summary, session.tool_calls) == ("app", "completed", "done", 4)
        assert session.ended_at == NOON + timedelta(minutes=3)
        assert [use.use for use in parts.reader.uses(session_id="s")] == [Use.CREATED, Use.RECALLED, Use.UPDATED]
        assert parts.reader.uses(session_id="other") == []

    # -- Shadows, fingerprints

    def test_a_shadow_replaces_the_index_when_swapped(self, parts: Parts) -> None:
        parts.add(filed(1, "old"))
        with parts.index.shadow() as shadow:
            shadow.apply(Changes(files=[stored(filed(2, "new"))], reading=Reading([], {"j": Mark(1, "x")}, False)))
            assert (list(shadow.known()), shadow.marks()) == (["notes/2.md"], {"j": Mark(1, "x")})
            assert parts.reader.get(filed(1, "x").id) is not None
            shadow.swap()
        assert parts.reader.get(filed(1, "x").id) is None
        assert parts.reader.get(filed(2, "x").id) is not None
        assert parts.index.is_current()
        parts.add(filed(3, "goes on"))

    def test_a_shadow_that_is_not_swapped_leaves_nothing(self, parts: Parts) -> None:
        with pytest.raises(ZeroDivisionError), parts.index.shadow() as shadow:
            shadow.apply(Changes(files=[stored(filed(2, "new"))]))
            raise ZeroDivisionError
        assert parts.reader.get(filed(2, "x").id) is None

    @_QUICK
    @given(order=st.permutations(range(5)), again=st.lists(st.integers(0, 4), max_size=4))
    def test_equal_contents_have_equal_fingerprints_however_they_came_about(self, parts: Parts, order, again) -> None:
        every = [filed(n, f"text number {n} with word{n % 2}", keywords=(f"k{n}",)) for n in range(5)]
        with parts.index.shadow() as straight, parts.index.shadow() as devious:
            straight.apply(Changes(files=[stored(memory) for memory in every]))
            for n in order:
                devious.apply(Changes(files=[stored(replace(every[n], content="first draft", title="Draft"))]))
            devious.apply(Changes(removed=[str(every[n].file_path) for n in again]))
            devious.apply(Changes(files=[stored(memory) for memory in reversed(every)]))
            assert devious.fingerprint() == straight.fingerprint()

    def test_different_contents_have_different_fingerprints(self, parts: Parts) -> None:
        parts.add(filed(1, "one"))
        before = parts.index.fingerprint()
        parts.add(filed(1, "two"))
        after = parts.index.fingerprint()
        assert {part for part in before if before[part] != after[part]} >= {"memories", "words"}

    def test_set_aside_and_begin_anew(self, parts: Parts) -> None:
        parts.add(filed(1, "damaged"))
        parts.index.set_aside()
        assert not parts.index.is_current()
        assert parts.index.open() is True
        assert parts.index.behind
        assert parts.reader.get(filed(1, "x").id) is None

    def test_scrubbed_and_closed(self, parts: Parts) -> None:
        parts.add(filed(1, "secret"))
        parts.index.apply(Changes(removed=["notes/1.md"]))
        parts.index.scrub()
        parts.index.close()
        parts.index.close()
