"""What every search index must do: find memories that may say what a new one says."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muisti.model import Link, LinkSource, LinkType, Memory, Tier
from muisti.ports import SearchIndex
from muisti.remember.candidates import find_similar
from muisti.text.simhash import compute_bands, hamming_distance
from tests.contract.making import SHARED_SUITE, add, filed, ident, ids, remove
from tests.tiers import amount
from tests.unit.making import NOON

TEXT = "The authentication module is located in the folder src/auth"
NEAR = "The auth module is in the folder src/auth"
PLACE = {"project": "app", "tier": Tier.PROJECT, "session_id": None}
_QUICK = settings(max_examples=amount(quick=15, all=60), suppress_health_check=SHARED_SUITE)


def flipped(memory: Memory, bits: list[int]) -> Memory:
    """The same fingerprint but for these bits."""
    value = int(memory.simhash, 16)
    for bit in bits:
        value ^= 1 << bit
    return replace(memory, simhash=f"{value:016x}")


class DuplicatesContract:
    """Subclasses give a fixture `index`: an open, empty index."""

    @pytest.mark.parametrize(
        "content", [TEXT, f"  {TEXT}\n", TEXT.replace(" ", "\n"), TEXT.replace("The", "Ｔｈｅ")]
    )
    def test_the_exact_twin_but_for_white_space_and_form(
        self, index: SearchIndex, content: str
    ) -> None:
        add(index, filed(1, TEXT), filed(2, "Something else"))
        twin = index.find_same_content(filed(9, content))
        assert twin is not None
        assert twin.id == ident(1)

    def test_of_several_the_first(self, index: SearchIndex) -> None:
        add(
            index,
            filed(2, TEXT),
            filed(1, TEXT, created_at=NOON.replace(year=2025), file_path="notes/older.md"),
        )
        twin = index.find_same_content(filed(9, TEXT))
        assert twin is not None
        assert twin.created_at.year == 2025

    @pytest.mark.parametrize("content", ["the authentication", TEXT + "!", TEXT.lower()])
    def test_what_is_only_alike_is_no_twin(self, index: SearchIndex, content: str) -> None:
        add(index, filed(1, TEXT))
        assert index.find_same_content(filed(9, content)) is None

    @pytest.mark.parametrize("content", [TEXT, NEAR])
    def test_those_that_share_telling_words_are_alike(
        self, index: SearchIndex, content: str
    ) -> None:
        add(
            index,
            filed(1, TEXT),
            *(filed(n, f"The weather on day {n} is fine") for n in range(2, 30)),
        )
        assert ids(find_similar(index, filed(99, content), 12))[0] == ident(1)

    @pytest.mark.parametrize(
        ("known", "new"),
        [
            ("Auth-moduuli sijaitsee kansiossa", "Auth-moduuli on kansiossa"),
            ("Модуль находится в папке", "Модуль расположен в папке"),
            ("认证模块位于文件夹中", "认证模块在文件夹中"),
            ("認証モジュールはフォルダにある", "認証モジュールはフォルダにあります"),
        ],
    )
    def test_in_other_languages_too(self, index: SearchIndex, known: str, new: str) -> None:
        add(index, filed(1, known), filed(2, "Something else in English"))
        assert ids(find_similar(index, filed(9, new), 12))[:1] == [filed(1, known).id]

    @_QUICK
    @given(bits=st.lists(st.integers(0, 63), max_size=3, unique=True))
    def test_three_bits_apart_are_found_without_a_shared_word(
        self, index: SearchIndex, bits: list[int]
    ) -> None:
        add(index, filed(1, TEXT))
        new = replace(filed(9, "zebra"), simhash=flipped(filed(1, TEXT), bits).simhash)
        assert ids(find_similar(index, new, 12)) == [ident(1)]

    def test_further_apart_they_are_not(self, index: SearchIndex) -> None:
        add(index, filed(1, TEXT))
        for bits in ([0, 1, 2, 3], [0, 16, 32, 48], list(range(64))):
            new = replace(filed(9, "zebra"), simhash=flipped(filed(1, TEXT), bits).simhash)
            assert find_similar(index, new, 12) == []

    def test_the_nearest_come_first_and_no_more_than_asked(self, index: SearchIndex) -> None:
        known = [filed(n, f"{TEXT} of version v{n}") for n in range(1, 9)]
        add(index, *known)
        new = filed(99, f"{TEXT} of version v9")
        found = find_similar(index, new, 5)
        assert len(found) == 5
        distances = [hamming_distance(one.simhash, new.simhash) for one in found]
        assert distances == sorted(distances)
        assert distances[0] == min(hamming_distance(one.simhash, new.simhash) for one in known)
        assert find_similar(index, new, 0) == []

    def test_words_that_are_everywhere_still_find_it(self, index: SearchIndex) -> None:
        add(index, *(filed(n, f"The server number n{n} is up") for n in range(1, 260)))
        add(index, filed(500, "The server is up"))
        new = filed(999, "The server is up!")
        assert ident(500) in ids(find_similar(index, new, 300))

    @pytest.mark.parametrize(
        "content", ["", "!", ":-)", "\0", '"', "a OR b AND NOT c", "x" * 100_000, "NEAR(a b)", "*"]
    )
    def test_any_text_may_be_asked_for(self, index: SearchIndex, content: str) -> None:
        add(index, filed(1, TEXT))
        assert index.find_same_content(filed(9, content or "x")) is None
        assert isinstance(find_similar(index, filed(9, content or "x"), 12), list)

    @pytest.mark.parametrize(
        ("there", "here", "seen"),
        [
            (PLACE, PLACE, True),
            (PLACE, {**PLACE, "project": "other"}, False),
            (PLACE, {**PLACE, "project": ""}, False),
            (PLACE, {**PLACE, "tier": Tier.GLOBAL}, False),
            (PLACE, {**PLACE, "session_id": "s"}, True),
            (PLACE, {**PLACE, "user": "anna"}, False),
            ({**PLACE, "user": "anna"}, {**PLACE, "user": "bo"}, False),
            ({**PLACE, "user": "anna"}, {**PLACE, "user": "anna", "agent": "codex"}, True),
            (
                {**PLACE, "tier": Tier.SESSION, "session_id": "s"},
                {**PLACE, "tier": Tier.SESSION, "session_id": "s"},
                True,
            ),
            (
                {**PLACE, "tier": Tier.SESSION, "session_id": "s"},
                {**PLACE, "tier": Tier.SESSION, "session_id": "t"},
                False,
            ),
        ],
    )
    def test_only_where_the_new_one_would_be_seen(
        self, index: SearchIndex, there: dict[str, object], here: dict[str, object], seen: bool
    ) -> None:
        add(index, filed(1, TEXT, **there))
        assert (index.find_same_content(filed(9, TEXT, **here)) is not None) is seen
        assert bool(find_similar(index, filed(9, NEAR, **here), 12)) is seen

    def test_the_dead_the_outdated_and_the_superseded_are_no_candidates(
        self, index: SearchIndex
    ) -> None:
        link = Link(source=ident(9), type=LinkType.SUPERSEDES, target=ident(3), created_at=NOON)
        add(
            index, filed(1, TEXT, deleted_at=NOON), filed(2, TEXT, valid_until=NOON), filed(3, TEXT)
        )
        assert ids(find_similar(index, filed(99, NEAR), 12)) == [ident(3)]
        add(index, filed(9, "The login is elsewhere", links=(link,)))
        assert index.find_same_content(filed(99, TEXT)) is None
        assert find_similar(index, filed(99, TEXT), 12) == []

    @pytest.mark.parametrize(("most_bits", "found"), [(3, "12"), (1, "1"), (0, "1")])
    def test_near_simhash(self, index: SearchIndex, most_bits: int, found: str) -> None:
        known = filed(1, TEXT)
        add(
            index,
            known,
            flipped(filed(2, "other"), []),
            replace(filed(2, "other"), simhash=flipped(known, [1, 20]).simhash),
        )
        near = index.find_near_simhash(filed(9, TEXT), compute_bands(known.simhash), most_bits, 10)
        assert near == {
            ident(int(n)): flipped(known, [] if n == "1" else [1, 20]).simhash for n in found
        }
        assert index.find_near_simhash(filed(9, TEXT), (), most_bits, 10) == {}

    def test_with_words(self, index: SearchIndex) -> None:
        add(
            index,
            filed(1, "apple pear"),
            filed(2, "apple fig"),
            filed(3, "plum"),
            filed(4, "apple", project="app"),
        )
        assert set(
            index.find_with_words(filed(9, "x"), ["appl", "pear"], 10, all_of_them=False)
        ) == {
            ident(1),
            ident(2),
        }
        assert index.find_with_words(filed(9, "x"), ["appl", "pear"], 10, all_of_them=True) == {
            ident(1): filed(1, "apple pear").simhash
        }
        assert len(index.find_with_words(filed(9, "x"), ["appl"], 1, all_of_them=False)) == 1
        assert index.find_with_words(filed(9, "x"), [], 10, all_of_them=False) == {}

    def test_many_at_once_as_one_by_one(self, index: SearchIndex) -> None:
        known = filed(1, TEXT)
        add(
            index,
            known,
            filed(2, "apple pear"),
            filed(3, "apple fig", deleted_at=NOON),
            filed(4, "apple", project="app"),
            filed(5, "apple plum", tier=Tier.SESSION, session_id="s"),
        )
        new = [
            filed(11, TEXT),
            flipped(filed(12, TEXT), [1, 20]),
            filed(13, "apple", project="app"),
            filed(14, "apple", tier=Tier.SESSION, session_id="s"),
            filed(15, "apple", tier=Tier.SESSION, session_id="t"),
            filed(16, "!"),
        ]
        near = index.find_near_simhashes(new, 3, 10)
        assert near == [
            index.find_near_simhash(one, compute_bands(one.simhash), 3, 10) for one in new
        ]
        assert [set(found) for found in near[:2]] == [{ident(1)}, {ident(1)}]
        searches = [(one, ["appl", "pear"]) for one in new] + [(new[0], [])]
        found = index.find_with_any_word(searches, 10)
        assert found == [
            index.find_with_words(one, words, 10, all_of_them=False) for one, words in searches
        ]
        expected = [{ident(2)}, {ident(2)}, {ident(4)}, {ident(5)}, set(), {ident(2)}, set()]
        assert [set(one) for one in found] == expected
        for bits in (0, 20, 64):  # what differs more may be left out, nothing else
            some = index.find_with_any_word(searches, 10, [bits] * len(searches))
            for (one, _), all_of_it, near_ones in zip(searches, found, some, strict=True):
                assert near_ones.items() <= all_of_it.items()
                assert all(
                    id_ in near_ones or hamming_distance(simhash, one.simhash) > bits
                    for id_, simhash in all_of_it.items()
                )
        assert index.find_near_simhashes(new, 3, 1) == [
            index.find_near_simhash(one, compute_bands(one.simhash), 3, 1) for one in new
        ]
        assert index.find_with_any_word([], 10) == index.find_near_simhashes([], 3, 10) == []

    def test_memories_that_have_changed_are_found_where_they_are_now(
        self, index: SearchIndex
    ) -> None:
        add(index, filed(1, "apple pear"), filed(2, "apple fig"), filed(3, "apple plum"))
        searches = [(filed(9, "x"), ["appl"]), (filed(9, "x", project="app"), ["appl"])]

        def find() -> list[set[str]]:
            return [set(found) for found in index.find_with_any_word(searches, 10)]

        assert find() == [{ident(1), ident(2), ident(3)}, set()]
        add(index, filed(1, "apple pear", project="app"), filed(2, "apple", deleted_at=NOON))
        assert find() == [{ident(3)}, {ident(1)}]
        remove(index, 3)
        add(index, filed(2, "apple fig"), filed(4, "apple"))
        assert find() == [{ident(2), ident(4)}, {ident(1)}]

    def test_known_content(self, index: SearchIndex) -> None:
        add(index, filed(1, TEXT), filed(2, "two", project="app"))
        hashes = [filed(9, text).content_hash for text in (TEXT, "two", "three", TEXT)]
        assert index.find_known_content(hashes) == {hashes[0], hashes[1]}
        assert index.find_known_content([]) == set()

    def test_contents(self, index: SearchIndex) -> None:
        add(index, filed(1, "one"), filed(2, "two"))
        assert index.get_contents([ident(2), "none"]) == {ident(2): "two"}

    def test_current_keeps_the_order_asked(self, index: SearchIndex) -> None:
        add(index, filed(1, "one"), filed(2, "two", valid_until=NOON), filed(3, "three"))
        assert ids(index.filter_current([ident(3), ident(2), "none", ident(1)])) == [
            ident(3),
            ident(1),
        ]
        assert index.filter_current([]) == []

    def test_a_proposal_takes_nobody_out(self, index: SearchIndex) -> None:
        link = Link(
            source=ident(9), type=LinkType.SUPERSEDES, target=ident(1), created_at=NOON,
            confidence=0.9, extracted_by=LinkSource.SYSTEM,
        )  # fmt: skip
        add(index, filed(1, TEXT), filed(9, "The login is elsewhere", links=(link,)))
        assert index.find_same_content(filed(99, TEXT)) is not None
