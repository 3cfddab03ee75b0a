"""Sources that a person may well pass: archives of one file, another format, other encodings."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from muisti import Muisti
from muisti.errors import ImportFailed
from tests.importers.making import FORMATS, dump, dump_lines, write
from tests.importers.test_obsidian import add_up

SINGLE = ("mcp-memory", "mem0", "letta", "agent-instructions")
"""Formats that are one file."""


@pytest.mark.parametrize("name", SINGLE)
def test_J7_a_folder_or_archive_with_one_file(memory: Muisti, tmp_path: Path, name: str) -> None:
    made = FORMATS[name](tmp_path / "source")
    plain = memory.import_from(made.path)
    archive = tmp_path / "source.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        packed.write(made.path, made.path.name)
        packed.writestr("picture.png", b"x")
    for source in (made.path.parent, archive):
        report = memory.import_from(source)
        assert (report.format, report.imported) == (name, 0)
        assert report.existing + report.merged == plain.imported
        assert report.existing_messages == plain.messages
        assert add_up(report)


def test_J7_a_link_to_a_file_or_folder_is_not_followed(memory: Muisti, tmp_path: Path) -> None:
    outside = dump(tmp_path / "outside" / "memory.json", [{"content": "Not this"}])
    source = tmp_path / "source"
    source.mkdir()
    (source / "memory.json").symlink_to(outside)
    with pytest.raises(ImportFailed):
        memory.import_from(source)
    write(source / "note.md", "This")
    (source / "folder").symlink_to(outside.parent)
    report = memory.import_from(source)
    [problem] = report.problems
    assert "folder" in problem.path
    assert "is a symbolic link to a folder" in problem.reason
    assert [one.content for one in memory.list()] == ["This"]


def test_J7_a_named_format_needs_its_file(memory: Muisti, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    write(notes / "2026.md", '{"content": "A note that looks like JSON"}')
    write(notes / "my_claude.md", "Not instructions")
    cases = {
        "json": "contains no .json file",
        "jsonl": "contains no .jsonl file",
        "mem0": "contains no .json file",
        "letta": "contains no .af file",
        "mcp-memory": "contains no .jsonl or .json file",
        "codex": "contains no session files of Codex",
        "claude-code": "contains no transcripts or memories",
        "agent-instructions": "contains no claude.md",
    }
    for form, message in cases.items():
        with pytest.raises(ImportFailed, match=message):
            memory.import_from(notes, format=form)
    for name in ("a.jsonl", "b.jsonl"):
        write(notes / name, json.dumps({"content": name}))
    with pytest.raises(ImportFailed, match="contains 2 .jsonl files; name one of them"):
        memory.import_from(notes, format="jsonl")
    assert memory.list() == []


def test_J7_utf16_and_a_huge_line_are_named(
    memory: Muisti, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a.json", "a.jsonl", "a.af", "a.md"):
        file = write(tmp_path / name, '[{"content": "x"}]'.encode("utf-16"))
        with pytest.raises(ImportFailed, match="is not UTF-8 text; save it as UTF-8"):
            memory.import_from(file)
    monkeypatch.setattr("muisti.importers.source.MAX_LINE", 1 << 20)
    monkeypatch.setattr("muisti.importers.jsonl.MAX_LINE", 1 << 20)
    long = json.dumps({"content": "x" * (3 << 20)})
    file = write(tmp_path / "long.jsonl", f"{long}\n{json.dumps({'content': 'After it'})}\n")
    report = memory.import_from(file)
    assert [one.reason for one in report.problems] == ["has more than 1 MiB"]
    assert [one.content for one in memory.list()] == ["After it"]


def test_J7_two_files_of_an_archive_with_one_path(memory: Muisti, tmp_path: Path) -> None:
    archive = tmp_path / "a.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr("note.md", "First")
        packed.writestr("x" * 300 + ".md", "Long name")
        with pytest.warns(UserWarning, match="Duplicate name"):
            packed.writestr("note.md", "Second")
    report = memory.import_from(archive)
    reasons = sorted(one.reason for one in report.problems)
    assert reasons[0] == "another file of the archive has the same path"
    assert reasons[1].startswith("cannot be unpacked (")
    assert not any("muisti-import" in reason for reason in reasons)


def test_J7_a_user_is_never_lost(memory: Muisti, tmp_path: Path) -> None:
    items = [
        {"id": "1", "memory": "A number", "user_id": 42, "categories": "food", "hash": "h"},
        {"id": "2", "memory": "An object", "user_id": {"name": "anna"}},
        {"id": "3", "memory": "An odd time", "user_id": "ben", "created_at": "long ago"},
    ]
    report = memory.import_from(dump(tmp_path / "mem0.json", items))
    assert [one.reason for one in report.problems] == ["`user_id` must be a text"]
    found = {one.content: one for one in memory.list(user="*")}
    assert (found["A number"].user, found["A number"].categories) == ("42", ("food",))
    odd = found["An odd time"]
    assert "long ago" in (memory.root / str(odd.file_path)).read_text()
    assert [one.content for one in memory.list(user="anna")] == []


def test_J7_the_rest_of_an_export_is_counted(memory: Muisti, tmp_path: Path) -> None:
    folder = FORMATS["claude"](tmp_path / "source").path
    docs = [5, {"uuid": "d", "content": ""}]
    dump(folder / "projects.json", [{"uuid": "p", "name": "Book", "docs": docs}])
    remembered = {"conversations_memory": "Anna works at Acme", "project_memories": {"p": "A book"}}
    dump(folder / "memories.json", [remembered])
    report = memory.import_from(folder)
    assert report.left_out["empty documents"] == 1
    assert any("document 1" in one.path for one in report.problems)
    found = {one.title: one.content for one in memory.list()}
    assert found == {
        "Claude's memory": "Anna works at Acme",
        "Claude's memory of project Book": "A book",
    }
    assert add_up(report)
    agents: dict[str, list[object]] = {"agents": [], "files": [{}], "groups": [{}, {}]}
    agents |= {"blocks": [], "mcp_servers": []}
    report = memory.import_from(dump(tmp_path / "a.af", agents))
    assert report.left_out == {"groups": 2, "files": 1}
    notes = tmp_path / "AGENTS"
    write(notes / "AGENTS.md", "# Style\nUse tabs.")
    dump_lines(notes / "memory.jsonl", [])
    assert memory.import_from(notes).left_out == {"other files": 1}
