"""What Claude notes in a vault: found by search, the person's own files, shared, kept when it is
deleted or changed.
"""

from __future__ import annotations

import errno
import multiprocessing
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest
from anthropic.lib.tools import ToolError

from muisti import InvalidRequest, MemoryService, Muisti, VaultError, bootstrap
from muisti.integrations.anthropic import AsyncVaultMemoryTool, VaultMemoryTool
from muisti.storage.files.agent_notes import FileNotebook
from muisti.storage.files.disk import Disk
from tests.faults.test_read_only import as_nobody, as_root

from .test_anthropic_memory import create, delete, insert, rename, str_replace, view

A = "/memories/dog.md"
NAMES = ["dog.md", "people/dog.markdown", "dog.txt", "people/dog.xml", "dog.json", "dog"]
"""All of which are searched."""


@pytest.fixture
def memory(opened: Callable[..., Muisti]) -> Muisti:
    return opened(embedder="none")


@pytest.fixture
def tool(memory: Muisti) -> VaultMemoryTool:
    return VaultMemoryTool(memory)


def sources(memory: Muisti, query: str) -> list[str]:
    return [str(result.memory.file_path) for result in memory.search(query)]


@pytest.mark.parametrize("name", NAMES)
def test_J6_notes_are_found_at_once_and_as_they_are_now(
    memory: Muisti, tool: VaultMemoryTool, name: str
) -> None:
    path, kept = f"/memories/{name}", f"memories/{name}"
    tool.call(create(path, "# Dog\n\nThe dog is called Musti.\n"))
    assert sources(memory, "Musti") == [kept]
    assert memory.root.joinpath(kept).read_text("utf-8") == "# Dog\n\nThe dog is called Musti.\n"
    tool.call(str_replace(path, "Musti", "Halli"))
    assert sources(memory, "Musti") == []
    tool.call(insert(path, 3, "It likes sausages."))
    assert sources(memory, "sausages") == sources(memory, "Halli") == [kept]
    tool.call(rename(path, f"/memories/animals/{Path(name).name}"))
    assert sources(memory, "Halli") == [f"memories/animals/{Path(name).name}"]
    tool.call(delete("/memories/animals"))
    assert sources(memory, "Halli") == []


def test_B3_notes_survive_a_restart_and_the_loss_of_the_index(
    memory: Muisti, tool: VaultMemoryTool, opened: Callable[..., Muisti]
) -> None:
    tool.call(create(A, "The dog is called Musti.\n"))
    memory.close()
    shutil.rmtree(memory.root / ".muisti")
    again = opened(embedder="none")
    assert sources(again, "Musti") == ["memories/dog.md"]
    assert "Musti" in str(VaultMemoryTool(again).call(view(A)))
    assert again.verify().ok


def test_B5_what_a_person_writes_there_is_seen_and_found(
    memory: Muisti, tool: VaultMemoryTool
) -> None:
    tool.call(view("/memories"))
    memory.root.joinpath("memories", "cat.md").write_text("The cat is called Misu.\n", "utf-8")
    assert "/memories/cat.md" in str(tool.call(view("/memories")))
    tool.call(insert("/memories/cat.md", 1, "It sleeps."))
    assert sources(memory, "Misu") == ["memories/cat.md"]


def test_a_picture_among_the_notes_is_no_problem(memory: Muisti, tool: VaultMemoryTool) -> None:
    tool.call(view("/memories"))
    memory.root.joinpath("memories", "dog.png").write_bytes(b"\x89PNG\xff")
    tool.call(create("/memories/dog.txt", "The dog is called Musti.\n"))
    assert sources(memory, "Musti") == ["memories/dog.txt"]
    assert not memory.sync().problems


def test_C1_what_a_person_keeps_private_is_not_shown_nor_lost(
    memory: Muisti, tool: VaultMemoryTool
) -> None:
    tool.call(create(A))
    text = "The safe: <private>4711</private> behind the picture.\n"
    memory.root.joinpath("memories", "dog.md").write_text(text, "utf-8")
    assert "4711" not in str(tool.call(view(A)))
    assert "behind the picture" in str(tool.call(view(A)))
    for call in (insert(A, 0, "x"), str_replace(A, "4711", "1"), str_replace(A, "picture", "door")):
        with pytest.raises(ToolError, match="contains private text or a secret of its owner"):
            tool.call(call)
    assert memory.root.joinpath("memories", "dog.md").read_text("utf-8") == text


def test_C1_no_byte_of_a_secret_reaches_the_vault(memory: Muisti, tool: VaultMemoryTool) -> None:
    secret = "AKIA" + "IOSFODNN7EXAMPLF"
    tool.call(create(A, f"key: {secret}\n"))
    tool.call(insert(A, 1, f"again: {secret}"))
    tool.call(str_replace(A, "again", f"once more {secret}"))
    memory.close()
    for file in memory.root.rglob("*"):
        assert not file.is_file() or secret.encode() not in file.read_bytes(), file


def test_B6_what_is_deleted_can_be_put_back(memory: Muisti, tool: VaultMemoryTool) -> None:
    tool.call(create(A, "The dog is called Musti.\n"))
    tool.call(create("/memories/people/anna.txt", "Anna likes tea.\n"))
    tool.call(delete(A))
    tool.call(create(A, "The dog is called Halli.\n"))
    tool.call(delete(A))
    tool.call(delete("/memories/people"))
    trash = memory.root / ".trash" / "memories"
    assert [path.read_text("utf-8") for path in sorted(trash.glob("dog.*.md"))] == [
        "The dog is called Musti.\n",
        "The dog is called Halli.\n",
    ]
    (folder,) = trash.glob("people.*")
    assert (folder / "anna.txt").read_text("utf-8") == "Anna likes tea.\n"
    sorted(trash.glob("dog.*.md"))[0].rename(memory.root / "memories" / "dog.md")
    memory.sync()
    assert sources(memory, "Musti") == ["memories/dog.md"]
    tool.clear_all_memory()
    assert sources(memory, "Musti") == []
    assert list((memory.root / ".trash").glob("memories.*/dog.md")), "clearing is deleting, too"


def test_what_is_changed_is_kept_as_it_was(memory: Muisti, tool: VaultMemoryTool) -> None:
    tool.call(create(A, "one\n"))
    tool.call(str_replace(A, "one", "two"))
    tool.call(insert(A, 1, "three"))
    kept = sorted((memory.root / ".history" / "memories" / "dog.md").iterdir())
    assert [path.read_text("utf-8") for path in kept] == ["one\n", "two\n"]


def test_memories_of_the_vault_are_not_within_reach(memory: Muisti, tool: VaultMemoryTool) -> None:
    saved = memory.save("The relaunch is on March 15.")
    for path in (
        f"/memories/../{saved.file_path}",
        "/memories/../muisti.toml",
        "/memories/../.muisti/lock",
    ):
        with pytest.raises(ToolError, match="would escape"):
            tool.call(view(path))
    assert str(tool.call(view("/memories"))).count("\n") == 1


def test_each_folder_is_a_world_of_its_own(memory: Muisti) -> None:
    anna, ben = (
        VaultMemoryTool(memory, folder="memories/anna", project="A"),
        VaultMemoryTool(memory, folder="memories/ben", project="B"),
    )
    anna.call(create(A, "The dog is called Musti.\n"))
    ben.call(create(A, "The dog is called Halli.\n"))
    assert "Musti" in str(anna.call(view(A)))
    assert "Halli" in str(ben.call(view(A)))
    with pytest.raises(ToolError, match="would escape"):
        anna.call(view("/memories/../ben/dog.md"))
    assert [str(r.memory.file_path) for r in memory.search("dog", project="A")] == [
        "memories/anna/dog.md"
    ]
    assert sorted(sources(memory, "dog")) == ["memories/anna/dog.md", "memories/ben/dog.md"]


@pytest.mark.parametrize(
    "folder",
    [
        "",
        ".",
        "/",
        "/etc",
        "..",
        "memories/..",
        "memories/",
        "memories//a",
        "decisions",
        "projects/x",
        "a",
        "memories/.git",
        "memories/nul",
        "memories/a\0",
        "memories2",
        None,
        7,
    ],
)
def test_K3_only_a_folder_for_notes_can_be_one(memory: Muisti, folder: str) -> None:
    with pytest.raises(InvalidRequest, match="^folder "):
        VaultMemoryTool(memory, folder=folder)


def test_a_kind_that_lives_there_already(opened: Callable[..., Muisti], vault: Path) -> None:
    opened(embedder="none").close()
    vault.joinpath("muisti.toml").write_text('[kinds.memoir]\nfolder = "memories"\n', "utf-8")
    with pytest.raises(InvalidRequest, match="give that kind another folder in muisti.toml"):
        VaultMemoryTool(opened(embedder="none"))


def test_K2_a_vault_that_is_gone(memory: Muisti, tool: VaultMemoryTool) -> None:
    tool.call(create(A))
    memory.root.rename(memory.root.with_name("elsewhere"))
    with pytest.raises(ToolError, match="the vault is gone"):
        tool.call(create("/memories/b.md"))
    with pytest.raises(ToolError, match="does not exist"):
        tool.call(view(A))
    assert not memory.root.exists()


@as_root
def test_K2_a_vault_that_cannot_be_written_is_read(tmp_path: Path) -> None:
    folder = Path(f"/tmp/muisti-notes-{tmp_path.name}-{tmp_path.parent.name}")
    shutil.rmtree(folder, ignore_errors=True)
    try:
        with bootstrap.open(folder, settings={"embedder": "none"}) as memory:
            VaultMemoryTool(memory).call(create(A, "The dog is called Musti.\n"))
        for path in (folder, *folder.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)

        def act() -> None:
            with bootstrap.open(folder, settings={"embedder": "none"}) as memory:
                tool = VaultMemoryTool(memory)
                assert "Musti" in str(tool.call(view(A)))
                assert sources(memory, "Musti") == ["memories/dog.md"]
                for call in (
                    create("/memories/b.md"),
                    insert(A, 0, "x"),
                    delete(A),
                    rename(A, "/memories/b.md"),
                ):
                    with pytest.raises(ToolError, match="make it writable for this user"):
                        tool.call(call)

        as_nobody(act)
    finally:
        shutil.rmtree(folder)


def test_a_vault_that_was_closed_still_has_its_files(
    memory: Muisti, tool: VaultMemoryTool, caplog: pytest.LogCaptureFixture
) -> None:
    """The file is written, the log says that search lags behind, and the next open finds it."""
    memory.close()
    assert (
        tool.call(create(A, "The dog is called Musti.\n")) == f"File created successfully at: {A}"
    )
    assert "not indexed yet" in caplog.text


def test_an_async_tool_takes_either(vault: Path) -> None:
    async def use() -> None:
        async with await MemoryService.open(vault, embedder="none") as service:
            tool = AsyncVaultMemoryTool(service)
            await tool.call(create(A, "The dog is called Musti.\n"))
            await tool.call(insert(A, 1, "It barks."))
            found = await service.search("barks")
            assert [str(result.memory.file_path) for result in found] == ["memories/dog.md"]
            assert await tool.clear_all_memory() == "All memory cleared"
            assert not await service.search("barks")

    anyio.run(use)


def _note(vault: Path, number: int, count: int) -> None:
    with bootstrap.open(vault, settings={"embedder": "none"}) as memory:
        tool = VaultMemoryTool(memory)
        for n in range(count):
            tool.call(insert("/memories/log.md", 0, f"process {number} line {n}"))
            tool.call(
                create(
                    f"/memories/{number}/{n}.md",
                    f"process {number} file {n} subject{number}number{n}\n",
                )
            )


@pytest.mark.exhaustive  # K1 has quicker tests; these processes import the SDK
def test_K1_processes_that_edit_one_file_lose_no_line(vault: Path) -> None:
    count, context = 20, multiprocessing.get_context("spawn")
    with bootstrap.open(vault, settings={"embedder": "none"}) as memory:
        VaultMemoryTool(memory).call(create("/memories/log.md", ""))
        started = [
            context.Process(target=_note, args=(vault, number, count)) for number in range(4)
        ]
        for process in started:
            process.start()
        for process in started:
            process.join(timeout=300)
        assert [process.exitcode for process in started] == [0] * 4
        lines = memory.root.joinpath("memories", "log.md").read_text("utf-8").splitlines()
        assert sorted(lines) == sorted(
            f"process {number} line {n}" for number in range(4) for n in range(count)
        )
        for number in range(4):
            assert (
                sources(memory, f"subject{number}number{count - 1}")[0]
                == f"memories/{number}/{count - 1}.md"
            )
        assert memory.verify().ok


class FailsAt(Disk):
    """A disk that is full from its k-th step on."""

    def __init__(self, last: int) -> None:
        self.left = last

    def step(self, what: str, path: Path) -> None:
        self.left -= 1
        if self.left < 0:
            raise OSError(errno.ENOSPC, "No space left on device")


WRITES: dict[str, Callable[[FileNotebook], object]] = {
    "create": lambda notes: notes.create("x/new.md", b"new"),
    "replace": lambda notes: notes.replace("old.md", b"newer"),
    "move": lambda notes: notes.move("old.md", "x/moved.md"),
    "trash": lambda notes: notes.trash("old.md"),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES.keys())
def test_K2_a_disk_that_fails_leaves_the_old_or_the_new(
    tmp_path: Path, write: Callable[[FileNotebook], object]
) -> None:
    for last in range(100):
        root = tmp_path / str(last)
        with bootstrap.open(root, settings={"embedder": "none"}) as memory:
            settings = memory.settings
        (root / "memories").mkdir()
        (root / "memories" / "old.md").write_bytes(b"old")
        disk = FailsAt(10**6)
        notes = FileNotebook(root, "memories", settings, disk=disk)
        with notes.lock():
            disk.left = last
            try:
                write(notes)
            except VaultError as error:
                assert "No space left" in str(error)
            else:
                break
        files = [path for path in root.rglob("*.md") if path.is_file()]
        texts = {path.relative_to(root).as_posix(): path.read_bytes() for path in files}
        assert b"old" in texts.values(), "nobody's text is lost"
        assert texts.get("memories/old.md", b"old") in (b"old", b"newer")
        assert set(texts.values()) <= {b"old", b"newer", b"new"}, "no half file"
    else:
        pytest.fail("it never came to an end")
    assert last > 2


def test_without_the_sdk_it_says_what_to_install() -> None:
    """And nothing else of muisti needs it."""
    code = """
        import sys
        sys.modules["anthropic"] = None
        import muisti, muisti.integrations.memory_files
        try:
            import muisti.integrations.anthropic
        except ImportError as error:
            print(error)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True
    )
    assert done.stdout == "the memory tool needs Anthropic's SDK: pip install 'muisti[anthropic]'\n"
