"""Conversations in the index: their lines as entries that can be searched, and as messages in their order."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import apsw

from muisti.errors import IndexCorrupt
from muisti.model import SESSION_BREAK, Chat, Message
from muisti.storage.sqlite.entries import Counts, Known, Text, put, take_out
from muisti.storage.sqlite.rows import fetch, to_int, to_time
from muisti.storage.sqlite.vector_spaces import as_json

if TYPE_CHECKING:
    from muisti.ports import Line, TalkReading
    from muisti.storage.sqlite.connect import Database

# -- Writing


def take_in_talk(db: apsw.Connection, readings: Iterable[TalkReading], gone: Iterable[str], counts: Counts) -> None:
    """Add the new lines of files; forget those of files that are gone."""
    for path in gone:
        take_out(db, _OF_FILE, _file(path), counts)
        db.execute("DELETE FROM talk WHERE file = ?", (path,))
        db.execute("DELETE FROM problems WHERE path = ?", (path,))
    for reading in readings:
        known = take_out(db, _OF_FILE, _file(reading.path), counts, keep=True) if reading.restarted else {}
        _insert(db, reading, known, counts)
        # What was skipped earlier is still there to be mended; all else is told anew.
        kept = "" if reading.restarted else " AND reason NOT LIKE 'skipped %'"
        db.execute(f"DELETE FROM problems WHERE path = ?{kept}", (reading.path,))
        db.executemany("INSERT INTO problems VALUES (?, ?)", [(problem.path, problem.reason) for problem in reading.problems])
        stamp, mark = reading.file.stamp, reading.file.mark
        cells = (reading.path, stamp.size, stamp.mtime_ns, stamp.inode, reading.file.seen_ns, mark.offset, mark.tail_sha)
        db.execute("INSERT OR REPLACE INTO talk VALUES (?, ?, ?, ?, ?, ?, ?)", cells)


_LONG_AGO = -(2**62)
_OF_FILE = "messages m JOIN entries e USING (n) WHERE m.chat = ? AND m.file = ?"


def _file(path: str) -> tuple[str, str]:
    return path.split("/")[1], path


def _insert(db: apsw.Connection, reading: TalkReading, earlier: Known, counts: Counts) -> None:
    chat, path = reading.chat, reading.path
    latest = _latest_in(db, chat, path)
    texts: list[Text] = []
    lines: list[Line] = []
    ids = _entry_ids(db, path, reading.lines, continued=not reading.restarted)
    for line, id_ in zip(reading.lines, ids, strict=True):
        if id_ is None:
            continue
        at = to_int(line.at) or 0
        latest = max(at, latest + 1)  # so that the order of time is the order of lines
        project = line.meta.get("project")
        project = project if isinstance(project, str) else ""
        title = f"{line.role} in {chat}"
        neighbour = chat if line.content else None  # a break between two talks is nobody's neighbour
        texts.append(Text(id_, project, neighbour, latest, at, "conversation", path, title, line.content, line.role == "user"))
        lines.append(line)
    numbers = put(db, "message", texts, earlier, counts)
    db.executemany(
        "INSERT INTO messages VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (n, chat, path, line.place, line.id, text.updated_at, line.role, line.type, _meta(line))
            for n, line, text in zip(numbers, lines, texts, strict=True)
        ],
    )


def _meta(line: Line) -> str:
    return json.dumps(line.meta, ensure_ascii=False) if line.meta else ""


def _entry_ids(db: apsw.Connection, path: str, lines: Sequence[Line], *, continued: bool) -> list[str | None]:
    """The ids that searches answer: of chat, day and message, so that they do not depend on what other files hold.

    A line that repeats another of the file gets None; another message of the same id gets an id with its place.
    """
    before = f"message:{path.removeprefix('conversations/').removesuffix('.jsonl')}/"
    wanted = [before + line.id for line in lines]
    taken: dict[str, tuple[str, str]] = {}
    if continued:
        sql = "SELECT e.id, m.role, e.content FROM json_each(?) j JOIN entries e ON e.id = j.value JOIN messages m USING (n)"
        taken = {id_: (role, content) for id_, role, content in fetch(db, sql, (as_json(wanted),))}
    ids: list[str | None] = []
    for line, id_ in zip(lines, wanted, strict=True):
        said = (line.role, line.content)
        known = taken.setdefault(id_, said)
        if known is said and "~" not in line.id:
            ids.append(id_)
        else:
            ids.append(None if known is not said and known == said else f"{id_}~{line.place}")
    return ids


def _latest_in(db: apsw.Connection, chat: str, path: str) -> int:
    row = db.execute(f"SELECT e.created_at FROM {_OF_FILE} ORDER BY m.place DESC LIMIT 1", (chat, path)).fetchone()
    return int(row[0]) if row else _LONG_AGO


# -- Reading


class SqliteMessages:
    """Answers from the index."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def window(self, chat: str, limit: int, *, whole: bool = False) -> list[Message]:
        """The latest since the last session break, or of all."""
        with self._db.reading() as db:
            rows = fetch(db, _WHOLE if whole else _WINDOW, (chat, limit))
        return [_message_of(row) for row in reversed(rows)]

    def chats(self) -> list[Chat]:
        """All conversations, the latest first."""
        with self._db.reading() as db:
            rows = fetch(db, _CHATS)
        return [Chat(name, count, to_time(first), to_time(last), present) for name, count, first, last, present in rows]

    def by_ids(self, ids: Sequence[str]) -> dict[str, Message]:
        """Messages by the ids that searches answer."""
        with self._db.reading() as db:
            rows = fetch(
                db,
                f"SELECT {_MESSAGE}, e.id FROM json_each(?) j JOIN entries e ON e.id = j.value JOIN messages m USING (n)",
                (as_json(ids),),
            )
        return {row[-1]: _message_of(row) for row in rows}

    def known(self, chat: str, message_ids: Sequence[str]) -> dict[str, Message]:
        """Those of these that were said in a chat."""
        sql = f"""SELECT {_MESSAGE} FROM json_each(?) j JOIN messages m ON m.message_id = j.value AND m.chat = ?
                  JOIN entries e USING (n) ORDER BY m.file DESC, m.place DESC"""
        with self._db.reading() as db:
            found = [_message_of(row) for row in fetch(db, sql, (as_json(message_ids), chat))]
        return {message.id: message for message in found}


_MESSAGE = "m.message_id, m.chat, m.role, e.content, m.at, m.type, m.meta"
_BREAK = "FROM messages b WHERE b.chat = {0} AND b.type = 'session_break' ORDER BY b.file DESC, b.place DESC LIMIT 1"
_SINCE = f"(m.file, m.place) > (coalesce((SELECT b.file {_BREAK}), ''), coalesce((SELECT b.place {_BREAK}), -1))"
# What a program that syncs folders left: the same message in a copy of its file.
_COPY = """EXISTS (SELECT 1 FROM messages o JOIN entries p USING (n) WHERE o.message_id = m.message_id AND o.chat = m.chat
    AND o.file < m.file AND o.at = m.at AND o.role = m.role AND p.content = e.content)"""
_LATEST = f"""
SELECT {_MESSAGE} FROM messages m JOIN entries e USING (n) WHERE m.chat = ?1 AND {{since}} AND NOT {_COPY}
ORDER BY m.file DESC, m.place DESC LIMIT ?2
"""
_WINDOW, _WHOLE = _LATEST.format(since=_SINCE.format("?1")), _LATEST.format(since="1")
_CHATS = f"""
SELECT c.chat, c.count, c.first, c.last, (SELECT count(*) FROM messages m WHERE m.chat = c.chat AND {_SINCE.format("c.chat")})
FROM (SELECT chat, sum(type IS NOT '{SESSION_BREAK}') AS count, min(at) AS first, max(at) AS last FROM messages GROUP BY chat) c
ORDER BY c.last DESC, c.chat
"""


def _message_of(row: Sequence[Any]) -> Message:
    id_, chat, role, content, at, type_, meta, *_ = row
    try:
        known = json.loads(meta) if meta else {}
    except ValueError as error:
        raise IndexCorrupt(f"the index has a message that makes no sense ({error}); `muisti reindex` rebuilds it") from error
    return Message(id=id_, chat=chat, role=role, content=content, at=to_time(at), type=type_, meta=known)
