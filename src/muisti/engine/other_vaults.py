"""Further vaults that reads of a vault also look into."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from muisti.errors import MuistiError, redact_message
from muisti.model import SearchResults
from muisti.recall.filters import ALL

if TYPE_CHECKING:
    from muisti.engine.search import Search
    from muisti.model import Filter, Memory, SearchResult
    from muisti.recall.filters import FilterOptions

log = logging.getLogger("muisti")
R = TypeVar("R")
REFRESH = 30.0
"""Seconds after which an open vault is asked for edited files again."""
PATIENCE = 0.3
"""Seconds to wait for another process's lock then."""


class OtherVaults:
    """Vaults that are opened when they are first read. One that fails does not stop the others.

    What is found in them is not recorded as a recall. Threads may share it.
    """

    def __init__(self, locations: Sequence[str], open_vault: Callable[[str], Search]) -> None:
        self.locations = tuple(dict.fromkeys(locations))
        self.found: set[str] = set()
        """IDs of memories that searches found there, for which no recall is recorded here."""
        self._open = open_vault
        self._opened: dict[str, tuple[Search, float]] = {}
        self._guard = threading.Lock()
        self._reported: set[str] = set()
        self._left_out = threading.local()

    def ask(self, question: Callable[[Search], R]) -> tuple[list[tuple[Search, R]], list[str]]:
        """Return the result of each vault, and the reason for each that failed, with its name."""
        answers = []
        problems = []
        for location in () if getattr(self._left_out, "now", False) else self.locations:
            try:
                vault = self._get(location)
                answers.append((vault, question(vault)))
            except (MuistiError, OSError) as error:
                # The address of a database may have a password.
                problems.append(redact_message(f"{location} is left out ({error})"))
        return answers, problems

    def read(self, question: Callable[[Search], R]) -> list[tuple[Search, R]]:
        """Return the result of each vault, and log failures once: a list has no `degraded`."""
        answers, problems = self.ask(question)
        for problem in problems:
            if problem not in self._reported:
                self._reported.add(problem)
                log.warning("%s", problem)
        return answers

    def _get(self, location: str) -> Search:
        with self._guard:
            if location not in self._opened:
                self._opened[location] = self._open(location), time.monotonic()
            vault, at = self._opened[location]
            if time.monotonic() - at > REFRESH:
                with suppress(MuistiError):  # the index is still there
                    vault._services.reconciler.sync(timeout=PATIENCE)
                self._opened[location] = vault, time.monotonic()
            return vault

    @contextmanager
    def leave_out(self) -> Iterator[None]:
        """Ask no vault in this thread, until the end of the block."""
        before = getattr(self._left_out, "now", False)
        self._left_out.now = True
        try:
            yield
        finally:
            self._left_out.now = before

    def find_owner(self, memory_id: str) -> Search | None:
        """Return the vault that has this memory, in its trash too; None if there is none."""
        answers = self.read(lambda vault: vault.get(memory_id, include_deleted=True))
        return next((vault for vault, found in answers if found is not None), None)

    def close(self) -> None:
        """Close the vaults that were opened."""
        with self._guard:
            for vault, _ in self._opened.values():
                vault.close()
            self._opened.clear()


@contextmanager
def use_own_vault(memory: Search) -> Iterator[None]:
    """Let calls of this thread use the vault alone, until the end of the block.

    For programs that write what they list: they must not change a vault that is only searched.
    """
    if memory.others is None:
        yield
        return
    with memory.others.leave_out():
        yield


def make_other_options(options: FilterOptions, where: Filter) -> FilterOptions:
    """Return the options of a read for another vault, which does not know the session.

    Where: the filter that the options mean here.
    """
    elsewhere: FilterOptions = {**options, "session_id": None}
    elsewhere["project"] = ALL if where.project is None else where.project
    if where.user is not None:
        elsewhere["user"] = where.user
    return elsewhere


def merge_results(
    found: Sequence[tuple[str, SearchResults]], limit: int | None, problems: Sequence[str]
) -> SearchResults:
    """Return the results of several vaults as one list, by score. The first vault is the own one.

    Scores are probabilities, so those of two vaults can be compared. Of results with the same ID or
    text, the first stays. Problems: why a vault is missing.
    """
    named = [replace(one, vault=vault) for vault, results in found for one in results]
    seen: set[tuple[str, str]] = set()
    merged: list[SearchResult] = []
    for one in named:
        keys = {("id", one.memory.id), ("text", " ".join(one.memory.content.split()))}
        if not keys & seen:
            merged.append(one)
        seen |= keys
    merged.sort(key=lambda one: -one.score)
    own = found[0][1]
    reasons = dict.fromkeys((*(results.degraded for _, results in found), *problems))
    degraded = "; ".join(filter(None, reasons))
    # A name that one of the vaults knows is not misspelled.
    hint = own.hint if all(results.hint for _, results in found) else ""
    return SearchResults(merged[:limit], own.mode, degraded, hint)


def merge_lists(
    found: Sequence[Sequence[Memory]], key: Callable[[Memory], object], *, reverse: bool
) -> list[Memory]:
    """Return the memories of several vaults as one sorted list, each ID once."""
    by_id: dict[str, Memory] = {}
    for memories in found:
        for memory in memories:
            by_id.setdefault(memory.id, memory)
    return sorted(by_id.values(), key=key, reverse=reverse)  # type: ignore[arg-type]
