"""Exports of ChatGPT and Claude as they are now: hidden contexts, voice, artifacts, parts in folders."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from muisti import Muisti
from tests.importers.making import chat_node, dump
from tests.importers.test_obsidian import add_up, by_title

PLAIN = {"about_user_message": "I bake in Ghent.", "about_model_message": "Use metric units."}
PROFILE = {
    "content_type": "user_editable_context",
    "user_profile": "The user told you this. User profile:\n```I bake in Ghent.```",
    "user_instructions": "The user wants you to do this:\n```Use metric units.```",
}
REMEMBERED = {
    "content_type": "model_editable_context",
    "model_set_context": "1. [2024-05-01]. Bakes on Sundays.\n\n2. [2024-06-02]. Has a cat\nnamed Mia.",
}


def chat(id_: str, *nodes: dict[str, Any], **more: Any) -> dict[str, Any]:
    mapping = {node["id"]: node for node in nodes}
    return {"conversation_id": id_, "title": id_, "create_time": 1750000000.5, "mapping": mapping,
            "current_node": nodes[-1]["id"], **more}  # fmt: skip


def test_J7_custom_instructions_of_chatgpt_are_memories(memory: Muisti, tmp_path: Path) -> None:
    hidden = {"is_visually_hidden_from_conversation": True}
    first = chat(
        "one",
        chat_node("c", None, "user", PROFILE,
                  metadata={**hidden, "user_context_message_data": PLAIN}, create_time=None),
        chat_node("r", "c", "assistant", REMEMBERED, metadata=hidden),
        chat_node("u", "r", "user", "How long do I proof?"),
    )  # fmt: skip
    second = chat(
        "two",
        chat_node("c", None, "user", PROFILE, metadata=hidden),
        chat_node("r", "c", "assistant", {**REMEMBERED, "model_set_context": ""}, metadata=hidden),
        chat_node("u", "r", "user", "Hello"),
        chat_node("b", "u", "assistant", "User plays the cello.", recipient="bio"),
    )
    report = memory.import_from(dump(tmp_path / "conversations.json", [first, second]))
    assert (report.imported, report.merged, report.messages) == (5, 2, 2)
    assert report.left_out == {"empty messages": 1}
    assert add_up(report)
    notes = by_title(memory)
    about = notes["About me, as told to ChatGPT"]
    assert (about.content, about.kind, about.trusted) == ("I bake in Ghent.", "preference", False)
    assert about.created_at.year == 2025
    assert notes["How ChatGPT should answer"].content == "Use metric units."
    assert any(one.content == "User plays the cello." for one in notes.values())
    cat = next(one for one in notes.values() if "Mia" in one.content)
    assert (cat.content, f"{cat.created_at:%Y-%m-%d}") == ("Has a cat\nnamed Mia.", "2024-06-02")


def test_J7_voice_and_screenshots_of_chatgpt(memory: Muisti, tmp_path: Path) -> None:
    spoken = {"content_type": "multimodal_text", "parts": [
        {"content_type": "audio_transcription", "text": "How salty?", "direction": "in"},
        {"content_type": "audio_asset_pointer", "asset_pointer": "sediment://f1"}]}  # fmt: skip
    screen = {"content_type": "computer_output", "computer_id": "0", "screenshot": {}}
    one = chat("voice", chat_node("v", None, "user", spoken), chat_node("s", "v", "tool", screen))
    report = memory.import_from(dump(tmp_path / "chat.json", one))
    assert (report.format, report.messages) == ("chatgpt", 1)
    assert report.left_out == {"messages without text, such as screenshots": 1}
    [message] = memory.window("chatgpt_voice", 9)
    assert (message.content, message.meta["assets"]) == ("How salty?", ["sediment://f1"])


ARTIFACT = {
    "command": "create", "title": "Layout", "type": "text/markdown", "content": "Tomatoes north.",
}  # fmt: skip
PROGRAM = {
    "title": "Watering", "type": "application/vnd.ant.code", "language": "python", "content": "water()",
}  # fmt: skip
MESSAGES = [
    {"uuid": "m1", "sender": "human", "content": [{"type": "text", "text": "Plan it"}]},
    {"uuid": "m2", "sender": "assistant", "content": [
        {"type": "text", "text": "Done"}, {"type": "tool_use", "name": "artifacts", "input": ARTIFACT}]},
    {"uuid": "m3", "sender": "assistant", "text": "", "content": [
        {"type": "tool_use", "name": "artifacts", "input": PROGRAM}]},
    {"uuid": "m4", "sender": "assistant", "text": "", "content": [{"type": "tool_use", "name": "x"}]},
]  # fmt: skip
DOCUMENT = {
    "uuid": "d", "filename": "soil.md", "content": "pH 6", "created_at": "2025-02-03T00:00:00Z",
}  # fmt: skip
PROJECT = {
    "uuid": "p1",
    "name": "Beds",
    "prompt_template": "",
    "created_at": "2025-01-01T00:00:00Z",
}
REMEMBERED_BY_CLAUDE = {
    "conversations_memory": "Kim runs a nursery.", "project_memories": {"p1": "Plans beds."},
    "memory_files": [{"path": "/profile.md", "content": "Speaks Dutch."}],
}  # fmt: skip
DESIGN = [
    {"uuid": "q", "role": "user", "created_at": "2025-03-04T05:06:07Z", "content": {
        "content": "Draw a logo", "attachments": [{"name": "old.svg", "content": "<svg/>"}]}},
    {"uuid": "a", "role": "assistant", "content": {"contentBlocks": [
        {"type": "text", "text": "Here"}, {"type": "tool_call", "toolCall": {"name": "draw"}}]}},
]  # fmt: skip


def claude_export(folder: Path) -> Path:
    talk = {"uuid": "c1", "name": "Garden", "chat_messages": MESSAGES}
    dump(folder / "conversations.json", [talk])
    dump(folder / "projects/p1.json", {**PROJECT, "docs": [DOCUMENT]})
    dump(folder / "projects/p2.json", {**PROJECT, "uuid": "p2", "description": "Only this"})
    dump(folder / "memories/acc.json", REMEMBERED_BY_CLAUDE)
    dump(folder / "design_chats/d1.json", {"uuid": "d1", "title": "Logo", "messages": DESIGN})
    dump(folder / "users.json", [])
    return folder


def test_J7_an_export_of_claude_in_folders(memory: Muisti, tmp_path: Path) -> None:
    report = memory.import_from(claude_export(tmp_path / "claude"))
    assert (report.format, report.imported, report.messages) == ("claude", 4, 5)
    assert report.left_out == {
        "tool calls": 1,
        "projects without instructions and documents": 1,
        "files without conversations": 1,
    }
    assert (report.problems, add_up(report)) == ((), True)
    notes = by_title(memory)
    assert notes["soil.md"].created_at.month == 2
    assert notes["Claude's memory of project Beds"].content == "Plans beds."
    assert notes["Claude's memory: profile.md"].content == "Speaks Dutch."
    logo = memory.window("claude_d1", 9)
    assert [one.content for one in logo] == ["Draw a logo\n\n<svg/>", "Here"]
    assert (logo[0].meta["title"], logo[0].at.month) == ("Logo", 3)


def test_J7_artifacts_of_claude_are_part_of_the_conversation(
    memory: Muisti, tmp_path: Path
) -> None:
    memory.import_from(claude_export(tmp_path / "claude"))
    said = [one.content for one in memory.window("claude_c1", 9)]
    assert said[1:] == [
        "Done\n\n**Layout**\n\nTomatoes north.",
        "**Watering**\n\n```python\nwater()\n```",
    ]


def test_J7_a_part_of_an_export_of_claude_alone(memory: Muisti, tmp_path: Path) -> None:
    folder = claude_export(tmp_path / "claude")
    report = memory.import_from(folder / "memories")
    assert (report.format, report.imported) == ("claude", 3)
    again = memory.import_from(folder)
    assert (again.imported, again.existing) == (1, 3)
    assert memory.import_from(folder / "projects").existing == 1
