"""Lines of conversations and of the journal that are pushed, byte for byte."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from muisti.errors import Conflict
from muisti.lifecycle.journal_projection import project_events
from muisti.ports.moving import Line, ListedFile, Part, VaultLayout
from muisti.ports.rows import IndexChanges
from muisti.settings import Settings
from muisti.storage.postgres import conversations, journal
from muisti.storage.postgres.connect import Connection, fetch
from muisti.storage.postgres.index import PostgresIndex

PAGE = 500
_TRASH = ".trash/"
_JOURNAL = "journal/"
_LINES = """SELECT * FROM (
    (SELECT place, raw, false AS other, {columns} FROM {table} AND {where}
     ORDER BY place LIMIT {limit})
    UNION ALL
    (SELECT place, raw, true, {nulls} FROM other_lines WHERE path = %(file)s AND {where}
     ORDER BY place LIMIT {limit})) l ORDER BY place, other LIMIT {limit}"""
_MESSAGES = {
    "columns": conversations.COLUMNS.removeprefix("place, "),
    "table": "lines WHERE path = %(path)s AND trashed = %(trashed)s",
}
_EVENTS = {"columns": journal.COLUMNS, "table": "events WHERE path = %(file)s"}
_BETWEEN = "place BETWEEN %(first)s AND %(last)s"
_CHANGED = (
    "{} was rewritten since the push began, so the store has other lines of it; "
    "push into an empty database"
)


class PushedLines:
    """Writes and reads files of lines, within a transaction."""

    def __init__(self, index: PostgresIndex, settings: Settings, layout: VaultLayout) -> None:
        self._index = index
        self._settings = settings
        self._layout = layout

    def write(self, db: Connection, file: ListedFile, lines: Sequence[Line]) -> int:
        """Append lines, and return how many were not there yet. Raises Conflict."""
        places = {"first": lines[0][0], "last": lines[-1][0]}
        rows = self._fetch(db, file.part, file.path, _BETWEEN, places)
        known = {row[0]: self._format(file.part, file.path, row) for row in rows}
        latest = max(known, default=-1)
        fresh = [line for line in lines if line[0] > latest]
        if known != dict(lines[: len(lines) - len(fresh)]):
            raise Conflict(_CHANGED.format(file.path))
        if fresh and file.part is Part.MESSAGES:
            self._write_messages(db, file.path, fresh)
        elif fresh:
            self._write_events(db, file.path, fresh)
        return len(fresh)

    def _write_messages(self, db: Connection, file: str, lines: Sequence[Line]) -> None:
        path = file.removeprefix(_TRASH)
        conversation = path.split("/")[1]
        messages = []
        raw = {}
        for (place, line), message in zip(
            lines, self._layout.parse_messages(file, lines), strict=True
        ):
            if message is None or "\0" in f"{message.id}{message.role}{message.type}":
                _write_other(db, file, place, line)
                continue
            messages.append(message)
            if self._layout.format_message(conversation, message) != line:
                raw[place] = line
        if not messages:
            return
        if file.startswith(_TRASH):
            conversations.insert_lines(db, conversation, path, messages, trashed=True, raw=raw)
            return
        texts = conversations.add_lines(db, conversation, path, messages, raw)
        self._index.apply(IndexChanges(texts=texts))

    def _write_events(self, db: Connection, path: str, lines: Sequence[Line]) -> None:
        events = []
        sources = []
        for place, line in lines:
            event = self._layout.parse_event(line)
            if event is None or "\0" in f"{event.name}{event.session_id}{event.memory_ids}":
                _write_other(db, path, place, line)
                continue
            events.append(event)
            is_same = self._layout.format_event(event) == line
            sources.append(journal.Source(path, place, None if is_same else line))
        if events:
            journal.append_events(db, events, sources)
            grace = self._settings.salience_decay_days
            folded = project_events(events, self._index, grace_days=grace)
            self._index.apply(IndexChanges(journal=folded))

    def check_end(self, db: Connection, file: ListedFile, end: int) -> None:
        """Raise Conflict if there are lines beyond the end of a file."""
        if self._fetch(db, file.part, file.path, "place >= %(end)s", {"end": end}):
            raise Conflict(_CHANGED.format(file.path))

    def remove_missing(self, db: Connection, exists: Callable[[str], bool]) -> int:
        """Delete the lines of conversations whose files are gone, and return of how many.

        Raises Conflict if a file of the journal is gone: too much is derived from its events.
        """
        gone = [(part, path) for part, path in self.list_paths(db) if not exists(path)]
        for part, file in gone:
            if part is Part.EVENTS:
                raise Conflict(_CHANGED.format(file))
            path = file.removeprefix(_TRASH)
            trashed = file.startswith(_TRASH)
            db.execute("DELETE FROM other_lines WHERE path = %s", (file,))
            db.execute("DELETE FROM lines WHERE path = %s AND trashed = %s", (path, trashed))
            if not trashed:
                self._index.apply(IndexChanges(emptied=[("message", path)]))
        return len(gone)

    def _fetch(
        self, db: Connection, part: Part, path: str, where: str, values: Mapping[str, object]
    ) -> list[tuple[Any, ...]]:
        """Return the next rows of a file, at most two more than a page."""
        query = _MESSAGES if part is Part.MESSAGES else _EVENTS
        nulls = ", ".join(["NULL"] * len(query["columns"].split(",")))
        sql = _LINES.format(**query, nulls=nulls, where=where, limit=PAGE + 2)
        named = {
            "file": path,
            "path": path.removeprefix(_TRASH),
            "trashed": path.startswith(_TRASH),
            **values,
        }
        return db.execute(sql.encode(), named).fetchall()

    def _format(self, part: Part, path: str, row: Sequence[Any]) -> bytes:
        """Return the line of a row."""
        place, raw, _, *fields = row
        if raw is not None:
            return bytes(raw)
        if part is Part.EVENTS:
            return self._layout.format_event(journal.decode_event(fields))
        conversation = path.removeprefix(_TRASH).split("/")[1]
        return self._layout.format_message(
            conversation, conversations.decode_line((place, *fields))
        )

    # -- Reading

    def list_paths(self, db: Connection) -> list[tuple[Part, str]]:
        """Return the files of lines, conversations first; of the journal, those pushed."""
        rows = fetch(
            db,
            """SELECT CASE WHEN trashed THEN '.trash/' ELSE '' END || path FROM lines
               UNION SELECT path FROM events WHERE path IS NOT NULL
               UNION SELECT path FROM other_lines""",
        )
        paths = sorted(path for (path,) in rows)
        found = [(Part.MESSAGES, path) for path in paths if not path.startswith(_JOURNAL)]
        return found + [(Part.EVENTS, path) for path in paths if path.startswith(_JOURNAL)]

    def read_files(self, db: Connection) -> Iterator[tuple[str, Iterator[bytes]]]:
        """Yield the path and the lines of each file."""
        paths = self.list_paths(db)
        months = [path for part, path in paths if part is Part.EVENTS]
        for part, path in paths:
            if path != max(months, default=""):
                yield path, self._read_file(db, part, path)
        # Events of the store itself follow in the latest file, as in a vault of files.
        for path, group in groupby(self._read_latest(db, months), key=lambda one: one[0]):
            yield path, (line for _, line in group)

    def _read_latest(self, db: Connection, months: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        """Yield the lines of the latest month that was pushed, and those of the store's own events.

        Each with its path.
        """
        latest = max(months, default="")
        if latest:
            for line in self._read_file(db, Part.EVENTS, latest):
                yield latest, line
        n = -1
        sql = f"""SELECT n, {journal.COLUMNS} FROM events
                  WHERE path IS NULL AND n > %s ORDER BY n LIMIT {PAGE}"""
        while rows := fetch(db, sql, (n,)):
            for row in rows:
                event = journal.decode_event(row[1:])
                latest = max(latest, f"{_JOURNAL}{event.at:%Y-%m}.jsonl")
                yield latest, self._layout.format_event(event)
            n = rows[-1][0]

    def _read_file(self, db: Connection, part: Part, path: str) -> Iterator[bytes]:
        after = (-1, True)
        while True:
            rows = self._fetch(db, part, path, "place >= %(after)s", {"after": after[0]})
            # A line that was added later may have the place of another one.
            fresh = [row for row in rows if (row[0], row[2]) > after]
            for row in fresh:
                yield self._format(part, path, row)
            if len(rows) < PAGE:
                return
            after = fresh[-1][0], fresh[-1][2]


def _write_other(db: Connection, path: str, place: int, line: bytes) -> None:
    db.execute(
        "INSERT INTO other_lines (path, place, raw) VALUES (%s, %s, %s)", (path, place, line)
    )
