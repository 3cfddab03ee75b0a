"""Chains of memories that replaced one another, in time that grows linearly with a chain. Pure.

Edited files may contain circles of SUPERSEDES links. Within a circle nothing replaces anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Generic, NamedTuple, TypeVar

_Time = TypeVar("_Time", int, datetime)


def sort_chains(
    ids: Iterable[str], find_next: Callable[[str], Iterable[str]]
) -> list[tuple[str, ...]]:
    """Return these memories and all that replaced them, the latest of each chain first.

    Memories of a circle share a tuple; all others are alone in theirs. `find_next` returns the
    memories that replaced one directly; it is called once for each memory. This is Tarjan's
    algorithm for strongly connected components, without recursion.
    """
    numbers: dict[str, int] = {}
    lowest: dict[str, int] = {}
    open_ids: dict[str, None] = {}
    groups = []
    for first in ids:
        path = [(first, iter([first]))]  # the first step goes from `first` to itself
        while path:
            id_, further = path[-1]
            new = next(further, None)
            if new is None:
                path.pop()
                if path:
                    parent = path[-1][0]
                    lowest[parent] = min(lowest[parent], lowest[id_])
                if id_ in open_ids and lowest[id_] == numbers[id_]:
                    group = []
                    while id_ in open_ids:
                        group.append(open_ids.popitem()[0])
                    groups.append(tuple(group))
            elif new not in numbers:
                numbers[new] = lowest[new] = len(numbers)
                open_ids[new] = None
                path.append((new, iter(find_next(new))))
            elif new in open_ids:
                lowest[id_] = min(lowest[id_], numbers[new])
    return groups


class Replacement(NamedTuple, Generic[_Time]):
    """A memory that replaced another one directly."""

    id: str
    start: _Time | None
    """When it becomes valid, or None if it is deleted."""
    linked_at: _Time


def find_successors(
    memory_id: str, find_replacing: Callable[[str], Iterable[Replacement[_Time]]]
) -> tuple[str, ...]:
    """Return the memories that supersede one, the latest last.

    A deleted memory counts as replaced by those that supersede it: the chain stays whole.
    """
    found: dict[str, Replacement[_Time]] = {}
    frontier = [memory_id]
    while frontier:
        for new in find_replacing(frontier.pop()):
            known = found.get(new.id)
            if known is None and new.start is None:
                frontier.append(new.id)
            if known is None or new.linked_at < known.linked_at:
                found[new.id] = new
    alive = [new for new in found.values() if new.start is not None and new.id != memory_id]
    return tuple(new.id for new in sorted(alive, key=lambda new: (new.linked_at, new.id)))


def find_chains(
    ids: Iterable[str], find_replacing: Callable[[str], Iterable[Replacement[_Time]]]
) -> dict[str, tuple[str, ...]]:
    """Return the successors of these memories, and of their successors in turn."""
    found: dict[str, tuple[str, ...]] = {}
    queue = dict.fromkeys(ids)
    while queue:
        for id_ in queue:
            found[id_] = find_successors(id_, find_replacing)
        queue = {new: None for id_ in queue for new in found[id_] if new not in found}
    return {old: news for old, news in found.items() if news}


class ChainEnds(Generic[_Time]):
    """When memories were replaced. Finds the end of each memory of a chain once."""

    def __init__(self, find_replacing: Callable[[str], Iterable[Replacement[_Time]]]) -> None:
        self._find_replacing: Callable[[str], Iterable[Replacement[_Time]]] = find_replacing
        self._ends: dict[str, _Time | None] = {}
        self._starts: dict[str, _Time | None] = {}
        """As `_ends`, but with the memories of a circle: it replaces those before it as a whole."""

    def find_end(self, memory_id: str) -> _Time | None:
        """Return the earliest start of the memories that replaced one, directly or over others."""
        if memory_id not in self._ends:
            replacing: dict[str, list[Replacement[_Time]]] = {}

            def find_next(id_: str) -> list[str]:
                replacing[id_] = list(self._find_replacing(id_))
                return [new.id for new in replacing[id_] if new.id not in self._ends]

            for group in sort_chains([memory_id], find_next):
                outside: list[_Time] = []
                inside: list[_Time] = []
                for id_ in group:
                    for new in replacing[id_]:
                        starts = inside if new.id in group else outside
                        found = new.start, self._starts.get(new.id)
                        starts += [at for at in found if at is not None]
                end, start = min(outside, default=None), min(inside + outside, default=None)
                self._ends.update(dict.fromkeys(group, end))
                self._starts.update(dict.fromkeys(group, start))
        return self._ends[memory_id]
