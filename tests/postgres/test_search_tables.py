"""What a process keeps in memory for searches never hides what the database has, nor shows more."""

from __future__ import annotations

import threading
from contextlib import ExitStack
from typing import Any

import psycopg
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from muisti import Muisti, bootstrap
from muisti.storage.postgres import search_tables
from muisti.storage.postgres.claims import TRIM_CHANGES
from muisti.storage.snapshot.search import SnapshotSearch
from tests.contract.making import SHARED_SUITE
from tests.contract.test_column_search import FILTERS, QUESTION, SAVED, SETTINGS, change, search
from tests.postgres.server import make_location
from tests.rest.conftest import until
from tests.tiers import amount


def get_tables(memory: Muisti) -> Any:
    index: Any = memory._services.index
    return index._db.tables


def find(memory: Muisti, query: str) -> set[str]:
    return {hit.memory.id for hit in memory.search(query, mode="keyword", limit=50)}


@settings(
    suppress_health_check=SHARED_SUITE,
    deadline=None,
    max_examples=amount(2, all=40),
    phases=(Phase.generate,),
)
@given(data=st.data(), saved=st.lists(SAVED, min_size=1, max_size=30))
def test_L4_results_are_those_from_rows_whoever_changed_them(
    data: st.DataObject, saved: list[dict[str, Any]]
) -> None:
    """Small vaults are read at once, others in the background; another process changes them."""
    place = make_location()
    with (
        bootstrap.open(place, settings=SETTINGS) as memory,
        bootstrap.open(place, settings=SETTINGS) as other,
    ):
        ids = [one.id for one in memory.save_batch(saved)]
        memory.reindex_missing()
        modes = ["keyword", "hybrid", "vector"]
        if data.draw(st.booleans()):
            find(memory, "apple")
            get_tables(memory).build()
            modes = ["keyword"]  # vectors are rounded in a table
        else:
            find(memory, "apple")
        index = memory._services.index
        for _ in range(2):
            change(data.draw(st.sampled_from([memory, other])), data, ids)
            asked = data.draw(QUESTION), data.draw(st.sampled_from(modes))
            options = data.draw(FILTERS)
            by_columns = search(memory, *asked, options)
            assert get_tables(memory)._table is not None
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(type(index), "open_columns", lambda _: None)
                by_rows = search(memory, *asked, options)
            assert by_columns == by_rows


def test_L4_each_process_finds_at_once_what_any_has_saved(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables are made again meanwhile, as many rows change."""
    monkeypatch.setattr(search_tables, "SMALL", 5)
    monkeypatch.setattr(search_tables, "DUE", 10)
    place = make_location()
    problems: list[str] = []
    with ExitStack() as closing:
        vaults = [closing.enter_context(bootstrap.open(place, settings=SETTINGS)) for _ in range(3)]

        def work(number: int) -> None:
            for turn in range(amount(4, all=12)):
                word = f"word{number}x{turn}"
                saved = vaults[number].save(f"{word} and apple")
                for name, vault in enumerate(vaults):
                    if saved.id not in find(vault, word):
                        problems.append(f"{name} does not find {word}")
                if turn % 4 == 3:
                    vaults[number].delete(saved.id)
                    if any(saved.id in find(vault, word) for vault in vaults):
                        problems.append(f"{word} is still found")

        threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for vault in vaults:
            get_tables(vault).wait()
        assert any(get_tables(vault)._table is not None for vault in vaults)
    assert problems == []


def test_L4_a_table_that_missed_changes_is_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Notes of changes are deleted after an hour; a table that has not seen them is dropped."""
    place = make_location()
    trim = TRIM_CHANGES.replace("interval '1 hour'", "interval '-1 hour'")
    with (
        bootstrap.open(place, settings=SETTINGS) as memory,
        bootstrap.open(place, settings=SETTINGS) as other,
    ):
        memory.save("apple one")
        assert len(find(memory, "apple")) == 1
        other.save("apple two")
        index: Any = other._services.index
        with index._db.write_transaction() as db:
            assert db.execute("SELECT count(*) FROM changed").fetchone() > (0,)
            db.execute(trim)
            assert db.execute("SELECT count(*) FROM changed").fetchone() == (0,)
        assert len(find(memory, "apple")) == 2
        assert memory.run_due_maintenance(0) is not None, "it deletes old notes too"


def test_L4_a_copy_on_another_server_is_searched_in_memory() -> None:
    """`pg_dump` copies the numbers of transactions that the new server has not reached."""
    place = make_location()
    sql = """UPDATE changed SET xid = (xid::text::bigint + 1000000000)::text::xid8,
             at = at - interval '2 hours'"""
    with (
        bootstrap.open(place, settings=SETTINGS) as memory,
        bootstrap.open(place, settings=SETTINGS) as other,
    ):
        memory.save("apple one")
        index: Any = other._services.index
        with index._db.write_transaction() as db:
            db.execute(sql)
            db.execute(
                """INSERT INTO changes_trimmed (xid) SELECT max(xid) FROM changed
                   ON CONFLICT (tenant) DO UPDATE SET xid = excluded.xid"""
            )
        assert len(find(memory, "apple")) == 1
        table = get_tables(memory)._table
        assert len(find(memory, "apple")) == 1
        assert get_tables(memory)._table is table is not None
        other.save("apple two")
        with index._db.write_transaction() as db:
            db.execute(TRIM_CHANGES.replace("interval '1 hour'", "interval '-1 hour'"))
            assert db.execute("SELECT count(*) FROM changed").fetchone() == (0,)
        assert len(find(memory, "apple")) == 2, "it was noted that changes were deleted"


def test_L4_a_write_transaction_and_one_before_a_change_use_no_other_state() -> None:
    with bootstrap.open(make_location(), settings=SETTINGS) as memory:
        memory.save("apple one")
        find(memory, "apple")
        index: Any = memory._services.index
        with index._db.write_transaction():
            assert not isinstance(index.open_columns(), SnapshotSearch)
        with index.snapshot():
            assert isinstance(index.open_columns(), SnapshotSearch)
            thread = threading.Thread(
                target=lambda: (memory.save("apple two"), find(memory, "two"))
            )
            thread.start()
            thread.join()
        with index.snapshot():
            assert index.open_columns()._table.recent_count == 2


def test_L4_the_tables_of_a_process_have_a_limit(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(search_tables, "SMALL", 1)
    with ExitStack() as closing:
        vaults = [
            closing.enter_context(bootstrap.open(make_location(), settings=SETTINGS))
            for _ in range(2)
        ]
        for vault in vaults:
            vault.save_batch([{"content": f"apple {n}"} for n in range(5)])
            find(vault, "apple")
            get_tables(vault).wait()
        assert all(get_tables(vault)._table is not None for vault in vaults)
        kept = search_tables._KEPT._bytes[get_tables(vaults[0])]
        for vault in vaults:
            get_tables(vault).most_bytes = int(1.5 * kept)
        monkeypatch.setattr(search_tables, "BYTES_OF_A_TEXT", 1)
        find(vaults[0], "apple")
        get_tables(vaults[0]).build()
        assert [get_tables(vault)._table is not None for vault in vaults] == [True, False]
        monkeypatch.setattr(search_tables, "BYTES_OF_A_TEXT", 2**40)
        assert len(find(vaults[1], "apple")) == 5
        get_tables(vaults[1]).wait()
        assert get_tables(vaults[1])._table is None, "it is too large"
        assert "search_memory = 5242880 would make it faster" in caplog.text
    assert not any(get_tables(vault) in search_tables._KEPT._bytes for vault in vaults)


@pytest.mark.parametrize(
    ("given", "has", "expected"), [(0, 0, 256), (0, 64 * 1024, 6553), (100, 64 * 1024, 100)]
)
def test_L4_how_much_memory_searches_may_use(
    monkeypatch: pytest.MonkeyPatch, given: int, has: int, expected: int
) -> None:
    monkeypatch.setattr(search_tables, "measure_memory", lambda: has * 2**20)
    settings = {**SETTINGS, "search_memory": given}
    with bootstrap.open(make_location(), settings=settings) as memory:
        assert memory.list() == []
        assert get_tables(memory).most_bytes // 2**20 == expected


def test_L4_a_lost_connection_drops_the_table() -> None:
    """A server that restarts may have been restored to an earlier state."""
    place = make_location()
    with bootstrap.open(place, settings=SETTINGS) as memory:
        memory.save_batch([{"content": "apple one"}, {"content": "pear two"}])
        memory.reindex_missing()
        memory.search("apple")
        index: Any = memory._services.index
        tables = get_tables(memory)
        before = tables._table
        with index.snapshot(), index._db.read_transaction() as db:
            pid = db.info.backend_pid
        with psycopg.connect(place, autocommit=True) as admin:
            admin.execute("SELECT pg_terminate_backend(%s)", (pid,))
        assert memory.search("apple")
        assert tables._table is not before


def test_L4_a_server_reads_what_searches_need_when_it_starts() -> None:
    place = make_location()
    with Muisti.open(place, **SETTINGS) as memory:
        memory.save("Apples are red")
    with Muisti.open(place, **SETTINGS) as memory:
        memory.warm_up()
        until(lambda: get_tables(memory)._table is not None)
