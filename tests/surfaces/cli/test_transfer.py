"""`muisti import` and `muisti export` of other programs' formats."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.importers.making import FORMATS, chat_node, dump
from tests.surfaces.cli.test_cli import Cli


@pytest.fixture
def cli(vault: Path, tmp_path: Path) -> Cli:
    return Cli(vault, tmp_path)


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    root = tmp_path / "brain"
    (root / ".obsidian").mkdir(parents=True)
    (root / "Otters.md").write_text("Otters sleep. [[Bees]] [[Nowhere]]\n")
    (root / "Bees.md").write_text("Bees dance. #insect\n")
    (root / "Empty.md").write_text("")
    return root


def test_J7_an_import_says_what_it_did(cli: Cli, notes: Path) -> None:
    planned = cli.run("import", str(notes), "--dry-run")
    assert planned.stdout.startswith("Would import 2 new memories, 1 link.\nKinds: ")
    assert "Examples:\n  Bees\n  Otters\n" in planned.stdout
    done = cli.run("import", str(notes))
    assert done.stdout.startswith("Imported 2 new memories, 1 link.\n")
    assert "Empty.md" in done.stdout.replace("\n", "")
    assert "1 item not imported" in done.stderr
    assert "1 link to notes that are not in the source: " in done.stderr
    again = cli.run("import", str(notes), "--from", "obsidian")
    assert again.stdout.startswith("Imported 0 new memories.\n2 imported before\n")
    assert "format must be one of" in cli.run("import", str(notes), "--from", "pdf", code=1).stderr


def test_J7_conversations_are_imported_and_memories_exported(
    cli: Cli, notes: Path, tmp_path: Path
) -> None:
    report = cli.json("import", str(FORMATS["chatgpt"](tmp_path / "chats").path), "--extract")
    assert isinstance(report, dict)
    assert (report["format"], report["messages"]) == ("chatgpt", 8)
    cli.run("import", str(notes))
    wrote = cli.run("export", "--format", "obsidian", "-o", str(tmp_path / "out"))
    assert "Open it with Obsidian" in wrote.stderr
    assert (tmp_path / "out" / "Bees.md").read_text().count("insect") >= 2
    assert "--output FOLDER" in cli.run("export", "--format", "obsidian", code=2).stderr
    cli.run("export", "--format", "html", "-o", str(tmp_path / "page.html"))
    assert "Otters sleep" in (tmp_path / "page.html").read_text()


def test_J7_the_report_of_conversations(cli: Cli, tmp_path: Path) -> None:
    node = chat_node("u", None, "user", "Hello")
    title = "A \x1b[31mred\x1b[0m title " + "x" * 200
    chat = {"id": "c", "title": title, "mapping": {"u": node}}
    source = dump(tmp_path / "conversations.json", [chat, {"title": "Old"}])
    planned = cli.run("import", str(source), "--from", "chatgpt", "--dry-run").stdout
    assert planned.startswith("Would import 1 message of 1 conversation.\n")
    assert "\x1b" not in planned
    assert len(next(line for line in planned.splitlines() if "title" in line)) <= 80
    cli.run("import", str(source), "--from", "chatgpt")
    again = cli.run("import", str(source), "--from", "chatgpt")  # a repetition succeeds
    assert again.stdout.startswith("Imported 0 new memories.\n1 imported before\n")
