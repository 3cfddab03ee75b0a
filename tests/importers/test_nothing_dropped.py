"""What an import cannot store as it is, it keeps in another way or names."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from muisti import Muisti
from tests.importers.making import chat_node, dump, dump_lines, write
from tests.importers.test_obsidian import add_up, by_title, read_file

META = {"timestamp": "2025-10-02T03:04:05Z", "type": "session_meta"}
SAID = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Use tabs."}]}
USER = {"sessionId": "s", "type": "user", "uuid": "u", "message": {"content": "Use tabs."}}

CASES: dict[str, tuple[str, Any, str]] = {
    "a node without a message": (
        "chatgpt",
        [{"mapping": {"a": chat_node("a", None, "user", "Hi"), "b": {"parent": "a"}}}],
        "`message` is missing; the format may have changed",
    ),
    "documents that are no list": (
        "claude",
        [{"uuid": "p", "name": "Book", "docs": {"uuid": "d"}}],
        "`docs` must be a list",
    ),
    "blocks that are no list": ("letta", {"core_memory": {"human": "Anna"}}, "must be a list"),
    "messages that are no list": (
        "letta",
        {"core_memory": [], "messages": {"role": "user"}},
        "`messages` must be a list",
    ),
    "a line of Claude Code without a type": (
        "claude-code",
        [USER, {"sessionId": "s", "message": {"content": "Hi"}}],
        "`type` is missing; the format may have changed",
    ),
    "a line of Codex without a type": (
        "codex",
        [{**META, "payload": {"id": "1"}}, {"payload": SAID}],
        "`type` is missing; the format may have changed",
    ),
}


@pytest.mark.parametrize(("name", "document", "reason"), CASES.values(), ids=CASES)
def test_J7_a_missing_key_is_named(
    memory: Muisti, tmp_path: Path, name: str, document: Any, reason: str
) -> None:
    if name in ("claude-code", "codex"):
        source = dump_lines(tmp_path / "s.jsonl", document)
    elif name == "claude":
        empty = [{"uuid": "c", "chat_messages": []}]
        source = dump(tmp_path / "export" / "conversations.json", empty).parent
        dump(source / "projects.json", document)
    else:
        source = dump(tmp_path / ("s.af" if name == "letta" else "s.json"), document)
    report = memory.import_from(source)
    assert report.format == name
    assert [one.reason for one in report.problems] == [reason]
    assert add_up(report)


@pytest.mark.parametrize("key", ["mapping", "chat_messages"])
def test_J7_a_conversation_without_messages_is_counted(
    memory: Muisti, tmp_path: Path, key: str
) -> None:
    empty: Any = {"mapping": {}, "chat_messages": []}[key]
    source = dump(tmp_path / "conversations.json", [{"title": "New chat", key: empty}])
    report = memory.import_from(source, format="chatgpt" if key == "mapping" else "claude")
    assert (report.found, report.left_out) == (1, {"empty conversations": 1})


def test_J7_a_forked_session_of_codex_is_one_of_its_own(memory: Muisti, tmp_path: Path) -> None:
    """Its file repeats the beginning of the session that it was forked from."""
    first = {**META, "payload": {"id": "first", "cwd": "/shop"}}
    fork = {**META, "payload": {"id": "fork", "cwd": "/fork"}}
    said = {"type": "response_item", "payload": SAID}
    dump_lines(tmp_path / "sessions" / "a.jsonl", [first, said])
    dump_lines(tmp_path / "sessions" / "b.jsonl", [fork, first, said])
    report = memory.import_from(tmp_path / "sessions")
    assert (report.conversations, report.messages, report.problems) == (2, 2, ())
    [file] = (memory.root / "conversations" / "codex_fork").iterdir()
    assert '"/fork"' in file.read_text()


def test_J7_memory_folders_of_two_projects_are_not_taken_for_one(
    memory: Muisti, tmp_path: Path
) -> None:
    for project in ("shop", "bakery"):
        folder = tmp_path / "projects" / project / "memory"
        write(folder / "MEMORY.md", "- [Goal](goal.md)\n")
        write(folder / "goal.md", f"---\nname: Goal\n---\nOpen a {project}.\n")
        assert memory.import_from(folder).imported == 1
        assert memory.import_from(folder).existing == 1


def test_J7_names_that_a_memory_cannot_have_are_cleaned_or_kept(
    memory: Muisti, tmp_path: Path
) -> None:
    notes = tmp_path / "notes"
    tags = ", ".join(f"tag{number}" for number in range(203))
    front = f"title: {'T' * 400}\ntags: [{tags}]\naliases: [{'a' * 400}, Short]\n"
    write(notes / "Long.md", f"---\n{front}---\nA long one.\n")
    write(notes / "Lines.md", '---\ntitle: |\n  Two\n  lines\ntags: ["a\\tb"]\n---\nLines.\n')
    expected = {"T" * 300, "Two lines"}
    if os.name != "nt":
        write(notes / "new\nline.md", "A name of two lines.\n")
        expected.add("new line")
    try:
        write(Path(os.fsdecode(os.fsencode(notes) + b"/d\xff/by\xfftes.md")), "No UTF-8.\n")
        expected.add("by tes")
    except OSError:  # not allowed on this file system
        pass
    report = memory.import_from(notes)
    assert report.problems == ()
    assert by_title(memory).keys() == expected
    text = read_file(memory, "T" * 300)
    assert "aliases:\n  - Short\n" in text
    assert f"source_aliases:\n  - {'a' * 400}\n" in text
    assert f"source_title: {'T' * 400}\n" in text
    assert "source_tags:\n  - tag200\n  - tag201\n  - tag202\n" in text
    assert by_title(memory)["Two lines"].keywords == ("a b",)
    assert memory.import_from(notes).existing == len(expected)
    assert memory.verify(deep=True).ok


def test_J7_blocks_of_several_agents_of_letta_keep_their_owners(
    memory: Muisti, tmp_path: Path
) -> None:
    agents = [{"name": "Sam", "block_ids": ["1", "3"]}, {"name": "Kim", "block_ids": ["2", "3"]}]
    blocks = [{"id": "1", "label": "persona", "value": "I am Sam"},
              {"id": "2", "label": "persona", "value": "I am Kim"},
              {"id": "3", "label": "human", "value": "Anna"}]  # fmt: skip
    document = {"agents": agents, "blocks": blocks, "tools": [{"name": "t"}]}
    report = memory.import_from(dump(tmp_path / "team.af", document))
    assert (report.imported, report.left_out, add_up(report)) == (3, {"tools": 1}, True)
    found = {one.title: one.agent for one in memory.list()}
    assert found == {"persona (Sam)": "Sam", "persona (Kim)": "Kim", "human (shared)": ""}
    assert "agents:\n  - Sam\n  - Kim\n" in read_file(memory, "human (shared)")
