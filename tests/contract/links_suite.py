"""What every reader of links must do."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from muisti.model import Finder, Link, LinkType, Memory
from muisti.ports import Changes
from tests.contract.making import Parts, filed
from tests.unit.making import NOON

HOUR = timedelta(hours=1)


def ident(number: int) -> str:
    return filed(number, "x").id


def link(source: int, target: int, type_: LinkType = LinkType.RELATED_TO, hour: int = 0, **fields: Any) -> Link:
    return Link(source=ident(source), type=type_, target=ident(target), created_at=NOON + hour * HOUR, **fields)


def having(number: int, *links: Link, **fields: Any) -> Memory:
    return filed(number, f"text {number}", links=links, **fields)


def superseding(new: int, old: int, hour: int = 0, **fields: Any) -> Memory:
    return having(new, link(new, old, LinkType.SUPERSEDES, hour, **fields))


class LinksContract:
    """Subclasses give a fixture `parts`: an open, empty index."""

    @pytest.mark.parametrize("type_", LinkType)
    def test_a_link_comes_back_whole_from_both_ends(self, parts: Parts, type_: LinkType) -> None:
        made = link(1, 2, type_, confidence=0.1 + 0.2, extracted_by=Finder.LLM, valid_from=NOON - HOUR, valid_until=NOON + HOUR)
        parts.add(having(1, made), having(2))
        assert parts.links.of(ident(1)) == parts.links.of(ident(2)) == [made]
        found = parts.reader.get(ident(1))
        assert found is not None
        assert found.links == (made,)

    def test_oldest_first_each_once(self, parts: Parts) -> None:
        late, early, back = link(1, 2, hour=2), link(1, 3, hour=1), link(2, 1, LinkType.CONFIRMS, hour=3)
        parts.add(having(1, late, early), having(2, back), having(3))
        assert parts.links.of(ident(1)) == [early, late, back]
        assert parts.links.among([ident(1), ident(2), ident(1)]) == [early, late, back]
        assert parts.links.among([ident(3)]) == [early]
        assert parts.links.among([]) == []
        assert parts.links.of("nobody") == []

    @pytest.mark.parametrize("end", [1, 2])
    @pytest.mark.parametrize("how", ["deleted", "removed", "never there"])
    def test_links_without_one_of_their_ends_are_left_out_until_it_is_back(self, parts: Parts, end: int, how: str) -> None:
        made = link(1, 2)
        both = {1: having(1, made), 2: having(2)}
        parts.add(*(one for number, one in both.items() if how != "never there" or number != end))
        if how == "deleted":
            trashed = replace(both[end], deleted_at=NOON, file_path=f".trash/{end}.md")
            parts.index.apply(Changes(removed=[f"notes/{end}.md"]))
            parts.add(trashed)
        elif how == "removed":
            parts.index.apply(Changes(removed=[f"notes/{end}.md"]))
        assert parts.links.among([ident(1), ident(2)]) == []
        parts.index.apply(Changes(removed=[f".trash/{end}.md"]))
        parts.add(both[end])
        assert parts.links.among([ident(1), ident(2)]) == [made]

    def test_a_file_that_is_read_again_has_the_links_that_it_has_now(self, parts: Parts) -> None:
        parts.add(having(1, link(1, 2), link(1, 3)), having(2), having(3))
        kept = link(1, 3, LinkType.BUILDS_ON)
        parts.index.apply(Changes(removed=["notes/1.md"]))
        parts.add(having(1, kept))
        assert parts.links.of(ident(1)) == [kept]
        assert parts.links.of(ident(2)) == []

    def test_the_same_link_twice_in_a_file_counts_once(self, parts: Parts) -> None:
        parts.add(having(1, link(1, 2, confidence=0.5), link(1, 2)), having(2))
        assert len(parts.links.of(ident(2))) == 1

    def test_successors(self, parts: Parts) -> None:
        parts.add(having(1), superseding(2, 1), superseding(3, 2), having(4, link(4, 3, LinkType.CONTRADICTS)))
        assert parts.links.successors([ident(n) for n in range(1, 5)]) == {ident(1): (ident(2),), ident(2): (ident(3),)}
        assert parts.links.successors([ident(2)]) == {ident(2): (ident(3),)}
        assert parts.links.successors([]) == {}

    @pytest.mark.parametrize(("first", "second"), [(2, 3), (3, 2)])
    def test_of_several_successors_the_latest(self, parts: Parts, first: int, second: int) -> None:
        parts.add(having(1), superseding(first, 1, hour=1), superseding(second, 1, hour=2))
        assert parts.links.successors([ident(1)])[ident(1)][-1] == ident(second)

    @pytest.mark.parametrize(
        ("fields", "counts"),
        [
            ({}, True),
            ({"extracted_by": Finder.SYSTEM}, True),
            ({"confidence": 0.5}, True),
            ({"confidence": 0.5, "extracted_by": Finder.LLM}, True),
            ({"confidence": 0.99, "extracted_by": Finder.SYSTEM}, False),
            ({"valid_until": NOON}, False),
        ],
    )
    def test_a_proposal_or_a_link_that_has_ended_makes_no_successor(
        self, parts: Parts, fields: dict[str, Any], counts: bool
    ) -> None:
        parts.add(having(1), superseding(2, 1, **fields))
        assert parts.links.successors([ident(1)]) == ({ident(1): (ident(2),)} if counts else {})
        old = parts.reader.get(ident(1))
        assert old is not None
        assert (old.valid_until is not None) is counts
        assert len(parts.links.of(ident(1))) == 1

    def test_a_deleted_successor_is_none(self, parts: Parts) -> None:
        parts.add(having(1), superseding(2, 1, hour=1), replace(superseding(3, 1, hour=2), deleted_at=NOON))
        assert parts.links.successors([ident(1)]) == {ident(1): (ident(2),)}

    def test_what_is_superseded_ends_when_the_link_begins(self, parts: Parts) -> None:
        parts.add(having(1), superseding(2, 1, hour=5), superseding(3, 1, hour=9, valid_from=NOON + HOUR))
        parts.add(having(4, valid_until=NOON), superseding(5, 4))
        ends = {n: found.valid_until for n in (1, 2, 4) if (found := parts.reader.get(ident(n)))}
        assert ends == {1: NOON + HOUR, 2: None, 4: NOON}
