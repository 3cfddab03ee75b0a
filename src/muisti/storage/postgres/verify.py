"""Compare the derived tables with what they are derived from. Changes nothing."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from muisti.ports.rows import JournalChanges, MemoryRow, TextRow, Words
from muisti.recall.bm25 import count_length, count_occurrences
from muisti.storage.postgres.connect import Connection, fetch
from muisti.storage.postgres.rows import round_share
from muisti.storage.postgres.word_rows import split_parts
from muisti.storage.row_values import encode_link, to_int

PAGE = 500
SAME = 1e-9
"""How much a salience may differ that was computed in other steps."""


def find_word_differences(db: Connection) -> Iterator[str]:
    """Yield the parts in which what bm25 reads differs from the words of the texts."""
    expected = 0
    n = 0
    sql = f"""SELECT n, length, title, labels, body FROM words
              WHERE n > %s ORDER BY n LIMIT {PAGE}"""
    is_same = True
    while is_same and (rows := fetch(db, sql, (n,))):
        postings: list[tuple[str, int, float, int]] = []
        for number, length, *cells in rows:
            words = Words(*cells)
            is_same = is_same and length == count_length(words)
            postings += [
                (word, number, times, length) for word, times in count_occurrences(words).items()
            ]
        is_same = is_same and _count_found(db, _POSTINGS, postings) == len(postings)
        expected += len(postings)
        n = rows[-1][0]
    if not is_same or fetch(db, "SELECT count(*) FROM postings") != [(expected,)]:
        yield "postings"
    expected = 0
    word = ""
    sql = f"SELECT word FROM lexicon WHERE word > %s ORDER BY word LIMIT {PAGE}"
    is_same = True
    while is_same and (rows := fetch(db, sql, (word,))):
        parts = [(part, word) for (word,) in rows for part in set(split_parts(word))]
        is_same = _count_found(db, _PARTS, parts) == len(parts)
        expected += len(parts)
        word = rows[-1][0]
    if not is_same or fetch(db, "SELECT count(*) FROM lexicon_parts") != [(expected,)]:
        yield "parts of words"
    yield from (name for name, sql in _CHECKS.items() if fetch(db, sql))


_POSTINGS = """SELECT count(*) FROM postings p
JOIN unnest(%s::text[], %s::bigint[], %s::real[], %s::integer[]) e (word, n, times, length)
ON p.word = e.word AND p.n = e.n AND p.times = e.times AND p.length = e.length"""
_PARTS = """SELECT count(*) FROM lexicon_parts p
JOIN unnest(%s::text[], %s::text[]) e (part, word) ON p.part = e.part AND p.word = e.word"""
_CHECKS = {
    "lexicon": """SELECT 1 FROM lexicon l FULL JOIN (SELECT word, count(*) AS texts FROM postings
        GROUP BY word) p USING (word) WHERE l.texts IS DISTINCT FROM p.texts LIMIT 1""",
    "totals": """SELECT 1 FROM (SELECT count(*) AS texts, coalesce(sum(length), 0) AS length
        FROM words) w LEFT JOIN totals t ON true
        WHERE coalesce(t.texts, 0) <> w.texts OR coalesce(t.length, 0) <> w.length""",
    "rows of texts that are gone": " UNION ALL ".join(
        f"(SELECT 1 FROM {table} t WHERE NOT EXISTS "
        "(SELECT 1 FROM entries m WHERE m.n = t.n) LIMIT 1)"
        for table in ("words", "messages", "labels", "bands", "embedded", "unembedded")
    ),
    "mentions": """SELECT 1 FROM mentions t
        WHERE NOT EXISTS (SELECT 1 FROM events e WHERE e.n = t.n) UNION ALL
        SELECT 1 FROM (SELECT n, unnest(memory_ids) AS id FROM events) e WHERE NOT EXISTS
        (SELECT 1 FROM mentions t WHERE t.n = e.n AND t.memory_id = e.id) LIMIT 1""",
}
"""Queries that return a row if a part is wrong."""


def _count_found(db: Connection, sql: str, rows: Sequence[tuple[Any, ...]]) -> int:
    """Return how many of the rows a table has."""
    if not rows:
        return 0
    return int(fetch(db, sql, [list(column) for column in zip(*rows, strict=True)])[0][0])


def find_row_differences(
    db: Connection, memories: Collection[MemoryRow], texts: Collection[TextRow]
) -> Iterator[str]:
    """Yield the parts in which the rows beside the texts differ from these."""
    pairs = {(row.memory.id, field, value) for row in memories for field, value in row.labels}
    if pairs != set(fetch(db, "SELECT m.id, field, value FROM labels JOIN entries m USING (n)")):
        yield "labels"
    bands = {(row.memory.id, band, row.memory.simhash) for row in memories for band in row.bands}
    sql = "SELECT m.id, b.band, b.simhash FROM bands b JOIN entries m USING (n)"
    if bands != set(fetch(db, sql)):
        yield "bands"
    links: dict[tuple[str, ...], tuple[Any, ...]] = {}
    for row in memories:
        for link in row.memory.links:
            *ends, created, since, until = encode_link(link)
            begins = created if since is None else since
            links.setdefault(tuple(ends[:3]), (*ends[3:], link.proposed, created, begins, until))
    if links != {row[:3]: row[3:] for row in fetch(db, _LINKS)}:
        yield "links"
    places = {(row.id, *row.message) for row in texts if row.message is not None}
    if places != set(fetch(db, _MESSAGES)):
        yield "places of messages"


_LINKS = """SELECT source, type, target, confidence, extracted_by, proposed, created_at, valid_from,
valid_until FROM links"""
_MESSAGES = """SELECT e.id, m.chat, m.place, m.message_id, m.at, m.role, m.type, m.meta
FROM messages m JOIN entries e USING (n)"""


def find_journal_differences(db: Connection, journal: JournalChanges) -> Iterator[str]:
    """Yield the parts in which what is known of use and sessions differs from the events."""
    usage = {
        id_: (
            round_share(used.salience),
            used.idle_days,
            *map(to_int, (used.touched_at, used.last_accessed, used.edited_at)),
            *map(to_int, (used.first_used, used.saved_at)),
            used.access_count,
        )
        for id_, used in journal.usage.items()
    }
    stored = {id_: tuple(row) for id_, *row in fetch(db, _USAGE)}
    is_same = usage.keys() == stored.keys() and all(
        row[2:] == stored[id_][2:]
        and all(_is_near(a, b) for a, b in zip(row[:2], stored[id_][:2], strict=True))
        for id_, row in usage.items()
    )
    if not is_same:
        yield "usage"
    sessions = {
        (
            one.id, one.project, one.user, one.status, to_int(one.started_at),
            to_int(one.ended_at), one.summary, one.tool_calls, to_int(one.last_used),
        )
        for one in journal.sessions
    }  # fmt: skip
    if sessions != set(fetch(db, _SESSIONS)):
        yield "sessions"
    uses = [(one.session_id, one.memory_id, one.use.value, to_int(one.at)) for one in journal.uses]
    if sorted(uses) != sorted(fetch(db, "SELECT session_id, memory_id, what, at FROM uses")):
        yield "uses"
    assigned = {(chat, *scope) for chat, scope in journal.assignments.items()}
    if assigned != set(fetch(db, 'SELECT chat, project, "user" FROM assignments')):
        yield "assignments"


_USAGE = """SELECT id, salience, idle_days, touched_at, last_accessed, edited_at, first_used,
saved_at, access_count FROM usage"""
_SESSIONS = """SELECT id, project, "user", status, started_at, ended_at, summary, tool_calls,
last_used FROM sessions"""


def _is_near(one: float | None, other: float | None) -> bool:
    return one == other or (one is not None and other is not None and abs(one - other) < SAME)
