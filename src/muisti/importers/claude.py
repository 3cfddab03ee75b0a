"""Claude: `conversations.json` of a data export, or the whole export as a folder or archive."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from muisti.errors import ImportFailed
from muisti.importers import FormatSpec
from muisti.importers.chatgpt import find_files
from muisti.importers.conversation_parts import (
    join_blocks,
    name_conversation,
    parse_moment,
    select_meta,
)
from muisti.importers.json_stream import iterate_array
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

_SIGN = re.compile(rb'"chat_messages"\s*:\s*\[')
_ROLES = {"human": "user", "user": "user", "assistant": "assistant"}
_LEFT_OUT = {"thinking": "reasoning", "tool_use": "tool calls", "tool_result": "tool results"}


def sniff(source: Source) -> bool:
    """Return whether there is a list of conversations with `chat_messages`."""
    return bool(find_files(source, _SIGN))


def load(source: Source, _: MemoryCodec) -> Iterator[ImportItem]:
    """Yield the conversations, and the documents of projects."""
    files = source.start(find_files(source, _SIGN))
    if not files:
        raise ImportFailed(f"{source.shown}: contains no conversations.json with `chat_messages`")
    readers = {"projects.json": read_project, "memories.json": read_memories}
    more = [path for path in source.files if path.rpartition("/")[2] in readers]
    for path in files:
        with source.open(path) as stream:
            for number, element in enumerate(iterate_array(stream, source.describe(path)), 1):
                where = f"{source.describe(path)}, conversation {number}"
                if element.error:
                    yield SkippedItem(where, element.error)
                else:
                    yield from read_conversation(where, element.value)
    for path in more:
        where = source.describe(path)
        try:
            parsed = json.loads(source.read(path)[0])
        except OSError as error:
            yield SkippedItem(where, str(error))
            continue
        except (ValueError, RecursionError) as error:
            yield SkippedItem(where, f"is not valid JSON ({error})")
            continue
        for value in parsed if isinstance(parsed, list) else [parsed]:
            yield from readers[path.rpartition("/")[2]](where, value)
    others = len(source.files) - len(files) - len(more)
    if others:
        yield SkippedItem(source.shown, "files without conversations", others, expected=True)


def read_conversation(where: str, value: object) -> Iterator[ImportItem]:
    """Yield a conversation."""
    if not isinstance(value, Mapping) or not isinstance(value.get("chat_messages"), list):
        yield SkippedItem(where, "`chat_messages` is missing; the format may have changed")
        return
    if not value["chat_messages"]:
        yield SkippedItem(where, "empty conversations", expected=True)
    messages: list[ImportedMessage] = []
    for number, item in enumerate(value["chat_messages"], start=1):
        message = read_message(f"{where}, message {number}", number, item)
        if isinstance(message, SkippedItem):
            yield message
        else:
            messages.append(message)
    if not messages:
        return
    about = select_meta(value, "name", "summary", "project_uuid", "model")
    if "name" in about:
        about["title"] = about.pop("name")
    first = messages[0]
    at = first.at or parse_moment(value.get("created_at"))
    meta = {**about, **first.meta}
    messages[0] = ImportedMessage(first.id, first.role, first.content, at, meta)
    name = name_conversation("claude", value.get("uuid"), value.get("name"), str(first))
    yield ImportedConversation(name, messages, where)


def read_message(where: str, number: int, item: object) -> ImportedMessage | SkippedItem:
    """Return a message, or why it is not imported."""
    if not isinstance(item, Mapping):
        return SkippedItem(where, "must be an object")
    role = _ROLES.get(str(item.get("sender")))
    if role is None:
        return SkippedItem(
            where, f"`sender` must be human or assistant (got {item.get('sender')!r})"
        )
    if "text" not in item and "content" not in item:
        return SkippedItem(where, "`text` is missing; the format may have changed")
    text, others = join_blocks(item.get("content"))
    own = item.get("text")
    if not text and isinstance(own, str) and not others:
        text = own
    meta: dict[str, Any] = {}
    attached = item.get("attachments") if isinstance(item.get("attachments"), list) else []
    files = item.get("files") if isinstance(item.get("files"), list) else []
    for file in [*(attached or []), *(files or [])]:
        if not isinstance(file, Mapping):
            continue
        meta.setdefault("attachments", []).append(str(file.get("file_name") or "file"))
        extracted = file.get("extracted_content")
        if isinstance(extracted, str) and extracted.strip():
            text += f"\n\n{extracted}"
    if not text.strip() and not meta:
        kinds = sorted({_LEFT_OUT.get(kind, "empty messages") for kind in others})
        return SkippedItem(where, " and ".join(kinds) or "empty messages", expected=True)
    if tools := [kind for kind in others if kind != "thinking"]:
        meta["blocks"] = tools
    id_ = item.get("uuid")
    own_id = id_ if isinstance(id_, str) and id_ else str(number)
    at = parse_moment(item.get("created_at"))
    return ImportedMessage(own_id[:120], role, text.strip(), at, meta)


def read_project(where: str, project: object) -> Iterator[ImportItem]:
    """Yield the instructions and documents of a project as memories."""
    if not isinstance(project, Mapping):
        yield SkippedItem(where, "must be an object")
        return
    name = str(project.get("name") or "project")
    parts: list[tuple[str, object, object]] = []
    if project.get("prompt_template"):
        parts.append(("instructions", project["prompt_template"], f"{name}: instructions"))
    docs = project.get("docs") or []
    if not isinstance(docs, list):
        yield SkippedItem(f"{where}, project {name}", "`docs` must be a list")
        docs = []
    for number, doc in enumerate(docs, start=1):
        if isinstance(doc, Mapping):
            parts.append((str(doc.get("uuid")), doc.get("content"), doc.get("filename")))
        else:
            yield SkippedItem(f"{where}, project {name}, document {number}", "must be an object")
    known = ("docs", "prompt_template", "uuid", "created_at", "updated_at", "creator")
    for key, text, title in parts:
        if not isinstance(text, str) or not text.strip():
            yield SkippedItem(f"{where}, project {name}", "empty documents", expected=True)
        else:
            draft = Draft(
                content=text,
                title=str(title)[:300] if title else None,
                kind="context",
                keywords=(name[:300],),
                source="claude",
                created_at=parse_moment(project.get("created_at")),
            )
            yield ImportedMemory(
                draft,
                key=f"project {project.get('uuid') or name}/{key}",
                where=f"{where}, project {name}",
                extra=to_extra(project, known),
            )


def read_memories(where: str, value: object) -> Iterator[ImportItem]:
    """Yield what Claude remembers of all conversations, and of each project."""
    if not isinstance(value, Mapping):
        yield SkippedItem(where, "must be an object")
        return
    projects = value.get("project_memories")
    texts: dict[str, object] = {"": value.get("conversations_memory")}
    if isinstance(projects, Mapping):
        texts |= {str(uuid): text for uuid, text in projects.items()}
    for uuid, text in texts.items():
        if isinstance(text, str) and text.strip():
            title = f"Claude's memory of project {uuid}" if uuid else "Claude's memory"
            draft = Draft(content=text, title=title[:300], kind="context", source="claude")
            yield ImportedMemory(draft, key=f"memory {uuid}", where=where)
        else:
            yield SkippedItem(where, "empty memories", expected=True)


SPEC = FormatSpec(sniff, load)
