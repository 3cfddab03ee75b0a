"""A person edits, renames or deletes a file at the very moment in which muisti writes it: both
texts survive, and there is one memory (contract B5, invariant E).
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from muisti import Muisti, bootstrap, filesystem
from muisti.errors import Conflict, MuistiError
from muisti.ports import Clock
from muisti.storage.files.disk import Disk
from muisti.storage.files.settings_file import change_settings

from .invariants import check_rebuild, check_sound, markdown_files

EDIT = "What a person wrote meanwhile"
OTHER_EDIT = "What a person wrote after that"


class PersonalDisk(Disk):
    """Lets a person act right before a file is replaced or moved."""

    def __init__(self) -> None:
        self.acts: list[Callable[[Path], None]] = []
        self.only = ""

    def step(self, what: str, path: Path) -> None:
        if self.acts and what in ("replace", "move") and self.only in str(path):
            self.acts.pop(0)(path)


@pytest.fixture(params=["exchange", "no exchange"])
def disk(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> PersonalDisk:
    """The second stands for a file system that cannot exchange names."""
    if request.param == "no exchange":
        monkeypatch.setattr(filesystem.system, "exchange", lambda *_: False)
        monkeypatch.setattr(filesystem.system, "rename_new", lambda *_: False)
    return PersonalDisk()


def edit_in_place(path: Path) -> None:
    path.write_text(path.read_text("utf-8") + f"\n{EDIT}\n", "utf-8")


def overwrite(path: Path, text: str) -> None:
    path.write_text(text, "utf-8")


def edit_by_rename(path: Path) -> None:
    """As most editors do."""
    new = path.with_name(".editor")
    new.write_text(path.read_text("utf-8") + f"\n{EDIT}\n", "utf-8")
    new.replace(path)


def rename(path: Path) -> None:
    path.rename(path.with_name("renamed by a person.md"))


def texts(vault: Path) -> str:
    return "\n".join(path.read_text("utf-8") for path in markdown_files(vault))


def check_one_memory(vault: Path, clock: Clock, *contents: str) -> None:
    with bootstrap.open(vault, clock=clock) as memory:
        [found] = memory.list(limit=None)
        for content in contents:
            assert content in found.content
        check_sound(memory)
    check_rebuild(vault, clock)


CHANGES: dict[str, Callable[[Muisti, str], object]] = {
    "content": lambda memory, id_: memory.update(id_, content="A text of our own"),
    "title": lambda memory, id_: memory.update(id_, title="A title of our own"),
    "kind": lambda memory, id_: memory.update(id_, kind="decision"),
    "pin": lambda memory, id_: memory.update(id_, pinned=True),
    "confirm": lambda memory, id_: memory.confirm(id_),
}


@pytest.mark.parametrize("act", [edit_in_place, edit_by_rename, rename])
@pytest.mark.parametrize("change", list(CHANGES))
def test_B5_an_edit_at_the_moment_of_an_update_survives(
    vault: Path,
    clock: Clock,
    disk: PersonalDisk,
    change: str,
    act: Callable[[Path], None],
) -> None:
    with bootstrap.open(vault, clock=clock, disk=disk) as memory:
        saved = memory.save("What there was before", trusted=False)
        disk.acts, disk.only = [act], ".md"
        with pytest.raises(Conflict, match="in the meantime"):
            CHANGES[change](memory, saved.id)
        assert not disk.acts
        assert list((vault / ".muisti" / "tmp").iterdir()) == []
        CHANGES[change](memory, saved.id)  # the next attempt knows the edit
    if act is not rename:
        assert EDIT in texts(vault)
    assert len([path for path in markdown_files(vault) if ".history" not in path.parts]) == 1
    check_one_memory(vault, clock)


@pytest.mark.parametrize("act", [edit_in_place, edit_by_rename, rename])
def test_B5_an_edit_while_a_new_file_gets_its_id(
    vault: Path, clock: Clock, disk: PersonalDisk, act: Callable[[Path], None]
) -> None:
    with bootstrap.open(vault, clock=clock, disk=disk) as memory:
        (vault / "facts").mkdir()
        (vault / "facts" / "mine.md").write_text("Written by hand\n", "utf-8")
        disk.acts = [act]
        report = memory.sync()
        assert not disk.acts
        assert [problem.path for problem in report.problems] == ["facts/mine.md"]
        memory.sync()
        assert memory.sync().problems == ()
    check_one_memory(vault, clock, "Written by hand", *([] if act is rename else [EDIT]))


def test_B5_an_edit_while_a_moved_file_is_updated(
    vault: Path, clock: Clock, disk: PersonalDisk
) -> None:
    with bootstrap.open(vault, clock=clock, disk=disk) as memory:
        saved = memory.save("It was a fact", kind="fact")
        (vault / "decisions").mkdir()
        (vault / str(saved.file_path)).rename(vault / "decisions" / "moved.md")
        disk.acts = [edit_by_rename]
        memory.sync()
        memory.sync()
        [found] = memory.list()
        assert (found.id, found.kind) == (saved.id, "decision")
        assert EDIT in found.content
    check_one_memory(vault, clock, EDIT)


def test_B5_a_second_edit_while_the_first_is_put_back(vault: Path, clock: Clock) -> None:
    """Our text had the name for a moment, and somebody edited that: it becomes a copy."""
    disk = PersonalDisk()
    with bootstrap.open(vault, clock=clock, disk=disk) as memory:
        saved = memory.save("What there was before")
        disk.acts = [
            edit_by_rename,
            lambda path: overwrite(path, path.read_text("utf-8") + OTHER_EDIT),
        ]
        with pytest.raises(Conflict):
            memory.update(saved.id, content="Our own text")
        found = texts(vault)
        assert EDIT in found
        assert OTHER_EDIT in found
        report = memory.sync()
        assert [problem.path for problem in report.problems if "conflict" in problem.path]
        assert len(memory.list()) == 1


@pytest.mark.parametrize("act", [edit_in_place, edit_by_rename])
def test_B5_killed_while_an_edit_is_displaced(
    vault: Path, clock: Clock, act: Callable[[Path], None]
) -> None:
    """The edit lies among the temporary files then; the next process puts it back."""
    with bootstrap.open(vault, clock=clock) as memory:
        saved = memory.save("What there was before")

    def die(_: Path) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    child = os.fork()
    if child == 0:
        disk = PersonalDisk()
        with bootstrap.open(vault, clock=clock, disk=disk) as memory:
            disk.acts = [act, die]
            memory.update(saved.id, content="Our own text")
        os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status)
    assert EDIT not in (vault / str(saved.file_path)).read_text("utf-8")
    check_one_memory(vault, clock, "What there was before", EDIT)


@pytest.mark.parametrize("verb", ["delete", "archive", "restore"])
def test_B5_a_rename_at_the_moment_of_a_move(
    vault: Path, clock: Clock, disk: PersonalDisk, verb: str
) -> None:
    """The file that a person renamed is not lost, and nothing takes its place."""
    with bootstrap.open(vault, clock=clock, disk=disk) as memory:
        saved = memory.save("It moves about")
        if verb == "restore":
            memory.delete(saved.id)
        path = vault / str(memory.get(saved.id, include_deleted=True).file_path)  # type: ignore[union-attr]
        disk.acts = [lambda _: rename(path)]
        with pytest.raises(MuistiError):
            if verb == "delete":
                memory.delete(saved.id)
            elif verb == "restore":
                memory.restore(saved.id)
            else:
                memory.evict(max_bytes=1)
        assert "It moves about" in texts(vault)
        memory.sync()
        assert memory.get(saved.id, include_deleted=True) is not None


def test_B5_a_file_that_takes_the_target_of_a_move_stays(
    vault: Path, clock: Clock, disk: PersonalDisk
) -> None:
    with bootstrap.open(vault, clock=clock, disk=disk) as memory:
        saved = memory.save("It moves about", kind="fact")

        def take(target: Path) -> None:
            target.write_text("A person's file", "utf-8")

        disk.acts, disk.only = [lambda _: None, take], ".md"
        with pytest.raises(MuistiError):
            memory.update(saved.id, kind="decision")
        found = texts(vault)
        assert "A person's file" in found
        assert "It moves about" in found


def test_B5_an_edit_of_core_memory_at_the_same_moment(
    vault: Path, clock: Clock, disk: PersonalDisk
) -> None:
    """Both changes stand: the entries are set again on what the person wrote."""

    def edit(path: Path) -> None:
        table = json.loads(path.read_text("utf-8"))
        table["user"]["city"] = "Turku"
        path.write_text(json.dumps(table), "utf-8")

    with bootstrap.open(vault, clock=clock, disk=disk) as memory:
        memory.core_update("user", "name", "Anna")
        disk.acts = [lambda _: None, edit]  # the first replaces the copy in .history
        core = memory.core_update("user", "name", "Anna K.")
        assert dict(core.user) == {"name": "Anna K.", "city": "Turku"}


def test_B5_an_edit_of_the_settings_at_the_same_moment(
    vault: Path, clock: Clock, disk: PersonalDisk
) -> None:
    bootstrap.open(vault, clock=clock).close()
    disk.acts = [lambda path: overwrite(path, 'user = "anna"\n')]
    with pytest.raises(Conflict, match=r"muisti\.toml was changed"):
        change_settings(vault, {"model": "x"}, disk)
    assert (vault / "muisti.toml").read_text("utf-8") == 'user = "anna"\n'
    change_settings(vault, {"model": "x"}, disk)
    assert (vault / "muisti.toml").read_text("utf-8") == 'user = "anna"\nmodel = "x"\n'


@pytest.mark.parametrize("hard", [False, True])
def test_B5_a_line_added_to_a_conversation_while_a_message_is_removed(
    vault: Path, clock: Clock, disk: PersonalDisk, hard: bool
) -> None:
    with bootstrap.open(vault, clock=clock, disk=disk) as memory:
        first = memory.append_message("cli_main", "user", "To be removed")
        memory.append_message("cli_main", "user", "To be kept")
        line = b'{"ts":"2026-03-10T12:00:00+00:00","role":"user","content":"Added by hand"}\n'

        def add(path: Path) -> None:
            path.write_bytes(path.read_bytes() + line)

        disk.acts, disk.only = [add], "conversations/"
        with pytest.raises(Conflict):
            memory.delete_messages("cli_main", [first.id], hard=hard)
        memory.delete_messages("cli_main", [first.id], hard=hard)
        [file] = (vault / "conversations").glob("*/*.jsonl")
        kept = file.read_text("utf-8")
        assert "Added by hand" in kept
        assert "To be kept" in kept
        assert "To be removed" not in kept
