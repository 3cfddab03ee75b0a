"""While no server accepts writes, REST says so and when to come back; then it works again."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from muisti import Muisti
from tests.postgres.server import NoServer, Server
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
