"""J2 · `muisti init` in a folder of notes, `muisti serve` without a vault, and progress bars."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from muisti.surfaces.cli.init import Notes, find_notes
from tests.surfaces.cli.terminal import run_on_terminal
from tests.surfaces.cli.test_cli import Cli


@pytest.fixture
def cli(vault: Path, tmp_path: Path) -> Cli:
    made = Cli(vault, tmp_path)
    made.environment["MUISTI_EMBEDDER"] = "none"
    return made


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """A folder of notes, as of another program."""
    folder = tmp_path / "mine"
    (folder / "ideas").mkdir(parents=True)
    (folder / "alpha.md").write_text("# Alpha\n\nAlpha is about otters.\n")
    (folder / "ideas" / "beta.md").write_text("Beta is about beavers.\n")
    (folder / ".hidden").mkdir()
    (folder / ".hidden" / "gamma.md").write_text("Not seen.\n")
    return folder


def read_all(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(("choice", "said"), [("index", "Indexed 2"), ("import", "Imported 2")])
def test_J2_init_offers_to_index_or_import_notes(
    cli: Cli, vault: Path, notes: Path, choice: str, said: str
) -> None:
    before = read_all(notes)
    shown = "\n".join(run_on_terminal(vault, notes, "init", typed=f"{choice}\n"))
    assert f"muisti index {notes}" in shown
    assert f"muisti import {notes}" in shown
    assert said in shown
    assert read_all(notes) == before
    assert "Alpha" in cli.run("search", "otters").stdout


def test_J2_init_can_be_declined_or_create_a_vault(vault: Path, notes: Path) -> None:
    before = read_all(notes)
    run_on_terminal(vault, notes, "init", typed="\n")
    assert read_all(notes) == before
    assert not vault.exists()
    assert "Created vault" in "\n".join(run_on_terminal(vault, notes, "init", typed="vault\n"))
    after = read_all(notes)
    assert (notes / "muisti.toml").is_file()
    assert {path: after[path] for path in before} == before


def test_J2_init_without_a_terminal_names_the_commands(cli: Cli, notes: Path) -> None:
    before = read_all(notes)
    said = cli.run("init", str(notes))
    assert "Created vault" in said.stdout
    assert (
        f"2 other Markdown files, unchanged. To copy them as memories: muisti import {notes}"
        in (said.stderr)
    )
    after = read_all(notes)
    assert {path: after[path] for path in before} == before
    imported = cli.json("import", str(notes), "--vault", str(notes))
    assert isinstance(imported, dict)
    assert imported["imported"] == 2


def test_J2_init_does_not_change_notes_in_a_folder_of_memories(cli: Cli, notes: Path) -> None:
    (notes / "notes").mkdir()
    (notes / "notes" / "delta.md").write_text("Delta\n")
    before = read_all(notes)
    said = cli.run("init", str(notes), code=1).stderr
    for command in ("muisti index", "muisti import", "--adopt"):
        assert command in said
    assert read_all(notes) == before
    assert "1 memory from existing files" in cli.run("init", str(notes), "--adopt").stdout


def test_J2_what_counts_as_notes(cli: Cli, notes: Path, tmp_path: Path) -> None:
    assert find_notes(notes) == Notes(others=2)
    assert find_notes(tmp_path / "nowhere") == Notes()
    project = tmp_path / "project"
    (project / "node_modules" / "x").mkdir(parents=True)
    (project / "README.md").write_text("A project")
    (project / "node_modules" / "x" / "docs.md").write_text("Of a package")
    assert find_notes(project) == Notes()
    cli.run("save", "A memory", "--kind", "note", "--vault", str(tmp_path / "old"))
    (tmp_path / "old" / "muisti.toml").unlink()  # as in a copy
    assert find_notes(tmp_path / "old") == Notes()
    assert "1 memory" in cli.run("init", str(tmp_path / "old")).stdout


def test_J2_serve_creates_the_vault(cli: Cli, vault: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "muisti", "serve", "--port", "0"],
        stdout=subprocess.PIPE,
        text=True,
        env=cli.environment,
    ) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == f"Created vault: {vault}\n"
            assert process.stdout.readline().startswith("Serving ")
        finally:
            process.send_signal(signal.SIGINT)
    assert (vault / "muisti.toml").is_file()


def test_J2_bars_move_to_the_end(
    cli: Cli, vault: Path, notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MUISTI_EMBEDDER", "hashing")

    def get_counts(*arguments: str) -> dict[str, str]:
        """Return the last numbers of each bar that a command shows."""
        shown = "\n".join(run_on_terminal(vault, tmp_path, *arguments))
        return dict(re.findall(r"([A-Z][a-z ]+?) +[━╸╺ ]* (\d+/[\d?]+)", shown))

    assert get_counts("import", str(notes)) == {"Importing": "2/2", "Embedding": "2/2"}
    assert get_counts("reindex")["Rebuilding the index"] == "2/2"
    assert get_counts("verify") == {"Checking": "2/2"}
    for file in vault.rglob("*.md"):
        file.write_text(file.read_text() + "More.\n")
    assert get_counts("sync") == {"Reading files": "2/2"}
    assert "━" not in cli.run("reindex").stderr
