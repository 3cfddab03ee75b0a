"""Sources of every format, written by hand after the public descriptions, with odd cases."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

KEY = "AKIA" + "A2B3C4D5" + "E6F7G2H3"
"""Made up; it must be redacted."""


class Made(NamedTuple):
    """A source, and what an import of it must report."""

    path: Path
    imported: int = 0
    messages: int = 0
    conversations: int = 0
    links: int = 0
    left_out: int = 0
    problems: tuple[str, ...] = ()
    """A part of each reason."""


def write(path: Path, text: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def dump(path: Path, value: Any) -> Path:
    return write(path, json.dumps(value, ensure_ascii=False))


def dump_lines(path: Path, lines: list[Any]) -> Path:
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    return write(path, "\n".join(texts) + "\n")


def chat_node(id_: str, parent: str | None, role: str, content: Any, **more: Any) -> dict[str, Any]:
    if isinstance(content, str):
        content = {"content_type": "text", "parts": [content]}
    message = {
        "id": id_, "author": {"role": role, "name": None, "metadata": {}}, "create_time": 1760000000.5,
        "content": content, "status": "finished_successfully", "recipient": "all", "metadata": {}, **more,
    }  # fmt: skip
    return {"id": id_, "message": message, "parent": parent, "children": []}


def chatgpt(folder: Path) -> Made:
    """Branches, tool messages, an empty title, a cycle, a hidden message, a missing mapping."""
    nodes = [
        {"id": "root", "message": None, "parent": None, "children": ["s"]},
        chat_node("s", "root", "system", "", metadata={"is_visually_hidden_from_conversation": True}),
        chat_node("u", "s", "user", f"I live in Turku. My key is {KEY}."),
        chat_node("a1", "u", "assistant", "The first answer"),
        chat_node("a2", "u", "assistant", "The second answer", metadata={"model_slug": "gpt-5"}),
        chat_node("t", "a2", "tool", {"content_type": "execution_output", "text": "42"},
                  author={"role": "tool", "name": "python"}),
        chat_node("th", "t", "assistant", {"content_type": "thoughts", "thoughts": []}),
        chat_node("i", "th", "user", {"content_type": "multimodal_text", "parts": [
            {"content_type": "image_asset_pointer", "asset_pointer": "file-service://x"}, "What is this?"]}),
        chat_node("c", "i", "assistant", {"content_type": "code", "language": "python", "text": "1"},
                  recipient="python"),
        chat_node("bad", "c", "wizard", "Hocus"),
        chat_node("nc", "bad", "assistant", None),
    ]  # fmt: skip
    first = {
        "title": "Where I live", "create_time": 1760000000, "update_time": 1760000001, "current_node": "nc",
        "conversation_id": "6f1c-1", "mapping": {node["id"]: node for node in nodes}, "a_new_key": {"x": 1},
    }  # fmt: skip
    cycle = {
        "title": "", "create_time": None, "id": "cyc/le", "current_node": "x",
        "mapping": {"x": chat_node("x", "y", "user", "Round"), "y": chat_node("y", "x", "assistant", "and round")},
    }  # fmt: skip
    path = dump(folder / "export" / "conversations.json", [first, cycle, {"title": "Old"}, 5])
    dump(folder / "export" / "user.json", {"email": "x@example.com"})
    return Made(
        path.parent,
        messages=8,
        conversations=3,
        left_out=3,
        problems=(
            "author.role",
            "`content` is missing",
            "`mapping` is missing",
            "`mapping` is missing",
        ),
    )


def claude(folder: Path) -> Made:
    messages = [
        {"uuid": "m1", "sender": "human", "text": "I work at Acme.", "created_at": "2025-01-02T03:04:05.6Z",
         "content": [{"type": "text", "text": "I work at Acme."}], "attachments": [], "files": []},
        {"uuid": "m2", "sender": "assistant", "text": "", "created_at": "2025-01-02T03:04:06Z",
         "content": [{"type": "thinking", "thinking": "Hm"}, {"type": "text", "text": "Noted."}]},
        {"uuid": "m3", "sender": "assistant", "text": "", "content": [{"type": "tool_use", "name": "x"}]},
        {"uuid": "m4", "sender": "human", "text": "See file", "attachments": [
            {"file_name": "a.txt", "extracted_content": "The text of the file"}]},
        {"uuid": "m5", "sender": "robot", "text": "?"},
        {"uuid": "m6", "sender": "human"},
        {"sender": "human", "text": ""},
    ]  # fmt: skip
    first = {
        "uuid": "c1",
        "name": "",
        "created_at": "2025-01-02T03:04:05Z",
        "project_uuid": "p",
        "chat_messages": messages,
    }
    path = dump(folder / "claude" / "conversations.json", [first, {"uuid": "c2", "name": "Old"}])
    docs = [{"uuid": "d1", "filename": "style.md", "content": "Write short sentences."}]
    projects = [
        {
            "uuid": "p",
            "name": "Book",
            "prompt_template": "Be brief.",
            "is_private": True,
            "docs": docs,
        }
    ]
    dump(folder / "claude" / "projects.json", projects)
    dump(folder / "claude" / "users.json", [])
    return Made(
        path.parent,
        imported=2,
        messages=3,
        conversations=1,
        left_out=3,
        problems=("`sender` must be", "`text` is missing", "`chat_messages` is missing"),
    )


def mcp_memory(folder: Path) -> Made:
    lines = [
        {"type": "entity", "name": "Anna", "entityType": "person", "observations": ["Likes tea", "Lives in Turku"]},
        {"type": "entity", "name": "Acme", "entityType": "company", "observations": []},
        {"type": "relation", "from": "Anna", "to": "Acme", "relationType": "works_at"},
        {"type": "relation", "from": "Acme", "to": "Anna", "relationType": "depends on", "since": 2020},
        {"type": "relation", "from": "Anna", "to": "Nobody", "relationType": "knows"},
        {"type": "entity", "name": "Anna", "entityType": "person", "observations": ["Likes tea", "Has a cat"]},
        {"type": "entity", "observations": []},
        {"type": "relation", "from": "Anna", "to": "Acme"},
        {"type": "thing"},
        "{",
    ]  # fmt: skip
    return Made(
        dump_lines(folder / "memory.jsonl", lines),
        imported=2,
        links=2,
        left_out=3,
        problems=(
            "no entity 'Nobody'",
            "`name` is missing",
            "`relationType` is missing",
            "`type` must be",
            "not valid JSON",
        ),
    )


def mem0(folder: Path) -> Made:
    results = [
        {"id": "1", "memory": "Likes tea", "user_id": "anna", "agent_id": "bot", "hash": "h", "score": 0.5,
         "metadata": {"mood": "good"}, "categories": ["food"], "created_at": "2025-01-02T03:04:05-08:00"},
        {"id": "2", "memory": "Likes tea", "user_id": "ben", "hash": "h"},
        {"id": "3", "memory": "", "hash": "h"},
        {"id": "4", "hash": "h"},
        7,
    ]  # fmt: skip
    return Made(
        dump(folder / "mem0.json", {"results": results, "relations": [{"source": "a"}]}),
        imported=2,
        left_out=1,
        problems=("`memory` is missing", "`memory` is missing", "must be an object"),
    )


def basic_memory(folder: Path) -> Made:
    root = folder / "basic"
    write(
        root / "coffee.md",
        "---\ntitle: Coffee\ntype: note\npermalink: drinks/coffee\ntags: [drink]\n---\n# Coffee\n\n"
        "## Observations\n- [method] Pour over is best #brewing (home)\n- [ ] no category\n\n"
        "## Relations\n- depends_on [[Water]]\n- relates_to [[Milk]]\n",
    )
    write(root / "water.md", "---\ntitle: Water\npermalink: water\n---\nWet. [[drinks/coffee]]\n")
    write(root / "empty.md", "---\ntitle: E\npermalink: e\n---\n")
    return Made(root, imported=2, links=2, problems=("is empty",))


def letta(folder: Path) -> Made:
    agent = {
        "name": "Sam", "id": "agent-0", "tools": [{"name": "t"}],
        "core_memory": [{"label": "human", "value": "Anna likes tea", "limit": 5000}, {"label": "x", "value": " "}, {}],
        "messages": [
            {"role": "system", "content": [{"type": "text", "text": "You are Sam"}]},
            {"role": "user", "content": [{"type": "text", "text": "Hello"}], "created_at": "2025-01-02T03:04:05"},
            {"role": "assistant", "content": [{"type": "tool_call"}]},
            {"role": "assistant", "content": "Hi Anna"},
            {"role": "user"},
        ],
    }  # fmt: skip
    return Made(
        dump(folder / "sam.af", agent),
        imported=1,
        messages=2,
        conversations=1,
        left_out=4,
        problems=("`value` is missing", "`content` is missing"),
    )


def letta_new(folder: Path) -> Made:
    blocks = [{"id": "block-1", "label": "persona", "value": "I am helpful"}]
    agents = [{"name": "A", "block_ids": ["block-1"], "messages": []}]
    return Made(dump(folder / "new.af", {"agents": agents, "blocks": blocks}), imported=1)


def claude_code(folder: Path) -> Made:
    root = folder / "-home-anna-shop"
    base = {"sessionId": "5e55", "cwd": "/home/anna/shop", "timestamp": "2025-01-02T03:04:05.678Z"}
    lines = [
        {"type": "summary", "summary": "Fix the shop", "leafUuid": "x"},
        {**base, "type": "user", "uuid": "u1", "message": {"role": "user", "content": "We use PostgreSQL."}},
        {**base, "type": "assistant", "uuid": "u2", "message": {"model": "claude", "content": [
            {"type": "text", "text": "I will remember."}, {"type": "tool_use", "name": "Bash"}]}},
        {**base, "type": "user", "uuid": "u3", "message": {"content": [{"type": "tool_result", "content": "x"}]}},
        {**base, "type": "assistant", "uuid": "u4", "message": {"content": [{"type": "thinking", "thinking": "x"}]}},
        {**base, "type": "user", "uuid": "u5", "isMeta": True, "message": {"content": "Caveat"}},
        {**base, "type": "user", "uuid": "u6", "message": {"content": "<command-name>/clear</command-name>"}},
        {**base, "type": "assistant", "uuid": "u7", "isSidechain": True, "message": {"content": "Sub"}},
        {**base, "type": "user", "uuid": "u8"},
        {"type": "api-request-blob", "message": {"role": "user", "content": "not this"}},
        "{broken",
    ]  # fmt: skip
    dump_lines(root / "5e55.jsonl", lines)
    write(root / "memory" / "MEMORY.md", "- [Tests](feedback_tests.md)\n")
    write(
        root / "memory" / "feedback_tests.md",
        "---\nname: Run the tests\ndescription: Before each commit\ntype: feedback\n---\nSee [[user_role]].\n",
    )
    write(
        root / "memory" / "user_role.md", "---\nname: Role\ntype: user\n---\nAnna is an engineer.\n"
    )
    return Made(
        root,
        imported=2,
        messages=2,
        conversations=1,
        links=1,
        left_out=6,
        problems=("`message.content` is missing", "not valid JSON"),
    )


def codex(folder: Path) -> Made:
    def item(**payload: Any) -> dict[str, Any]:
        return {
            "timestamp": "2025-10-02T03:04:05.678Z",
            "type": "response_item",
            "payload": payload,
        }

    lines = [
        {"timestamp": "2025-10-02T03:04:05Z", "type": "session_meta", "payload": {"id": "c0de", "cwd": "/shop"}},
        item(type="message", role="developer", content=[{"type": "input_text", "text": "Rules"}]),
        item(type="message", role="user", content=[{"type": "input_text", "text": "<environment_context>x"}]),
        item(type="message", role="user", content=[{"type": "input_text", "text": "Use tabs."}]),
        {"type": "event_msg", "payload": {"type": "user_message", "message": "Use tabs."}},
        item(type="reasoning", summary=[]),
        item(type="function_call", name="shell"),
        item(type="function_call_output", output="x"),
        item(type="message", role="assistant", content=[{"type": "output_text", "text": "Done."}]),
        item(type="message", role="assistant"),
        {"type": "response_item"},
    ]  # fmt: skip
    path = dump_lines(folder / "sessions/2025/10/02/rollout-2025-10-02-c0de.jsonl", lines)
    old = [
        {"id": "01d", "timestamp": "2025-05-02T03:04:05Z", "instructions": None},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Old one"}]},
    ]
    dump_lines(path.parent / "rollout-2025-05-02-01d.jsonl", old)
    return Made(
        folder / "sessions",
        messages=3,
        conversations=2,
        left_out=5,
        problems=("`role` or `content` is missing", "`payload` is missing"),
    )


def agent_instructions(folder: Path) -> Made:
    text = "Read this first.\n\n# Shop\n\n## Style\nUse tabs.\n\n### Deep\nStill style.\n\n## Style\nTwice.\n\n```\n# no heading\n```\n"
    return Made(write(folder / "CLAUDE.md", text), imported=3, left_out=1)


FORMATS: dict[str, Callable[[Path], Made]] = {
    "chatgpt": chatgpt,
    "claude": claude,
    "mcp-memory": mcp_memory,
    "mem0": mem0,
    "basic-memory": basic_memory,
    "letta": letta,
    "letta (new)": letta_new,
    "claude-code": claude_code,
    "codex": codex,
    "agent-instructions": agent_instructions,
}
