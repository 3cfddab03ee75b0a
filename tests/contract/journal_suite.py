"""What the files of the journal must do."""

from __future__ import annotations

from typing import Protocol

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from muisti.model import Event
from muisti.storage.files.journal import FileJournal
from muisti.storage.sync_state import ReadOffset
from tests.tiers import amount
from tests.unit.making import ANY_TIME, NOON

WORDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
DATA = st.dictionaries(
    st.sampled_from(["salience", "amount", "summary", "use", "project"]),
    st.none() | st.integers(-5, 5) | st.floats(0, 1) | WORDS,
)
EVENTS = st.lists(
    st.builds(
        Event, WORDS, ANY_TIME, st.lists(WORDS, max_size=3).map(tuple), st.none() | WORDS, DATA
    ),
    max_size=5,
)


class Rewriting(Protocol):
    """Changes the stored journal behind its back, as git or a restored backup does."""

    def __call__(self, journal: FileJournal) -> None: ...


class JournalContract:
    """Subclasses give a fixture `journal` (empty) and a fixture `rewrite`, which replaces its last
    event by another.
    """

    def test_an_empty_journal(self, journal: FileJournal) -> None:
        delta = journal.read({})
        assert (list(delta.events), dict(delta.offsets), delta.restarted, delta.problems) == (
            [],
            {},
            False,
            (),
        )

    def test_nothing_to_append(self, journal: FileJournal) -> None:
        journal.append([], durable=True)
        assert list(journal.read({}).events) == []

    @settings(
        max_examples=amount(quick=10, all=40),
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )
    @given(batches=st.lists(EVENTS, max_size=3))
    def test_events_come_back_as_they_were_in_their_order(
        self, journal: FileJournal, batches: list[list[Event]]
    ) -> None:
        before = journal.read({})
        for batch in batches:
            journal.append(batch, durable=False)
        expected = [event for batch in batches for event in batch]
        assert list(journal.read(before.offsets).events) == expected
        assert list(journal.read({}).events) == [*before.events, *expected]

    @pytest.mark.parametrize("durable", [True, False])
    def test_offsets_tell_what_is_new(self, journal: FileJournal, durable: bool) -> None:
        journal.append([Event("one", NOON)], durable=durable)
        first = journal.read({})
        assert [event.name for event in first.events] == ["one"]
        again = journal.read(first.offsets)
        assert (list(again.events), again.restarted) == ([], False)
        assert again.offsets == first.offsets
        journal.append([Event("two", NOON), Event("three", NOON)], durable=durable)
        assert [event.name for event in journal.read(first.offsets).events] == ["two", "three"]

    def test_a_rewritten_journal_starts_over(
        self, journal: FileJournal, rewrite: Rewriting
    ) -> None:
        journal.append([Event("one", NOON), Event("two", NOON)], durable=True)
        offsets = journal.read({}).offsets
        rewrite(journal)
        delta = journal.read(offsets)
        assert delta.restarted
        assert [event.name for event in delta.events] == ["one", "rewritten"]
        assert not journal.read(delta.offsets).restarted

    def test_offsets_of_another_journal_start_over(self, journal: FileJournal) -> None:
        journal.append([Event("one", NOON)], durable=True)
        delta = journal.read({"1999-01.jsonl": ReadOffset(10, "nothing")})
        assert delta.restarted
        assert [event.name for event in delta.events] == ["one"]

    def test_a_second_reader_sees_the_same(self, journal: FileJournal) -> None:
        journal.append([Event("one", NOON, ("m",), "s", {"salience": 0.25})], durable=True)
        assert list(journal.read({}).events) == list(journal.read({}).events)
