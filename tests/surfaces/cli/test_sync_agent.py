"""`muisti sync-agent`: memories in Claude Code's own memory folder, both ways."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from muisti import InvalidRequest, Memory, Muisti, bootstrap
from muisti.surfaces.agent_memory.folder import INDEX, STATE, AgentFolder
from muisti.surfaces.agent_memory.sync import AgentSync, Choice, Step
from tests.surfaces.cli.test_cli import Cli

Run = Callable[..., list[Step]]
OWN = "# My notes\r\n- [Mine](mine.md) — by hand\u2028same line\r\n"
KEY = "AKIA" + "A2B3C4D5" + "E6F7G2H3"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Muisti]:
    with bootstrap.open(tmp_path / "vault", settings={"embedder": "none"}) as opened:
        yield opened


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A memory folder that Claude Code has used."""
    place = tmp_path / "agent" / "memory"
    place.mkdir(parents=True)
    (place / "mine.md").write_text(
        "---\nname: Mine\nmetadata:\n  type: user\n---\nA note of Claude.\n"
    )
    (place / INDEX).write_bytes(OWN.encode())
    return place


@pytest.fixture
def run(memory: Muisti, folder: Path) -> Run:
    def sync(choice: Choice | None = None, **options: Any) -> list[Step]:
        return AgentSync(memory, AgentFolder(folder), choice or Choice("app", ""), **options).run()

    return sync


def save(memory: Muisti, text: str = "Use tabs in Go files", **fields: Any) -> Memory:
    return memory.save(text, **{"title": "Tabs", "kind": "preference", "project": "app", **fields})


def read_all(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def note_of(folder: Path, memory: Memory) -> Path:
    [path] = folder.glob(f"*_{memory.id[-6:]}.md")
    return path


def told(steps: list[Step]) -> list[str]:
    return [step.action for step in steps]


def test_J6_chosen_memories_are_written_once(memory: Muisti, folder: Path, run: Run) -> None:
    one = save(memory, summary="Go uses tabs")
    save(memory, "The server is in Turku", title="Server", kind="fact")
    save(memory, "Unconfirmed", title="Unconfirmed", trusted=False)
    save(memory, "Of another project", title="Other", project="shop")
    save(memory, "x" * 5000, title="Long")
    everywhere = save(
        memory, "Always answer in Finnish", title="Finnish", project="", tier="global"
    )
    before = read_all(folder)
    assert sorted(told(run(dry_run=True))) == ["write", "write"]
    assert read_all(folder) == before
    steps = run()
    assert {step.memory_id for step in steps} == {one.id, everywhere.id}
    text = note_of(folder, one).read_text()
    assert text == (
        "---\nname: Tabs\ndescription: Go uses tabs\ntype: feedback\n---\n\nUse tabs in Go files\n"
    )
    index = (folder / INDEX).read_bytes().decode()
    assert index.startswith(OWN)
    assert f"- [Tabs]({note_of(folder, one).name}) — Go uses tabs\r\n" in index
    after = read_all(folder)
    assert run() == []
    assert read_all(folder) == after
    assert after["mine.md"] == before["mine.md"]
    (folder / STATE).unlink()  # what was synced is not known any more
    assert told(run()) == ["write", "write"]
    assert read_all(folder) == after


def test_J6_changes_flow_both_ways(memory: Muisti, folder: Path, run: Run) -> None:
    one = save(memory)
    run()
    note = note_of(folder, one)
    note.write_text(note.read_text().replace("type: feedback", "type: user\nmine: 1  # kept"))
    assert run() == []  # only other keys have changed
    memory.update(one.id, content="Use tabs everywhere", title="Tabs only")
    assert told(run()) == ["update"]
    assert "mine: 1  # kept" in note.read_text()
    assert "Use tabs everywhere" in note.read_text()
    assert f"- [Tabs only]({note.name}) — Tabs only\r\n" in (folder / INDEX).read_bytes().decode()
    edited = note.read_text().replace("Use tabs everywhere", f"Use spaces, key {KEY}")
    note.write_text(edited.replace("name: Tabs only", "name: Spaces"))
    assert [(step.action, step.memory_id) for step in run(dry_run=True)] == [("take", one.id)]
    assert told(run()) == ["take"]
    found = memory.get(one.id)
    assert found is not None
    assert (found.title, found.trusted) == ("Spaces", False)
    assert found.content.startswith("Use spaces")
    assert KEY not in found.content
    assert memory.history(one.id)[-1].what
    assert run() == []  # unconfirmed, but the note of the agent stays
    memory.update(one.id, trusted=True, content="Use spaces.")
    assert told(run()) == ["update"]
    memory.delete(one.id)
    assert run() == []
    assert note.exists()  # its keys are not muisti's


def test_J6_a_conflict_keeps_both_texts(memory: Muisti, folder: Path, run: Run) -> None:
    one = save(memory)
    run()
    note = note_of(folder, one)
    note.write_text(note.read_text().replace("Go files", "all files"))
    memory.update(one.id, content="Use tabs in C files")
    for _ in range(2):
        [step] = run()
        assert (step.action, step.memory_id) == ("conflict", one.id)
        assert "all files" in note.read_text()
        assert memory.get(one.id).content == "Use tabs in C files"  # type: ignore[union-attr]
    assert told(run(prefer="vault")) == ["update"]
    assert "C files" in note.read_text()
    assert "all files" in next(folder.glob("*.bak")).read_text()
    note.write_text(note.read_text().replace("C files", "no files"))
    memory.update(one.id, content="Use tabs in D files")
    assert told(run(prefer="agent")) == ["take"]
    assert memory.get(one.id).content == "Use tabs in no files"  # type: ignore[union-attr]
    assert run() == []


def test_J6_an_edit_of_the_text_alone_leaves_the_title(
    memory: Muisti, folder: Path, run: Run
) -> None:
    """The title in the note is the one of the text before: it is no edit."""
    one = memory.save("We chose PostgreSQL", kind="decision", project="app")
    run()
    note = note_of(folder, one)
    memory.update(one.id, content="We chose SQLite")
    body = "---\n\nWe chose {}"
    note.write_text(note.read_text().replace(body.format("PostgreSQL"), body.format("MySQL")))
    assert told(run(prefer="agent")) == ["take"]
    found = memory.get(one.id)
    assert found is not None
    assert (found.title, found.content, found.summary) == ("We chose MySQL", "We chose MySQL", "")


def test_J6_only_its_own_notes_are_removed(memory: Muisti, folder: Path, run: Run) -> None:
    gone, edited, removed = (
        save(memory, f"{text} are used", title=text) for text in ("Tabs", "Spaces", "Dots")
    )
    run()
    paths = {one.id: note_of(folder, one) for one in (gone, edited, removed)}
    paths[edited.id].write_text("I wrote this myself.\n")
    paths[removed.id].unlink()
    memory.delete(gone.id)
    memory.delete(edited.id)
    assert told(run()) == ["remove"]
    assert not paths[gone.id].exists()
    assert paths[edited.id].read_text() == "I wrote this myself.\n"
    assert not paths[removed.id].exists()
    index = (folder / INDEX).read_bytes().decode()
    assert paths[gone.id].name not in index
    assert paths[removed.id].name not in index, "Claude reads the index at every start"
    assert index.startswith(OWN)
    assert run() == []
    memory.update(removed.id, content="Dots are used now")
    assert told(run()) == ["write"]
    assert paths[removed.id].name in (folder / INDEX).read_bytes().decode()
    new = save(memory, "Dots are out", title="No dots", kind="decision")
    memory.supersede(removed.id, new.id)
    assert sorted(told(run())) == ["remove", "write"]


def test_J6_new_notes_are_taken_only_if_asked(memory: Muisti, folder: Path, run: Run) -> None:
    assert run() == []
    assert memory.list() == []
    assert told(run(take_new=True)) == ["new"]
    [found] = memory.list()
    assert (found.title, found.content, found.project) == ("Mine", "A note of Claude.", "app")
    assert (found.trusted, found.source) == (False, "claude-code")
    assert run(take_new=True) == []
    memory.delete(found.id)
    assert run(take_new=True) == [], "what was deleted does not come back"
    assert (folder / "mine.md").exists()
    (folder / "mine.md").write_text("Claude wrote more.\n")
    run()
    assert told(run(take_new=True)) == ["new"]


def test_K7_links_pipes_and_broken_notes_are_left_alone(
    memory: Muisti, folder: Path, run: Run, tmp_path: Path
) -> None:
    one = save(memory)
    outside = tmp_path / "outside.md"
    outside.write_text("secret")
    (folder / "link.md").symlink_to(outside)
    os.mkfifo(folder / "pipe.md")
    (folder / "latin.md").write_bytes(b"caf\xe9")
    steps = run()
    assert {step.file for step in steps if step.action == "problem"} == {
        "link.md",
        "pipe.md",
        "latin.md",
    }
    note = note_of(folder, one)
    note.write_text("---\nname: [\n---\nx\n")
    assert [step.file for step in run() if step.action == "problem"][0:1]
    assert memory.get(one.id).content == one.content  # type: ignore[union-attr]
    note.unlink()
    note.symlink_to(outside)
    memory.update(one.id, content="Use tabs in C files")
    assert note.name in {step.file for step in run() if step.action == "problem"}
    (folder / INDEX).unlink()
    (folder / INDEX).symlink_to(outside)
    save(memory, "Use dots", title="Dots")
    assert INDEX in {step.file for step in run() if step.action == "problem"}
    assert outside.read_text() == "secret"


def test_J6_a_folder_of_another_vault_is_refused(memory: Muisti, folder: Path, run: Run) -> None:
    save(memory)
    run()
    text = (folder / STATE).read_text()
    (folder / STATE).write_text(text.replace(str(memory.location), "/elsewhere"))
    with pytest.raises(InvalidRequest, match="in sync with /elsewhere"):
        run()
    (folder / STATE).write_text("{")
    with pytest.raises(InvalidRequest, match="is not valid; remove it"):
        run()


def test_J6_the_number_and_size_are_limited(memory: Muisti, run: Run) -> None:
    for number in range(8):
        save(memory, f"Rule {number}: " + "word " * 700, title=f"Rule {number}")
    pinned = save(memory, "Pinned rule", title="Pinned", pinned=True, keywords=["api"])
    steps = run()
    assert len(steps) == 6  # 20,000 characters
    assert pinned.id in {step.memory_id for step in steps}
    assert sorted(told(run(Choice("app", "", keywords=("api",))))) == ["remove"] * 5
    assert run(Choice("app", "", keywords=("api",), limit=1)) == []


def test_J2_sync_agent(vault: Path, tmp_path: Path) -> None:
    cli = Cli(vault, tmp_path)
    cli.environment |= {"MUISTI_EMBEDDER": "none", "CLAUDE_CONFIG_DIR": str(tmp_path / "claude")}
    work = tmp_path / "my.app"
    work.mkdir()
    subprocess.run(["git", "init", "-q", str(work)], check=True)
    with Muisti.open(vault, embedder="none") as memory:
        save(memory, project="my.app")
    with Muisti.open(tmp_path / "team", embedder="none") as team:  # not to be changed from here
        save(team, "Use spaces in Python files", project="my.app")
    cli.environment["MUISTI_VAULTS"] = str(tmp_path / "team")
    name = str(work.resolve()).replace("/", "-").replace(".", "-").replace("_", "-")
    place = tmp_path / "claude" / "projects" / name / "memory"
    cli.cwd = work
    assert cli.run("sync-agent", "--dry-run").stdout.startswith("written")
    assert not place.exists()
    done: Any = cli.json("sync-agent")
    assert (done["folder"], done["project"]) == (str(place), "my.app")
    assert [step["action"] for step in done["steps"]] == ["write"]
    assert "Nothing to do" in cli.run("sync-agent").stderr
    [note] = place.glob("tabs_*.md")
    note.write_text(note.read_text().replace("Go", "C"))
    with Muisti.open(vault, embedder="none") as memory:
        memory.update(done["steps"][0]["memory_id"], content="Use tabs in D files")
    assert "conflict" in cli.run("sync-agent", code=1).stdout
