"""A search in columns finds, scores and explains as a search in rows does."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from muisti import Muisti, bootstrap
from muisti.errors import InvalidRequest, MemoryNotFound
from muisti.model import Filter
from muisti.ports import Term
from muisti.ports.columns import UnusableColumns
from muisti.side_thread import SideThread
from muisti.storage.snapshot import nearest
from muisti.storage.snapshot.search import SnapshotSearch
from muisti.storage.sqlite.snapshot import keeper
from tests.contract.making import SHARED_SUITE
from tests.tiers import amount

WORDS = "apple pear plum cherry fig grape lemon melon peach quince".split()
START = datetime(2026, 1, 1, tzinfo=UTC)
ASKED = START + timedelta(days=100)
SETTINGS = {"embedder": "hashing", "record_recall": False, "merge_duplicates": False}
TEXT = st.lists(st.sampled_from([*WORDS, "Anna:", "Ben:", "last", "May"]), min_size=1, max_size=40)


def name_session(fields: dict[str, Any]) -> dict[str, Any]:
    """A session belongs to one project and one user."""
    if "session_id" in fields:
        owner = f"{fields.get('project')}-{fields.get('user')}"
        return {**fields, "session_id": f"{fields['session_id']}-{owner}"}
    return fields


SAVED = st.fixed_dictionaries(
    {
        "content": TEXT.map(" ".join),
        "created_at": st.integers(0, 90).map(lambda days: START + timedelta(days=days)),
        "importance": st.sampled_from([0.1, 0.5, 0.9]),
        "kind": st.sampled_from(["note", "decision"]),
    },
    optional={
        "session_id": st.sampled_from(["s1", "s2"]),
        "project": st.sampled_from(["shop", "house"]),
        "user": st.sampled_from(["anna", "ben"]),
        "tags": st.sampled_from([("red",), ("red", "blue")]),
    },
).map(name_session)
FILTERS = st.fixed_dictionaries(
    {},
    optional={
        "project": st.sampled_from(["shop", "house"]),
        "user": st.sampled_from(["anna", "ben"]),
        "kind": st.sampled_from(["note", "decision"]),
        "tags": st.just(("red",)),
        "since": st.just(START + timedelta(days=45)),
    },
)
QUESTION = st.lists(st.sampled_from([*WORDS, "Anna", "in May 2026"]), min_size=1, max_size=5).map(
    " ".join
)


@contextmanager
def open_vault(folder: Path) -> Iterator[Muisti]:
    with bootstrap.open(folder, settings=SETTINGS) as memory:
        yield memory


class Score(float):
    """Equal to another one but for rounding: a sum of products depends on how they are grouped."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, float) and abs(self - other) < 1e-6

    def __ne__(self, other: object) -> bool:
        return not self == other


def search(memory: Muisti, question: str, mode: Any, options: Any) -> list[tuple[Any, ...]]:
    found = memory.search(question, mode=mode, asked_at=ASKED, **options)
    return [
        (
            hit.memory.id,
            Score(hit.score),
            hit.weak,
            [signal[:2] for signal in map(tuple_of, hit.why)],
        )
        for hit in found
    ]


def tuple_of(signal: Any) -> tuple[Any, ...]:
    return signal.name, signal.rank, signal.note


def change(memory: Muisti, data: st.DataObject, ids: list[str]) -> None:
    """Save, change, replace and delete some memories."""
    for what in data.draw(st.lists(st.sampled_from(["save", "edit", "replace", "delete"]))):
        one = data.draw(st.sampled_from(ids))
        if memory.get(one) is None:
            continue
        if what == "save":
            ids.append(memory.save(**data.draw(SAVED)).id)
        elif what == "edit":
            memory.update(one, content=" ".join(data.draw(TEXT)))
        elif what == "replace":
            other = data.draw(st.sampled_from(ids))
            with suppress(InvalidRequest, MemoryNotFound):  # it may be of another user
                memory.link(other, one, "SUPERSEDES")
        else:
            memory.delete(one)
    memory.reindex_missing()


@settings(
    suppress_health_check=SHARED_SUITE,
    deadline=None,
    max_examples=amount(12, all=100),
    phases=(Phase.generate,),
)
@given(data=st.data(), saved=st.lists(SAVED, min_size=1, max_size=30))
def test_results_from_columns_are_those_from_rows(
    tmp_path_factory: pytest.TempPathFactory,
    data: st.DataObject,
    saved: list[dict[str, Any]],
) -> None:
    """For any vault, also while rows have changed since the snapshot was built."""
    with open_vault(tmp_path_factory.mktemp("columns") / "vault") as memory:
        ids = [one.id for one in memory.save_batch(saved)]
        memory.reindex_missing()
        index = memory._services.index
        modes = ["keyword", "hybrid", "vector"]
        if data.draw(st.booleans()):
            index._db.snapshots.build()  # type: ignore[attr-defined]
            modes = ["keyword"]  # vectors are rounded in a snapshot
        change(memory, data, ids)
        for _ in range(3):
            asked = data.draw(QUESTION), data.draw(st.sampled_from(modes))
            options = data.draw(FILTERS)
            by_columns = search(memory, *asked, options)
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(type(index), "open_columns", lambda _: None)
                by_rows = search(memory, *asked, options)
            assert by_columns == by_rows


@pytest.fixture
def vault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Muisti]:
    """Memories of two users, with a snapshot."""
    monkeypatch.setattr(keeper, "SMALL", 5)
    with open_vault(tmp_path / "vault") as memory:
        for number in range(40):
            user = "anna" if number % 2 else "ben"
            memory.save(f"{WORDS[number % 10]} number {number}" + " more" * number, user=user)
        memory.reindex_missing()
        memory._services.index._db.snapshots.build()  # type: ignore[attr-defined]
        yield memory


def test_a_search_reads_few_rows(vault: Muisti, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    original = SnapshotSearch.read

    def count(self: SnapshotSearch, keys: Any, where: Filter) -> Any:
        read.append(len(keys))
        return original(self, keys, where)

    monkeypatch.setattr(SnapshotSearch, "read", count)
    assert vault.search("number", mode="keyword", limit=1)
    assert 0 < sum(read) < 30


@pytest.mark.parametrize("column", ["user", "flags", "n"])
def test_a_wrong_column_shows_nothing_of_another_user(vault: Muisti, column: str) -> None:
    """Columns that accept everything are noticed, and the search is done in rows."""
    expected = search(vault, "number", "keyword", {"user": "anna"})
    with vault._services.index.snapshot():
        found = vault._services.index.open_columns()
        assert isinstance(found, SnapshotSearch)
        columns = found._table.columns
    wrong = columns[column].copy()
    wrong[:] = wrong[::-1] if column == "n" else wrong[1]
    columns[column] = wrong  # type: ignore[index]
    assert {one.memory.user for one in vault.search("number", user="anna")} <= {"anna"}
    if column != "flags":
        assert search(vault, "number", "keyword", {"user": "anna"}) == expected


def test_rows_that_the_filter_rejects_are_not_read(vault: Muisti) -> None:
    index = vault._services.index
    with index.snapshot():
        found = index.open_columns()
        assert found is not None
        keys = list(range(4))
        assert len(found.read(keys, Filter(all_sessions=True))) == 4
        with pytest.raises(UnusableColumns, match="rejects"):
            found.read(keys, Filter(user="anna", all_sessions=True))


def test_a_snapshot_knows_how_common_words_are(vault: Muisti) -> None:
    """Until a row changes: then the index is asked."""
    index = vault._services.index
    words = ["number", "seven", "neverseen"]
    expected = index.frequencies(words)
    with index.snapshot():
        found = index.open_columns()
        assert isinstance(found, SnapshotSearch)
        assert found.count_texts(words) == expected
        assert index.frequencies(words) == expected
    vault.save("One more number")
    with index.snapshot():
        found = index.open_columns()
        assert isinstance(found, SnapshotSearch)
        assert found.count_texts(words) is None
        assert index.frequencies(words).counts["number"] == expected.counts["number"] + 1


def test_a_transaction_has_one_search_in_columns(vault: Muisti) -> None:
    index = vault._services.index
    with index.snapshot():
        first = index.open_columns()
        assert first is not None
        assert index.open_columns() is first
    vault.save("A number that is new")
    with index.snapshot():
        assert index.open_columns() is not first
        assert [one.bm25 for one in index.match([Term("new")], Filter(all_sessions=True), 5)]


def test_vectors_are_compared_in_two_threads_as_in_one(
    vault: Muisti, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nearest, "BLOCK", 4)
    monkeypatch.setattr(nearest, "PART", 3)
    monkeypatch.setattr(nearest, "count_compared", lambda *_: 20)
    index = vault._services.index
    [space] = vault._services.vectors.spaces()
    embedder = vault._services.embedders(space.identity)
    assert embedder is not None
    query, where = embedder.embed_query("apple number"), Filter(all_sessions=True)
    shared: list[list[int]] = []
    side = SideThread("muisti-aside")

    def share(function: Callable[[int], None], numbers: Sequence[int]) -> None:
        shared.append(list(numbers))
        side.share(function, numbers)

    with index.snapshot():
        found = index.open_columns()
        assert isinstance(found, SnapshotSearch)
        together = found.find_nearest(space, query, where, 5, share)
        found._different = None
        assert found.find_nearest(space, query, where, 5) == together
    side.close()
    assert shared == [list(range(0, 40, 4)), list(range(0, len(shared[1]) * 3, 3))]
    assert len(shared[1]) > 1


@pytest.mark.parametrize("wrong", [2**32 - 1, 0])
def test_vectors_at_wrong_places_are_not_used(vault: Muisti, wrong: int) -> None:
    """These places have no checksum. What cannot be true is noticed."""
    expected = [hit[0] for hit in search(vault, "number", "vector", {})]
    with vault._services.index.snapshot():
        found = vault._services.index.open_columns()
        assert isinstance(found, SnapshotSearch)
        columns = found._table.columns
    starts = columns["vector_start"].copy()
    starts[1::2] = wrong
    columns["vector_start"] = starts  # type: ignore[index]
    assert [hit[0] for hit in search(vault, "number", "vector", {})] == expected
    assert vault._services.index._db.snapshots._rejected  # type: ignore[attr-defined]
