"""Finds duplicates of a new memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from muisti.model import Memory


class DuplicateFinder(Protocol):
    """Finds existing memories in the scope of a new one that may be duplicates.

    Deleted memories are ignored. The cost must not grow with the size of the store.
    """

    def find_same_content(self, memory: Memory) -> Memory | None:
        """Return the oldest memory with this content, `valid_from` and `valid_until`, or None.

        A superseded memory does not count.
        """
        ...

    def find_known_content(self, hashes: Sequence[str]) -> set[str]:
        """Return which of these content hashes memories have, in whatever scope."""
        ...

    def find_near_simhash(
        self, memory: Memory, bands: Sequence[int], most_bits: int, limit: int
    ) -> dict[str, str]:
        """Return the simhash, by ID, of memories that share a band with this one.

        Only those that differ in at most `most_bits` bits; at most `limit` are compared.
        """
        ...

    def find_with_words(
        self, memory: Memory, words: Sequence[str], limit: int, *, all_of_them: bool
    ) -> dict[str, str]:
        """Return the simhash, by ID, of up to `limit` memories with any, or all, of these words."""
        ...

    def find_near_simhashes(
        self, memories: Sequence[Memory], most_bits: int, limit: int
    ) -> list[dict[str, str]]:
        """Return what `find_near_simhash` returns, for each of many memories and all its bands."""
        ...

    def count_texts(self, words: Sequence[str], memories: int) -> Mapping[str, int]:
        """Return in how many texts each of these words occurs, without those that occur in none.

        Memories: how many new ones the words are of.
        """
        ...

    def find_with_any_word(
        self,
        searches: Sequence[tuple[Memory, Sequence[str]]],
        limit: int,
        most_bits: Sequence[int] = (),
    ) -> list[dict[str, str]]:
        """Return what `find_with_words` returns for any of the words, for each of many searches.

        Most bits: for each search, in how many bits the simhashes of two memories may differ.
        Memories that differ more may be left out.
        """
        ...

    def get_contents(self, ids: Sequence[str]) -> dict[str, str]:
        """Return the content of memories by ID."""
        ...

    def filter_current(self, ids: Sequence[str]) -> list[Memory]:
        """Return the memories among these without an end of validity, in the given order.

        A superseded memory has an end, and so has one with `valid_until`.
        """
        ...
