"""Texts that are found like memories, but are none: messages, and sections of documents. What both share of being written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import apsw

from muisti.model import Tier
from muisti.remember.complete import content_hash
from muisti.remember.embed import embed_hash
from muisti.storage.sqlite.rows import Cell, fetch
from muisti.storage.sqlite.vector_spaces import as_json, await_all, forget_vectors
from muisti.text.tokens import tokenize


class Text(NamedTuple):
    """A row to be. A tuple: there are many."""

    id: str
    project: str
    session_id: str | None
    created_at: int
    updated_at: int
    source: str
    path: str
    title: str
    """As people see it."""
    content: str
    trusted: bool
    own_title: str = ""
    """As much of the title as belongs to the text: it is searched and embedded with it."""


Counts = Counter[str] | None
"""In how many texts more, or fewer, each word stands. None: nobody counts now, for it is done for all texts at the end."""
Known = dict[str, tuple[int, str]]
"""By id: the number and the source hash of a text whose file is read anew, so that its vectors stay its own."""

_INSERT = """
INSERT INTO entries (n, origin, kind, sector, id, project, tier, session_id, created_at, updated_at, source, path, title,
    content_hash, content, source_hash, trusted)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_SECTORS = {"message": "episodic", "document": "semantic"}


def put(db: apsw.Connection, origin: str, texts: Sequence[Text], earlier: Known, counts: Counts) -> list[int]:
    """Write rows; answers their numbers. Those that were there before keep theirs, and their vectors if they say the same."""
    (last,) = db.execute("SELECT coalesce(max(n), 0) FROM entries").fetchone() or (0,)
    next_n = max([last, *(n for n, _ in earlier.values())]) + 1
    sector = _SECTORS[origin]
    rows: list[tuple[Cell, ...]] = []
    spoken: list[tuple[Cell, ...]] = []
    numbers: list[int] = []
    new: list[int] = []
    for text in texts:
        content = text.content
        hashed = content_hash(content)
        source = embed_hash(origin, text.own_title, content, hashed)
        n, hash_ = earlier.pop(text.id, (0, "")) if earlier else (0, "")
        if not n:
            n, next_n = next_n, next_n + 1
        numbers.append(n)
        tier = Tier.PROJECT.value if text.project else Tier.GLOBAL.value
        rows.append(
            (n, origin, origin, sector, text.id, text.project, tier, text.session_id, text.created_at, text.updated_at,
             text.source, text.path, text.title, hashed, content, source, text.trusted)
        )  # fmt: skip
        body = tokenize(content)
        title = tokenize(text.own_title) if text.own_title else []
        if body or title:
            spoken.append((n, " ".join(title), "", " ".join(body)))
            if counts is not None:
                counts.update({*title, *body})
        if hash_ != source and content:
            new.append(n)
    db.executemany(_INSERT, rows)
    db.executemany("INSERT INTO words VALUES (?, ?, ?, ?)", spoken)
    forget_vectors(db, [n for n, _ in earlier.values()])
    await_all(db, new)
    return numbers


def take_out(db: apsw.Connection, condition: str, values: Sequence[Cell], counts: Counts, *, keep: bool = False) -> Known:
    """Remove rows of `entries e`. Keep: their vectors stay for now, and what the rows were is answered."""
    rows = fetch(db, f"SELECT e.n, e.id, e.source_hash FROM {condition}", values)
    numbers = as_json([n for n, _, _ in rows])
    if counts is not None:
        for title, body in fetch(db, "SELECT title, body FROM words WHERE n IN (SELECT value FROM json_each(?))", (numbers,)):
            counts.subtract({*title.split(), *body.split()})
    for table in ("words", "messages", "entries"):
        db.execute(f"DELETE FROM {table} WHERE n IN (SELECT value FROM json_each(?))", (numbers,))
    if keep:
        return {id_: (n, hash_) for n, id_, hash_ in rows}
    forget_vectors(db, [n for n, _, _ in rows])
    return {}
