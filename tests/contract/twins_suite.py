"""What every finder of twins must do."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from muisti.model import Finder, Link, LinkType, Memory, Tier
from muisti.text.simhash import hamming
from tests.contract.making import Parts, filed, ids
from tests.unit.making import NOON

TEXT = "The authentication module is located in the folder src/auth"
NEAR = "The auth module is in the folder src/auth"
PLACE = {"project": "app", "tier": Tier.PROJECT, "session_id": None}
_QUICK = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


def flipped(memory: Memory, bits: list[int]) -> Memory:
    """The same fingerprint but for these bits."""
    value = int(memory.simhash, 16)
    for bit in bits:
        value ^= 1 << bit
    return replace(memory, simhash=f"{value:016x}")


class TwinsContract:
    """Subclasses give a fixture `parts`: an open, empty index."""

    @pytest.mark.parametrize("content", [TEXT, f"  {TEXT}\n", TEXT.replace(" ", "\n"), TEXT.replace("The", "Ｔｈｅ")])
    def test_the_exact_twin_but_for_white_space_and_form(self, parts: Parts, content: str) -> None:
        parts.add(filed(1, TEXT), filed(2, "Something else"))
        twin = parts.twins.twin(filed(9, content))
        assert twin is not None
        assert twin.id == filed(1, TEXT).id

    def test_of_several_the_first(self, parts: Parts) -> None:
        parts.add(filed(2, TEXT), filed(1, TEXT, created_at=NOON.replace(year=2025), file_path="notes/older.md"))
        twin = parts.twins.twin(filed(9, TEXT))
        assert twin is not None
        assert twin.created_at.year == 2025

    @pytest.mark.parametrize("content", ["the authentication", TEXT + "!", TEXT.lower()])
    def test_what_is_only_alike_is_no_twin(self, parts: Parts, content: str) -> None:
        parts.add(filed(1, TEXT))
        assert parts.twins.twin(filed(9, content)) is None

    @pytest.mark.parametrize("content", [TEXT, NEAR])
    def test_those_that_share_telling_words_are_alike(self, parts: Parts, content: str) -> None:
        parts.add(filed(1, TEXT), *(filed(n, f"The weather on day {n} is fine") for n in range(2, 30)))
        assert ids(parts.twins.alike(filed(99, content), 12))[0] == filed(1, TEXT).id

    @pytest.mark.parametrize(
        ("known", "new"),
        [
            ("Auth-moduuli sijaitsee kansiossa", "Auth-moduuli on kansiossa"),
            ("Модуль находится в папке", "Модуль расположен в папке"),
            ("认证模块位于文件夹中", "认证模块在文件夹中"),
            ("認証モジュールはフォルダにある", "認証モジュールはフォルダにあります"),
        ],
    )
    def test_in_other_languages_too(self, parts: Parts, known: str, new: str) -> None:
        parts.add(filed(1, known), filed(2, "Something else in English"))
        assert ids(parts.twins.alike(filed(9, new), 12))[:1] == [filed(1, known).id]

    @_QUICK
    @given(bits=st.lists(st.integers(0, 63), max_size=3, unique=True))
    def test_three_bits_apart_are_found_without_a_shared_word(self, parts: Parts, bits: list[int]) -> None:
        parts.add(filed(1, TEXT))
        new = replace(filed(9, "zebra"), simhash=flipped(filed(1, TEXT), bits).simhash)
        assert ids(parts.twins.alike(new, 12)) == [filed(1, TEXT).id]

    def test_further_apart_they_are_not(self, parts: Parts) -> None:
        parts.add(filed(1, TEXT))
        for bits in ([0, 1, 2, 3], [0, 16, 32, 48], list(range(64))):
            new = replace(filed(9, "zebra"), simhash=flipped(filed(1, TEXT), bits).simhash)
            assert parts.twins.alike(new, 12) == []

    def test_the_nearest_come_first_and_no_more_than_asked(self, parts: Parts) -> None:
        known = [filed(n, f"{TEXT} of version v{n}") for n in range(1, 9)]
        parts.add(*known)
        new = filed(99, f"{TEXT} of version v9")
        found = parts.twins.alike(new, 5)
        assert len(found) == 5
        distances = [hamming(one.simhash, new.simhash) for one in found]
        assert distances == sorted(distances)
        assert distances[0] == min(hamming(one.simhash, new.simhash) for one in known)
        assert parts.twins.alike(new, 0) == []

    def test_words_that_are_everywhere_still_find_it(self, parts: Parts) -> None:
        parts.add(*(filed(n, f"The server number n{n} is up") for n in range(1, 260)))
        parts.add(filed(500, "The server is up"))
        new = filed(999, "The server is up!")
        assert filed(500, "x").id in ids(parts.twins.alike(new, 300))

    @pytest.mark.parametrize("content", ["", "!", ":-)", "\0", '"', "a OR b AND NOT c", "x" * 100_000, "NEAR(a b)", "*"])
    def test_any_text_may_be_asked_for(self, parts: Parts, content: str) -> None:
        parts.add(filed(1, TEXT))
        assert parts.twins.twin(filed(9, content or "x")) is None
        assert isinstance(parts.twins.alike(filed(9, content or "x"), 12), list)

    @pytest.mark.parametrize(
        ("there", "here", "seen"),
        [
            (PLACE, PLACE, True),
            (PLACE, {**PLACE, "project": "other"}, False),
            (PLACE, {**PLACE, "project": ""}, False),
            (PLACE, {**PLACE, "tier": Tier.GLOBAL}, False),
            (PLACE, {**PLACE, "user": "anna"}, False),
            ({**PLACE, "user": "anna"}, {**PLACE, "user": "bo"}, False),
            ({**PLACE, "user": "anna"}, {**PLACE, "user": "anna", "agent": "codex"}, True),
            (PLACE, {**PLACE, "session_id": "s"}, True),
            ({**PLACE, "tier": Tier.SESSION, "session_id": "s"}, {**PLACE, "tier": Tier.SESSION, "session_id": "s"}, True),
            ({**PLACE, "tier": Tier.SESSION, "session_id": "s"}, {**PLACE, "tier": Tier.SESSION, "session_id": "t"}, False),
        ],
    )
    def test_only_where_the_new_one_would_be_seen(
        self, parts: Parts, there: dict[str, object], here: dict[str, object], seen: bool
    ) -> None:
        parts.add(filed(1, TEXT, **there))
        assert (parts.twins.twin(filed(9, TEXT, **here)) is not None) is seen
        assert bool(parts.twins.alike(filed(9, NEAR, **here), 12)) is seen

    def test_the_dead_the_outdated_and_the_superseded_are_no_candidates(self, parts: Parts) -> None:
        link = Link(source=filed(9, "x").id, type=LinkType.SUPERSEDES, target=filed(3, "x").id, created_at=NOON)
        parts.add(filed(1, TEXT, deleted_at=NOON), filed(2, TEXT, valid_until=NOON), filed(3, TEXT))
        assert ids(parts.twins.alike(filed(99, NEAR), 12)) == [filed(3, "x").id]
        parts.add(filed(9, "The login is elsewhere", links=(link,)))
        assert parts.twins.twin(filed(99, TEXT)) is None
        assert parts.twins.alike(filed(99, TEXT), 12) == []

    def test_a_proposal_takes_nobody_out(self, parts: Parts) -> None:
        link = Link(
            source=filed(9, "x").id, type=LinkType.SUPERSEDES, target=filed(1, "x").id, created_at=NOON,
            confidence=0.9, extracted_by=Finder.SYSTEM,
        )  # fmt: skip
        parts.add(filed(1, TEXT), filed(9, "The login is elsewhere", links=(link,)))
        assert parts.twins.twin(filed(99, TEXT)) is not None
