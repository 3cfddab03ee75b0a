"""The memory tool on a vault in a database: it answers as on files, and keeps the same bytes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from anthropic.lib.tools import ToolError
from hypothesis import settings

from muisti import InvalidRequest, Muisti
from muisti.bootstrap_moving import pull, push
from muisti.integrations.anthropic import VaultMemoryTool
from muisti.ports import Notebook
from tests.postgres.server import make_location

from .pairs import Answer, Call, Pair, tree
from .test_anthropic_memory import (
    DIFFERENT,
    REFUSED,
    SAME,
    SameCalls,
    create,
    delete,
    insert,
    rename,
    str_replace,
    view,
)

A = "/memories/dog.md"
FOLDER_SIZE = re.compile(r"(?<=items:\n)\S+\t|^\S+\t(?=.*/$)", re.MULTILINE)
"""A file system chooses the sizes of folders."""


def read_notes(notes: Notebook, folder: str = "") -> dict[str, bytes | None]:
    """Return every note with its bytes, and every folder."""
    found: dict[str, bytes | None] = {}
    for entry in notes.entries(folder):
        path = f"{folder}/{entry.name}".lstrip("/")
        found[path] = None if entry.is_folder else notes.read(path, 2_000_000)
        if entry.is_folder:
            found |= read_notes(notes, path)
    return found


class PairOnPostgres(Pair):
    """Anthropic's tool in a folder, and ours on a database."""

    def __init__(self, sdk: Path, memory: Muisti) -> None:
        super().__init__(sdk, memory)
        self.notes = memory.notebook("memories")

    def both(self, call: Call) -> tuple[Answer, Answer]:
        theirs, ours = super().both(call)
        return (
            replace(theirs, text=FOLDER_SIZE.sub("", theirs.text)),
            replace(ours, text=FOLDER_SIZE.sub("", ours.text)),
        )

    def agree(self, *calls: Call) -> None:
        for call in calls:
            theirs, ours = self.both(call)
            assert ours == theirs, call
            assert read_notes(self.notes) == tree(self.their_files), call


@pytest.fixture
def location() -> str:
    return make_location()


@pytest.fixture
def memory(location: str) -> Iterator[Muisti]:
    with Muisti.open(location, embedder="none") as memory:
        yield memory
        assert memory.verify(deep=True).problems == ()


@pytest.fixture
def tool(memory: Muisti) -> VaultMemoryTool:
    return VaultMemoryTool(memory)


def find_paths(memory: Muisti, query: str) -> list[str]:
    return [str(result.memory.file_path) for result in memory.search(query)]


@pytest.mark.parametrize("calls", SAME.values(), ids=SAME.keys())
def test_J6_both_answer_the_same(memory: Muisti, tmp_path: Path, calls: list[Call]) -> None:
    PairOnPostgres(tmp_path / "sdk", memory).agree(*calls)


@pytest.mark.parametrize(
    ("there", "call", "told"),
    [case[:3] for case in (*DIFFERENT.values(), *REFUSED.values())],
    ids=[*DIFFERENT, *REFUSED],
)
def test_K3_what_is_refused_changes_nothing(
    memory: Muisti, tmp_path: Path, there: list[Call], call: Call, told: str
) -> None:
    pair = PairOnPostgres(tmp_path / "sdk", memory)
    pair.agree(*there)
    before = read_notes(pair.notes)
    _, ours = pair.both(call)
    assert told in ours.text
    assert ours.raised in ("", "ToolError")
    if ours.raised:
        assert read_notes(pair.notes) == before


def test_J6_notes_are_found_at_once_and_as_they_are_now(
    memory: Muisti, tool: VaultMemoryTool
) -> None:
    tool.call(create("/memories/dog.txt", "# Dog\n\nThe dog is called Musti.\n"))
    assert find_paths(memory, "Musti") == ["memories/dog.txt"]
    tool.call(str_replace("/memories/dog.txt", "Musti", "Halli"))
    assert find_paths(memory, "Musti") == []
    tool.call(insert("/memories/dog.txt", 3, "It likes sausages."))
    assert find_paths(memory, "sausages") == find_paths(memory, "Halli") == ["memories/dog.txt"]
    tool.call(rename("/memories/dog.txt", "/memories/animals/dog.txt"))
    assert find_paths(memory, "Halli") == ["memories/animals/dog.txt"]
    tool.call(delete("/memories/animals"))
    assert find_paths(memory, "Halli") == []
    tool.call(create(A, "The dog is called Turre.\n"))
    tool.clear_all_memory()
    assert find_paths(memory, "Turre") == []


def test_J6_each_folder_has_its_project_and_settings_change_at_once(memory: Muisti) -> None:
    for name in ("anna", "ben"):
        tool = VaultMemoryTool(memory, folder=f"memories/{name}", project=name)
        tool.call(create(A, f"The dog of {name} barks.\n"))
    found = memory.search("dog", project="anna")
    assert [str(one.memory.file_path) for one in found] == ["memories/anna/dog.md"]
    memory.index_path("memories/anna", trusted=True, project="ben")
    assert memory.search("dog", project="anna") == []
    found = memory.search("dog", project="ben")
    assert sorted(one.memory.trusted for one in found) == [False, True]
    memory.forget_path("memories/anna")
    assert find_paths(memory, "dog") == ["memories/ben/dog.md"]
    assert memory.notebook("memories/anna").read("dog.md", 100), "the note itself stays"


def test_L2_notes_versions_and_trash_are_pulled_byte_for_byte_and_pushed_again(
    memory: Muisti, tool: VaultMemoryTool, location: str, tmp_path: Path
) -> None:
    tool.call(create(A, "one\n"))
    tool.call(str_replace(A, "one", "two"))
    tool.call(create("/memories/people/anna.txt", "Anna likes tea.\n"))
    tool.call(delete("/memories/people"))
    tool.call(create("/memories/empty/x.md", "x"))
    tool.call(delete("/memories/empty/x.md"))
    folder = tmp_path / "pulled"
    report = pull(location, folder)
    assert report.problems == ()
    assert (folder / "memories" / "dog.md").read_bytes() == b"two\n"
    (version,) = (folder / ".history" / "memories" / "dog.md").iterdir()
    assert version.read_bytes() == b"one\n"
    (trashed,) = (folder / ".trash" / "memories").glob("people.*/anna.txt")
    assert trashed.read_bytes() == b"Anna likes tea.\n"
    with Muisti.open(folder, embedder="none") as pulled:
        assert find_paths(pulled, "two") == ["memories/dog.md"]
        assert pulled.verify(deep=True).ok
    other = make_location()
    assert push(other, folder).problems == ()
    with Muisti.open(other, embedder="none") as pushed:
        assert find_paths(pushed, "two") == ["memories/dog.md"]
        assert "two" in str(VaultMemoryTool(pushed).call(view(A)))
        assert pushed.verify(deep=True).ok
        assert pushed.list_documents() == memory.list_documents()


def test_L4_a_change_that_fails_leaves_nothing(memory: Muisti) -> None:
    notes = memory.notebook("memories")
    with pytest.raises(ZeroDivisionError), notes.lock():
        notes.create("a.md", b"x")
        raise ZeroDivisionError
    assert notes.status("") is None


def test_K3_bad_folders_and_secrets(memory: Muisti, tool: VaultMemoryTool) -> None:
    with pytest.raises(InvalidRequest, match="^folder "):
        VaultMemoryTool(memory, folder="decisions")
    with pytest.raises(ToolError, match="would escape"):
        tool.call(view("/memories/../core.json"))


class SameCallsOnPostgres(SameCalls):
    """Any sequence of calls: the same answers, the same notes."""

    def __init__(self) -> None:
        super().__init__()
        self.memory.close()
        self.memory = Muisti.open(make_location(), embedder="none")
        self.pair = PairOnPostgres(Path(self.folder.name, "other"), self.memory)


TestSameCallsOnPostgres = pytest.mark.exhaustive(SameCallsOnPostgres.TestCase)
TestSameCallsOnPostgres.settings = settings(max_examples=5, stateful_step_count=20, deadline=None)
