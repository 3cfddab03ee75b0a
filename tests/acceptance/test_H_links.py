"""H1 · Links: eight types, in the front matter of the memory they begin at."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from muisti import InvalidRequest, Memory, MemoryNotFound, Muisti
from muisti.model import LinkType
from tests.conftest import FakeClock, Opener

TYPES = [
    "SUPERSEDES",
    "CONTRADICTS",
    "RELATED_TO",
    "BUILDS_ON",
    "CONFIRMS",
    "APPLIES_TO",
    "DEPENDS_ON",
    "ALTERNATIVE_TO",
]
TEXTS = [
    "The otter swims in the lake",
    "Deploys happen on Fridays",
    "Anna plays the violin",
    "The budget was approved",
]


@pytest.fixture
def memory(opened: Opener) -> Muisti:
    return opened(embedder="none")


@pytest.fixture
def four(memory: Muisti, clock: FakeClock) -> list[Memory]:
    saved = []
    for text in TEXTS:
        saved.append(memory.save(text, kind="note"))
        clock.forward(hours=1)
    return saved


def everything(vault: Path) -> dict[str, bytes]:
    """All but the index."""
    found = {
        path.relative_to(vault).as_posix(): path for path in vault.rglob("*") if path.is_file()
    }
    return {
        name: path.read_bytes() for name, path in found.items() if not name.startswith(".muisti/")
    }


def current(memory: Muisti, saved: Memory) -> Memory:
    found = memory.get(saved.id)
    assert found is not None
    return found


def test_H1_there_are_eight_types() -> None:
    assert [type_.value for type_ in LinkType] == TYPES


@pytest.mark.parametrize("type_", TYPES)
@pytest.mark.parametrize(
    "written", [str.upper, str.lower, str.title, lambda name: f" {name.replace('_', '-')} "]
)
def test_H1_each_type_in_any_case(
    memory: Muisti, clock: FakeClock, four: list[Memory], type_: str, written: Callable[[str], str]
) -> None:
    made = memory.link(four[0].id, four[1].id, written(type_))
    assert (made.type, made.confidence, made.extracted_by, made.created_at) == (
        type_,
        1.0,
        "user",
        clock.now(),
    )
    assert (made.source, made.target) == (four[0].id, four[1].id)
    assert memory.links(four[0].id) == memory.links(four[1].id) == [made]
    assert current(memory, four[0]).links == (made,)
    assert current(memory, four[1]).links == ()


@pytest.mark.needs_files("looks at the bytes of a file")
@pytest.mark.parametrize("type_", TYPES)
def test_H1_each_type_stands_in_the_file_of_its_source(
    memory: Muisti, four: list[Memory], type_: str
) -> None:
    memory.link(four[0].id, four[1].id, type_)
    assert f"{type_} {four[1].id}" in (memory.root / str(four[0].file_path)).read_text()


def test_H1_a_link_says_how_sure_it_is_who_found_it_and_when_it_holds(
    memory: Muisti, clock: FakeClock, four: list[Memory]
) -> None:
    start, end = clock.now() - timedelta(days=2), clock.now() + timedelta(days=3)
    made = memory.link(
        four[0].id,
        four[1].id,
        "CONFIRMS",
        confidence=0.7,
        extracted_by="llm",
        valid_from=start,
        valid_until=end,
    )
    assert (made.confidence, made.extracted_by, made.valid_from, made.valid_until) == (
        0.7,
        "llm",
        start,
        end,
    )
    memory.reindex()
    assert memory.links(four[1].id) == [made]


def test_H1_two_may_be_linked_in_several_ways_and_both_directions(
    memory: Muisti, clock: FakeClock, four: list[Memory]
) -> None:
    made = []
    for type_, ends in (("BUILDS_ON", (0, 1)), ("CONFIRMS", (0, 1)), ("BUILDS_ON", (1, 0))):
        made.append(memory.link(four[ends[0]].id, four[ends[1]].id, type_))
        clock.forward(minutes=1)
    assert memory.links(four[0].id) == made  # oldest first


OptionsFor = Callable[[list[Memory], FakeClock], dict[str, Any]]
REFUSED: dict[str, tuple[tuple[int, int], OptionsFor, str]] = {
    "itself": ((0, 0), lambda _, __: {}, "target"),
    "type": ((0, 1), lambda _, __: {"type": "LIKES"}, "type.*SUPERSEDES"),
    "above one": ((0, 1), lambda _, __: {"confidence": 1.1}, "confidence"),
    "below zero": ((0, 1), lambda _, __: {"confidence": -0.1}, "confidence"),
    "no number": ((0, 1), lambda _, __: {"confidence": float("nan")}, "confidence"),
    "a text": ((0, 1), lambda _, __: {"confidence": "high"}, "confidence"),
    "a flag": ((0, 1), lambda _, __: {"confidence": True}, "confidence"),
    "finder": ((0, 1), lambda _, __: {"extracted_by": "oracle"}, "extracted_by"),
    "until before from": (
        (0, 1),
        lambda _, clock: {
            "valid_from": clock.now(),
            "valid_until": clock.now() - timedelta(seconds=1),
        },
        "valid_until",
    ),
    "no zone": (
        (0, 1),
        lambda _, clock: {"valid_from": clock.now().replace(tzinfo=None)},
        "valid_from",
    ),
    "identical": ((2, 3), lambda _, __: {"type": "confirms"}, "exists already"),
    "identical but for how sure": (
        (2, 3),
        lambda _, __: {"type": "confirms", "confidence": 0.5},
        "exists already",
    ),
    "superseded already": (
        (3, 2),
        lambda _, __: {"type": "supersedes"},
        "exists already",
    ),
    "circle of two": ((2, 3), lambda _, __: {"type": "supersedes"}, "supersede"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_H1_what_makes_no_sense_is_refused_and_nothing_is_written(
    memory: Muisti, clock: FakeClock, vault: Path, four: list[Memory], case: str
) -> None:
    memory.link(four[2].id, four[3].id, "CONFIRMS")
    memory.supersede(four[2].id, four[3].id)
    (source, target), options, names = REFUSED[case]
    before = everything(vault), memory.list()
    with pytest.raises(InvalidRequest, match=names):
        memory.link(four[source].id, four[target].id, **options(four, clock))
    assert (everything(vault), memory.list()) == before


@pytest.mark.parametrize("circle", [2, 3, 4])
def test_H1_superseding_in_a_circle_is_refused(
    memory: Muisti, vault: Path, four: list[Memory], circle: int
) -> None:
    for old, new in pairwise(four[:circle]):
        memory.supersede(old.id, new.id)
    before = everything(vault)
    with pytest.raises(InvalidRequest, match="supersede"):
        memory.supersede(four[circle - 1].id, four[0].id)
    assert everything(vault) == before


@pytest.mark.parametrize("end", ["source", "target"])
def test_H1_both_ends_must_be_there(
    memory: Muisti, vault: Path, four: list[Memory], end: str
) -> None:
    memory.delete(four[0].id)
    before = everything(vault)
    for other, error, names in (
        ("nobody", MemoryNotFound, "nobody"),
        (four[0].id, InvalidRequest, end),
    ):
        ends = (other, four[1].id) if end == "source" else (four[1].id, other)
        with pytest.raises(error, match=names):
            memory.link(*ends)
        with pytest.raises(error, match=names):
            memory.link(*ends, "SUPERSEDES")
    assert everything(vault) == before


def test_H1_reading_about_nobody(memory: Muisti, four: list[Memory]) -> None:
    for call in (memory.links, memory.superseding, memory.graph, memory.history):
        with pytest.raises(MemoryNotFound, match="nobody"):
            call("nobody")
    assert memory.links(four[0].id) == []
    assert memory.superseding(four[0].id) is None


def test_H1_unlink_takes_back_that_link_only(memory: Muisti, four: list[Memory]) -> None:
    memory.link(four[0].id, four[1].id, "BUILDS_ON")
    kept = memory.link(four[0].id, four[1].id, "CONFIRMS")
    memory.unlink(four[0].id, four[1].id, "builds_on")
    assert memory.links(four[0].id) == [kept]
    for ends in ((four[0].id, four[1].id), (four[1].id, four[0].id)):
        with pytest.raises(InvalidRequest, match="link does not exist"):
            memory.unlink(*ends, "BUILDS_ON")
    with pytest.raises(MemoryNotFound):
        memory.unlink("nobody", four[1].id)


# -- The graph


@pytest.mark.parametrize(
    ("depth", "reached", "lines"), [(0, 1, 0), (1, 2, 1), (2, 3, 2), (3, 4, 3), (10, 4, 3)]
)
def test_H1_the_graph_goes_over_so_many_links(
    memory: Muisti, four: list[Memory], depth: int, reached: int, lines: int
) -> None:
    memory.link(four[0].id, four[1].id, "BUILDS_ON")
    memory.link(four[2].id, four[1].id, "CONFIRMS")  # against the direction too
    memory.link(four[2].id, four[3].id, "DEPENDS_ON")
    found = memory.graph(four[0].id, depth=depth)
    assert [one.id for one in found.memories] == [one.id for one in four[:reached]]
    assert len(found.links) == lines


@pytest.mark.parametrize("depth", [-1, 11, 1.5, True, "2", None])
def test_H1_a_depth_that_is_none_is_refused(memory: Muisti, four: list[Memory], depth: int) -> None:
    with pytest.raises(InvalidRequest, match="depth"):
        memory.graph(four[0].id, depth=depth)


def test_H1_a_graph_with_circles_ends(memory: Muisti, four: list[Memory]) -> None:
    for n in range(4):
        memory.link(four[n].id, four[(n + 1) % 4].id)
    found = memory.graph(four[0].id, depth=10)
    assert (len(found.memories), len(found.links)) == (4, 4)


# -- Files are the truth


def test_B3_links_survive_the_index(memory: Muisti, four: list[Memory]) -> None:
    memory.link(four[0].id, four[1].id, "BUILDS_ON", confidence=0.25)
    memory.supersede(four[1].id, four[2].id)
    before = [memory.links(one.id) for one in four], memory.list()
    memory.reindex()
    assert ([memory.links(one.id) for one in four], memory.list()) == before
    assert memory.verify(deep=True).ok


def by_hand(memory: Muisti, saved: Memory, lines: str) -> Path:
    """What a person does with an editor."""
    path = memory.root / str(saved.file_path)
    path.write_text(path.read_text().replace("---\n", f"---\n{lines}", 1))
    memory.sync()
    return path


@pytest.mark.needs_files("edits a file by hand")
@pytest.mark.parametrize(
    "lines",
    [
        "links:\n  - supersedes {}\n",
        "links: [Supersedes {}]\n",
        "links: supersedes {}\n",
        'links:\n- "SUPERSEDES {}"\n',
    ],
)
def test_H1_a_person_writes_a_link(memory: Muisti, four: list[Memory], lines: str) -> None:
    path = by_hand(memory, four[1], lines.format(four[0].id))
    (link,) = memory.links(four[0].id)
    assert (link.source, link.type, link.target) == (four[1].id, "SUPERSEDES", four[0].id)
    assert (link.extracted_by, link.confidence, link.created_at) == (
        "user",
        1.0,
        four[1].created_at,
    )
    successor = memory.superseding(four[0].id)
    assert successor is not None
    assert successor.id == four[1].id
    assert current(memory, four[0]).valid_until == four[1].created_at
    assert lines.format(four[0].id) in path.read_text()
    memory.update(four[1].id, importance=0.9)
    assert lines.format(four[0].id) in path.read_text()


@pytest.mark.needs_files("edits a file by hand")
def test_H1_a_person_removes_a_link(memory: Muisti, four: list[Memory]) -> None:
    memory.link(four[1].id, four[0].id, "BUILDS_ON")
    path = memory.root / str(four[1].file_path)
    lines = path.read_text().splitlines(keepends=True)
    path.write_text(
        "".join(line for line in lines if "BUILDS_ON" not in line and not line.startswith("links:"))
    )
    memory.sync()
    assert memory.links(four[0].id) == []


@pytest.mark.needs_files("edits a file by hand")
@pytest.mark.parametrize(
    "line",
    [
        "likes {}",
        "supersedes",
        "supersedes {} often",
        "supersedes {} confidence=2",
        "supersedes {} at=yesterday",
        "{}",
    ],
)
def test_H1_a_broken_line_is_reported_with_its_cure_and_the_file_left_alone(
    memory: Muisti, four: list[Memory], line: str
) -> None:
    path = by_hand(memory, four[1], f"links:\n  - {line.format(four[0].id)}\n")
    written = path.read_bytes()
    (problem,) = memory.problems()
    assert problem.path == four[1].file_path
    assert "links" in problem.reason
    assert re.search("write it like|such as", problem.reason)
    assert path.read_bytes() == written
    assert memory.links(four[0].id) == []
    path.write_bytes(
        written.replace(line.format(four[0].id).encode(), b"builds_on " + four[0].id.encode(), 1)
    )
    memory.sync()
    assert memory.problems() == []
    assert [link.type for link in memory.links(four[0].id)] == ["BUILDS_ON"]


@pytest.mark.needs_files("edits a file by hand")
def test_H1_a_file_that_supersedes_itself_is_not_outdated_by_that(
    memory: Muisti, four: list[Memory]
) -> None:
    by_hand(memory, four[0], f"links:\n  - supersedes {four[0].id}\n")
    found = memory.get(four[0].id)
    assert found is None or found.valid_until is None  # reported as a problem, or without effect


@pytest.mark.needs_files("edits a file by hand")
def test_H1_a_circle_written_by_hand_ends_nothing_but_itself(
    memory: Muisti, four: list[Memory]
) -> None:
    by_hand(memory, four[0], f"links:\n  - supersedes {four[1].id}\n")
    by_hand(memory, four[1], f"links:\n  - supersedes {four[0].id}\n")
    assert {found.memory.id for found in memory.search("otter deploys", mode="keyword")} == {
        four[0].id,
        four[1].id,
    }
    assert len(memory.graph(four[0].id, depth=5).memories) == 2


@pytest.mark.needs_files("removes a file by hand")
def test_H1_a_link_to_a_file_deleted_by_hand_is_no_error(
    memory: Muisti, four: list[Memory]
) -> None:
    memory.link(four[0].id, four[1].id, "BUILDS_ON")
    memory.supersede(four[1].id, four[2].id)
    (memory.root / str(four[1].file_path)).unlink()
    memory.sync()
    assert (memory.links(four[0].id), memory.links(four[2].id), memory.problems()) == ([], [], [])
    assert [one.id for one in memory.graph(four[0].id).memories] == [four[0].id]
    assert len(memory.search("otter")) == 1
    memory.update(four[0].id, importance=0.9)
    memory.unlink(four[0].id, four[1].id, "BUILDS_ON")
    memory.unlink(four[2].id, four[1].id, "SUPERSEDES")
    assert four[1].id not in (memory.root / str(four[0].file_path)).read_text()
    assert memory.verify(deep=True).ok


def test_H1_a_memory_has_so_many_links_and_no_more(
    memory: Muisti, vault: Path, four: list[Memory]
) -> None:
    by_hand(memory, four[0], "links:\n" + "".join(f"  - builds_on other-{n}\n" for n in range(199)))
    memory.link(four[0].id, four[1].id)
    before = everything(vault)
    with pytest.raises(InvalidRequest, match="has 200 links"):
        memory.link(four[0].id, four[2].id)
    assert everything(vault) == before
    memory.unlink(four[0].id, four[1].id)
    assert memory.link(four[0].id, four[2].id).target == four[2].id


def test_H1_a_link_that_has_ended_takes_no_place(
    memory: Muisti, clock: FakeClock, four: list[Memory]
) -> None:
    end = clock.now() - timedelta(days=1)
    memory.link(
        four[1].id, four[0].id, "SUPERSEDES", valid_from=end - timedelta(days=1), valid_until=end
    )
    assert memory.superseding(four[0].id) is None
    assert current(memory, four[0]).valid_until is None
