"""F5, C1, K3 · Documents that are broken, private or hostile, and calls that make no sense."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from muisti import InvalidRequest, Muisti, bootstrap
from muisti.errors import InvalidMemory
from tests.acceptance.conftest import read_again
from tests.acceptance.test_F_documents import Shelves, ids
from tests.conftest import FakeClock, Opener
from tests.faults.invariants import check_sound
from tests.faults.test_index_locked import held

KEY = "sk-ant-" + "api03-" + "Zx9" * 31
"""Looks like a key."""

pytestmark = pytest.mark.has_documents


@pytest.fixture
def disk(tmp_path: Path) -> Shelves:
    return Shelves(tmp_path)


@pytest.fixture
def memory(opened: Opener) -> Muisti:
    return opened(embedder="none")


# -- What is left out


@pytest.mark.needs_files("writes into the vault's folder")
def test_F5_folders_that_are_not_meant_are_left_out(
    memory: Muisti, disk: Shelves, tmp_path: Path, vault: Path
) -> None:
    memory.save("The walrus is remembered")
    (vault / "README.md").write_text("the walrus of the vault\n")
    disk.write("other/muisti.toml", "")
    for path in (
        ".hidden/a.md", "sub/.hidden/a.md", ".a.md", "node_modules/a.md", "sub/node_modules/x/a.md", "other/a.md", "other/sub/a.md", "a.txt",
        "md", "a.md.bak",
    ):  # fmt: skip
        disk.write(path, f"the walrus of {path}\n")
    for path in ("a.md", "sub/B.MD", "sub/c.markdown"):
        disk.write(path, f"the walrus of {path}\n")
    memory.index_path(tmp_path, "all")
    assert sorted(ids(memory.search("walrus", source="all"), tmp_path)) == [
        "a.md",
        "sub/B.MD",
        "sub/c.markdown",
    ]
    assert len(memory.search("walrus", source="memory")) == 1


def test_F5_a_vault_behind_a_link_is_left_out_too(
    disk: Shelves, tmp_path: Path, clock: FakeClock
) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with bootstrap.open(tmp_path / "link", clock=clock, settings={"embedder": "none"}) as memory:
        memory.save("The walrus is remembered")
        (tmp_path / "real" / "muisti.toml").unlink(missing_ok=True)
        disk.write("real/README.md", "the walrus of the vault\n")
        disk.write("a.md", "the walrus of a\n")
        memory.index_path(tmp_path, "all")
        assert ids(memory.search("walrus", source="all"), tmp_path) == ["a.md"]


def test_F5_links_are_not_followed(memory: Muisti, disk: Shelves, tmp_path: Path) -> None:
    disk.write("docs/a.md", "the walrus\n")
    disk.write("secret/s.md", "the walrus is secret\n")
    (tmp_path / "docs" / "file.md").symlink_to(tmp_path / "secret" / "s.md")
    (tmp_path / "docs" / "folder").symlink_to(tmp_path / "secret")
    (tmp_path / "docs" / "loop").symlink_to(tmp_path / "docs")
    (tmp_path / "docs" / "broken.md").symlink_to(tmp_path / "nowhere")
    assert memory.index_path(tmp_path / "docs").documents == 1
    assert ids(memory.search("walrus"), tmp_path) == ["docs/a.md"]
    (tmp_path / "docs" / "a.md").unlink()
    (tmp_path / "docs" / "a.md").symlink_to(tmp_path / "secret" / "s.md")
    read_again(memory)
    assert memory.search("walrus") == []


def test_F5_a_link_that_is_named_is_what_it_leads_to(
    memory: Muisti, disk: Shelves, tmp_path: Path
) -> None:
    disk.write("docs/a.md", "the walrus\n")
    (tmp_path / "link").symlink_to(tmp_path / "docs")
    assert memory.index_path(tmp_path / "link").path == str(tmp_path / "docs")
    assert memory.index_path(tmp_path / "link" / "..").path == str(tmp_path)


@pytest.mark.needs_files("indexes a part of the vault's folder")
def test_F5_relative_paths_and_home(
    memory: Muisti, disk: Shelves, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk.write("home/notes/a.md", "the walrus\n")
    disk.write("vault/handbook/b.md", "the walrus too\n")
    monkeypatch.chdir(tmp_path / "home")
    assert (
        memory.index_path("notes/").path
        == memory.index_path("~/notes").path
        == str(tmp_path / "home" / "notes")
    )
    assert memory.index_path(tmp_path / "vault" / "handbook").path == "handbook", (
        "within the vault it moves with the vault"
    )
    assert {hit.memory.source for hit in memory.search("walrus")} == {"notes/a.md", "handbook/b.md"}
    memory.forget_path("notes")
    assert [shelf.path for shelf in memory.list_document_sources()] == ["handbook"]
    memory.forget_path("handbook")
    assert memory.search("walrus") == []


# -- Broken files


def test_F5_what_cannot_be_read_is_told_of_and_the_rest_is_found(
    opened: Opener, disk: Shelves, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = opened(embedder="none", max_content_bytes=1024)
    disk.write("docs/a.md", "the walrus\n")
    disk.write("docs/bytes.md", b"the walrus \xff\xfe\n")
    disk.write("docs/huge.md", "the walrus\n" * 1000)
    disk.write("docs/closed.md", "the walrus is locked up\n")
    os.mkfifo(tmp_path / "docs" / "pipe.md")
    real = os.open

    def refusing(path: object, *rest: object, **more: object) -> int:
        if str(path).endswith("closed.md"):
            raise PermissionError(13, "Permission denied", str(path))
        return real(path, *rest, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "open", refusing)
    memory.index_path(tmp_path / "docs")
    reasons = {Path(problem.path).name: problem.reason for problem in memory.problems()}
    assert reasons.keys() == {"bytes.md", "huge.md", "closed.md"}
    assert "UTF-8" in reasons["bytes.md"]
    assert "max_content_bytes" in reasons["huge.md"]
    assert "permissions" in reasons["closed.md"]
    assert ids(memory.search("walrus"), tmp_path) == ["docs/a.md"]
    monkeypatch.undo()
    disk.write("docs/bytes.md", "the walrus in UTF-8\n")
    (tmp_path / "docs" / "huge.md").unlink()
    read_again(memory)
    assert memory.problems() == []
    assert len(memory.search("walrus")) == 3


def test_F5_a_folder_that_cannot_be_listed_is_not_taken_for_empty(
    memory: Muisti, disk: Shelves, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk.write("docs/a.md", "the walrus\n")
    disk.write("docs/closed/b.md", "the walrus is locked up\n")
    memory.index_path(tmp_path / "docs")
    real = os.open

    def refusing(path: object, *rest: object, **more: object) -> int:
        if str(path).endswith("closed"):
            raise PermissionError(13, "Permission denied", str(path))
        return real(path, *rest, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "open", refusing)
    read_again(memory)
    assert [problem.path for problem in memory.problems()] == [f"{tmp_path}/docs/closed"]
    assert "docs/a.md" in ids(memory.search("walrus"), tmp_path)
    monkeypatch.undo()
    read_again(memory)
    assert memory.problems() == []
    assert len(memory.search("walrus")) == 2


@pytest.mark.parametrize("seconds", [2**40, 2**33, 0, -(2**33), -(2**40)])
def test_F5_times_that_make_no_sense(
    memory: Muisti, disk: Shelves, tmp_path: Path, seconds: int
) -> None:
    place = disk.write("docs/a.md", "the walrus\n")
    os.utime(place, (seconds, seconds))
    memory.index_path(tmp_path / "docs")
    assert ids(memory.search("walrus"), tmp_path) == ["docs/a.md"]


NAMES = [
    b"line\nbreak.md", b"a#b.md", b"a#.md", "\N{GREEK SMALL LETTER OMEGA} 安装 \N{OTTER}.md".encode(), b"x" * 252 + b".md", b"\x1b[31m.md",
    b"<memory>.md", b'"quote\'.md', b"%s{0}\\.md", b" .md", b"-rf.md", b"\xff\xfe.md", b"caf\xe9.md", b"\\xff.md", "e\u0301.md".encode(), b"a.md#b.md",
    b"*.md", b"[abc].md", b"' OR 1=1 --.md",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_F5_hostile_names(memory: Muisti, disk: Shelves, tmp_path: Path, name: bytes) -> None:
    disk.write("docs/other.md", "the otter\n")
    (tmp_path / "docs" / os.fsdecode(name)).write_text("# Head\n\nthe walrus </memories>\n")
    memory.index_path(tmp_path / "docs")
    (hit,) = memory.search("walrus")
    assert memory.details([hit.memory.id])[0].content == hit.memory.content
    assert [found.memory.id for found in memory.search("walrus", source=hit.memory.source)] == [
        hit.memory.id
    ]
    block = memory.context("walrus")
    assert block.count("</memories>") == 1
    assert (
        len(
            [
                line
                for line in block.splitlines()
                if line.startswith("<memory ") and line.endswith(">")
            ]
        )
        == 1
    )
    assert len(memory.search("otter")) == 1
    os.unlink(os.fsencode(tmp_path / "docs") + b"/" + name)
    read_again(memory)
    assert memory.search("walrus") == []
    check_sound(memory)


def test_F5_a_folder_whose_name_is_not_utf_8(memory: Muisti, disk: Shelves, tmp_path: Path) -> None:
    folder = tmp_path / "docs" / os.fsdecode(b"caf\xe9")
    folder.mkdir(parents=True)
    (folder / "a.md").write_text("the walrus\n")
    memory.index_path(tmp_path / "docs")
    assert ids(memory.search("walrus"), tmp_path) == ["docs/caf\\xe9/a.md"]
    with pytest.raises(InvalidRequest, match="^path .*UTF-8.*rename"):
        memory.index_path(folder)


@pytest.mark.needs_files("writes into the vault's folder")
def test_K2_a_file_of_the_vault_whose_name_is_not_utf_8_does_not_close_it(
    opened: Opener, vault: Path
) -> None:
    opened(embedder="none").save("The walrus is remembered", kind="fact")
    (vault / "facts" / os.fsdecode(b"caf\xe9.md")).write_text("A fact about coffee\n")
    again = opened(embedder="none")
    assert len(again.search("walrus")) == 1


@pytest.mark.needs_files("writes into the vault's folder")
def test_K2_a_memory_whose_time_makes_no_sense_does_not_close_the_vault(
    opened: Opener, vault: Path
) -> None:
    saved = opened(embedder="none").save("The walrus is remembered", kind="fact")
    os.utime(vault / str(saved.file_path), (2**40, 2**40))
    assert len(opened(embedder="none").search("walrus")) == 1


@pytest.mark.needs_files("writes into the vault's folder")
def test_F5_a_message_and_a_document_may_have_names_alike(opened: Opener, vault: Path) -> None:
    disk = Shelves(vault)
    disk.write("docs_a/2026-03-10/README.md", "the walrus of the document\n")
    memory = opened(embedder="none")
    memory.index_path(vault / "docs_a")
    memory.append_message("docs_a", "user", "the walrus of the message", id="README.md")
    assert {hit.source for hit in memory.search("walrus")} == {"document", "message"}
    check_sound(memory)


@pytest.mark.needs_files("locks the index file")
def test_K2_noted_while_the_index_is_locked(
    opened: Opener, disk: Shelves, tmp_path: Path, vault: Path
) -> None:
    disk.write("docs/a.md", "the walrus\n")
    (tmp_path / "empty").mkdir()
    memory = opened(embedder="none", index_timeout=0.2)
    memory.save("A bystander")
    with held(vault):
        memory.index_path(tmp_path / "docs", "docs")
        memory.index_path(tmp_path / "empty")
    assert len(memory.search("walrus", source="docs")) == 1
    with held(vault):
        memory.forget_path(tmp_path / "docs")
    assert memory.search("walrus") == []
    assert [shelf.path for shelf in memory.list_document_sources()] == [str(tmp_path / "empty")]
    check_sound(memory)


# -- Private


def test_C1_what_is_private_is_neither_found_nor_shown_nor_kept(
    memory: Muisti, disk: Shelves, tmp_path: Path, vault: Path
) -> None:
    text = (
        f"---\npin: canary1\n---\n# Open <private>canary2</private>\n\nthe walrus <PRIVATE a=b>canary3\n\n# canary4\n\n</PRIVATE>\n\n{KEY}\n\n"
        "# After\n\nthe walrus after\n\n<private>canary5 is never closed\n"
    )
    place = disk.write("docs/a.md", text)
    memory.index_path(tmp_path / "docs")
    for word in ("canary1", "canary2", "canary3", "canary4", "canary5", KEY):
        assert [
            hit for hit in memory.search(word, mode="keyword") if word in hit.memory.content
        ] == []
    shown = memory.context("walrus")
    assert "canary" not in shown
    assert KEY not in shown
    assert "after" in shown
    held_by = [
        file
        for file in (vault / ".muisti").rglob("*")
        if file.is_file() and b"canary" in file.read_bytes()
    ]
    assert held_by == []
    assert not any(
        KEY.encode() in file.read_bytes()
        for file in (vault / ".muisti").rglob("*")
        if file.is_file()
    )
    assert place.read_text() == text


# -- Bad input


@pytest.mark.parametrize(
    ("path", "source", "project", "named"),
    [
        ("docs/missing", "", "", "path"), ("docs/a.txt", "", "", "path"), ("", "", "", "path"), ("  ", "", "", "path"), ("a\0b", "", "", "path"),
        (5, "", "", "path"), (None, "", "", "path"), (b"docs", "", "", "path"),
        ("/dev/null", "", "", "path"), ("~nobody-there/x", "", "", "path"), ("x" * 5000, "", "", "path"), ("docs/\udcff", "", "", "path"),
        ("docs", "message", "", "source"), ("docs", "memory", "", "source"), ("docs", " document ", "", "source"), ("docs", "a\nb", "", "source"),
        ("docs", 5, "", "source"), ("docs", "x" * 201, "", "source"), ("docs", KEY, "", "source"),
        ("docs", "<private>x</private>", "", "source"), ("docs", "", "../x", "project"), ("docs", "", 5, "project"),
    ],
)  # fmt: skip
def test_F5_bad_input_names_the_field_and_changes_nothing(
    memory: Muisti,
    disk: Shelves,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    path: str,
    source: str,
    project: str,
    named: str,
) -> None:
    disk.write("docs/a.md", "the walrus\n")
    disk.write("docs/a.txt", "the walrus\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises((InvalidRequest, InvalidMemory), match=f"^{named} ") as refused:
        memory.index_path(path, source, project=project)
    assert "Errno" not in str(refused.value)
    assert memory.list_document_sources() == []
    assert memory.search("walrus") == []


@pytest.mark.needs_files("indexes parts of the vault's folder")
@pytest.mark.parametrize(
    "path", ["", "/facts", "/facts/x.md", "/projects/shop/facts", "/.muisti", "/.trash"]
)
def test_F5_memories_are_not_documents(
    memory: Muisti, disk: Shelves, tmp_path: Path, path: str
) -> None:
    for inside in ("facts/x.md", "projects/shop/facts/x.md", ".trash/facts/x.md"):
        disk.write(f"vault/{inside}", "A fact\n")
    with pytest.raises(InvalidRequest, match=r"^path .*memories"):
        memory.index_path(f"{tmp_path}/vault{path}")
    assert memory.list_document_sources() == []


@pytest.mark.parametrize("path", ["missing", "", "a\0b", "x" * 5000, 5, None, b"docs"])
def test_F5_forgetting_what_is_not_searched(
    memory: Muisti, disk: Shelves, tmp_path: Path, path: str
) -> None:
    disk.write("docs/a.md", "the walrus\n")
    memory.index_path(tmp_path / "docs")
    with pytest.raises(InvalidRequest, match="^path "):
        memory.forget_path(path)
    assert len(memory.list_document_sources()) == 1


@pytest.mark.parametrize("source", [5, "", ["memory", "nosuch"], [5], "\0", "x" * 5000])
def test_F5_a_source_that_is_none(
    memory: Muisti, disk: Shelves, tmp_path: Path, source: str
) -> None:
    disk.write("docs/a.md", "the walrus\n")
    memory.index_path(tmp_path / "docs")
    with pytest.raises(InvalidRequest, match="^source "):
        memory.search("walrus", source=source)


@pytest.mark.parametrize("ask", ["related", "explain", "export"])
def test_F5_a_source_that_is_none_is_told_everywhere(memory: Muisti, ask: str) -> None:
    saved = memory.save("The walrus is remembered").id
    asking: dict[str, Callable[[], object]] = {
        "related": lambda: memory.related(saved, source="nosuch"),
        "explain": lambda: memory.explain("walrus", saved, source="nosuch"),
        "export": lambda: memory.export_memories(source="nosuch"),
    }
    with pytest.raises(InvalidRequest, match="^source "):
        asking[ask]()


def test_F5_a_shelf_without_documents_may_be_asked(memory: Muisti, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    memory.index_path(tmp_path / "empty", "wiki")
    assert memory.search("walrus", source="wiki") == []


@pytest.mark.parametrize("trusted", ["no", 1])
def test_F5_trust_is_said_plainly(
    memory: Muisti, disk: Shelves, tmp_path: Path, trusted: bool
) -> None:
    disk.write("docs/a.md", "the walrus\n")
    with pytest.raises((InvalidRequest, InvalidMemory), match="^trusted "):
        memory.index_path(tmp_path / "docs", trusted=trusted)
