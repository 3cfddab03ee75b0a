"""Claude: `conversations.json` of a data export, or the whole export as a folder or archive.

An export also has projects, what Claude remembers, and chats of its design tool: each in one file
or, in newer exports, in a folder of files.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterator, Mapping
from typing import Any

from muisti.errors import ImportFailed
from muisti.importers import FormatSpec
from muisti.importers.chatgpt import find_files, iterate_conversations
from muisti.importers.conversation_parts import (
    join_blocks,
    name_conversation,
    parse_moment,
    select_meta,
)
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
_PLAIN = ("text/markdown", "text/plain")
_MORE = {
    "projects": rb'"(?:prompt_template|docs)"\s*:',
    "memories": rb'"(?:conversations_memory|project_memories|memory_files)"\s*:',
    "design_chats": rb'"messages"\s*:\s*\[',
}
"""Other files of an export, by name (`projects.json`) or folder (`projects/….json`)."""


def find_more(source: Source, part: str) -> list[str]:
    """Return the files of a part of an export, other than conversations."""
    sign = re.compile(_MORE[part])
    found = []
    for path in source.find(".json"):
        folder = f"{source.identity}/{path}".split("/")[-2]
        is_named = folder == part or posixpath.basename(path) == f"{part}.json"
        if (is_named or not source.is_folder) and sign.search(source.read_head(path)):
            found.append(path)
    return found


def sniff(source: Source) -> bool:
    """Return whether there are conversations with `chat_messages`, or what Claude remembers."""
    if find_files(source, _SIGN):
        return True
    return bool(find_more(source, "memories") or find_more(source, "projects"))


def load(source: Source, _: MemoryCodec) -> Iterator[ImportItem]:
    """Yield the conversations, the texts of projects, and what Claude remembers."""
    files = source.start(find_files(source, _SIGN))
    more = (
        {part: find_more(source, part) for part in _MORE} if source.is_folder or not files else {}
    )
    others = len(source.files) - len(files) - sum(len(paths) for paths in more.values())
    if not files and not any(more.values()):
        raise ImportFailed(f"{source.shown}: contains no conversations.json with `chat_messages`")
    for path in files:
        for where, element in iterate_conversations(source, path):
            if element.error:
                yield SkippedItem(where, element.error)
            else:
                yield from read_conversation(where, element.value)
    yield from read_more(source, more)
    if others:
        yield SkippedItem(source.shown, "files without conversations", others, expected=True)


def read_more(source: Source, more: Mapping[str, list[str]]) -> Iterator[ImportItem]:
    """Yield the items of the other files, projects first: what is remembered has their names."""
    names: dict[str, str] = {}
    for part, path in [(part, path) for part, paths in more.items() for path in paths]:
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
            if not isinstance(value, Mapping):
                yield SkippedItem(where, "must be an object")
            elif part == "projects":
                names[str(value.get("uuid"))] = str(value.get("name") or "")
                yield from read_project(where, value)
            elif part == "memories":
                yield from read_memories(where, value, names)
            else:
                yield from read_conversation(where, convert_design_chat(value))


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
    text = "\n\n".join([text, *read_artifacts(item.get("content"))])
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
    if tools := [kind for kind in others if kind not in ("thinking", "token_budget")]:
        meta["blocks"] = tools
    id_ = item.get("uuid")
    own_id = id_ if isinstance(id_, str) and id_ else str(number)
    at = parse_moment(item.get("created_at"))
    return ImportedMessage(own_id[:120], role, text.strip(), at, meta)


def read_artifacts(content: object) -> list[str]:
    """Return the documents and programs that Claude wrote with a tool, with their titles."""
    texts = []
    for block in content if isinstance(content, list) else ():
        given = block.get("input") if isinstance(block, Mapping) else None
        if not isinstance(given, Mapping) or block.get("name") not in ("artifacts", "create_file"):
            continue
        written = given.get("content") or given.get("file_text")
        if isinstance(written, str) and written.strip():
            title = str(given.get("title") or given.get("path") or "Artifact")
            if given.get("type") not in _PLAIN:
                written = f"```{given.get('language') or ''}\n{written}\n```"
            texts.append(f"**{title}**\n\n{written}")
    return texts


def convert_design_chat(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return a chat of Claude's design tool as a conversation."""
    given = value.get("messages")
    messages: list[object] = []
    for item in given if isinstance(given, list) else ():
        content = item.get("content") if isinstance(item, Mapping) else None
        if not isinstance(item, Mapping) or not isinstance(content, Mapping):
            messages.append(item)
            continue
        blocks = content.get("contentBlocks") or content.get("content") or []
        attached = content.get("attachments")
        files = [
            {"file_name": file.get("name"), "extracted_content": file.get("content")}
            for file in (attached if isinstance(attached, list) else ())
            if isinstance(file, Mapping)
        ]
        at = item.get("created_at") or content.get("timestamp") or value.get("created_at")
        message = {"uuid": item.get("uuid"), "sender": item.get("role"), "content": blocks}
        messages.append({**message, "created_at": at, "attachments": files})
    return {**value, "name": value.get("title"), "chat_messages": messages}


def read_project(where: str, project: Mapping[str, Any]) -> Iterator[ImportItem]:
    """Yield the instructions and documents of a project as memories."""
    name = str(project.get("name") or "project")
    made = project.get("created_at")
    parts: list[tuple[str, object, object, object]] = []
    if project.get("prompt_template"):
        parts.append(("instructions", project["prompt_template"], f"{name}: instructions", made))
    docs = project.get("docs") or []
    if not isinstance(docs, list):
        yield SkippedItem(f"{where}, project {name}", "`docs` must be a list")
        docs = []
    for number, doc in enumerate(docs, start=1):
        if isinstance(doc, Mapping):
            at = doc.get("created_at") or made
            parts.append((str(doc.get("uuid")), doc.get("content"), doc.get("filename"), at))
        else:
            yield SkippedItem(f"{where}, project {name}, document {number}", "must be an object")
    known = ("docs", "prompt_template", "uuid", "created_at", "updated_at", "creator")
    if not parts:
        yield SkippedItem(where, "projects without instructions and documents", expected=True)
    for key, text, title, at in parts:
        if not isinstance(text, str) or not text.strip():
            yield SkippedItem(f"{where}, project {name}", "empty documents", expected=True)
        else:
            draft = Draft(
                content=text,
                title=str(title)[:300] if title else None,
                kind="context",
                keywords=(name[:300],),
                source="claude",
                created_at=parse_moment(at),
            )
            yield ImportedMemory(
                draft,
                key=f"project {project.get('uuid') or name}/{key}",
                where=f"{where}, project {name}",
                extra=to_extra(project, known),
            )


def read_memories(
    where: str, value: Mapping[str, Any], names: Mapping[str, str]
) -> Iterator[ImportItem]:
    """Yield what Claude remembers of all conversations, and of each project.

    Names: the names of projects by UUID.
    """
    texts: list[tuple[str, str, object]] = []
    if "conversations_memory" in value:
        texts.append(("", "Claude's memory", value["conversations_memory"]))
    projects = value.get("project_memories")
    for uuid, text in projects.items() if isinstance(projects, Mapping) else ():
        title = f"Claude's memory of project {names.get(str(uuid)) or uuid}"
        texts.append((str(uuid), title, text))
    files = value.get("memory_files")
    for number, file in enumerate(files if isinstance(files, list) else (), start=1):
        if isinstance(file, Mapping):
            path = str(file.get("path") or f"file {number}")
            texts.append((path, f"Claude's memory: {path.strip('/')}", file.get("content")))
        else:
            yield SkippedItem(f"{where}, file {number}", "must be an object")
    for key, title, text in texts:
        if isinstance(text, str) and text.strip():
            draft = Draft(content=text, title=title[:300], kind="context", source="claude")
            yield ImportedMemory(draft, key=f"memory {key}", where=where)
        else:
            yield SkippedItem(where, "empty memories", expected=True)


SPEC = FormatSpec(sniff, load)
