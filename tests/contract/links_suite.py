"""What every search index must do: read links."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from muisti.model import Link, LinkSource, LinkType, Memory
from muisti.ports import SearchIndex
from muisti.ports.link_names import make_link_key
from tests.contract.making import add, filed, ident, remove
from tests.unit.making import NOON

HOUR = timedelta(hours=1)


def link(
    source: int, target: int, type_: LinkType = LinkType.RELATED_TO, hour: int = 0, **fields: Any
) -> Link:
    return Link(
        source=ident(source),
        type=type_,
        target=ident(target),
        created_at=NOON + hour * HOUR,
        **fields,
    )


def having(number: int, *links: Link, **fields: Any) -> Memory:
    return filed(number, f"text {number}", links=links, **fields)


def superseding(new: int, old: int, hour: int = 0, **fields: Any) -> Memory:
    return having(new, link(new, old, LinkType.SUPERSEDES, hour, **fields))


class LinksContract:
    """Subclasses give a fixture `index`: an open, empty index."""

    @pytest.mark.parametrize("type_", LinkType)
    def test_a_link_comes_back_whole_from_both_ends(
        self, index: SearchIndex, type_: LinkType
    ) -> None:
        made = link(
            1,
            2,
            type_,
            confidence=0.1 + 0.2,
            extracted_by=LinkSource.LLM,
            valid_from=NOON - HOUR,
            valid_until=NOON + HOUR,
        )
        add(index, having(1, made), having(2))
        assert index.get_links([ident(1)]) == index.get_links([ident(2)]) == [made]
        found = index.get(ident(1))
        assert found is not None
        assert found.links == (made,)

    def test_by_labels_of_links(self, index: SearchIndex) -> None:
        add(
            index,
            filed(1, "text with [[Otters]] and [[Ä/B]]", title="Log"),
            filed(2, "another", title="otters", aliases=("LUTRA",)),
            filed(3, "no longer there", title="Otters", deleted_at=NOON),
        )
        assert index.find_labelled("wikilink", ["otters", "unknown"]) == [ident(1)]
        assert index.find_labelled("wikilink", ["b"]) == [ident(1)]
        assert index.find_labelled("wikilink", None) == [ident(1)]
        assert index.find_labelled("name", ["otters", "lutra"]) == [ident(2)]
        assert index.find_labelled("name", ["log", "2"]) == [ident(2), ident(1)]
        assert index.find_labelled("name", []) == index.find_labelled("other", None) == []

    def test_a_wikilink_that_grows_when_it_is_normalized(self, index: SearchIndex) -> None:
        name = "\ufdfa" * 300  # each is eighteen characters in NFKC
        add(index, filed(1, f"text with [[{name}]]"), filed(2, "another", title=name))
        key = make_link_key(name)
        assert index.find_labelled("wikilink", [key]) == [ident(1)]
        assert index.find_labelled("name", [key]) == [ident(2)]

    def test_oldest_first_each_once(self, index: SearchIndex) -> None:
        late, early, back = (
            link(1, 2, hour=2),
            link(1, 3, hour=1),
            link(2, 1, LinkType.CONFIRMS, hour=3),
        )
        add(index, having(1, late, early), having(2, back), having(3))
        assert index.get_links([ident(1)]) == [early, late, back]
        assert index.get_links([ident(1), ident(2), ident(1)]) == [early, late, back]
        assert index.get_links([ident(3)]) == [early]
        assert index.get_links([]) == []
        assert index.get_links(["nobody"]) == []

    @pytest.mark.parametrize("end", [1, 2])
    @pytest.mark.parametrize("how", ["deleted", "removed", "never there"])
    def test_links_without_one_of_their_ends_are_left_out_until_it_is_back(
        self, index: SearchIndex, end: int, how: str
    ) -> None:
        made = link(1, 2)
        both = {1: having(1, made), 2: having(2)}
        add(index, *(one for number, one in both.items() if how != "never there" or number != end))
        if how == "deleted":
            trashed = replace(both[end], deleted_at=NOON, file_path=f".trash/{end}.md")
            remove(index, end)
            add(index, trashed)
        elif how == "removed":
            remove(index, end)
        assert index.get_links([ident(1), ident(2)]) == []
        remove(index, end)
        add(index, both[end])
        assert index.get_links([ident(1), ident(2)]) == [made]

    def test_a_file_that_is_read_again_has_the_links_that_it_has_now(
        self, index: SearchIndex
    ) -> None:
        add(index, having(1, link(1, 2), link(1, 3)), having(2), having(3))
        kept = link(1, 3, LinkType.BUILDS_ON)
        remove(index, 1)
        add(index, having(1, kept))
        assert index.get_links([ident(1)]) == [kept]
        assert index.get_links([ident(2)]) == []

    def test_the_same_link_twice_in_a_file_counts_once(self, index: SearchIndex) -> None:
        add(index, having(1, link(1, 2, confidence=0.5), link(1, 2)), having(2))
        assert len(index.get_links([ident(2)])) == 1

    def test_successors(self, index: SearchIndex) -> None:
        add(
            index,
            having(1),
            superseding(2, 1),
            superseding(3, 2),
            having(4, link(4, 3, LinkType.CONTRADICTS)),
        )
        assert index.successors([ident(n) for n in range(1, 5)]) == {
            ident(1): (ident(2),),
            ident(2): (ident(3),),
        }
        assert index.successors([ident(2)]) == {ident(2): (ident(3),)}
        assert index.successors([]) == {}

    def test_chains_are_the_successors_in_turn(self, index: SearchIndex) -> None:
        deleted = replace(superseding(3, 2), deleted_at=NOON, file_path=".trash/3.md")
        add(index, having(1), superseding(2, 1), deleted, superseding(4, 3), superseding(5, 4))
        add(index, superseding(6, 9), superseding(9, 6), having(7))
        assert index.chains([ident(1), ident(7)]) == {
            ident(1): (ident(2),),
            ident(2): (ident(4),),
            ident(4): (ident(5),),
        }
        assert index.chains([ident(3)]) == {ident(3): (ident(4),), ident(4): (ident(5),)}
        assert index.chains([ident(6)]) == {ident(6): (ident(9),), ident(9): (ident(6),)}
        assert index.chains([ident(5), "nobody"]) == index.chains([]) == {}

    @pytest.mark.parametrize(("first", "second"), [(2, 3), (3, 2)])
    def test_of_several_successors_the_latest(
        self, index: SearchIndex, first: int, second: int
    ) -> None:
        add(index, having(1), superseding(first, 1, hour=1), superseding(second, 1, hour=2))
        assert index.successors([ident(1)])[ident(1)][-1] == ident(second)

    @pytest.mark.parametrize(
        ("fields", "counts"),
        [
            ({}, True),
            ({"extracted_by": LinkSource.SYSTEM}, True),
            ({"confidence": 0.5}, True),
            ({"confidence": 0.5, "extracted_by": LinkSource.LLM}, True),
            ({"confidence": 0.99, "extracted_by": LinkSource.SYSTEM}, False),
            ({"valid_until": NOON}, False),
        ],
    )
    def test_a_proposal_or_a_link_that_has_ended_makes_no_successor(
        self, index: SearchIndex, fields: dict[str, Any], counts: bool
    ) -> None:
        add(index, having(1), superseding(2, 1, **fields))
        assert index.successors([ident(1)]) == ({ident(1): (ident(2),)} if counts else {})
        old = index.get(ident(1))
        assert old is not None
        assert (old.valid_until is not None) is counts
        assert len(index.get_links([ident(1)])) == 1

    def test_a_deleted_successor_is_none(self, index: SearchIndex) -> None:
        add(
            index,
            having(1),
            superseding(2, 1, hour=1),
            replace(superseding(3, 1, hour=2), deleted_at=NOON),
        )
        assert index.successors([ident(1)]) == {ident(1): (ident(2),)}

    def test_what_is_superseded_ends_when_its_successor_begins(self, index: SearchIndex) -> None:
        def new(number: int, old: int, start: int, **fields: Any) -> Memory:
            made = link(number, old, LinkType.SUPERSEDES, **fields)
            return having(number, made, valid_from=NOON + start * HOUR)

        add(index, having(1), new(2, 1, 5), new(3, 1, 3, valid_from=NOON + 9 * HOUR))
        add(index, having(4, valid_until=NOON - HOUR), new(5, 4, 2))  # its own end is earlier
        add(index, having(6, valid_until=NOON + 9 * HOUR), new(7, 6, 2))  # or later
        add(index, having(8, valid_from=NOON + 4 * HOUR), new(9, 8, 1))  # before it began
        ends = {n: end(index, n) for n in (1, 2, 4, 6, 8)}
        hours = {1: 3, 4: -1, 6: 2, 8: 4}
        assert ends == {2: None, **{n: NOON + hour * HOUR for n, hour in hours.items()}}

    def test_the_earliest_start_of_all_that_came_later_counts(self, index: SearchIndex) -> None:
        made = link(3, 2, LinkType.SUPERSEDES)
        later = replace(superseding(2, 1), valid_from=NOON + 9 * HOUR)
        latest = having(3, made, valid_from=NOON + HOUR)
        add(index, having(1), later, latest)
        assert (end(index, 1), end(index, 2)) == (NOON + HOUR, NOON + 9 * HOUR)
        # Without the one in between, the chain is still one.
        add(index, replace(later, deleted_at=NOON))
        assert end(index, 1) == NOON + HOUR
        assert index.successors([ident(1)]) == {ident(1): (ident(3),)}
        add(index, later, replace(latest, deleted_at=NOON))
        assert end(index, 1) == NOON + 9 * HOUR

    @pytest.mark.parametrize("valid_from", [None, NOON + 3 * HOUR])
    def test_an_end_that_a_link_set_goes_with_the_successor(
        self, index: SearchIndex, valid_from: datetime | None
    ) -> None:
        """Files of earlier versions have the time of the link as the end."""
        new = superseding(2, 1, hour=7, valid_from=valid_from)
        add(index, having(1, valid_until=valid_from or NOON + 7 * HOUR), new)
        assert end(index, 1) == NOON
        add(index, replace(new, valid_from=NOON + 5 * HOUR))
        assert end(index, 1) == NOON + 5 * HOUR
        add(index, replace(new, deleted_at=NOON))
        assert end(index, 1) is None

    @pytest.mark.parametrize(("old", "new"), [("anna", "ben"), ("anna", ""), ("", "anna")])
    def test_a_memory_of_another_user_takes_no_place(
        self, index: SearchIndex, old: str, new: str
    ) -> None:
        add(index, having(1, user=old), replace(superseding(2, 1), user=new))
        assert (end(index, 1), index.successors([ident(1)])) == (None, {})

    def test_a_circle_has_no_effect_but_on_those_before_it(self, index: SearchIndex) -> None:
        made = link(3, 2, LinkType.SUPERSEDES), link(3, 1, LinkType.SUPERSEDES)
        add(index, having(1), superseding(2, 3), having(3, *made))
        assert [end(index, n) for n in (1, 2, 3)] == [NOON, None, None]


def end(index: SearchIndex, number: int) -> datetime | None:
    found = index.get(ident(number))
    assert found is not None
    return found.valid_until
