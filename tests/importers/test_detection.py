"""Which format a folder or an archive with files of several programs has."""

from __future__ import annotations

import zipfile
from pathlib import Path

from muisti import Muisti
from tests.importers.making import FORMATS, dump, write
from tests.importers.test_obsidian import add_up, by_title


def pack(folder: Path, archive: Path, prefix: str) -> Path:
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr(prefix, "")
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                packed.write(path, f"{prefix}{path.relative_to(folder)}")
        packed.writestr("__MACOSX/._x", "x")
    return archive


def test_J7_a_vault_of_obsidian_may_contain_files_of_other_programs(
    memory: Muisti, tmp_path: Path
) -> None:
    vault = tmp_path / "Obsidian"
    write(vault / ".obsidian/app.json", "{}")
    write(vault / "MEMORY.md", "Notes of an agent, see [[Otters]]")
    write(vault / "Nature/Otters.md", "Otters sleep on the water.")
    write(vault / "Published.md", "---\npermalink: my-page\n---\nA page on the web.")
    FORMATS["chatgpt"](vault / "Old chats")
    FORMATS["claude-code"](vault / "Transcripts")
    report = memory.import_from(vault)
    assert (report.format, report.imported) == ("obsidian", 6)
    assert report.links >= 1
    assert add_up(report)


def test_J7_notes_of_basic_memory_that_obsidian_opened_are_recognised(
    memory: Muisti, tmp_path: Path
) -> None:
    notes = FORMATS["basic-memory"](tmp_path).path
    write(notes / ".obsidian/app.json", "{}")
    assert memory.import_from(notes).format == "basic-memory"


def test_J7_a_note_with_the_name_of_an_index_does_not_hide_other_notes(
    memory: Muisti, tmp_path: Path
) -> None:
    notes = tmp_path / "notes"
    write(notes / "MEMORY.md", "What I remember")
    write(notes / "2025/OLD_MEMORY.md", "What I remembered")
    write(notes / "2025/deep/Otters.md", "Otters sleep on the water.")
    report = memory.import_from(notes)
    assert (report.format, report.imported) == ("markdown", 3)


def test_J7_sessions_are_found_beside_instructions(memory: Muisti, tmp_path: Path) -> None:
    home = FORMATS["codex"](tmp_path / ".codex").path.parent
    write(home / "AGENTS.md", "# Rules\nUse tabs.")
    report = memory.import_from(home)
    assert (report.format, report.messages, report.left_out["other files"]) == ("codex", 3, 1)


def test_J7_an_archive_of_a_hidden_folder_is_read(memory: Muisti, tmp_path: Path) -> None:
    made = FORMATS["codex"](tmp_path / "home")
    archive = pack(made.path, tmp_path / "codex.zip", ".codex/sessions/")
    assert memory.import_from(archive).messages == made.messages
    write(tmp_path / "notes/A.md", "Visible")
    write(tmp_path / "notes/.trash/B.md", "Deleted")
    report = memory.import_from(pack(tmp_path / "notes", tmp_path / "notes.zip", ".notes/"))
    assert (report.imported, add_up(report)) == (1, True)


def test_J7_a_folder_that_cannot_name_a_project_is_a_keyword(
    memory: Muisti, tmp_path: Path
) -> None:
    made = FORMATS["claude-code"](tmp_path / "claude/projects")
    report = memory.import_from(tmp_path / "claude")
    assert (report.format, report.imported) == ("claude-code", made.imported)
    note = by_title(memory)["Role"]
    assert (note.project, note.keywords) == ("", ("-home-anna-shop", "memory"))
    write(tmp_path / "notes/projects/🚀 Launch/Plan.md", "The plan")
    write(tmp_path / "notes/projects/shop/Price.md", "The price")
    assert memory.import_from(tmp_path / "notes").problems == ()
    notes = by_title(memory)
    assert (notes["Plan"].project, notes["Plan"].keywords) == ("", ("🚀 Launch",))
    assert notes["Price"].project == "shop"


def test_J7_an_index_of_prompts_is_no_transcript(memory: Muisti, tmp_path: Path) -> None:
    made = FORMATS["claude-code"](tmp_path / "claude/projects")
    line = {"display": "Fix it", "timestamp": 1, "sessionId": "5e55", "pastedContents": {}}
    dump(tmp_path / "claude/history.jsonl", line)
    report = memory.import_from(tmp_path / "claude")
    assert len(report.problems) == len(made.problems)
    assert report.left_out["other files"] == 1
