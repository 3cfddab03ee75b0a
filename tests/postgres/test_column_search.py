"""On PostgreSQL too, a search in columns finds, scores and explains as a search in rows does."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from muisti import bootstrap
from muisti.model import Filter
from muisti.ports.columns import UnusableColumns
from muisti.storage.postgres.column_search import PostgresColumns
from muisti.storage.postgres.nearest import NearestVectors
from tests.contract.making import SHARED_SUITE
from tests.contract.test_column_search import (
    FILTERS,
    QUESTION,
    SAVED,
    SETTINGS,
    WORDS,
    change,
    search,
)
from tests.postgres.server import make_location
from tests.tiers import amount


@settings(
    suppress_health_check=SHARED_SUITE,
    deadline=None,
    max_examples=amount(5, all=40),
    phases=(Phase.generate,),
)
@given(data=st.data(), saved=st.lists(SAVED, min_size=1, max_size=30))
def test_results_from_columns_are_those_from_rows(
    data: st.DataObject, saved: list[dict[str, Any]]
) -> None:
    with bootstrap.open(make_location(), settings=SETTINGS) as memory:
        ids = [one.id for one in memory.save_batch(saved)]
        memory.reindex_missing()
        index = memory._services.index
        database: Any = index._db  # type: ignore[attr-defined]
        database.tables = None
        change(memory, data, ids)
        for _ in range(4):
            asked = (
                data.draw(QUESTION),
                data.draw(st.sampled_from(["keyword", "hybrid", "vector"])),
            )
            options = data.draw(FILTERS)
            by_columns = search(memory, *asked, options)
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(type(index), "open_columns", lambda _: None)
                by_rows = search(memory, *asked, options)
            assert by_columns == by_rows


def test_a_search_reads_few_rows_and_makes_few_statements(monkeypatch: pytest.MonkeyPatch) -> None:
    with bootstrap.open(make_location(), settings=SETTINGS) as memory:
        texts = [f"{WORDS[n % 10]} number {n}" + " more" * n for n in range(60)]
        memory.save_batch(
            [{"content": text, "session_id": f"s{n // 9}"} for n, text in enumerate(texts)]
        )
        memory.reindex_missing()
        read: list[int] = []
        original = PostgresColumns.read

        def count(self: PostgresColumns, keys: Any, where: Filter) -> Any:
            read.append(len(keys))
            return original(self, keys, where)

        monkeypatch.setattr(PostgresColumns, "read", count)
        database: Any = memory._services.index._db  # type: ignore[attr-defined]
        database.tables = None
        memory.search("apple number 30")
        made: Counter[str] = Counter()
        begin = database._begin

        def watch(*args: Any) -> Any:
            connection = begin(*args)
            made["transactions"] += 1
            connection.cursor_factory = counting_cursor(connection.cursor_factory, made)
            return connection

        monkeypatch.setattr(database, "_begin", watch)
        read.clear()
        assert len(memory.search("apple number 31")) == 10
        assert 0 < sum(read) < 30
        assert made["transactions"] <= 3
        assert made["statements"] <= 20


def counting_cursor(base: Any, made: Counter[str]) -> Any:
    """Return a class of cursors that counts what they execute."""

    class Counting(base):  # type: ignore[misc]
        def execute(self, *args: Any, **kwargs: Any) -> Any:
            made["statements"] += 1
            return super().execute(*args, **kwargs)

    return Counting


def test_rows_that_the_filter_rejects_are_not_read() -> None:
    with bootstrap.open(make_location(), settings=SETTINGS) as memory:
        saved = memory.save("apple of Ben", user="ben")
        index = memory._services.index
        database: Any = index._db  # type: ignore[attr-defined]
        database.tables = None
        with index.snapshot():
            columns = index.open_columns()
            assert isinstance(columns, PostgresColumns)
            keys = columns.find_keys([saved.id])
            assert len(columns.read(keys, Filter(all_sessions=True))) == 1
            with pytest.raises(UnusableColumns, match="rejects"):
                columns.read(keys, Filter(user="anna", all_sessions=True))


def test_two_filters_read_the_nearest_vectors_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A query that names a time is answered with and without a filter for it."""
    with bootstrap.open(make_location(), settings=SETTINGS) as memory:
        for n in range(8):
            memory.save(f"{WORDS[n]} number {n}", user="ben" if n % 2 else None)
        memory.reindex_missing()
        index: Any = memory._services.index
        index._db.tables = None
        space = memory._services.vectors.spaces()[0]
        query = np.ones(space.identity.dimensions, np.float32)
        query /= np.linalg.norm(query)
        read: list[str] = []
        original = NearestVectors.make_query

        def make_query(self: NearestVectors, condition: str, take: int) -> str:
            read.append(condition)
            return original(self, condition, take)

        monkeypatch.setattr(NearestVectors, "make_query", make_query)
        with index.snapshot():
            columns = index.open_columns()
            assert isinstance(columns, PostgresColumns)
            found = [
                columns.find_nearest(space, query, Filter(user=user, all_sessions=True), 5)
                for user in ("ben", "anna")
            ]
        assert [len(hits) for hits in found] == [5, 4]
        assert read == ["true"]
