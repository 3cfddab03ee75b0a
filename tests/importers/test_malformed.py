"""A value of another type, or text that is not valid, never ends an import with a traceback.

Everything that was found is imported, merged, or named in the report.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from muisti import Muisti
from muisti.errors import MuistiError
from tests.importers.making import FORMATS
from tests.importers.test_obsidian import add_up
from tests.tiers import sample

ODD: tuple[Any, ...] = ([], {}, 7, "\ud800", None)


def find_places(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of each value in a JSON document."""
    yield place
    if isinstance(value, dict | list):
        parts = value.items() if isinstance(value, dict) else enumerate(value)
        for key, part in parts:
            yield from find_places(part, (*place, key))


def replace_at(document: Any, place: tuple[Any, ...], value: Any) -> Any:
    """Return a document with another value at one place."""
    if not place:
        return value
    changed = copy.deepcopy(document)
    parent = changed
    for key in place[:-1]:
        parent = parent[key]
    parent[place[-1]] = value
    return changed


def read_lines(text: str) -> list[Any]:
    """Return the values of a JSONL file, without broken lines."""
    found = []
    for line in text.splitlines():
        with suppress(ValueError):
            found.append(json.loads(line))
    return found


@pytest.mark.parametrize("name", FORMATS)
def test_J7_odd_values_are_reported(name: str, tmp_path: Path) -> None:
    made = FORMATS[name](tmp_path / "source")
    files = [made.path] if made.path.is_file() else sorted(made.path.rglob("*"))
    with Muisti.open(":memory:", embedder="none") as memory:
        for file in files:
            if file.suffix not in (".json", ".jsonl", ".af"):
                continue
            text = file.read_text()
            is_lines = file.suffix == ".jsonl"
            try:
                document = read_lines(text) if is_lines else json.loads(text)
            except ValueError:  # broken on purpose
                continue
            for place in sample(list(find_places(document)), 8):
                for odd in ODD:
                    changed = replace_at(document, place, odd)
                    lines = changed if is_lines and isinstance(changed, list) else [changed]
                    file.write_text("\n".join(json.dumps(line) for line in lines))
                    with suppress(MuistiError):
                        report = memory.import_from(made.path, format=name.split(maxsplit=1)[0])
                        assert add_up(report), (place, odd)
            file.write_text(text)


def test_J7_known_oddities(tmp_path: Path) -> None:
    node: dict[str, Any] = {"parent": [], "message": None}
    codex = {"type": "response_item", "payload": {"type": [], "role": "user", "content": "x"}}
    memory = {"id": "\ud800", "memory": "Anna likes tea", "user_id": "anna"}
    documents: list[tuple[str, Any]] = [
        ("chatgpt", [{"mapping": {"a": node}, "current_node": {}}]),
        ("codex", codex),
        ("mem0", 7),
        ("mem0", {"results": [memory], "relations": 7}),
        ("letta", {"agents": [{"tools": 7}]}),
    ]
    file = tmp_path / "source.json"
    with Muisti.open(":memory:", embedder="none") as vault:
        for name, document in documents:
            file.write_text(json.dumps(document))
            with suppress(MuistiError):
                vault.import_from(file, format=name)
        assert [one.content for one in vault.list()] == ["Anna likes tea"]
