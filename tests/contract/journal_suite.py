"""What every journal must do."""

from __future__ import annotations

from typing import Protocol

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from muisti.model import Event
from muisti.ports import Journal, Mark
from tests.unit.making import ANY_TIME, NOON

WORDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
DATA = st.dictionaries(
    st.sampled_from(["salience", "amount", "summary", "use", "project"]), st.none() | st.integers(-5, 5) | st.floats(0, 1) | WORDS
)
EVENTS = st.lists(st.builds(Event, WORDS, ANY_TIME, st.lists(WORDS, max_size=3).map(tuple), st.none() | WORDS, DATA), max_size=5)


class Rewriting(Protocol):
    """Changes the stored journal behind its back, as git or a restored backup does."""

    def __call__(self, journal: Journal) -> None: ...


class JournalContract:
    """Subclasses give a fixture `journal` (empty) and a fixture `rewrite`, which replaces its last event by another."""

    def test_an_empty_journal(self, journal: Journal) -> None:
        reading = journal.read({})
        assert (list(reading.events), dict(reading.marks), reading.restarted, reading.problems) == ([], {}, False, ())

    def test_nothing_to_append(self, journal: Journal) -> None:
        journal.append([], durable=True)
        assert list(journal.read({}).events) == []

    @settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
    @given(batches=st.lists(EVENTS, max_size=3))
    def test_events_come_back_as_they_were_in_their_order(self, journal: Journal, batches: list[list[Event]]) -> None:
        before = journal.read({})
        for batch in batches:
            journal.append(batch, durable=False)
        expected = [event for batch in batches for event in batch]
        assert list(journal.read(before.marks).events) == expected
        assert list(journal.read({}).events) == [*before.events, *expected]

    @pytest.mark.parametrize("durable", [True, False])
    def test_marks_tell_what_is_new(self, journal: Journal, durable: bool) -> None:
        journal.append([Event("one", NOON)], durable=durable)
        first = journal.read({})
        assert [event.name for event in first.events] == ["one"]
        again = journal.read(first.marks)
        assert (list(again.events), again.restarted) == ([], False)
        assert again.marks == first.marks
        journal.append([Event("two", NOON), Event("three", NOON)], durable=durable)
        assert [event.name for event in journal.read(first.marks).events] == ["two", "three"]

    def test_a_rewritten_journal_starts_over(self, journal: Journal, rewrite: Rewriting) -> None:
        journal.append([Event("one", NOON), Event("two", NOON)], durable=True)
        marks = journal.read({}).marks
        rewrite(journal)
        reading = journal.read(marks)
        assert reading.restarted
        assert [event.name for event in reading.events] == ["one", "rewritten"]
        assert not journal.read(reading.marks).restarted

    def test_marks_of_another_journal_start_over(self, journal: Journal) -> None:
        journal.append([Event("one", NOON)], durable=True)
        reading = journal.read({"1999-01.jsonl": Mark(10, "nothing")})
        assert reading.restarted
        assert [event.name for event in reading.events] == ["one"]

    def test_a_second_reader_sees_the_same(self, journal: Journal) -> None:
        journal.append([Event("one", NOON, ("m",), "s", {"salience": 0.25})], durable=True)
        assert list(journal.read({}).events) == list(journal.read({}).events)
