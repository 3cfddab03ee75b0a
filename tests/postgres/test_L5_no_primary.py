"""While no server accepts writes, REST says so and when to come back; then it works again."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from psycopg_pool import PoolTimeout

from muisti import Muisti
from muisti.storage.postgres.pools import Pool, Pools
from tests.postgres.server import NoServer, Server, make_location
from tests.rest.conftest import check_problem, client_of, until


@pytest.mark.exhaustive(keep=1)
def test_L5_a_server_without_a_database_answers_503_and_comes_back() -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)  # `nobody` must reach it
        try:
            server = Server(Path(folder), options={})
            server.create()
            server.start()
        except NoServer as error:
            pytest.skip(f"no PostgreSQL server: {error}")
        try:
            with (
                Muisti.open(server.dsn, embedder="none", lock_timeout=1) as memory,
                client_of(memory) as client,
            ):
                saved = client.post("/api/memories", json={"content": "Apples are red"}).json()
                server.stop()  # at once, as a crash would
                refused = client.post("/api/memories", json={"content": "Pears are green"})
                check_problem(refused, 503, "store-unavailable")
                assert int(refused.headers["retry-after"]) >= 1
                server.start()
                again = {"content": "Pears are green"}
                until(lambda: client.post("/api/memories", json=again).is_success)
                texts = [one.content for one in memory.list()]
                assert sorted(texts) == ["Apples are red", "Pears are green"]
                assert memory.get(saved["id"]) is not None
        finally:
            server.stop()


def test_L5_callers_do_not_wait_one_after_the_other_for_a_server_that_is_down() -> None:
    pool = Pool("host=127.0.0.1 port=1", min_size=1, timeout=1, open=True)
    try:
        for seconds in ("1.00", "0.50", "0.50"):
            with pytest.raises(PoolTimeout, match=f"after {seconds} sec"):
                pool.getconn()
        with pytest.raises(PoolTimeout, match="after 0.10 sec"):
            pool.getconn(0.1)
    finally:
        pool.close()


def test_L5_callers_wait_again_once_there_was_a_connection() -> None:
    pools = Pools(make_location().partition("&options")[0], "")
    try:
        pool = pools.primary
        pool.putconn(pool.getconn())
        pool._has_failed = True
        pool.putconn(pool.getconn())  # is there, so that nobody waits
        assert not pool._has_failed
    finally:
        pools.close()
