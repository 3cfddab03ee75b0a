"""F5 · Documents: Markdown that stays where it is and is searched by section."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from muisti import InvalidRequest, Muisti
from muisti.model import LinkType, SearchResult
from muisti.storage.files.documents import Document
from muisti.storage.files.sync.reconciler import FileReconciler
from tests.acceptance.conftest import read_again
from tests.conftest import Opener
from tests.faults.invariants import check_sound, fingerprint

GUIDE = "Before all.\n\n# Guide\n\nAbout walrus care.\n\n## Food\n\nClams.\n\n## Sleep\n\nOn ice floes.\n"
LONG_AGO = 1_700_000_000

pytestmark = pytest.mark.has_documents


class Shelves:
    """Writes files whose times are long past: one that is looked at in the instant it was written
    is read again, to be sure.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._at = LONG_AGO

    def write(self, path: str, text: str | bytes) -> Path:
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text if isinstance(text, bytes) else text.encode())
        self._at += 1
        os.utime(place, (self._at, self._at))
        return place


@pytest.fixture
def disk(tmp_path: Path) -> Shelves:
    return Shelves(tmp_path)


@pytest.fixture
def memory(opened: Opener) -> Muisti:
    return opened(embedder="none")


def sections(memory: Muisti, tmp_path: Path) -> dict[str, tuple[str, str]]:
    """Everything that is in the index of documents: by id, without where the test lies, title and
    content.
    """
    rows = memory._services.index.document_sources()
    found = [
        hit.memory for source in rows for hit in memory.search("the", source=source, limit=1000)
    ]
    return {one.id.removeprefix(f"{tmp_path}/"): (one.title, one.content) for one in found}


def ids(found: list[SearchResult], tmp_path: Path) -> list[str]:
    return [hit.memory.id.removeprefix(f"{tmp_path}/") for hit in found]


@pytest.fixture
def reads(memory: Muisti, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that are read, in order."""
    reconciler = memory._services.reconciler
    assert isinstance(reconciler, FileReconciler)
    documents = reconciler._documents
    real, names = documents.read, list[str]()

    def read(path: str, shelf: object) -> Document | None:
        names.append(Path(path).name)
        return real(path, shelf)  # type: ignore[arg-type]

    monkeypatch.setattr(documents, "read", read)
    return names


# -- Sections

SECTIONS: dict[str, tuple[str | bytes, dict[str, tuple[str, str]]]] = {
    "a path of headings, and what comes before": (
        "The opening.\n\n# Guide\n\nThe whole.\n\n## Food\n\nThe clams.\n\n### Raw\n\nThe shells.\n\n# Other\n\nThe rest.\n",
        {
            "": ("docs/a.md", "The opening."), "#guide": ("Guide", "# Guide\n\nThe whole."), "#food": ("Guide > Food", "## Food\n\nThe clams."),
            "#raw": ("Guide > Food > Raw", "### Raw\n\nThe shells."), "#other": ("Other", "# Other\n\nThe rest."),
        },
    ),
    "underlined": (
        "The Book\n========\n\nthe text\n\nThe Part\n--------\n\nthe more\n",
        {"#the-book": ("The Book", "The Book\n========\n\nthe text"), "#the-part": ("The Book > The Part", "The Part\n--------\n\nthe more")},
    ),
    "code is code": (
        "# The shell\n\n```sh\n# the comment\n```\n\n    # the indented\n\n~~~\n## the other\n~~~\n",
        {"#the-shell": ("The shell", "# The shell\n\n```sh\n# the comment\n```\n\n    # the indented\n\n~~~\n## the other\n~~~")},
    ),
    "not in lists and quotes": ("- # the list\n\n> # the quote\n", {"": ("docs/a.md", "- # the list\n\n> # the quote")}),
    "nothing below but smaller ones": ("# The A\n\n## The B\n\nthe x\n", {"#the-b": ("The A > The B", "## The B\n\nthe x")}),
    "nothing below at all": (
        "# The A\n\n## The B\n\n## The C\n",
        {"#the-b": ("The A > The B", "## The B"), "#the-c": ("The A > The C", "## The C")},
    ),
    "the same again": (
        "# The A\n\nthe 1\n\n# The A\n\nthe 2\n\n# The A-1\n\nthe 3\n\n# The A\n\nthe 4\n",
        {
            "#the-a": ("The A", "# The A\n\nthe 1"), "#the-a-1": ("The A", "# The A\n\nthe 2"), "#the-a-1-1": ("The A-1", "# The A-1\n\nthe 3"),
            "#the-a-2": ("The A", "# The A\n\nthe 4"),
        },
    ),
    "without letters": ("# !!!\n\nthe 1\n\n# ???\n\nthe 2\n", {"": ("!!!", "# !!!\n\nthe 1"), "#-1": ("???", "# ???\n\nthe 2")}),
    "marks are no part of a name": ("# **The** [x](http://y) `z` #\n\nthe\n", {"#the-x-z": ("The x z", "# **The** [x](http://y) `z` #\n\nthe")}),
    "front matter": ("---\ntitle: X\ntags: [a, b]\nby:\n  name: Y\n---\n# The H\n\nthe b\n", {"#the-h": ("The H", "# The H\n\nthe b")}),
    "front matter that is no YAML": ("---\ntitle: the X: the Y\n---\nthe b\n", {"": ("docs/a.md", "the b")}),
    "a line is no front matter": ("---\n\nthe A\n\n---\n\nthe B\n", {"": ("docs/a.md", "---\n\nthe A\n\n---\n\nthe B")}),
    "a mark of order": (b"\xef\xbb\xbf# The H\n\nthe b\n", {"#the-h": ("The H", "# The H\n\nthe b")}),
    "lines of Windows": ("# The H\r\n\r\nthe b\r\n\r\n## The I\r\nthe c\r\n", {"#the-h": ("The H", "# The H\r\n\r\nthe b"), "#the-i": ("The H > The I", "## The I\r\nthe c")}),
    "of everywhere": ("# 安装指南\n\nthe 步骤\n\n## Äiti ja Isä\n\nthe teksti\n", {"#安装指南": ("安装指南", "# 安装指南\n\nthe 步骤"), "#äiti-ja-isä": ("安装指南 > Äiti ja Isä", "## Äiti ja Isä\n\nthe teksti")}),
    "no headings": ("the text\n\nthe more\n", {"": ("docs/a.md", "the text\n\nthe more")}),
    "empty": ("", {}),
    "white": (" \n\n\t\n", {}),
    "a zero": ("the\0end\n", {"": ("docs/a.md", "the end")}),
}  # fmt: skip


@pytest.mark.parametrize("case", SECTIONS)
def test_F5_by_section(memory: Muisti, disk: Shelves, tmp_path: Path, case: str) -> None:
    text, expected = SECTIONS[case]
    disk.write("docs/a.md", text)
    shelf = memory.index_path(tmp_path / "docs")
    assert shelf.documents == 1
    assert sections(memory, tmp_path) == {
        f"docs/a.md{anchor}": found for anchor, found in expected.items()
    }


def test_F5_ten_thousand_times_the_same_heading(
    memory: Muisti, disk: Shelves, tmp_path: Path
) -> None:
    disk.write("docs/a.md", "# The\n\nx\n\n" * 10_000)
    memory.index_path(tmp_path / "docs")
    assert memory.get(f"{tmp_path}/docs/a.md#the-9999") is not None


# -- Only what changed, gone what is gone


@pytest.mark.needs_files("counts the reads of files")
def test_F5_only_changed_files_are_read_again(
    memory: Muisti, disk: Shelves, tmp_path: Path, reads: list[str]
) -> None:
    for name in ("a", "b", "c"):
        disk.write(f"docs/{name}.md", f"# About {name}\n\nthe walrus {name}\n")
    memory.index_path(tmp_path / "docs")
    assert sorted(reads) == ["a.md", "b.md", "c.md"]
    reads.clear()
    read_again(memory)
    memory.index_path(tmp_path / "docs")
    assert reads == []
    disk.write("docs/b.md", "# About b\n\nthe otter b\n")
    read_again(memory)
    assert reads == ["b.md"]
    assert ids(memory.search("otter"), tmp_path) == ["docs/b.md#about-b"]
    assert len(memory.search("walrus")) == 2


def test_F5_a_changed_section_keeps_the_vectors_of_the_others(
    opened: Opener, disk: Shelves, tmp_path: Path
) -> None:
    memory = opened(embedder="hashing", embed_on_save=False)
    disk.write("docs/guide.md", GUIDE)
    disk.write("docs/plain.md", "No heading at all.\n")
    memory.index_path(tmp_path / "docs")
    assert memory.reindex_missing() == 5
    disk.write(
        "docs/guide.md", GUIDE.replace("Clams", "Clams and snails") + "\n## New\n\nOne more.\n"
    )
    read_again(memory)
    assert memory.reindex_missing() == 2, "the changed one and the new one"
    disk.write("docs/guide.md", GUIDE)
    read_again(memory)
    assert memory.reindex_missing() == 1
    assert memory.search("clams", mode="vector")[0].memory.id.endswith("guide.md#food")
    memory.reindex()
    assert memory.reindex_missing() == 0, "a rebuild takes them along"
    check_sound(memory)


def test_F5_what_is_gone_is_not_found_and_what_was_renamed_is(
    memory: Muisti, disk: Shelves, tmp_path: Path
) -> None:
    disk.write("docs/a.md", "# A\n\nthe walrus\n")
    disk.write("docs/b.md", "# B\n\nthe walrus\n\n## C\n\nthe walrus again\n")
    memory.index_path(tmp_path / "docs")
    disk.write("docs/b.md", "# B\n\nthe walrus\n")
    (tmp_path / "docs" / "a.md").rename(tmp_path / "docs" / "z.md")
    read_again(memory)
    assert sorted(ids(memory.search("walrus"), tmp_path)) == ["docs/b.md#b", "docs/z.md#a"]
    (tmp_path / "docs" / "z.md").unlink()
    read_again(memory)
    assert ids(memory.search("walrus"), tmp_path) == ["docs/b.md#b"]
    check_sound(memory)


def test_F5_a_single_file(memory: Muisti, disk: Shelves, tmp_path: Path) -> None:
    disk.write("docs/a.md", "# A\n\nthe walrus\n")
    disk.write("docs/b.md", "# B\n\nthe walrus\n")
    shelf = memory.index_path(str(tmp_path / "docs" / "a.md"))
    assert (shelf.documents, shelf.trusted, shelf.path) == (
        1,
        False,
        str(tmp_path / "docs" / "a.md"),
    )
    (hit,) = memory.search("walrus")
    assert (hit.source, hit.memory.source, hit.memory.kind) == ("document", "a.md", "document")


@pytest.mark.needs_files("a database does not read the folder again")
def test_F5_what_was_noted_is_searched_even_if_the_folder_is_away_for_a_while(
    memory: Muisti, disk: Shelves, tmp_path: Path
) -> None:
    disk.write("docs/a.md", "# A\n\nthe walrus\n")
    memory.index_path(tmp_path / "docs", "docs")
    memory.sync()
    (tmp_path / "docs").rename(tmp_path / "unmounted")
    for _ in range(2):
        (problem,) = memory.sync().problems
        assert problem.path == str(tmp_path / "docs")
        assert "muisti index --forget" in problem.reason
    assert len(memory.search("walrus", source="docs")) == 1
    (tmp_path / "unmounted").rename(tmp_path / "docs")
    assert memory.sync().problems == ()
    (tmp_path / "docs").rename(tmp_path / "unmounted")
    memory.forget_path(tmp_path / "docs")
    assert memory.search("walrus") == []
    assert memory.sync().problems == ()
    check_sound(memory)


@pytest.mark.needs_files("a database does not read the folder again")
def test_F5_a_folder_that_is_away_is_no_damage_of_the_index(
    memory: Muisti, disk: Shelves, tmp_path: Path
) -> None:
    disk.write("docs/a.md", "# A\n\nthe walrus\n")
    memory.index_path(tmp_path / "docs", "docs")
    (tmp_path / "docs").rename(tmp_path / "unmounted")
    read_again(memory)
    told = [problem for problem in memory.verify(deep=True).problems if "reindex" in problem.reason]
    assert told == [], "a rebuild now would lose what is still answered"


# -- Beside the memories


def test_F5_all_layers_know_a_section_and_nothing_changes_it(
    memory: Muisti, disk: Shelves, tmp_path: Path
) -> None:
    place = disk.write("docs/guide.md", GUIDE)
    memory.index_path(tmp_path / "docs")
    saved = memory.save("Remembered for the sake of links")
    section = f"{tmp_path}/docs/guide.md#food"
    assert memory.search_compact("clams")[0].id == section
    assert memory.details([section])[0].content == "## Food\n\nClams."
    assert memory.get(section) == memory.details([section])[0]
    assert {one.id for one in memory.timeline(section)} >= {
        section,
        f"{tmp_path}/docs/guide.md#sleep",
    }
    for call in (
        lambda: memory.update(section, content="x"),
        lambda: memory.delete(section),
        lambda: memory.delete(section, hard=True),
    ):
        with pytest.raises(
            InvalidRequest, match=r"section of a document; edit .*guide\.md instead"
        ):
            call()
    assert place.read_text() == GUIDE
    assert [one.id for one in memory.list()] == [saved.id]


@pytest.mark.parametrize(
    "verb",
    [
        "link",
        "link_to",
        "supersede",
        "supersede_by",
        "touch",
        "reinforce",
        "deemphasize",
        "history",
    ],
)
def test_F5_whoever_takes_a_section_for_a_memory_is_told(
    memory: Muisti, disk: Shelves, tmp_path: Path, verb: str
) -> None:
    disk.write("docs/guide.md", GUIDE)
    memory.index_path(tmp_path / "docs")
    saved = memory.save("Remembered for the sake of links").id
    section = f"{tmp_path}/docs/guide.md#food"
    calls = {
        "link": lambda: memory.link(section, saved, LinkType.RELATED_TO),
        "link_to": lambda: memory.link(saved, section, LinkType.RELATED_TO),
        "supersede": lambda: memory.supersede(section, saved),
        "supersede_by": lambda: memory.supersede(saved, section),
        "touch": lambda: memory.touch(section),
        "reinforce": lambda: memory.reinforce(section),
        "deemphasize": lambda: memory.deemphasize(section),
        "history": lambda: memory.history(section),
    }
    with pytest.raises(InvalidRequest, match="section of a document"):
        calls[verb]()


def test_F5_the_timeline_of_a_section_is_the_order_of_its_document(
    memory: Muisti, disk: Shelves, tmp_path: Path
) -> None:
    disk.write("docs/a.md", "# Zebra\n\n1\n\n# Moose\n\n2\n\n# Ape\n\n3\n")
    memory.index_path(tmp_path / "docs")
    assert [one.title for one in memory.timeline(f"{tmp_path}/docs/a.md#moose")] == [
        "Zebra",
        "Moose",
        "Ape",
    ]


def test_F5_a_section_that_was_found_can_be_explained(
    memory: Muisti, disk: Shelves, tmp_path: Path
) -> None:
    disk.write("docs/guide.md", GUIDE)
    memory.index_path(tmp_path / "docs")
    assert memory.explain("clams", memory.search("clams")[0].memory.id).recalled


def test_F5_a_memory_is_not_merged_into_a_document(
    memory: Muisti, disk: Shelves, tmp_path: Path
) -> None:
    disk.write("docs/a.md", "The walrus eats clams on the shore.\n")
    memory.index_path(tmp_path / "docs")
    saved = memory.save("The walrus eats clams on the shore.")
    assert [one.id for one in memory.list()] == [saved.id]
    assert memory.get_stats().total_count == 1


@pytest.mark.parametrize("beside", ["document", "message"])
def test_F5_a_memory_is_not_hidden_by_what_says_the_same(
    memory: Muisti, disk: Shelves, tmp_path: Path, beside: str
) -> None:
    saved = memory.save("The walrus eats clams on the shore.", importance=0.2)
    memory.deemphasize(saved.id, 0.9)
    if beside == "document":
        disk.write("docs/a.md", "The walrus eats clams on the shore.\n")
        memory.index_path(tmp_path / "docs")
    else:
        memory.append_message("cli_main", "user", "The walrus eats clams on the shore.")
    assert saved.id in {hit.memory.id for hit in memory.search("walrus clams")}


@pytest.mark.needs_files("removes the index")
def test_B3_without_the_index_all_comes_back(
    opened: Opener, disk: Shelves, tmp_path: Path, vault: Path
) -> None:
    disk.write("docs/guide.md", GUIDE)
    disk.write("docs/bad.md", b"\xff")
    disk.write("gone/a.md", "the walrus was here\n")
    disk.write("vault/MEMORY.md", "the walrus is ours\n")
    first = opened(embedder="none", record_recall=False)
    first.index_path(tmp_path / "docs", "docs", project="shop", trusted=True)
    first.index_path(tmp_path / "gone")
    first.forget_path(tmp_path / "gone")
    first.save("The walrus is remembered")

    def state(memory: Muisti) -> tuple[object, ...]:
        found = [
            (hit.memory.id, hit.memory.trusted, hit.memory.project, hit.score)
            for hit in memory.search("walrus")
        ]
        return found, memory.list_document_sources(), memory.problems(), fingerprint(memory)

    before = state(first)
    first.reindex()
    assert state(first) == before
    first.close()
    shutil.rmtree(vault / ".muisti")
    again = opened(embedder="none", record_recall=False)
    assert state(again) == before
    assert [shelf.path for shelf in again.list_document_sources()] == [
        "MEMORY.md",
        str(tmp_path / "docs"),
    ]
    assert [problem.path for problem in again.verify(deep=True).problems] == [
        f"{tmp_path}/docs/bad.md"
    ]
