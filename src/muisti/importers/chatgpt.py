"""ChatGPT: `conversations.json` of a data export, or the whole export as a folder or archive.

Custom instructions, and what ChatGPT remembered, are in messages that it does not show. They become
memories. They are repeated in all conversations: the same text is imported once.

The messages of a conversation are a tree. The current branch is one conversation. Other branches,
from edited questions and repeated answers, are conversations of their own: `NAME~2`, `NAME~3` …
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from typing import Any

from muisti.errors import ImportFailed
from muisti.importers import FormatSpec
from muisti.importers.conversation_parts import name_conversation, parse_moment, select_meta
from muisti.importers.json_stream import (
    MAX_ITEM,
    UTF8_MARK,
    Element,
    iterate_array,
    parse_element,
)
from muisti.importers.source import Source
from muisti.model import ROLES, Draft
from muisti.ports import (
    ImportedConversation,
    ImportedMemory,
    ImportedMessage,
    ImportItem,
    MemoryCodec,
    SkippedItem,
)

_FILE = re.compile(r"(?:.*/)?conversations(?:[-_]\d+)?\.json\Z")
_SIGN = re.compile(rb'"mapping"\s*:\s*\{')
_HIDDEN = "is_visually_hidden_from_conversation"
_TEXT_KEYS = ("text", "result", "content", "summary", "output_str")
_CONTEXT: dict[str, tuple[tuple[tuple[str, ...], str | None, str], ...]] = {
    "user_editable_context": (
        (("about_user_message", "user_profile"), "About me, as told to ChatGPT", "preference"),
        (("about_model_message", "user_instructions"), "How ChatGPT should answer", "preference"),
    ),
    "model_editable_context": ((("model_set_context",), None, "fact"),),
}
"""Types of hidden messages: the keys with their texts, and titles and kinds of the memories."""
_QUOTED = re.compile(r":\s*```\s*(.*?)\s*```\s*\Z", re.DOTALL)
"""Custom instructions after an introduction by ChatGPT."""
_REMEMBERED = re.compile(r"^\d+\. \[(\d{4}-\d\d-\d\d)\]\.?[ \t]*", re.MULTILINE)


def find_files(source: Source, sign: re.Pattern[bytes]) -> list[str]:
    """Return the files with conversations whose beginning matches."""
    if source.is_folder:
        return [
            path
            for path in source.files
            if _FILE.match(path) and sign.search(source.read_head(path))
        ]
    is_json = source.suffix == ".json"
    return [path for path in source.files if is_json and sign.search(source.read_head(path))]


def iterate_conversations(source: Source, path: str) -> Iterator[tuple[str, Element]]:
    """Yield the conversations of a file, with their places. A file may be one conversation."""
    shown = source.describe(path)
    if source.read_head(path).lstrip().startswith(b"{"):
        yield shown, parse_element(source.read(path, MAX_ITEM)[0].removeprefix(UTF8_MARK))
        return
    with source.open(path) as stream:
        for number, element in enumerate(iterate_array(stream, shown), start=1):
            yield f"{shown}, conversation {number}", element


def sniff(source: Source) -> bool:
    """Return whether there are conversations with a `mapping`."""
    return bool(find_files(source, _SIGN))


def load(source: Source, _: MemoryCodec) -> Iterator[ImportItem]:
    """Yield the conversations."""
    files = source.start(find_files(source, _SIGN))
    if not files:
        raise ImportFailed(f"{source.shown}: contains no conversations.json with a `mapping`")
    for path in files:
        for where, element in iterate_conversations(source, path):
            if element.error:
                yield SkippedItem(where, element.error)
            else:
                yield from read_conversation(where, element.value)
    if len(source.files) > len(files):
        others = len(source.files) - len(files)
        yield SkippedItem(source.shown, "files without conversations", others, expected=True)


def read_conversation(where: str, value: object) -> Iterator[ImportItem]:
    """Yield a conversation for the current branch and one for each other branch."""
    if not isinstance(value, Mapping) or not isinstance(value.get("mapping"), Mapping):
        yield SkippedItem(where, "`mapping` is missing; the format may have changed")
        return
    mapping: Mapping[str, Any] = value["mapping"]
    if not mapping:
        yield SkippedItem(where, "empty conversations", expected=True)
    nodes = {id_: node for id_, node in mapping.items() if isinstance(node, Mapping)}
    for id_ in mapping.keys() - nodes.keys():
        yield SkippedItem(f"{where}, node {id_}", "must be an object")
    parents = [node.get("parent") for node in nodes.values()]
    inner = {parent for parent in parents if isinstance(parent, str)}
    leaves = [id_ for id_ in nodes if id_ not in inner]
    current = value.get("current_node")
    starts = [current] if isinstance(current, str) and current in nodes else leaves[-1:]
    name = name_conversation(
        "chatgpt",
        value.get("conversation_id") or value.get("id"),
        value.get("title"),
        value.get("create_time"),
    )
    about = select_meta(
        value, "title", "default_model_slug", "gizmo_id", "is_archived", "is_starred"
    )
    seen: set[str] = set()
    branches = 0
    # Nodes of a cycle are below no leaf: each that is left over begins a branch of its own.
    for start in (*starts, *leaves, *nodes):
        branch = walk_branch(nodes, start, seen)
        if not branch:
            continue
        messages: list[ImportedMessage] = []
        for id_ in branch:
            found = read_context(where, nodes[id_], value.get("create_time"))
            if found:
                yield from found
                continue
            message = read_message(where, id_, nodes[id_])
            if isinstance(message, SkippedItem):
                yield message
            elif message is not None:
                messages.append(message)
        if messages:
            branches += 1
            own = name if branches == 1 else f"{name}~{branches}"
            first = messages[0]
            meta = {**about, **first.meta}
            if branches > 1 and (parent := nodes[branch[0]].get("parent")):
                meta["branch_of"] = str(parent)
            at = first.at or parse_moment(value.get("create_time"))
            messages[0] = ImportedMessage(first.id, first.role, first.content, at, meta)
            yield ImportedConversation(own, messages, where)


def walk_branch(nodes: Mapping[str, Mapping[str, Any]], start: str, seen: set[str]) -> list[str]:
    """Return the nodes from the first unseen one down to `start`, and mark them as seen."""
    branch: list[str] = []
    at: Any = start
    while isinstance(at, str) and at in nodes and at not in seen:
        seen.add(at)
        branch.append(at)
        at = nodes[at].get("parent")
    return branch[::-1]


def read_context(where: str, node: Mapping[str, Any], at: object) -> list[ImportedMemory]:
    """Return the custom instructions, or the remembered texts, that a node consists of."""
    message = node.get("message")
    content = message.get("content") if isinstance(message, Mapping) else None
    if not isinstance(message, Mapping) or not isinstance(content, Mapping):
        return []
    metadata = message.get("metadata")
    plain = metadata.get("user_context_message_data") if isinstance(metadata, Mapping) else None
    given = {**content, **(plain if isinstance(plain, Mapping) else {})}
    told: list[tuple[str, str | None, str | None, str]] = []
    for keys, title, kind in _CONTEXT.get(str(content.get("content_type")), ()):
        texts = [
            given[key] for key in keys if isinstance(given.get(key), str) and given[key].strip()
        ]
        quoted = _QUOTED.search(texts[0]) if texts else None
        told.append((keys[0], title, kind, quoted[1] if quoted else "".join(texts[:1])))
    if message.get("recipient") == "bio":
        told.append(("bio", None, None, read_content(content)[0]))  # what ChatGPT wants to remember
    found = []
    for key, heading, kind_of, whole in told:
        for text, said_at in split_remembered(whole):
            draft = Draft(
                content=text,
                title=heading,
                kind=kind_of,
                keywords=("chatgpt",),
                created_at=parse_moment(said_at or message.get("create_time") or at),
                source="chatgpt",
            )
            digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
            found.append(ImportedMemory(draft, key=f"{key} {digest}", where=where))
    return found


def split_remembered(text: str) -> list[tuple[str, str]]:
    """Return the entries of a list of remembered texts (`1. [2025-03-01]. Text`) and their days.

    Any other text is one entry.
    """
    starts = list(_REMEMBERED.finditer(text))
    ends = [start.start() for start in starts[1:]] + [len(text)]
    entries = [
        (text[start.end() : end].strip(), start[1])
        for start, end in zip(starts, ends, strict=False)
    ]
    entries = entries or [(text.strip(), "")]
    return [entry for entry in entries if entry[0]]


def read_content(content: Mapping[str, Any]) -> tuple[str, list[str]]:
    """Return the text of a message, and the names of images and files in it."""
    parts = content.get("parts")
    if not isinstance(parts, list):
        texts = [content[key] for key in _TEXT_KEYS if isinstance(content.get(key), str)][:1]
        if content.get("content_type") == "code" and texts:
            texts = [f"```{content.get('language') or ''}\n{texts[0]}\n```"]
        return "".join(texts), []
    texts, assets = [], []
    for part in parts:
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, Mapping):
            text = part.get("text")
            if isinstance(text, str):
                texts.append(text)  # of what was said aloud
            else:
                assets.append(str(part.get("asset_pointer") or part.get("content_type")))
    return "\n\n".join(text for text in texts if text.strip()), assets


def read_message(
    where: str, id_: str, node: Mapping[str, Any]
) -> ImportedMessage | SkippedItem | None:
    """Return the message of a node; None for a root, which has none."""
    message = node.get("message")
    place = f"{where}, message {id_}"
    if message is None and node.get("parent") is None and "children" in node:
        return None
    if "message" not in node:
        return SkippedItem(place, "`message` is missing; the format may have changed")
    if message is None:
        return SkippedItem(place, "empty messages", expected=True)
    if not isinstance(message, Mapping):
        return SkippedItem(place, "`message` must be an object")
    author = message.get("author")
    role = author.get("role") if isinstance(author, Mapping) else None
    if not isinstance(author, Mapping) or role not in ROLES:
        return SkippedItem(place, f"`author.role` must be one of {', '.join(ROLES)} (got {role!r})")
    given = message.get("metadata")
    metadata = given if isinstance(given, Mapping) else {}
    content = message.get("content")
    if not isinstance(content, Mapping):
        return SkippedItem(place, "`content` is missing; the format may have changed")
    kind = str(content.get("content_type"))
    if kind in ("thoughts", "reasoning_recap"):
        return SkippedItem(place, "reasoning", expected=True)
    if metadata.get(_HIDDEN) and role == "system":
        return SkippedItem(place, "hidden system messages", expected=True)
    text, assets = read_content(content)
    meta = select_meta(metadata, "model_slug", "attachments")
    meta |= {"tool": str(author["name"])} if author.get("name") else {}
    if message.get("recipient") not in (None, "all"):
        meta["recipient"] = str(message["recipient"])
    if assets:
        meta["assets"] = assets
    if not text.strip() and not assets:
        is_plain = kind in ("text", "multimodal_text", "code", *_CONTEXT)
        reason = "empty messages" if is_plain else "messages without text, such as screenshots"
        return SkippedItem(place, reason, expected=True)
    if kind not in ("text", "multimodal_text"):
        meta["content_type"] = kind
    own = message.get("id")
    at = parse_moment(message.get("create_time"))
    return ImportedMessage(
        (own if isinstance(own, str) and own else id_)[:120], role, text, at, meta
    )


SPEC = FormatSpec(sniff, load)
