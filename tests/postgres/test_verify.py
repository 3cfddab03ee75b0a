"""`muisti verify` on PostgreSQL finds every row that is not what it is derived from."""

from __future__ import annotations

import psycopg
import pytest

from muisti import Muisti
from muisti.storage.postgres.index import PostgresIndex
from tests.postgres.server import make_location

DAMAGE = {
    "the file of a memory": "UPDATE memories SET file = '\\x2d2d2d0a69643a205b0a'",
    "the file of another memory": "UPDATE memories SET file = (SELECT max(file) FROM memories)",
    "a day": "UPDATE memories SET created_on = created_on - 1",
    "a column": "UPDATE entries SET title = 'other' WHERE origin = 'memory'",
    "a missing entry": "DELETE FROM entries WHERE origin = 'memory'",
    "a message": "UPDATE entries SET content = 'other' WHERE origin = 'message'",
    "a section": "UPDATE entries SET content = 'other' WHERE origin = 'document'",
    "a missing section": "DELETE FROM entries WHERE origin = 'document'",
    "the bytes of a note": "UPDATE files SET file = 'other' WHERE source IS NOT NULL",
    "the source of a document": "UPDATE files SET source = NULL",
    "the version of a document": "UPDATE files SET version = 'x' WHERE source IS NOT NULL",
    "the place of a message": "UPDATE messages SET role = 'system'",
    "words": "UPDATE words SET body = body || ' other'",
    "how often": "UPDATE postings SET times = times + 1",
    "a missing word": "DELETE FROM postings WHERE word = 'postgresql'",
    "a word that is nowhere": "INSERT INTO postings VALUES (tenant(), 'nowhere', 1, 1, 1)",
    "the number of texts": "UPDATE lexicon SET texts = texts + 1",
    "a part of a word": "DELETE FROM lexicon_parts WHERE word = 'postgresql'",
    "totals": "UPDATE totals SET length = length + 1",
    "labels": "DELETE FROM labels",
    "bands": "UPDATE bands SET band = band + 1",
    "links": "UPDATE links SET confidence = 0.5",
    "a link": "DELETE FROM links",
    "access counts": "UPDATE usage SET access_count = access_count + 1",
    "salience": "UPDATE usage SET salience = 0.123",
    "sessions": "UPDATE sessions SET summary = 'other'",
    "uses": "DELETE FROM uses",
    "events": "DELETE FROM events",
    "mentions": "DELETE FROM mentions",
    "a row of no text": "INSERT INTO labels VALUES (tenant(), 'keyword', 'x', 999999999)",
    "vectors": "DELETE FROM vectors_1",
    "a vector": "UPDATE vectors_1 SET codes = '\\x00'",
    "what is embedded": "DELETE FROM embedded",
}


@pytest.mark.exhaustive(keep=4)
@pytest.mark.parametrize("what", DAMAGE)
def test_L2_verify_finds(what: str) -> None:
    with Muisti.open(make_location(), embedder="hashing") as memory:
        first = memory.save("We chose PostgreSQL for its JSON support.", keywords=("sql",))
        second = memory.save("The deadline is March 15")
        memory.link(first.id, second.id)
        memory.touch(first.id)
        memory.append_message("telegram_1", "user", "hello there")
        memory.start_session("app", session_id="s")
        memory.reinforce(second.id, session_id="s")
        memory.end_session("s", "done")
        notes = memory.notebook("memories")
        with notes.lock():
            notes.create("dog.txt", b"The dog is called Musti")
        memory.index_path(notes.place)
        memory.reindex_missing()
        assert memory.verify(deep=True).problems == ()
        index = memory._services.index
        assert isinstance(index, PostgresIndex)
        with index._db.write_transaction() as db:
            space = next(iter(memory._services.vectors.spaces())).number
            sql = DAMAGE[what].replace("vectors_1", f"vectors_{space}")
            sql = sql.replace("tenant()", "current_setting('muisti.tenant')::integer")
            changed = db.execute(sql.encode())
            assert isinstance(changed, psycopg.Cursor)
            assert changed.rowcount
        report = memory.verify(deep=True)
        assert not report.ok
        assert all(problem.path and problem.reason for problem in report.problems)
        if "file" not in what and what not in ("a day", "events"):
            memory.reindex()
            memory.reindex_missing()
            assert memory.verify(deep=True).problems == ()
