"""Codex: session files (`~/.codex/sessions/…/rollout-*.jsonl`), old and new.

What the user and the agent said becomes a conversation for each session. Tool calls, their output
and reasoning are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from muisti.errors import ImportFailed
from muisti.importers import FormatSpec
from muisti.importers.conversation_parts import join_blocks, parse_moment, select_meta
from muisti.importers.source import Source
from muisti.importers.transcripts import (
    Transcript,
    find_transcripts,
    read_transcript,
    require_type,
)
from muisti.ports import ImportedMessage, ImportItem, MemoryCodec, SkippedItem

_SIGN = re.compile(
    rb'"type"\s*:\s*"(?:session_meta|response_item)"|\A\s*\{(?=[^\n]*"instructions")(?=[^\n]*"id")'
)
_NOTICE = re.compile(
    r"\s*<(?:environment_context|user_instructions|permissions|turn_aborted|user_shell_command|skill>"
    r"|subagent_notification|INSTRUCTIONS>)|# AGENTS\.md"
)
_TOOLS = {
    "function_call": "tool calls",
    "custom_tool_call": "tool calls",
    "local_shell_call": "tool calls",
    "web_search_call": "tool calls",
    "function_call_output": "tool results",
    "custom_tool_call_output": "tool results",
    "reasoning": "reasoning",
}


def sniff(source: Source) -> bool:
    """Return whether there are session files."""
    return bool(find_transcripts(source, _SIGN))


def load(source: Source, _: MemoryCodec) -> Iterator[ImportItem]:
    """Yield the conversations."""
    files = source.start(find_transcripts(source, _SIGN))
    if not files:
        raise ImportFailed(f"{source.shown}: contains no session files of Codex")
    for path in files:
        yield from read_transcript(source, path, "codex", read_line)
    if len(source.files) > len(files):
        others = len(source.files) - len(files)
        yield SkippedItem(source.shown, "other files", others, expected=True)


def read_line(line: Mapping[str, Any], session: Transcript) -> ImportedMessage | str | None:
    """Return the message of a line, why it is left out, or None. Raises ValueError."""
    kind = line.get("type")
    payload = line.get("payload")
    is_start = kind == "session_meta" or (kind is None and "instructions" in line)
    require_type(line, is_known=is_start or "record_type" in line)
    if is_start:
        start = payload if isinstance(payload, Mapping) else line
        # A session that was forked from another has the beginning of that one, too.
        if isinstance(start.get("id"), str) and not session.id:
            session.id = start["id"]
            session.about |= select_meta(start, "cwd", "originator", "cli_version")
        return None
    if kind == "response_item":
        if not isinstance(payload, Mapping):
            raise ValueError("`payload` is missing")
        item: Mapping[str, Any] = payload
    elif kind in ("message", *_TOOLS):
        item = line  # before sessions had payloads
    else:
        return None  # events repeat the items
    if (tool := str(item.get("type"))) in _TOOLS:
        return _TOOLS[tool]
    if item.get("type") != "message":
        return "other items"
    role = item.get("role")
    if role in ("developer", "system"):
        return "instructions"
    if role not in ("user", "assistant") or "content" not in item:
        raise ValueError("`role` or `content` is missing")
    text, _ = join_blocks(item["content"])
    if not text.strip():
        return "empty messages"
    if _NOTICE.match(text):
        return "notices of the program"
    return ImportedMessage("", str(role), text, parse_moment(line.get("timestamp")))


SPEC = FormatSpec(sniff, load)
