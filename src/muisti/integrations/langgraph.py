"""A LangGraph store whose items are memories of a vault, and a checkpointer beside them.

with Muisti.open("~/notes") as memory:
    store = MuistiStore(memory)
    store.put(("users", "anna"), "food", {"text": "Anna likes pizza"})
    store.search(("users",), query="what to cook?")
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import Any

from muisti.engine import Muisti
from muisti.integrations.frameworks import in_thread, require
from muisti.integrations.langgraph_checkpoints import MuistiSaver
from muisti.integrations.vault_items import Change, VaultItems

require("langgraph-checkpoint", "4.0", "langgraph")

from langgraph.store.base import (  # noqa: E402
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
)

_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}


class MuistiStore(BaseStore):
    """Stores items as memories of a project and a user; those of the settings, if none are given.

    A search with a query is muisti's own search, so it needs no `index` configuration. Items that
    were deleted are in the vault's trash.
    """

    def __init__(
        self, memory: Muisti, *, project: str | None = None, user: str | None = None
    ) -> None:
        self._items = VaultItems(memory, "langgraph", project=project, user=user)

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Run operations; reads see the state before the batch, and the last put of a key wins.

        Raises InvalidMemory for a value that is not JSON, TypeError for an unknown operation.
        """
        results: list[Result] = []
        changes: dict[tuple[tuple[str, ...], str], Change] = {}
        for op in ops:
            result: Result = None
            if isinstance(op, GetOp):
                if found := self._items.get(op.namespace, op.key):
                    result = Item(
                        value=found.value,
                        key=found.key,
                        namespace=found.namespace,
                        created_at=found.memory.created_at,
                        updated_at=found.memory.updated_at,
                    )
            elif isinstance(op, SearchOp):
                result = self._search(op)
            elif isinstance(op, ListNamespacesOp):
                result = self._list_namespaces(op)
            elif isinstance(op, PutOp):
                change = Change(op.namespace, op.key, op.value, searched=op.index is not False)
                changes[op.namespace, op.key] = change
            else:
                raise TypeError(f"{type(op).__name__} is not an operation of a store")
            results.append(result)
        if changes:
            self._items.apply(changes.values())
        return results

    abatch = in_thread(batch)

    def _search(self, op: SearchOp) -> list[SearchItem]:
        if op.query:
            found = self._items.search(op.query, op.namespace_prefix)
        else:
            found = self._items.select(op.namespace_prefix)
        wanted = op.filter or {}
        passed = [one for one in found if matches_filter(one.value, wanted)]
        return [
            SearchItem(
                namespace=one.namespace,
                key=one.key,
                value=one.value,
                created_at=one.memory.created_at,
                updated_at=one.memory.updated_at,
                score=one.score,
            )
            for one in passed[op.offset : op.offset + op.limit]
        ]

    def _list_namespaces(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        found = {
            item.namespace[: op.max_depth]
            for item in self._items.select()
            if all(matches_path(item.namespace, one) for one in op.match_conditions or ())
        }
        return sorted(found)[op.offset : op.offset + op.limit]


def matches_path(namespace: tuple[str, ...], condition: MatchCondition) -> bool:
    """Return whether a namespace begins or ends with a path; `*` in it stands for any label."""
    path = condition.path
    if len(namespace) < len(path):
        return False
    labels = namespace[: len(path)]
    if condition.match_type == "suffix":
        labels = namespace[len(namespace) - len(path) :]
    return all(wanted in ("*", label) for label, wanted in zip(labels, path, strict=True))


def matches_filter(value: Any, wanted: Any) -> bool:
    """Return whether a value has what a filter asks for. Raises ValueError for an operator."""
    if isinstance(wanted, dict) and any(name.startswith("$") for name in wanted):
        return all(_compare(value, name, one) for name, one in wanted.items())
    if isinstance(wanted, dict):
        return isinstance(value, dict) and all(
            matches_filter(value.get(name), one) for name, one in wanted.items()
        )
    if isinstance(wanted, list | tuple):
        if not isinstance(value, list | tuple) or len(value) != len(wanted):
            return False
        return all(map(matches_filter, value, wanted))
    return bool(value == wanted)


def _compare(value: Any, name: str, wanted: Any) -> bool:
    if name in ("$eq", "$ne"):
        return bool(value == wanted) is (name == "$eq")
    if name not in _COMPARISONS:
        raise ValueError(f"Unsupported operator: {name}")
    try:
        return _COMPARISONS[name](float(value), float(wanted))
    except (TypeError, ValueError):  # a missing field, or one that is not a number
        return False


__all__ = ["MuistiSaver", "MuistiStore"]
