"""What an index stores of a text: a pure projection, the same for every index.

A row has what is computed from a memory, a message or a section of a document: its words in three
fields, its labels, its simhash bands and the hash of what is embedded. An index stores and finds.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from muisti.model import EntryType, Tier
from muisti.ports.link_names import list_labels
from muisti.ports.rows import MemoryRow, MessageLine, MessagePlace, TextRow, Words
from muisti.remember.derive import derive_title, hash_content
from muisti.remember.embed import hash_embedding_input
from muisti.text.simhash import compute_bands
from muisti.text.tokens import tokenize

if TYPE_CHECKING:
    from muisti.model import DocumentSource, Memory

LONG_AGO = -(2**62)
"""A time in microseconds before every message."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class Section(NamedTuple):
    """The part of a document from one heading to the next."""

    anchor: str
    """Unique in the document."""
    heading: str
    content: str


def to_microseconds(at: datetime) -> int:
    """Return a time as microseconds since 1970."""
    return (at - _EPOCH) // _MICROSECOND


# -- Memories


def project_memory(memory: Memory) -> MemoryRow:
    """Return the row of a memory."""
    keywords = memory.keywords
    if memory.hashtags:
        known = {keyword.casefold() for keyword in keywords}
        keywords += tuple(tag for tag in memory.hashtags if tag.casefold() not in known)
    labels = [("keyword", keyword.casefold()) for keyword in keywords]
    labels += [("file", file.casefold()) for file in memory.files]
    labels += list_labels(memory)
    label_text = " \n ".join(
        (*keywords, *memory.categories, *memory.files, *memory.aliases, memory.summary)
    )
    # A derived title is the first sentence: indexed twice, it would outrank other sentences. A
    # heading is not: it is indexed as a title, but not embedded again before the text.
    is_derived = memory.title == derive_title(memory.content)
    is_sentence = is_derived and memory.content.lstrip()[:1] != "#"
    first = memory.title.split(maxsplit=1)[0] if memory.title.strip() else ""
    is_sentence = is_sentence and first in memory.content[:200]
    words = Words(
        "" if is_sentence else _join_tokens(memory.title),
        _join_tokens(label_text),
        _join_tokens(memory.content),
    )
    title = "" if is_derived else memory.title
    source_hash = hash_embedding_input(
        memory.origin.value, title, memory.content, memory.content_hash
    )
    return MemoryRow(
        memory,
        words,
        tuple(dict.fromkeys(labels)),
        compute_bands(memory.simhash),
        source_hash,
    )


def _join_tokens(text: str) -> str:
    return " ".join(tokenize(text))


# -- Messages


def make_message_ids(path: str, lines: Sequence[MessageLine]) -> list[str]:
    """Return the IDs that search results have for a file's messages: conversation/day/message."""
    prefix = f"message:{path.removeprefix('conversations/').removesuffix('.jsonl')}/"
    return [prefix + line.id for line in lines]


def get_own_scope(meta: Mapping[str, object]) -> tuple[str, str]:
    """Return project and user in the meta of a message; empty if it has none."""
    project, user = meta.get("project"), meta.get("user")
    return project if isinstance(project, str) else "", user if isinstance(user, str) else ""


def get_tier(row: TextRow) -> Tier:
    """Return the tier of a text: a document without a project is global, a message never is."""
    return Tier.GLOBAL if row.origin == "document" and not row.project else Tier.PROJECT


def project_messages(
    chat: str,
    path: str,
    lines: Sequence[MessageLine],
    taken: Mapping[str, tuple[str, str]],
    latest: int = LONG_AGO,
) -> list[TextRow]:
    """Return the rows of new lines of a conversation's file.

    A line that repeats a message of the file gets no row; another message with the same ID gets an
    ID with its place. Taken: role and content of the indexed messages with these IDs.
    Latest: the time of the last indexed line.
    """
    known = dict(taken)
    rows = []
    for line, wanted in zip(lines, make_message_ids(path, lines), strict=True):
        message = (line.role, line.content)
        first = known.setdefault(wanted, message)
        id_ = wanted
        if first is not message or "~" in line.id:
            if first is not message and first == message:
                continue
            id_ = f"{wanted}~{line.place}"
        at = to_microseconds(line.at)
        latest = max(at, latest + 1)  # so that the order by time is the order of the lines
        project, user = get_own_scope(line.meta)
        meta = json.dumps(line.meta, ensure_ascii=False) if line.meta else ""
        content_hash = hash_content(line.content)
        row = TextRow(
            origin="message",
            id=id_,
            project=project,
            user=user,
            session_id=chat if line.content else None,  # a session break has no neighbours
            created_at=latest,
            updated_at=at,
            source="conversation",
            path=path,
            title=f"{line.role} in {chat}",
            content=line.content,
            trusted=line.role == "user",
            content_hash=content_hash,
            source_hash=hash_embedding_input("message", "", line.content, content_hash),
            words=Words(body=_join_tokens(line.content)),
            message=MessagePlace(chat, line.place, line.id, at, line.role, line.type, meta),
        )
        rows.append(row)
    return rows


# -- Documents


def project_document(
    path: str, source: DocumentSource, name: str, changed_at: datetime, sections: Sequence[Section]
) -> list[TextRow]:
    """Return the rows of a document's sections. Name: the document's name in search results."""
    at = to_microseconds(changed_at)
    # A path never equals the ID of another type of entry: those have no dot, or begin with message:
    base_id = f"./{path}" if path.startswith("message:") or "." not in path else path
    rows = []
    for number, section in enumerate(sections):
        heading, content = section.heading, section.content
        content_hash = hash_content(content)
        row = TextRow(
            origin=EntryType.DOCUMENT.value,
            id=f"{base_id}#{section.anchor}" if section.anchor else base_id,
            project=source.project,
            user=source.user,
            session_id=None,
            created_at=at + number,  # so that the order by time is the order of the sections
            updated_at=at,
            source=name,
            path=path,
            title=heading or name,
            content=content,
            trusted=source.trusted,
            content_hash=content_hash,
            source_hash=hash_embedding_input("document", heading, content, content_hash),
            words=Words(title=_join_tokens(heading) if heading else "", body=_join_tokens(content)),
        )
        rows.append(row)
    return rows
