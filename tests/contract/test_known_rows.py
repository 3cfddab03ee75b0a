"""The rows that are kept to find duplicates are those of the index, whatever changed since."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from muisti.storage.sqlite import duplicates
from muisti.storage.sqlite.connect import Database
from muisti.storage.sqlite.duplicates import KnownRows
from muisti.storage.sqlite.index import SqliteIndex
from tests.contract.making import add, filed, remove

WORDS = "apple pear plum cherry fig grape lemon melon peach quince".split()


@pytest.mark.parametrize(
    "scanned", [pytest.param(0, id="row by row"), pytest.param(1000, id="all simhashes at once")]
)
def test_every_change_is_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scanned: int
) -> None:
    monkeypatch.setattr(duplicates, "_SCANNED", scanned)
    monkeypatch.setattr(duplicates, "_MOST_ROWS", 12)
    index = SqliteIndex(Database(tmp_path, 5), 5)
    index.open()
    chance = Random(7)
    rows = KnownRows()
    for step in range(60):
        number = chance.randrange(1, 25)
        if step % 5 == 4:
            remove(index, number)
        else:
            text = " ".join(chance.choices(WORDS, k=6)) if step % 7 else "…"
            add(index, filed(number, text, title=f"T{step}"))
        if step % 20 == 15:
            index._db.snapshots.build()
        if step % 3 == 0:
            continue
        with index._db.read_transaction() as db:
            stored = list(db.execute("SELECT n, id, simhash FROM memories ORDER BY n"))
            wanted = range(1, max([n for n, _, _ in stored], default=0) + 3)
            own = int(stored[0][2], 16)
            found = rows.find_near(db, index._db.path, [wanted, wanted], [own, own], [20, 64])
        near = [id_ for _, id_, simhash in stored if (int(simhash, 16) ^ own).bit_count() <= 20]
        assert [row.id for row in found[0]] == near
        assert [row.id for row in found[1]] == [id_ for _, id_, _ in stored]
    index.close()
