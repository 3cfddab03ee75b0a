"""What every search index must do: list what waits for a person."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muisti.model import Filter, Link, LinkSource, LinkType, Memory
from muisti.ports import ReviewOrder, SearchIndex, Unconfirmed
from tests.contract.making import SHARED_SUITE, add, filed, ident, remove
from tests.unit.making import NOON

ALL = Filter(all_sessions=True)
HOUR = timedelta(hours=1)
NUMBERS = range(1, 6)


def suggest(source: int, target: int, type_: LinkType = LinkType.CONTRADICTS) -> Link:
    return Link(
        source=ident(source),
        type=type_,
        target=ident(target),
        created_at=NOON,
        confidence=0.5,
        extracted_by=LinkSource.SYSTEM,
    )


def settle(source: int, target: int, type_: LinkType = LinkType.SUPERSEDES) -> Link:
    return replace(suggest(source, target, type_), confidence=1.0)


def by_agent(number: int, *links: Link, **fields: Any) -> Memory:
    return filed(number, f"text {number}", trusted=False, links=links, **fields)


def by_person(number: int, *links: Link, **fields: Any) -> Memory:
    return filed(number, f"text {number}", links=links, **fields)


def queue(
    index: SearchIndex,
    where: Filter = ALL,
    order: ReviewOrder = "created_at",
    limit: int | None = None,
    offset: int = 0,
) -> list[Unconfirmed]:
    return index.unconfirmed(where, ALL, order=order, limit=limit, offset=offset)


@st.composite
def vaults(draw: st.DrawFn) -> list[Memory]:
    """Five memories with any trust, age and importance, and links between them."""
    made = []
    for number in NUMBERS:
        others = [other for other in NUMBERS if other != number]
        pairs = st.tuples(st.sampled_from(others), st.sampled_from([suggest, settle]))
        chosen = draw(st.dictionaries(st.sampled_from(list(LinkType)[:3]), pairs, max_size=2))
        memory = filed(
            number,
            f"text {number}",
            trusted=draw(st.booleans()),
            created_at=NOON - draw(st.integers(0, 2)) * HOUR,
            importance=draw(st.sampled_from([0.2, 0.5, 0.9])),
            links=tuple(make(number, other, type_) for type_, (other, make) in chosen.items()),
        )
        deleted = draw(st.booleans()) and draw(st.booleans())
        made.append(replace(memory, deleted_at=NOON) if deleted else memory)
    return made


def expect(memories: list[Memory], order: ReviewOrder) -> list[Unconfirmed]:
    """What the queue must be, said in the plainest way."""
    alive = {memory.id: memory for memory in memories if memory.deleted_at is None}
    outdated = {
        link.target
        for memory in alive.values()
        for link in memory.links
        if link.type is LinkType.SUPERSEDES and not link.proposed
    }
    current = {id_: memory for id_, memory in alive.items() if id_ not in outdated}
    items = []
    for memory in sorted(current.values(), key=lambda one: (one.created_at, one.id), reverse=True):
        if not memory.trusted:
            items.append(Unconfirmed(memory.id, None))
        links = sorted(memory.links, key=lambda one: (one.type, one.target))
        items += [
            Unconfirmed(memory.id, link)
            for link in links
            if link.proposed and link.target in current
        ]
    if order == "importance":
        items.sort(key=lambda item: -alive[item.memory_id].importance)
    return items


class ReviewContract:
    """Subclasses give a fixture `index`: an open, empty index."""

    @pytest.mark.parametrize("order", ["created_at", "importance"])
    @settings(suppress_health_check=SHARED_SUITE)
    @given(memories=vaults(), size=st.integers(1, 4))
    def test_unconfirmed_memories_and_suggested_links_page_by_page(
        self, index: SearchIndex, order: ReviewOrder, memories: list[Memory], size: int
    ) -> None:
        remove(index, *NUMBERS)
        add(index, *memories)
        expected = expect(memories, order)
        assert queue(index, order=order) == expected
        pages = [
            item
            for offset in range(0, len(expected) + size, size)
            for item in queue(index, order=order, limit=size, offset=offset)
        ]
        assert pages == expected
        links = sum(item.link is not None for item in expected)
        assert index.count_unconfirmed(ALL, ALL) == (len(expected) - links, links)

    def test_the_filter_is_for_the_memory_and_the_source_of_a_link(
        self, index: SearchIndex
    ) -> None:
        add(
            index,
            by_agent(1, suggest(1, 2), kind="decision"),
            by_agent(2, suggest(2, 1), kind="fact"),
        )
        decisions = replace(ALL, kinds=("decision",))
        found = [Unconfirmed(ident(1), None), Unconfirmed(ident(1), suggest(1, 2))]
        assert queue(index, decisions) == found
        assert index.count_unconfirmed(decisions, ALL) == (1, 1)

    def test_a_link_is_left_out_if_its_target_is_out_of_scope(self, index: SearchIndex) -> None:
        add(index, by_agent(1, suggest(1, 2), project="a"), by_agent(2, project="b"))
        own = replace(ALL, project="a")
        found = index.unconfirmed(own, own, order="created_at", limit=None, offset=0)
        assert found == [Unconfirmed(ident(1), None)]
        assert index.count_unconfirmed(own, own) == (1, 0)
        assert index.count_unconfirmed(own, ALL) == (1, 1)

    def test_an_outdated_memory_returns_when_its_successor_is_deleted(
        self, index: SearchIndex
    ) -> None:
        new = by_person(2, settle(2, 1))
        add(index, by_agent(1), new)
        assert queue(index) == []
        remove(index, 2)
        add(index, replace(new, deleted_at=NOON, file_path=".trash/2.md"))
        assert queue(index) == [Unconfirmed(ident(1), None)]

    def test_confirmed_and_dangling_links_are_not_listed(self, index: SearchIndex) -> None:
        add(index, by_person(1, settle(1, 2, LinkType.CONTRADICTS), suggest(1, 9)), by_person(2))
        assert queue(index) == []
        assert index.count_unconfirmed(ALL, ALL) == (0, 0)
