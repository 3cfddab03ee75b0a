"""What the index stores of a text: a pure projection, the same for every index.

A row holds everything that follows from a memory, a message or a section of a document: its words in three fields, its
labels, its simhash bands and the hash of what its vectors are made from. An index only has to store and find them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from muisti.model import DocumentSource, EntryType, Memory
from muisti.ports.search import MemoryRow, MessageLine, MessagePlace, TextRow, Words
from muisti.remember.derive import derive_title, hash_content
from muisti.remember.embed import hash_embedding_input, hash_source
from muisti.text.simhash import compute_bands
from muisti.text.tokens import tokenize

LONG_AGO = -(2**62)
"""Microseconds: before every message."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class Section(NamedTuple):
    """A part of a document, from one heading to the next."""

    anchor: str
    """Unique in its document."""
    heading: str
    content: str


def to_microseconds(at: datetime) -> int:
    """Return a time as microseconds since 1970."""
    return (at - _EPOCH) // _MICROSECOND


# -- Memories


def project_memory(memory: Memory) -> MemoryRow:
    """Return the row of a memory."""
    labels = [("keyword", keyword.casefold()) for keyword in memory.keywords]
    labels += [("file", file.casefold()) for file in memory.files]
    return MemoryRow(
        memory,
        _words_of_memory(memory),
        tuple(dict.fromkeys(labels)),
        compute_bands(memory.simhash),
        hash_source(memory),
    )


def _words_of_memory(memory: Memory) -> Words:
    labels = " \n ".join((*memory.keywords, *memory.files, memory.summary))
    title = "" if _repeats_opening(memory) else " ".join(tokenize(memory.title))
    return Words(title, " ".join(tokenize(labels)), " ".join(tokenize(memory.content)))


def _repeats_opening(memory: Memory) -> bool:
    """Whether the title is the first sentence: counted twice, it would put first sentences above all others."""
    first = memory.title.split(maxsplit=1)[0] if memory.title.strip() else ""
    if first not in memory.content[:200]:  # cheap, and settles it for most titles that were given
        return False
    is_heading = memory.content.lstrip().startswith("#")
    return not is_heading and memory.title == derive_title(memory.content)


# -- Messages


def message_ids(path: str, lines: Sequence[MessageLine]) -> list[str]:
    """Return the ids that searches return for messages of a file: conversation, day and message id."""
    prefix = f"message:{path.removeprefix('conversations/').removesuffix('.jsonl')}/"
    return [prefix + line.id for line in lines]


def project_messages(
    chat: str,
    path: str,
    lines: Sequence[MessageLine],
    taken: Mapping[str, tuple[str, str]],
    latest: int = LONG_AGO,
) -> list[TextRow]:
    """Return the rows of new lines of a conversation's file.

    Taken: role and content of indexed messages that have one of the wanted ids. A line that repeats a message of the file is
    left out; another message with the same id gets an id with its place. Latest: the time of the last indexed line.
    """
    known = dict(taken)
    rows = []
    for line, wanted in zip(lines, message_ids(path, lines), strict=True):
        said = (line.role, line.content)
        first = known.setdefault(wanted, said)
        id_ = wanted
        if first is not said or "~" in line.id:
            if first is not said and first == said:
                continue
            id_ = f"{wanted}~{line.place}"
        at = to_microseconds(line.at)
        latest = max(at, latest + 1)  # so that the order of time is the order of lines
        meta = json.dumps(line.meta, ensure_ascii=False) if line.meta else ""
        place = MessagePlace(chat, line.place, line.id, at, line.role, line.type, meta)
        rows.append(_message_row(chat, path, line, id_, latest, place))
    return rows


def _message_row(
    chat: str, path: str, line: MessageLine, id_: str, created_at: int, place: MessagePlace
) -> TextRow:
    project = line.meta.get("project")
    hashed = hash_content(line.content)
    return TextRow(
        origin="message",
        id=id_,
        project=project if isinstance(project, str) else "",
        session_id=chat
        if line.content
        else None,  # a break between two talks is nobody's neighbour
        created_at=created_at,
        updated_at=place.at,
        source="conversation",
        path=path,
        title=f"{line.role} in {chat}",
        content=line.content,
        trusted=line.role == "user",
        content_hash=hashed,
        source_hash=hash_embedding_input("message", "", line.content, hashed),
        words=Words(body=" ".join(tokenize(line.content))),
        message=place,
    )


# -- Documents


def project_document(
    path: str, source: DocumentSource, name: str, changed_at: datetime, sections: Sequence[Section]
) -> list[TextRow]:
    """Return the rows of a document's sections. Name: what the document is called in answers."""
    at = to_microseconds(changed_at)
    rows = []
    for number, section in enumerate(sections):
        hashed = hash_content(section.content)
        rows.append(
            TextRow(
                origin=EntryType.DOCUMENT.value,
                id=_section_id(path, section.anchor),
                project=source.project,
                session_id=None,
                created_at=at + number,  # so that the order of time is the order of sections
                updated_at=at,
                source=name,
                path=path,
                title=section.heading or name,
                content=section.content,
                trusted=source.trusted,
                content_hash=hashed,
                source_hash=hash_embedding_input(
                    "document", section.heading, section.content, hashed
                ),
                words=Words(
                    title=" ".join(tokenize(section.heading)) if section.heading else "",
                    body=" ".join(tokenize(section.content)),
                ),
            )
        )
    return rows


def _section_id(path: str, anchor: str) -> str:
    """The path, which no other sort of entry can have for its id."""
    plain = f"./{path}" if path.startswith("message:") or "." not in path else path
    return f"{plain}#{anchor}" if anchor else plain
