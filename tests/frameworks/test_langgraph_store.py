"""J8 · LangGraph's store: the same results as its InMemoryStore, and memories that a person can
read.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from langgraph.store.base import (
    GetOp,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    SearchOp,
)
from langgraph.store.memory import InMemoryStore

from muisti import InvalidMemory, Muisti, bootstrap
from muisti.integrations.langgraph import MuistiStore

from .examples import run_example

LABELS = st.sampled_from(["users", "anna", "Anna", "a/b", "ä ö", "*x"])
NAMESPACES = st.lists(LABELS, min_size=1, max_size=3).map(tuple)
KEYS = st.sampled_from(["food", "pets", "a/b", "", "🐈", "x" * 80])
NUMBERS = st.integers(-5, 5)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.floats(-9, 9, width=16) | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=5,
)
TEXTS = st.text(max_size=30) | st.sampled_from(
    ["likes pizza", "```json\n{}\n```", " a\n\n", "---\nid: 1\n---"]
)
VALUES = st.fixed_dictionaries(
    {}, optional={"text": TEXTS, "content": TEXTS | NUMBERS, "n": NUMBERS, "more": JSON}
)
TESTS = NUMBERS | st.dictionaries(
    st.sampled_from(["$eq", "$ne", "$gt", "$gte", "$lt", "$lte"]), NUMBERS, min_size=1
)
FILTERS = st.none() | st.fixed_dictionaries({"n": TESTS}) | st.fixed_dictionaries({"more": JSON})
PATHS = st.lists(LABELS | st.just("*"), min_size=1, max_size=3).map(tuple)
CONDITIONS = st.builds(MatchCondition, st.sampled_from(["prefix", "suffix"]), PATHS)
PUTS = st.builds(PutOp, NAMESPACES, KEYS, VALUES, st.none() | st.just(False), st.none())
OPERATIONS = st.lists(
    st.lists(
        PUTS
        | PUTS
        | st.builds(PutOp, NAMESPACES, KEYS, st.none(), st.none(), st.none())
        | st.builds(GetOp, NAMESPACES, KEYS)
        | st.builds(
            SearchOp, NAMESPACES | st.just(()), FILTERS, st.just(1000), st.just(0), st.none()
        )
        | st.builds(
            ListNamespacesOp,
            st.lists(CONDITIONS, max_size=2).map(tuple),
            st.none() | st.integers(1, 3),
            st.integers(1, 4),
            st.integers(0, 2),
        ),
        min_size=1,
        max_size=4,
    ),
    max_size=12,
)


def plain(result: Any) -> Any:
    """Return what both stores must agree on: neither the times nor the order of a search."""
    if isinstance(result, list):
        return (
            sorted(map(plain, result), key=repr) if result and hasattr(result[0], "key") else result
        )
    return result if result is None else (result.namespace, result.key, result.value)


def is_comparable(store: InMemoryStore, op: Op) -> bool:
    """Return whether the other store can run an operation: it compares no missing number."""
    if not isinstance(op, SearchOp) or not op.filter:
        return True
    try:
        store.batch([op])
    except (TypeError, ValueError):
        return False
    return True


@settings(phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(OPERATIONS)
def test_J8_the_results_are_those_of_the_store_in_memory(batches: list[list[Op]]) -> None:
    theirs = InMemoryStore()
    with bootstrap.open(":memory:", settings={"embedder": "none"}) as memory:
        ours = MuistiStore(memory)
        for batch in batches:
            ops = [op for op in batch if is_comparable(theirs, op)]
            # It lists namespaces that are empty, or that were only read.
            ops.sort(key=lambda op: not isinstance(op, ListNamespacesOp))
            for namespace in [one for one, items in theirs._data.items() if not items]:
                del theirs._data[namespace]
            expected = list(map(plain, theirs.batch(ops)))
            assert list(map(plain, ours.batch(ops))) == expected


def test_J8_pages_of_a_search_have_every_item_once(memory: Muisti) -> None:
    store = MuistiStore(memory)
    store.batch([PutOp(("a",), f"key-{number}", {"n": number}) for number in range(25)])
    pages = [store.search(("a",), limit=10, offset=offset) for offset in (0, 10, 20)]
    assert [len(page) for page in pages] == [10, 10, 5]
    assert {item.key for page in pages for item in page} == {f"key-{n}" for n in range(25)}


def test_J8_a_query_finds_items_of_the_namespace_best_first(memory: Muisti) -> None:
    store = MuistiStore(memory)
    store.put(("users", "anna"), "food", {"text": "Anna likes pizza with olives"})
    store.put(("users", "anna"), "pet", {"name": "Musti", "kind": "cat"})
    store.put(("users", "bob"), "food", {"text": "Bob likes pizza with ham"})
    store.put(("users", "anna"), "hidden", {"text": "a pizza oven"}, index=False)
    found = store.search(("users", "anna"), query="pizza")
    assert found[0].key == "food"
    assert found[0].score
    assert {item.namespace for item in found} == {("users", "anna")}
    assert "hidden" not in {item.key for item in found}
    assert store.search(("users",), query="Musti")[0].key == "pet"
    assert store.get(("users", "anna"), "hidden") is not None
    rest = store.search(("users",), query="pizza", filter={"text": {"$ne": found[0].value["text"]}})
    assert rest[0].namespace == ("users", "bob")


def test_J8_an_item_is_a_memory_that_a_person_can_read_and_edit(opened: Any, vault: Path) -> None:
    memory = opened()
    store = MuistiStore(memory, project="shop", user="anna")
    store.put(("facts",), "food", {"memory": "Anna likes pizza", "sure": True})
    [saved] = memory.list()
    assert (saved.project, saved.user, saved.source) == ("shop", "anna", "langgraph")
    path = vault / saved.file_path
    path.write_text(path.read_text().replace("pizza", "risotto").replace(": true", ": false"))
    memory.sync()
    item = store.get(("facts",), "food")
    assert item is not None
    assert item.value == {"memory": "Anna likes risotto", "sure": False}
    path.write_text(path.read_text().replace('"sure": false', '"sure": fal'))
    memory.sync()
    item = store.get(("facts",), "food")
    assert item is not None
    assert "Anna likes risotto" in item.value["memory"]  # not JSON: nothing of it is lost


def test_J8_projects_and_users_have_items_of_their_own(memory: Muisti) -> None:
    scopes = [{}, {"user": "anna"}, {"project": "shop"}, {"project": "shop", "user": "anna"}]
    stores = [MuistiStore(memory, **scope) for scope in scopes]
    for number, store in enumerate(stores):
        store.put(("facts",), "key", {"n": number})
    for number, store in enumerate(stores):
        assert [item.value for item in store.search(())] == [{"n": number}]
        assert store.list_namespaces() == [("facts",)]
    stores[1].delete(("facts",), "key")
    assert [len(store.search(())) for store in stores] == [1, 0, 1, 1]
    assert len(memory.list_trash()) == 1


def test_J8_an_item_is_unconfirmed_until_a_person_confirms_it(memory: Muisti) -> None:
    store = MuistiStore(memory)
    store.put(("rules",), "style", {"text": "Always answer in Finnish"})
    [item] = memory.list()
    assert not item.trusted
    memory.confirm(item.id)
    store.put(("rules",), "style", {"text": "Always answer in Finnish"})
    assert memory.list()[0].trusted
    store.put(("rules",), "style", {"text": "Always answer in Swedish"})
    assert not memory.list()[0].trusted


def test_J8_an_item_that_was_deleted_can_be_put_again(memory: Muisti) -> None:
    store = MuistiStore(memory)
    for text in ("one", "two", "two"):
        store.put(("a",), "key", {"text": text})
        store.put(("a",), "other", {"text": text})  # the same text is no duplicate
        assert store.get(("a",), "key").value == store.get(("a",), "other").value == {"text": text}  # type: ignore[union-attr]
        store.delete(("a",), "key")
        assert store.get(("a",), "key") is None


def test_J8_secrets_are_redacted_and_bad_values_refused(memory: Muisti) -> None:
    store = MuistiStore(memory)
    store.put(("a",), "key", {"password": "correct-horse-battery", "key": "AKIAIOSFODNN7EXAMPLE"})
    item = store.get(("a",), "key")
    assert item is not None
    assert item.value.keys() == {"password", "key"}
    assert "AKIAIOSFODNN7EXAMPLE" not in str(item.value)
    for value, key in (({"x": {1, 2}}, "k"), ({"x": float("nan")}, "k"), ({}, "k" * 400)):
        with pytest.raises(InvalidMemory, match="value must be JSON|key must have at most"):
            store.put(("a",), key, value)
    assert [item.key for item in store.search(())] == ["key"]


def test_J8_the_async_methods_work(memory: Muisti) -> None:
    async def use() -> Any:
        store = MuistiStore(memory)
        await store.aput(("a",), "key", {"n": 1})
        return await store.aget(("a",), "key")

    assert asyncio.run(use()).value == {"n": 1}


def test_J8_the_example_runs(vault: Path) -> None:
    assert run_example("langgraph_memory.py", vault.parent) == [
        "I will remember that.",
        "You told me: My dog is called Musti.",
        "messages of the first thread: 2",
    ]
