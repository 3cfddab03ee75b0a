"""J8 · A storage of CrewAI's memory, beside its LanceDBStorage."""

from __future__ import annotations

import asyncio
import copy
import importlib.util
import json
import os
import re
import socket
import tempfile
import warnings
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

os.environ |= {
    "CREWAI_DISABLE_TELEMETRY": "true",
    "CREWAI_TRACING_ENABLED": "false",
    "OTEL_SDK_DISABLED": "true",
}

with warnings.catch_warnings():  # CrewAI warns while it is imported
    warnings.simplefilter("ignore")
    from crewai import Agent, BaseLLM, Crew, Task
    from crewai.memory import Memory
    from crewai.memory.storage.backend import StorageBackend
    from crewai.memory.storage.lancedb_storage import LanceDBStorage
    from crewai.memory.types import MemoryRecord

from muisti import InvalidMemory, InvalidRequest, Muisti
from muisti.integrations.crewai import MuistiStorage
from muisti.integrations.crewai_records import encode_record, make_scope_uris
from tests.tiers import amount

from .examples import run_example

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # CrewAI's own
NOON = datetime(2026, 3, 1, 12)
SCOPES = ["/", "/a", "/a/x", "/a/x/deep", "/b", "/b/y"]
CATEGORIES = ["red", "green", "Größe 1"]
WORDS = ["dog", "database", "invoice", "garden", "violin", "passport"]


class Model(BaseLLM):
    """Answers with what was prepared for a part of the prompt, and keeps what it was asked."""

    answers: dict[str, str] = {}  # noqa: RUF012
    asked: list[str] = []  # noqa: RUF012

    def call(self, messages: Any, *_: Any, **__: Any) -> str:
        self.asked.append(str(messages))
        return next((text for part, text in self.answers.items() if part in str(messages)), "{}")


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    called: list[object] = []
    monkeypatch.setattr(socket.socket, "connect", lambda _, address: called.append(address))
    yield
    assert called == []


def embed(texts: list[str]) -> list[list[float]]:
    """Count words: an embedder for LanceDB."""
    return [[float(word in text) for word in WORDS] for text in texts]


def make(number: int, content: str = "", **fields: Any) -> MemoryRecord:
    return MemoryRecord(
        id=f"id-{number}",
        content=content or f"Text {number}",
        created_at=NOON + timedelta(minutes=number),
        **fields,
    )


def show(record: MemoryRecord | None) -> dict[str, Any] | None:
    return record.model_dump(exclude={"last_accessed"}) if record else None


def describe(storage: StorageBackend) -> dict[str, Any]:
    """Return all that a storage says about what is in it."""
    return {
        "records": {scope: list(map(show, storage.list_records(scope))) for scope in SCOPES},
        "page": list(map(show, storage.list_records(limit=2, offset=1))),
        "one": [show(storage.get_record(f"id-{number}")) for number in range(4)],
        "info": [storage.get_scope_info(scope) for scope in [*SCOPES, "/none"]],
        "scopes": [storage.list_scopes(scope) for scope in [*SCOPES, "/none"]],
        "categories": [storage.list_categories(scope) for scope in [None, *SCOPES]],
        "count": [storage.count(scope) for scope in [None, *SCOPES]],
    }


FIELDS = st.fixed_dictionaries(
    {
        "scope": st.sampled_from(SCOPES),
        "categories": st.lists(st.sampled_from(CATEGORIES), unique=True),
        "metadata": st.dictionaries(st.sampled_from("kn"), st.integers(0, 1) | st.just("ä")),
        "importance": st.sampled_from([0.0, 0.25, 1.0]),
        "source": st.none() | st.just("anna"),
        "private": st.booleans(),
    }
)
SOME = {
    "categories": st.lists(st.sampled_from(CATEGORIES), min_size=1),
    "metadata_filter": st.dictionaries(st.just("k"), st.integers(0, 1), min_size=1),
}
DELETES = st.one_of(
    st.fixed_dictionaries({"record_ids": st.lists(st.sampled_from(["id-0", "id-1", "x"]), min_size=1)}),
    st.fixed_dictionaries({"older_than": st.integers(0, 9).map(lambda n: NOON + timedelta(minutes=n))}),
    # A scope alone: LanceDB also deletes the records of the root.
    *(
        st.fixed_dictionaries({name: one}, optional={"scope_prefix": st.sampled_from(SCOPES)})
        for name, one in SOME.items()
    ),
)  # fmt: skip
STEPS = st.lists(
    st.tuples(st.just("save"), st.lists(FIELDS, min_size=1, max_size=3))
    | st.tuples(st.just("update"), st.tuples(st.integers(0, 9), FIELDS))
    | st.tuples(st.just("delete"), DELETES)
    | st.tuples(st.just("reset"), st.none() | st.sampled_from(SCOPES)),
    min_size=1,
    max_size=8,
)


@given(STEPS)
@settings(max_examples=amount(quick=3, all=12))
def test_J8_the_storage_has_what_lancedb_has(steps: list[tuple[str, Any]]) -> None:
    with tempfile.TemporaryDirectory() as folder, Muisti.open(":memory:", embedder="none") as memory:  # fmt: skip
        theirs, ours = LanceDBStorage(folder, vector_dim=6), MuistiStorage(memory)
        made = 0
        for step, given_ in steps:
            if step == "save":
                records = [make(made + place, **one) for place, one in enumerate(given_)]
                made += len(records)
            answers = []
            for storage in (theirs, ours):
                if step == "save":
                    storage.save(records)
                elif step == "update":
                    number, fields = given_
                    storage.update(make(number, "Another text", **fields))
                elif step == "delete":
                    answers.append(storage.delete(**given_))
                else:
                    storage.reset(given_)
            if step == "update":
                made = max(made, given_[0] + 1)
            assert len(set(answers)) < 2
            assert describe(ours) == describe(theirs)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"limit": 1},
        {"scope_prefix": "/a"},
        {"scope_prefix": "/b/"},
        {"categories": ["red", "none"]},
        {"metadata_filter": {"k": 1}},
        {"min_score": 0.7},
        {"scope_prefix": "/none"},
    ],
)
def test_J8_a_search_finds_first_what_lancedb_finds_first(
    memory: Muisti, tmp_path: Path, options: dict[str, Any]
) -> None:
    theirs, ours = LanceDBStorage(tmp_path / "lance", vector_dim=len(WORDS)), MuistiStorage(memory)
    for storage in (theirs, ours):
        records = [
            make(
                number,
                f"Anna has a {word}",
                scope=SCOPES[number],
                categories=[CATEGORIES[number % 3]],
                metadata={"k": number % 2},
            )
            for number, word in enumerate(WORDS)
        ]
        for record in records:
            [record.embedding] = embed([record.content])
        storage.save(records)
    for word in WORDS:
        expected = theirs.search(embed([f"a {word}"])[0], **options)
        found = ours.search(ours.embed([f"a {word}"])[0], **options)
        scores = [score for _, score in found]
        assert scores == sorted(scores, reverse=True)
        assert all(0 <= score <= 1 for score in scores)
        assert len(found) <= options.get("limit", 10)
        if expected and word in expected[0][0].content:
            assert found[0][0].id == expected[0][0].id
        assert {record.id for record, _ in found} <= {record.id for record in theirs.list_records()}
        if "min_score" not in options:  # it finds the nearest, however far
            assert {record.id for record, _ in found[:1]} <= {record.id for record, _ in expected}


def test_J8_scopes_are_paths_and_every_criterion_counts(memory: Muisti) -> None:
    storage = MuistiStorage(memory)
    storage.save([make(0, scope="/team"), make(1, scope="/teamwork"), make(2), make(3, scope="a b/ä%*")])  # fmt: skip
    assert storage.count("/team") == 1
    assert storage.list_scopes() == ["/a b", "/team", "/teamwork"]
    assert [record.scope for record in storage.list_records("a b/")] == ["/a b/ä%*"]
    assert storage.delete(record_ids=[]) == 0
    assert storage.delete("/team", record_ids=["id-1"]) == 0
    assert storage.delete(record_ids=["id-1"], older_than=NOON.replace(tzinfo=UTC)) == 0
    assert storage.delete("/team") == 1
    assert storage.count() == 3
    assert [one.title for one in memory.list_trash()] == ["Text 0"]


def test_J8_records_belong_to_a_project_and_a_user(opened: Any) -> None:
    with opened(embedder="none") as memory:
        storage = MuistiStorage(memory, project="pets", user="anna")
        asyncio.run(storage.asave([make(1, "Anna's dog is called Musti", categories=["dog"])]))
        memory.save("The dog of somebody else", project="pets", user="anna")
    with opened(embedder="none") as memory:
        storage = MuistiStorage(memory, project="pets", user="anna")
        [query] = storage.embed(["the dog"])
        [(record, _)] = asyncio.run(storage.asearch(query))
        assert (record.content, record.categories) == ("Anna's dog is called Musti", ["dog"])
        [stored] = [one for one in memory.list(project="pets") if one.source == "crewai"]
        assert (stored.content, stored.user) == (record.content, "anna")
        for scope in ({"user": "bob", "project": "pets"}, {"user": "anna"}, {"project": "pets"}):
            other = MuistiStorage(memory, **scope)
            assert other.count() == 0
            assert other.get_record(record.id) is None
            assert other.search(other.embed(["the dog"])[0]) == []
            assert other.delete() == 0
        assert asyncio.run(storage.adelete()) == 1


def test_J8_a_record_is_unconfirmed_until_a_person_confirms_it(memory: Muisti) -> None:
    storage = MuistiStorage(memory)
    storage.save([make(1, "Always answer in Finnish")])
    assert not memory.list()[0].trusted
    memory.confirm(memory.list()[0].id)
    storage.save([make(1, "Always answer in Finnish")])
    assert memory.list()[0].trusted
    storage.save([make(1, "Always answer in Swedish")])
    assert not memory.list()[0].trusted


def test_J8_an_edit_of_the_file_changes_the_record(memory: Muisti) -> None:
    storage = MuistiStorage(memory)
    kept = make(1, "See\n\n```json\n{}\n```", metadata={"a": {"b": [1]}}, source="crewai")
    storage.save([kept, make(2, "Old text", metadata={"k": 1})])
    assert show(storage.get_record("id-1")) == show(kept)
    [stored] = [one for one in memory.list() if "Old text" in one.content]
    memory.update(stored.id, content='New text\n\n```json\n{"metadata": 5, "source": []}\n```')
    record = storage.get_record("id-2")
    assert record is not None
    assert (record.content, record.metadata, record.source) == ("New text", {}, None)


def test_J8_a_record_that_two_processes_created_is_one(memory: Muisti) -> None:
    storage = MuistiStorage(memory)
    draft = encode_record(make(1), memory.settings, "", "")
    for _ in range(2):
        memory.save_batch([draft, draft], merge=False)
        assert (storage.count(), len(storage.list_records())) == (1, 1)
        assert storage.delete(record_ids=["id-1"]) == 1
        assert storage.count() == 0
        memory.save_batch([draft, draft], merge=False)
        storage.update(make(1, "Another text"))
        assert [one.content for one in memory.list()] == ["Another text"]
        storage.reset()


def test_J8_secrets_are_redacted_and_bad_records_are_refused(memory: Muisti) -> None:
    storage = MuistiStorage(memory)
    secret = "ghp_" + "a1B2" * 9
    storage.save([make(0, f"The token is {secret}", metadata={"token": secret}, categories=[" "])])
    record = storage.get_record("id-0")
    assert record is not None
    assert secret not in str(record)
    assert "The token is" in record.content
    for field, fields in {
        "value must be JSON": {"metadata": {"a": object()}},
        "scope must have at most 300": {"scope": "/a" * 200},
        "scope contains private text": {"scope": f"/{secret}"},
    }.items():
        with pytest.raises(InvalidMemory, match=field):
            storage.save([make(1), make(2, **fields)])
        assert storage.count() == 1
    for number in range(500):  # no UUID is taken for a secret
        encode_record(MemoryRecord(content="a"), memory.settings, "", "")
        assert make_scope_uris(f"/{number}")[0] == "crewai:/*"


def test_J8_another_embedder_is_refused(memory: Muisti) -> None:
    storage = MuistiStorage(memory)
    crew_memory = Memory(storage=storage, embedder=embed, llm=Model(model="none"))
    with pytest.raises(InvalidRequest, match=re.escape("Memory(storage=storage, embedder=storage.embed)")):  # fmt: skip
        crew_memory.recall("dog", depth="shallow")


def test_J8_the_latest_texts_can_be_searched_for(
    memory: Muisti, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("muisti.integrations.crewai.MOST_TEXTS", 2)
    storage = MuistiStorage(memory)
    first, *others = storage.embed(["one", "two", "three"])
    assert storage.search(first) == []  # a batch stays together
    storage.embed(["three"])
    with pytest.raises(InvalidRequest, match="embedder"):
        storage.search(first)
    for vector in others:
        assert storage.search(vector) == []


def remember(crew_memory: Memory, text: str, **fields: Any) -> MemoryRecord:
    known = {"scope": "/pets", "categories": ["names"], "importance": 0.5, **fields}
    record: MemoryRecord | None = crew_memory.remember(text, **known)
    assert record is not None
    return record


def test_J8_memory_of_crewai_works_on_the_storage(memory: Muisti, clock: Any) -> None:
    storage = MuistiStorage(memory)
    model = Model(model="none", asked=[])
    crew_memory = Memory(storage=storage, embedder=storage.embed, llm=model)
    assert copy.deepcopy(crew_memory.embedder) == storage.embed  # copies of a crew share a storage
    dog = remember(crew_memory, "Anna's dog is called Musti", metadata={"age": 3})
    remember(crew_memory, "Anna's diary says that the dog bites", private=True, source="anna")
    remember(crew_memory, "We use PostgreSQL as our database", scope="/work")
    assert model.asked == []  # nothing was similar enough to be merged
    for depth in ("shallow", "deep"):
        found = crew_memory.recall("what is the dog called?", depth=depth)
        assert [match.record.id for match in found] == [dog.id]
    assert len(crew_memory.recall("dog", depth="shallow", source="anna")) == 2
    assert {one.record.scope for one in crew_memory.recall("dog", scope="/work")} <= {"/work"}
    read = storage.get_record(dog.id)
    assert read is not None
    assert read.last_accessed == clock.at.replace(tzinfo=None)
    crew_memory.update(dog.id, content="Anna's dog is called Rex", scope="/pets/dogs")
    assert crew_memory.tree() == (
        "/ (3 records)\n  /pets (2 records)\n    /pets/dogs (1 records)\n  /work (1 records)"
    )
    assert crew_memory.recall("dog Rex", depth="shallow")[0].record.metadata == {"age": 3}
    assert crew_memory.scope("/pets").forget(categories=["names"]) == 2
    crew_memory.reset()
    assert storage.count() == 0
    crew_memory.close()


def test_J8_a_changed_fact_is_merged_by_the_model(memory: Muisti) -> None:
    storage = MuistiStorage(memory)
    model = Model(model="none", asked=[])
    crew_memory = Memory(storage=storage, embedder=storage.embed, llm=model)
    old = remember(crew_memory, "We deploy the shop with PostgreSQL 15")
    action = {"action": "update", "record_id": old.id, "new_content": "We deploy PostgreSQL 16"}
    model.answers["PostgreSQL 16"] = json.dumps({"actions": [action], "insert_new": False})
    remember(crew_memory, "We deploy the shop with PostgreSQL 16")
    [record] = crew_memory.list_records()
    assert (record.id, record.content) == (old.id, "We deploy PostgreSQL 16")
    assert len(model.asked) == 1
    crew_memory.close()


def test_J8_a_crew_recalls_and_remembers(memory: Muisti) -> None:
    storage = MuistiStorage(memory, project="pets")
    model = Model(
        model="none",
        asked=[],
        answers={
            "Extract memory statements": '{"memories": ["The vet is called Bob"]}',
            "Content to store": '{"suggested_scope": "/vets", "categories": ["names"], "importance": 1}',
            "Current Task": "Thought: I know\nFinal Answer: Musti",
        },
    )
    crew_memory = Memory(storage=storage, embedder=storage.embed, llm=model)
    remember(crew_memory, "Anna's dog is called Musti")
    agent = Agent(role="helper", goal="help", backstory="kind", llm=model)
    task = Task(description="What is the dog called?", expected_output="a name", agent=agent)
    crew = Crew(agents=[agent], tasks=[task], memory=crew_memory)
    assert str(crew.kickoff()) == "Musti"
    assert "Anna's dog is called Musti" in model.asked[0]
    crew_memory.close()
    [vet] = [one for one in storage.list_records() if "vet" in one.content]
    assert (vet.scope.split("/")[-1], vet.categories) == ("vets", ["names"])


def test_J8_an_old_crewai_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "version", lambda _: "1.9.3")
    for name in ("crewai", "crewai_records"):
        spec = importlib.util.find_spec(f"muisti.integrations.{name}")
        assert spec is not None
        assert spec.loader is not None
        with pytest.raises(ImportError, match=r"crewai 1\.9\.3 is too old, 1\.15 or later"):
            spec.loader.exec_module(importlib.util.module_from_spec(spec))


def test_J8_the_example_runs(vault: Path) -> None:
    assert run_example("crewai_memory.py", vault.parent)[-1] == "/dogs: My dog is called Musti."
