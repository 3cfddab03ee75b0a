"""H4 · Chains of replacements: the fast functions agree with the plain definition."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from muisti.model.chains import ChainEnds, Replacement, find_chains, find_successors, sort_chains

IDS = "abcdefg"
GRAPHS = st.dictionaries(
    st.sampled_from(IDS), st.lists(st.sampled_from(IDS), unique=True, max_size=3)
)
STARTS = st.fixed_dictionaries({id_: st.none() | st.integers(0, 9) for id_ in IDS})


def reach(graph: dict[str, list[str]], id_: str) -> set[str]:
    """Return all that replaced a memory, directly or over others."""
    found: set[str] = set()
    frontier = [id_]
    while frontier:
        new_ids = set(graph.get(frontier.pop(), ())) - found
        found |= new_ids
        frontier += new_ids
    return found


@example(
    graph={"c": ["a"], "a": ["b"], "b": ["a"]},  # a circle replaces what is before it as a whole
    order=list(IDS),
    starts={**dict.fromkeys(IDS), "a": 2, "b": 1},
)
@given(graph=GRAPHS, order=st.permutations(IDS), starts=STARTS)
def test_H4_a_memory_ends_when_the_first_of_those_that_replaced_it_starts(
    graph: dict[str, list[str]], order: list[str], starts: dict[str, int | None]
) -> None:
    calls: list[str] = []

    def find_replacing(id_: str) -> list[Replacement[int]]:
        calls.append(id_)
        return [Replacement(new, starts[new], 0) for new in graph.get(id_, ())]

    ends = ChainEnds(find_replacing)
    for id_ in order:
        later = {new for new in reach(graph, id_) if id_ not in reach(graph, new)}
        expected = [start for new in later if (start := starts[new]) is not None]
        assert ends.find_end(id_) == min(expected, default=None)
    assert sorted(calls) == sorted(IDS), "each memory is read once"


@given(GRAPHS, st.permutations(IDS))
def test_H4_later_memories_come_first_and_circles_stay_together(
    graph: dict[str, list[str]], order: list[str]
) -> None:
    groups = sort_chains(order, lambda id_: graph.get(id_, ()))
    assert sorted(id_ for group in groups for id_ in group) == sorted(IDS)
    seen: set[str] = set()
    for group in groups:
        for id_ in group:
            circle = {new for new in reach(graph, id_) if id_ in reach(graph, new)}
            assert circle | {id_} == set(group)
            assert reach(graph, id_) <= seen | set(group)
        seen |= set(group)


@given(GRAPHS, st.lists(st.sampled_from(IDS), max_size=3), STARTS)
def test_H4_the_chains_of_memories_are_their_successors_in_turn(
    graph: dict[str, list[str]], ids: list[str], starts: dict[str, int | None]
) -> None:
    def find_replacing(id_: str) -> list[Replacement[int]]:
        return [Replacement(new, starts[new], ord(new)) for new in graph.get(id_, ())]

    expected: dict[str, tuple[str, ...]] = {}
    frontier = list(ids)
    while frontier:
        id_ = frontier.pop()
        news = find_successors(id_, find_replacing)
        if news and id_ not in expected:
            expected[id_] = news
            frontier += news
    assert find_chains(ids, find_replacing) == expected


def test_H4_a_chain_of_any_length_needs_no_recursion() -> None:
    length = 20_000
    ends = ChainEnds(
        lambda id_: [Replacement(str(int(id_) + 1), int(id_) + 1, 0)] if int(id_) < length else []
    )
    assert ends.find_end("0") == 1
    assert ends.find_end(str(length)) is None
