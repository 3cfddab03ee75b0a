"""No connection is held while a model works: it may take seconds, and connections are few."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from muisti import Muisti
from muisti.models.embedders.hashing import HashingEmbedder
from muisti.storage.postgres.index import PostgresIndex
from tests.postgres.server import make_location

Calls = list[tuple[str, bool]]
"""Which method was called, and whether its thread had an open transaction."""


@pytest.fixture
def memory() -> Iterator[Muisti]:
    with Muisti.open(make_location(), embedder="hashing") as memory:
        yield memory


@pytest.fixture
def calls(memory: Muisti, monkeypatch: pytest.MonkeyPatch) -> Calls:
    index = memory._services.index
    assert isinstance(index, PostgresIndex)
    database = index._db
    found: Calls = []
    for name in ("embed_query", "embed_documents"):
        original = getattr(HashingEmbedder, name)

        def record(self: HashingEmbedder, given: object, name: str = name, call=original) -> object:  # type: ignore[no-untyped-def]
            found.append((name, database.transaction is not None))
            return call(self, given)

        monkeypatch.setattr(HashingEmbedder, name, record)
    return found


def test_saving_and_searching(memory: Muisti, calls: Calls) -> None:
    memory.save("The authentication module is located in src/auth/index.ts")
    memory.save("The auth module is in src/auth/index.ts")  # compared by its vector
    memory.save_batch(["One memory", "Another memory"])
    memory.reindex_missing()
    memory.search("where is authentication", mode="vector")
    memory.search("authentication module")
    memory.explain("authentication module", memory.list()[0].id)
    memory.related(memory.list()[0].id)
    memory.context("authentication")
    assert {name for name, _ in calls} == {"embed_query", "embed_documents"}
    assert not any(is_held for _, is_held in calls)
