"""Spec 0 (Memory Service): its calls, its results and its configuration, with its own examples."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from muisti import InvalidMemory, InvalidRequest, MemoryService, Muisti, SettingsError
from muisti.recall.filters import Mode
from muisti.remember.embed import embed
from muisti.settings import Settings
from muisti.surfaces.cli.main import cli
from tests.conftest import FakeClock, Opener
from tests.rest.conftest import client_of

DECISION = """# Python + FastAPI valinta

**Päätös:** Käytetään Pythonia ja FastAPI:a backendin toteutuksessa."""


@pytest.fixture
def plain(opened: Opener) -> Muisti:
    return opened(embedder="none")


def test_J1_save_takes_the_category_as_its_second_argument(plain: Muisti) -> None:
    saved = plain.save(DECISION, "decisions", keywords=["python", "backend", "framework"])
    assert (saved.kind, saved.title) == ("decision", "Python + FastAPI valinta")
    named = plain.save(content="Valittiin SQLite-vec", category="decisions", tags=["storage"])
    assert (named.kind, named.keywords) == ("decision", ("storage",))


def test_J1_category_and_tags_are_names_of_kind_and_keywords(plain: Muisti) -> None:
    first, second = plain.save_batch(
        [
            {"content": "Python is great", "category": "summaries", "tags": ["python"]},
            {"content": "JavaScript is okay", "kind": "fact", "keywords": ["web"]},
        ]
    )
    assert (first.kind, first.keywords) == ("summary", ("python",))
    assert [one.id for one in plain.list(category="summaries")] == [first.id]
    assert [one.id for one in plain.list(tags=["web"])] == [second.id]
    assert [one.memory.id for one in plain.search("great", category=["summary"])] == [first.id]
    assert not plain.search("great", category="fact")
    assert [one.id for one in plain.search_compact("okay", tags=["web"])] == [second.id]
    assert [one.id for one in plain.search_by_keywords(tags=["web"])] == [second.id]
    assert [one.id for one in plain.search_by_keywords(keywords=["web"])] == [second.id]
    assert [one.id for one in plain.search_by_keywords(["python"], category="summary")]
    assert not plain.search_by_keywords(["python"], tags=["web"])
    exported = json.loads(plain.export_memories(format="json", category="fact"))
    assert [one["id"] for one in exported] == [second.id]
    changed = plain.update(first.id, category="context", tags=["py"])
    assert (changed.kind, changed.keywords) == ("context", ("py",))
    new = plain.replace(second.id, "JavaScript is good", category="insight")
    assert (new.kind, new.keywords) == ("insight", ("web",))


def test_J1_an_import_takes_a_category(plain: Muisti, tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "one.md").write_text("The office is in Turku", "utf-8")
    assert plain.import_memories(str(tmp_path / "notes"), category="context") == 1
    assert [one.kind for one in plain.list()] == ["context"]


def test_J1_the_async_service_takes_the_same_names(vault: Path) -> None:
    async def use() -> None:
        async with await MemoryService.open(vault, embedder="none") as service:
            saved = await service.save("Test content", "decisions", tags=["test"])
            retrieved = await service.get(saved.id)
            assert retrieved is not None
            assert (retrieved.content, retrieved.kind) == ("Test content", "decision")
            await service.update(saved.id, category="fact")
            found = await service.search("content", category="facts", tags=["test"])
            assert [one.memory.id for one in found] == [saved.id]

    asyncio.run(use())


def test_J1_both_names_of_a_field_must_agree(plain: Muisti) -> None:
    saved = plain.save("One", "fact", kind="fact", tags=["a"], keywords=("a",))
    assert (saved.kind, saved.keywords) == ("fact", ("a",))
    calls = [
        lambda: plain.save("Two", "fact", kind="decision"),
        lambda: plain.save_batch([{"content": "Two", "category": "fact", "kind": "decision"}]),
        lambda: plain.update(saved.id, category="note", kind="decision"),
        lambda: plain.replace(saved.id, "Two", category="note", kind="decision"),
        lambda: plain.list(category="fact", kind="decision"),
        lambda: plain.search("One", category="fact", kind="decision"),
        lambda: plain.import_memories("nowhere", category="fact", kind="decision"),
    ]
    for call in calls:
        with pytest.raises(InvalidRequest, match="category must equal kind = 'decision'"):
            call()
    with pytest.raises(InvalidRequest, match="tags must equal keywords"):
        plain.save("Two", tags=["a"], keywords=["b"])
    assert [one.content for one in plain.list()] == ["One"]


def test_A4_a_bad_value_is_reported_under_the_name_it_was_given_by(plain: Muisti) -> None:
    saved = plain.save("One")
    with pytest.raises(InvalidMemory, match="^category must be one of") as bad:
        plain.save("Two", "nonsense")
    assert bad.value.field == "category"
    with pytest.raises(InvalidMemory, match="^tags must be a list"):
        plain.save("Two", tags="a")  # type: ignore[arg-type]
    with pytest.raises(InvalidMemory, match="^category must be one of"):
        plain.save_batch([{"content": "Two", "category": "nonsense"}])
    with pytest.raises(InvalidMemory, match="^category must be one of"):
        plain.update(saved.id, category="nonsense")
    with pytest.raises(InvalidRequest, match="^category must be one of"):
        plain.search("One", category="nonsense")
    with pytest.raises(InvalidMemory, match="^kind must be one of"):
        plain.save("Two", kind="nonsense")


LONG = "\n\n".join(
    f"## {place}\n\n" + f"The harbour of {place} had {count} ships and a long pier of stone. " * 7
    for count, place in enumerate(("Turku", "Rauma", "Kotka", "Vaasa", "Hanko", "Pori"), start=3)
)


@pytest.mark.parametrize(("embedder", "mode"), [("onnx", "hybrid"), ("hashing", "vector")])
def test_E5_distance_is_the_cosine_distance_of_the_best_chunk(
    opened: Opener, embedder: str, mode: Mode
) -> None:
    memory = opened(embedder=embedder)
    long, *_ = memory.save_batch([LONG, "Python is great", "JavaScript is okay", "Pori has ships"])
    assert long.chunk_count > 1
    model = memory._services.embedders(None)
    assert model is not None
    vectors = {one.memory_id: one.vectors for one in embed(model, memory.list())}
    for query in ("Python programming", "the ships of Hanko", "is okay"):
        found = memory.search(query, mode=mode)
        asked = model.embed_query(query)
        for one in found:
            chunks = vectors[one.memory.id]
            lengths = np.linalg.norm(chunks, axis=1) * np.linalg.norm(asked)
            expected = 1 - float((chunks @ asked / lengths).max())
            assert one.distance == pytest.approx(expected, abs=1e-4), (query, one.memory.title)
    assert any(one.memory.id == long.id for one in memory.search("the ships of Hanko", mode=mode))


def test_E5_distance_is_none_where_no_vector_was_compared(opened: Opener) -> None:
    memory = opened(embedder="hashing", embed_on_save=False)
    memory.save_batch(["Python is great", "JavaScript is okay"])
    assert [one.distance for one in memory.search("Python", mode="keyword")] == [None]


@pytest.mark.parametrize("mode", ["hybrid", "vector", "keyword"])
def test_E5_without_vectors_there_is_no_distance(plain: Muisti, mode: Mode) -> None:
    plain.save("Python is great")
    assert [one.distance for one in plain.search("Python", mode=mode)] == [None]


def test_E5_every_surface_that_shows_the_distance_shows_the_same(
    opened: Opener, vault: Path
) -> None:
    memory = opened(embedder="hashing")
    memory.save_batch(["Python is great", "JavaScript is okay"])
    expected = {one.memory.id: one.distance for one in memory.search("Python programming")}
    environment = {"MUISTI_VAULT": str(vault), "MUISTI_EMBEDDER": "hashing"}
    command = ["search", "Python programming", "--all-projects", "--json"]
    shown = json.loads(CliRunner().invoke(cli, command, env=environment).stdout)
    assert {one["memory"]["id"]: one["distance"] for one in shown} == pytest.approx(expected)
    with client_of(memory) as client:
        body = client.get("/api/search", params={"query": "Python programming"}).json()
    shown = body["results"]
    assert {one["memory"]["id"]: one["distance"] for one in shown} == pytest.approx(expected)


def test_E2_a_search_returns_at_most_max_search_limit(opened: Opener) -> None:
    assert Settings().max_search_limit == 1000
    memory = opened(embedder="none", max_search_limit=20)
    session = memory.start_session()
    memory.save_batch(
        [
            {"content": f"Python module {one} is great", "tags": ["py"], "session_id": session.id}
            for one in range(30)
        ]
    )
    found = memory.search("Python", limit=25)
    assert len(found) == 20
    assert found.hint == "limit 25 was reduced to 20, the setting max_search_limit"
    assert memory.search("Python", limit=20).hint == ""
    assert len(memory.search_compact("Python", limit=25)) == 20
    assert len(memory.search_by_keywords(["py"], limit=25)) == 20
    assert len(memory.get_relevant_memories(session.id, "Python", 25)) <= 20
    assert len(memory.list()) == 30
    with pytest.raises(InvalidRequest, match="^limit must be"):
        memory.search("Python", limit=1001)


def test_A4_limits_that_contradict_each_other_are_both_named(opened: Opener) -> None:
    with pytest.raises(SettingsError, match="search_limit = 10 must be at most max_search_limit"):
        opened(search_limit=10, max_search_limit=5)
    with pytest.raises(SettingsError, match="context_limit = 6 must be at most max_search_limit"):
        opened(context_limit=6, max_search_limit=5)
    assert opened(embedder="none", max_search_limit=3).settings.search_limit == 3


def test_G2_salience_decay_days_is_when_decay_starts(opened: Opener, clock: FakeClock) -> None:
    assert Settings().salience_decay_days == 7
    memory = opened(embedder="none", salience_decay_days=30)
    saved = memory.save("Aktiivisen session konteksti", "context")
    for _ in range(2):  # a use ends an idle period; it does not bring the default back
        clock.forward(days=20)
        found = memory.get(saved.id)
        assert found is not None
        assert found.salience == 1
        memory.touch(saved.id)
    clock.forward(days=32)
    memory.reindex()
    found = memory.get(saved.id)
    assert found is not None
    assert found.salience == pytest.approx(0.9**2, abs=0.03)
