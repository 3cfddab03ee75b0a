"""Sessions of agents: what the program itself wrote is no message of the user or the agent."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from muisti import Muisti
from tests.importers.making import dump, dump_lines, write
from tests.importers.test_obsidian import add_up, by_title


def test_J7_what_claude_code_writes_itself_is_no_message(memory: Muisti, tmp_path: Path) -> None:
    base = {"sessionId": "5e55", "timestamp": "2026-01-02T03:04:05Z"}
    interrupted = [{"type": "text", "text": "[Request interrupted by user for tool use]"}]
    lines = [
        {**base, "type": "user", "uuid": "u1", "message": {"content": "Use pnpm."}},
        {**base, "type": "user", "uuid": "u2", "message": {"content": interrupted}},
        {**base, "type": "user", "uuid": "u3", "isCompactSummary": True, "message": {
            "content": "This session is being continued from a previous conversation."}},
        {**base, "type": "assistant", "uuid": "u4", "isApiErrorMessage": True, "message": {
            "content": [{"type": "text", "text": "API Error: overloaded"}]}},
        {**base, "type": "user", "uuid": "u5", "message": {
            "content": "<task-notification>\n<task-id>x</task-id>"}},
        {"type": "ai-title", "aiTitle": "Package managers", "sessionId": "5e55"},
        {"type": "custom-title", "customTitle": "Pnpm", "sessionId": "5e55"},
    ]  # fmt: skip
    report = memory.import_from(dump_lines(tmp_path / "5e55.jsonl", lines))
    assert (report.messages, add_up(report)) == (1, True)
    assert report.left_out == {
        "notices of the program": 3,
        "summaries of the session by Claude": 1,
    }
    [message] = memory.window("claude-code_5e55", 9)
    assert (message.content, message.meta["title"]) == ("Use pnpm.", "Pnpm")


def test_J7_the_type_of_a_claude_code_memory_may_be_nested(memory: Muisti, tmp_path: Path) -> None:
    write(tmp_path / "memory/MEMORY.md", "- [pnpm](pnpm.md)\n")
    write(
        tmp_path / "memory/pnpm.md",
        "---\nname: pnpm\ndescription: Only this\nmetadata:\n  type: feedback\n---\nUse pnpm.\n",
    )
    memory.import_from(tmp_path / "memory")
    assert by_title(memory)["pnpm"].kind == "preference"


def test_J7_what_codex_writes_itself_is_no_message(memory: Muisti, tmp_path: Path) -> None:
    texts = ["Add a page", "<user_shell_command>\nls", "<skill>\n<name>x</name>"]
    lines: list[Any] = [{"type": "session_meta", "payload": {"id": "c0de"}}]
    for text in texts:
        content = [{"type": "input_text", "text": text}]
        item = {"type": "message", "role": "user", "content": content}
        lines.append({"type": "response_item", "payload": item})
    report = memory.import_from(dump_lines(tmp_path / "rollout-1.jsonl", lines))
    assert (report.messages, report.left_out) == (1, {"notices of the program": 2})


def test_J7_what_an_older_agent_of_letta_says_is_in_its_tool_calls(
    memory: Muisti, tmp_path: Path
) -> None:
    send = {"name": "send_message", "arguments": '{"message": "Welcome to Bruges!"}'}
    messages = [
        {"id": "m1", "role": "user", "content": '{"type": "login", "time": "x"}'},
        {"id": "m2", "role": "user", "content": '{"type": "user_message", "message": "I moved"}'},
        {"id": "m3", "role": "assistant", "content": "He moved. I greet him.",
         "tool_calls": [{"function": send}]},
        {"id": "m4", "role": "assistant", "content": "Plainly said", "tool_calls": [{}, 5]},
        {"id": "m5", "role": "user", "content": '{"color": "red"}'},
    ]  # fmt: skip
    agent = {"id": "a", "name": "Sam", "messages": messages, "core_memory": []}
    report = memory.import_from(dump(tmp_path / "sam.af", agent))
    assert (report.messages, report.left_out) == (4, {"events of the program": 1})
    said = [one.content for one in memory.window("letta_a", 9)]
    assert said == ["I moved", "Welcome to Bruges!", "Plainly said", '{"color": "red"}']


def test_J7_two_relations_of_basic_memory_to_one_note(memory: Muisti, tmp_path: Path) -> None:
    head = "---\ntitle: {}\ntype: note\npermalink: {}\n---\n"
    text = "- implements [[Spec]]\n- depends_on [[Spec]]\n- [fact] Fast\n"
    write(tmp_path / "notes/Auth.md", head.format("Auth", "auth") + text)
    write(tmp_path / "notes/Spec.md", head.format("Spec", "spec") + "All of it.")
    report = memory.import_from(tmp_path / "notes")
    assert report.links == 2
    auth = by_title(memory)["Auth"]
    assert {link.type for link in memory.links(auth.id)} == {"RELATED_TO", "DEPENDS_ON"}
    assert "implements Spec" in (memory.root / str(auth.file_path)).read_text()


def test_J7_messages_that_hooks_stored_are_not_imported_again(
    memory: Muisti, tmp_path: Path
) -> None:
    start = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    talk = "claude-code_5e55"
    memory.append_message(talk, "user", "Yes.", at=start, id="x-u0", project="shop")
    memory.append_message(talk, "assistant", "Done.", at=start + timedelta(seconds=40), id="x-a")
    said = [("u1", "user", "Yes."), ("u2", "assistant", "I look."), ("u3", "assistant", "Done."),
            ("u4", "user", "Yes.")]  # fmt: skip
    lines = [
        {"sessionId": "5e55", "type": role, "uuid": id_, "message": {"content": text},
         "timestamp": (start + timedelta(seconds=20 * number)).isoformat()}
        for number, (id_, role, text) in enumerate(said)
    ]  # fmt: skip
    file = dump_lines(tmp_path / "5e55.jsonl", lines)
    planned = memory.import_from(file, dry_run=True)
    report = memory.import_from(file)
    assert (report.messages, report.existing_messages) == (2, 2)
    assert (planned.messages, planned.existing_messages) == (2, 2)
    assert add_up(report)
    assert memory.import_from(file).existing_messages == 4
    found = [(one.id, one.project) for one in memory.window(talk, 9)]
    assert sorted(found) == [("u2", "shop"), ("u4", "shop"), ("x-a", "shop"), ("x-u0", "shop")]
