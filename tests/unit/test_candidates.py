"""Which memories a new one is compared with."""

from __future__ import annotations

import pytest

from muisti.remember import candidates
from muisti.remember.candidates import MOST_BY_WORDS, RAREST, find_similar
from muisti.storage.memory.index import MemoryIndex
from muisti.text.simhash import FAR, hamming_distance
from tests.conftest import FakeClock
from tests.contract.making import add, filed, ident, ids

TEXT = "The authentication module is located in the folder src/auth"


class Watched(MemoryIndex):
    """An index that notes which words it is asked for."""

    asked: tuple[tuple[str, ...], bool] = ((), False)

    def find_with_words(self, memory, words, limit, *, all_of_them):
        assert limit == MOST_BY_WORDS
        self.asked = tuple(words), all_of_them
        return super().find_with_words(memory, words, limit, all_of_them=all_of_them)


@pytest.fixture
def index(clock: FakeClock) -> Watched:
    return Watched(clock)


def test_the_rarest_words_are_looked_for(index: Watched) -> None:
    add(index, filed(1, TEXT), *(filed(n, f"The folder number {n}") for n in range(2, 20)))
    find_similar(index, filed(99, TEXT), 5)
    words, all_of_them = index.asked
    assert not all_of_them
    assert len(words) <= RAREST
    assert "folder" not in words[:4]


def test_words_that_nobody_has_are_not_looked_for(index: Watched) -> None:
    add(index, filed(1, "apples and pears"))
    find_similar(index, filed(99, "plums and zebras"), 5)
    assert index.asked[0] == ("and",)


def test_common_words_are_added_as_long_as_few_memories_have_them(index: Watched) -> None:
    add(
        index,
        *(filed(n, f"common word{n}") for n in range(1, MOST_BY_WORDS + 10)),
        filed(900, "rare common"),
    )
    find_similar(index, filed(999, "rare common"), 5)
    assert index.asked == (("rare",), False)


def test_if_even_the_rarest_word_is_common_all_of_them_are_asked_for(index: Watched) -> None:
    add(
        index,
        *(filed(n, f"server is up n{n}") for n in range(1, MOST_BY_WORDS + 10)),
        filed(900, "server is up"),
    )
    found = find_similar(index, filed(999, "server is up"), 300)
    words, all_of_them = index.asked
    assert all_of_them
    assert set(words) == {"server", "is", "up"}
    assert ident(900) in ids(found)


def test_far_away_simhashes_are_left_out_but_of_short_texts(index: Watched) -> None:
    long = "apples pears plums figs dates grapes melons zebras"
    add(
        index,
        filed(1, "zebras"),
        filed(2, f"{long} zebras lions tigers bears wolves foxes cats dogs cows hens"),
    )
    new = filed(99, "zebras graze on the wide plains of the south")
    assert (
        hamming_distance(
            filed(2, f"{long} zebras lions tigers bears wolves foxes cats dogs cows hens").simhash,
            new.simhash,
        )
        > FAR
    )
    assert ident(2) not in ids(find_similar(index, new, 5))
    assert ident(2) in ids(find_similar(index, filed(99, "zebras"), 5))


def test_long_texts_are_read_only_so_far(index: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidates, "MOST_READ", 20)
    add(index, filed(1, "needle"), filed(2, "begins"))
    find_similar(index, filed(99, "begins with this and ends with a needle"), 5)
    assert index.asked[0] == ("begin",)


def test_nothing_is_asked_of_an_empty_index(index: Watched) -> None:
    assert find_similar(index, filed(99, TEXT), 5) == []
    assert find_similar(index, filed(99, ":-)"), 5) == []
