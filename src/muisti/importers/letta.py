"""Letta: agent files (`.af`). Memory blocks become memories, messages a conversation."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from muisti.errors import ImportFailed
from muisti.importers import FormatSpec
from muisti.importers.conversation_parts import join_blocks, name_conversation, parse_moment
from muisti.importers.source import Source
from muisti.model import Draft
from muisti.ports import (
    ImportedConversation,
    ImportedMemory,
    ImportedMessage,
    ImportItem,
    MemoryCodec,
    SkippedItem,
)
from muisti.remember.import_values import to_extra

_BLOCK = ("value", "label", "id")
_EVENTS = ("login", "heartbeat", "system_alert")
SHARED = "shared"
"""The owner of a block that no agent or several have."""
_OTHERS = ("files", "sources", "groups", "mcp_servers", "skills", "tools")
"""Parts of a file with several agents that are not memories. They are counted in the report."""


def sniff(source: Source) -> bool:
    """Return whether the file name ends in .af."""
    return source.suffix == ".af"


def load(source: Source, _: MemoryCodec) -> Iterator[ImportItem]:
    """Yield the blocks and messages of all agents."""
    path = source.choose_file(".af")
    try:
        parsed = json.loads(source.read(path)[0])
    except (ValueError, RecursionError) as error:
        raise ImportFailed(f"{source.shown}: is not valid JSON ({error})") from error
    if not isinstance(parsed, dict):
        raise ImportFailed(f"{source.shown}: must be an object")
    # An older file is one agent; a newer one has a list of them, and shared blocks.
    agents = parsed.get("agents") if isinstance(parsed.get("agents"), list) else [parsed]
    shared = parsed.get("blocks")
    if "agents" not in parsed and "core_memory" not in parsed:
        reason = "`agents` and `core_memory` are missing; the format may have changed"
        raise ImportFailed(f"{source.shown}: {reason}")
    owners: dict[str, list[str]] = defaultdict(list)
    for number, agent in enumerate(agents or (), start=1):
        ids = agent.get("block_ids") if isinstance(agent, Mapping) else None
        for id_ in ids if isinstance(ids, list) else ():
            owners[str(id_)].append(str(agent.get("name") or f"agent {number}"))
    yield from _read_blocks(source, shared, SHARED, owners)
    for key in _OTHERS if "agents" in parsed else ():
        items = parsed.get(key)
        if isinstance(items, list) and items:
            reason = key.replace("_", " ")
            yield SkippedItem(source.shown, reason, len(items), expected=True)
    for number, agent in enumerate(agents or (), start=1):
        where = f"{source.shown}, agent {number}"
        if not isinstance(agent, Mapping):
            yield SkippedItem(where, "must be an object")
            continue
        name = str(agent.get("name") or f"agent {number}")
        for key in ("core_memory", "memory_blocks"):
            yield from _read_blocks(source, agent.get(key), name)
        yield from read_messages(source, where, name, agent)
        tools = agent.get("tools")
        if isinstance(tools, list) and tools:
            yield SkippedItem(where, "tools", len(tools), expected=True)


def _read_blocks(
    source: Source, blocks: object, owner: str, owners: Mapping[str, Sequence[str]] | None = None
) -> Iterator[ImportItem]:
    """Yield the memories of blocks. Owners: the names of the agents that have a block, by ID."""
    if blocks is not None and not isinstance(blocks, list):
        yield SkippedItem(f"{source.shown}, blocks of {owner}", "must be a list")
        return
    for number, block in enumerate(blocks or (), start=1):
        where = f"{source.shown}, block {number} of {owner}"
        text = block.get("value") if isinstance(block, Mapping) else None
        if not isinstance(block, Mapping) or not isinstance(text, str):
            yield SkippedItem(where, "`value` is missing; the format may have changed")
        elif not text.strip():
            yield SkippedItem(where, "empty blocks", expected=True)
        else:
            label = str(block.get("label") or "memory")
            having = (owners or {}).get(str(block.get("id")), ())
            own = having[0] if len(having) == 1 else owner
            extra = to_extra(block, _BLOCK)
            if len(having) > 1:
                extra["agents"] = tuple(having)
            yield ImportedMemory(
                Draft(
                    content=text,
                    title=f"{label} ({own})"[:300],
                    keywords=(label[:300],),
                    agent="" if own == SHARED else own[:200],
                    source="letta",
                ),
                key=f"{source.identity}: {block.get('id') or f'{owner}/{label}'}",
                where=where,
                extra=extra,
            )


def read_text(item: Mapping[str, Any]) -> tuple[str, str]:
    """Return the text of a message, or why it has none that was said.

    Agents of older versions say everything with a tool, `send_message`: their own text is what they
    think. What a user says is JSON there, as are events such as logins.
    """
    text, _ = join_blocks(item.get("content"))
    calls = item.get("tool_calls")
    said = []
    for call in calls if isinstance(calls, list) else ():
        function = call.get("function") if isinstance(call, Mapping) else None
        if isinstance(function, Mapping) and function.get("name") == "send_message":
            said.append(_parse_object(function.get("arguments")).get("message"))
    if said:
        return "\n\n".join(one for one in said if isinstance(one, str)), ""
    if item.get("role") == "user":
        event = _parse_object(text)
        if event.get("type") == "user_message" and isinstance(event.get("message"), str):
            return event["message"], ""
        if event.get("type") in _EVENTS:
            return "", "events of the program"
    return text, ""


def _parse_object(text: object) -> dict[str, Any]:
    """Return the object that a text is as JSON; an empty one if it is none."""
    try:
        found = json.loads(text) if isinstance(text, str) and text.lstrip().startswith("{") else {}
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def read_messages(
    source: Source, where: str, name: str, agent: Mapping[str, Any]
) -> Iterator[ImportItem]:
    """Yield the conversation of an agent."""
    messages = []
    given = agent.get("messages") or []
    if not isinstance(given, list):
        yield SkippedItem(where, "`messages` must be a list")
        given = []
    for number, item in enumerate(given, start=1):
        place = f"{where}, message {number}"
        role = item.get("role") if isinstance(item, Mapping) else None
        if not isinstance(item, Mapping) or "content" not in item:
            yield SkippedItem(place, "`content` is missing; the format may have changed")
            continue
        text, left_out = read_text(item)
        if role not in ("user", "assistant", "tool"):
            yield SkippedItem(place, "system messages", expected=True)
        elif left_out:
            yield SkippedItem(place, left_out, expected=True)
        elif not text.strip():
            yield SkippedItem(place, "empty messages and tool calls", expected=True)
        else:
            id_ = str(item.get("id") or number)
            at = parse_moment(item.get("created_at"))
            messages.append(ImportedMessage(id_[:120], str(role), text, at))
    if messages:
        first = messages[0]
        messages[0] = ImportedMessage(
            first.id, first.role, first.content, first.at, {"title": name}
        )
        yield ImportedConversation(
            name_conversation("letta", agent.get("id"), source.identity, name), messages, where
        )


SPEC = FormatSpec(sniff, load, suffix=".af")
