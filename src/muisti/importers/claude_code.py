"""Claude Code: transcripts of sessions (`~/.claude/projects/…/*.jsonl`) and its memory folder.

What the user and Claude said becomes a conversation for each session. Tool calls, tool results and
reasoning are left out. Files in a memory folder become memories.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from typing import Any

from muisti.errors import ImportFailed
from muisti.importers import FormatSpec
from muisti.importers.conversation_parts import join_blocks, parse_moment, select_meta
from muisti.importers.note_files import Note, NoteNames, read_notes
from muisti.importers.source import Source
from muisti.importers.transcripts import (
    Transcript,
    find_transcripts,
    read_transcript,
    require_type,
)
from muisti.ports import (
    ImportedLink,
    ImportedMemory,
    ImportedMessage,
    ImportItem,
    MemoryCodec,
    SkippedItem,
)
from muisti.text.wikilinks import find_note_links, find_wikilinks

_SIGN = re.compile(rb'"sessionId"\s*:\s*"')
_INDEX = "MEMORY.md"
_KINDS = {"user": "preference", "feedback": "preference", "project": "context", "reference": "fact"}
_NOTICE = re.compile(
    r"\s*(?:<(?:command-|local-command-|system-reminder|bash-|user-memory-|task-notification)"
    r"|\[Request interrupted by user)"
)
_TITLES = {"summary": "summary", "ai-title": "aiTitle", "custom-title": "customTitle"}
"""Types of lines with a title of the session, and its key."""
_NESTED_TYPE = re.compile(r"^[ \t]*type:[ \t]*[\"']?([a-z]+)", re.MULTILINE)


def find_memory_files(source: Source) -> list[str]:
    """Return the Markdown files of folders that have an index `MEMORY.md`."""
    notes = source.find(".md")
    folders = {posixpath.dirname(path) for path in notes if posixpath.basename(path) == _INDEX}
    return [path for path in notes if posixpath.dirname(path) in folders]


def sniff(source: Source) -> bool:
    """Return whether there are transcripts, or only notes of folders with `MEMORY.md`."""
    if find_transcripts(source, _SIGN):
        return True
    notes = source.find(".md") if source.is_folder else []
    return bool(notes) and notes == find_memory_files(source)


def load(source: Source, codec: MemoryCodec) -> Iterator[ImportItem]:
    """Yield the conversations and memories."""
    transcripts = find_transcripts(source, _SIGN)
    notes = find_memory_files(source)
    if not transcripts and not notes:
        raise ImportFailed(f"{source.shown}: contains no transcripts or memories of Claude Code")
    source.start([*transcripts, *notes])
    for path in transcripts:
        yield from read_transcript(source, path, "claude-code", read_line)
    yield from read_memories(source, notes, codec)
    others = len(source.files) - len(transcripts) - len(notes)
    if others:
        yield SkippedItem(source.shown, "other files", others, expected=True)


def read_line(line: Mapping[str, Any], session: Transcript) -> ImportedMessage | str | None:
    """Return the message of a line, why it is left out, or None. Raises ValueError."""
    require_type(line)
    kind = line["type"]
    if isinstance(title := line.get(_TITLES.get(kind, "")), str):
        if kind == "custom-title":
            session.about["title"] = title  # the user's, and the last of them
        session.about.setdefault("title", title)
        return None
    if kind not in ("user", "assistant"):
        return None  # lines for the program itself
    if isinstance(line.get("sessionId"), str) and not session.id:
        session.id = line["sessionId"]
        session.about |= select_meta(line, "cwd", "gitBranch")
    message = line.get("message")
    if not isinstance(message, Mapping) or "content" not in message:
        raise ValueError("`message.content` is missing")
    if line.get("isSidechain"):
        return "messages of subagents"
    if line.get("isMeta") or line.get("isApiErrorMessage"):
        return "notices of the program"
    if line.get("isCompactSummary"):
        return "summaries of the session by Claude"  # they look like a message of the user
    text, others = join_blocks(message["content"])
    if not text.strip():
        if "tool_result" in others:
            return "tool results"
        return "tool calls" if "tool_use" in others else "reasoning and empty messages"
    if _NOTICE.match(text):
        return "notices of the program"
    meta = select_meta(message, "model")
    id_ = line.get("uuid")
    at = parse_moment(line.get("timestamp"))
    return ImportedMessage(id_ if isinstance(id_, str) else "", str(kind), text, at, meta)


def read_memories(source: Source, paths: list[str], codec: MemoryCodec) -> Iterator[ImportItem]:
    """Yield the files of memory folders. The index `MEMORY.md` only lists them."""
    names = NoteNames(paths)
    root = source.identity
    if root == "memory" and source.shown == str(source.path):
        # The memory folders of all projects have this name.
        root = f"{source.path.resolve().parent.name}/{root}"
    for note in read_notes(source, paths, codec):
        if not isinstance(note, Note):
            yield note
            continue
        if note.path.endswith(_INDEX) and len(paths) > 1:
            yield SkippedItem(source.describe(note.path), "index of memories", expected=True)
            continue
        nested = _NESTED_TYPE.search(str(note.rest.get("metadata")))
        kind = _KINDS.get(str(note.rest.get("type") or (nested and nested[1])))
        if kind is not None:
            note.rest["kind"] = kind
        title = note.take_text("name") or note.stem
        summary = note.take_text("description")
        draft = note.make_draft(codec, "claude-code", title=title, summary=summary)
        targets = [link.target for link in find_wikilinks(note.body)] + find_note_links(note.body)
        found = dict.fromkeys(names.find(target, note.folder) for target in targets)
        links = [ImportedLink(f"{root}/{path}") for path in found if path not in (None, note.path)]
        yield ImportedMemory(
            draft,
            key=f"{root}/{note.path}",
            where=source.describe(note.path),
            extra=note.rest,
            links=tuple(links),
        )


SPEC = FormatSpec(sniff, load)
