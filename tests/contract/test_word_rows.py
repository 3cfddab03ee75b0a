"""The rows of words are those that the word index has, whatever changed since the snapshot."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import numpy as np
import pytest

from muisti.storage.sqlite import word_rows
from muisti.storage.sqlite.connect import Database
from muisti.storage.sqlite.index import SqliteIndex
from muisti.storage.sqlite.word_rows import WordRows
from tests.contract.making import add, filed, remove

WORDS = "apple pear plum cherry fig grape lemon melon peach quince".split()
TOKENS = "appl pear plum cherri fig grape lemon melon peach quinc none".split()


@pytest.fixture
def index(tmp_path: Path) -> Iterator[SqliteIndex]:
    index = SqliteIndex(Database(tmp_path, 5), 5)
    index.open()
    yield index
    index.close()


def check(index: SqliteIndex, rows: WordRows) -> bool:
    """Compare with the index. Return whether the rows could be used."""
    with index._db.read_transaction() as db:
        expected = dict(db.execute("SELECT word, memories FROM lexicon"))
        counts = rows.count(db, TOKENS, 1)
        searches = [[token] for token in TOKENS] + [TOKENS[:3], []]
        found = rows.find(db, searches)
        assert (counts is None) == (found is None)
        if counts is None or found is None:
            return False
        assert counts == {word: expected[word] for word in TOKENS if word in expected}
        sql = "SELECT rowid FROM word_index WHERE word_index MATCH ?"
        for words, numbers in zip(searches, found, strict=True):
            match = " OR ".join(f'"{word}"' for word in words)
            assert numbers == [n for (n,) in (db.execute(sql, (match,)) if words else [])]
    return True


def test_every_change_is_followed(index: SqliteIndex) -> None:
    chance = Random(4)
    rows = WordRows(index._db)
    for step in range(60):
        number = chance.randrange(1, 25)
        if step % 5 == 4:
            remove(index, number)
        else:
            add(index, filed(number, " ".join(chance.choices(WORDS, k=6)), title=f"T{step}"))
        if step % 20 == 15:
            index._db.snapshots.build()
        if step % 3:
            assert check(index, rows)
        if step % 25 == 24:
            assert check(index, WordRows(index._db))
    index.purge()
    rows.clear()
    assert check(index, rows)


def test_too_many_rows_are_left_to_the_index(
    index: SqliteIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(word_rows, "MOST_ROWS", 4)
    rows = WordRows(index._db)
    for number in range(1, 5):
        add(index, filed(number, "apple"))
        assert check(index, rows)
    add(index, filed(9, "apple pear"))
    assert not check(index, rows)
    index._db.snapshots.build()
    assert check(index, rows)
    assert index.count_texts(["appl", "none"], 1) == {"appl": 5}


def test_a_snapshot_is_built_once_many_memories_lack_it(
    index: SqliteIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(word_rows, "MOST_ROWS", 1)
    monkeypatch.setattr(word_rows, "DUE", 3)
    index._db.snapshots._background = True
    rows = WordRows(index._db)
    add(index, filed(1, "apple"), filed(2, "pear"))
    with index._db.read_transaction() as db:
        for _ in range(3):
            assert rows.count(db, TOKENS, 1) is None
        assert index._db.snapshots._builder is None
        assert rows.find(db, [["appl"]]) is None
    index._db.snapshots.wait()
    assert check(index, rows)


def test_a_damaged_snapshot_is_not_used(index: SqliteIndex) -> None:
    add(index, *(filed(number, "apple pear") for number in range(1, 5)))
    index._db.snapshots.build()
    rows = WordRows(index._db)
    assert check(index, rows)
    rows._columns = {**rows._columns, "posting_text": np.full(8, 99, np.uint32)}
    with index._db.read_transaction() as db:
        assert rows.find(db, [["appl"]]) is None  # its places are not in the snapshot
    assert not check(index, rows)
    assert index.count_texts(["appl"], 1) == {"appl": 4}
