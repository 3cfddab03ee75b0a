"""Export and import: what goes out comes back, and what is wrong is named with its place."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from muisti.errors import ImportFailed, InvalidRequest
from muisti.importers import ImportExportFiles
from muisti.model import Draft, Memory, Usage
from muisti.ports import ImportedMemory, SkippedItem
from muisti.settings import Settings
from muisti.storage.files.markdown_codec import MarkdownCodec
from tests.unit.making import NOON, a_memory
from tests.unit.test_memory_codec import CONFLICT, memories

FILES = ImportExportFiles(MarkdownCodec(Settings()))
FORMS = ["markdown", "json", "jsonl"]
"""Export formats that carry everything."""
SUFFIX = {"markdown": ".md", "json": ".json", "jsonl": ".jsonl"}
ALL = st.lists(memories(), min_size=1, max_size=4, unique_by=lambda memory: memory.id)


def loaded(folder: Path, name: str, data: str | bytes) -> list[Draft]:
    return [imported.draft for imported in load(stored(folder, name, data))]


def load(source: Path) -> list[ImportedMemory]:
    """Load a source of memories. Raises ImportFailed for the first that cannot be read."""
    found = []
    for item in FILES.load(source):
        if isinstance(item, SkippedItem):
            if item.expected:
                continue
            raise ImportFailed(f"{item.where}: {item.reason}")
        assert isinstance(item, ImportedMemory)
        found.append(item)
    return found


def stored(folder: Path, name: str, data: str | bytes) -> Path:
    (folder / name).write_bytes(data.encode() if isinstance(data, str) else data)
    return folder / name


def as_draft(memory: Memory) -> dict[str, Any]:
    values = {field.name: getattr(memory, field.name) for field in fields(Draft)}
    return _unsaid(values)


def drafted(draft: Draft) -> dict[str, Any]:
    return _unsaid({field.name: getattr(draft, field.name) for field in fields(Draft)})


def _unsaid(values: dict[str, Any]) -> dict[str, Any]:
    """An empty name and none are the same; salience is use, not part of a draft."""
    names = ("project", "user", "agent")
    return {**values, **{name: values[name] or None for name in names}, "salience": None}


@pytest.mark.parametrize("form", FORMS)
@settings(
    max_examples=40,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(sent=ALL)
def test_what_goes_out_comes_back(tmp_path: Path, form: str, sent: list[Memory]) -> None:
    back = loaded(tmp_path, f"out{SUFFIX[form]}", FILES.dump(sent, form))
    assert [drafted(draft) for draft in back] == [as_draft(memory) for memory in sent]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "content",
    [
        "---\na: b\n---\n",
        "<!-- muisti memory, 5 bytes -->\nx",
        CONFLICT,
        "x\r",
        "\n\nx\n\n",
        "```\n---\n```",
        "ä" * 100,
        "\ufeffx",
    ],
)
def test_contents_that_look_like_the_format(tmp_path: Path, form: str, content: str) -> None:
    sent = [a_memory(1, content, title="One"), a_memory(2, "Another", title="Two")]
    assert [
        draft.content for draft in loaded(tmp_path, f"x{SUFFIX[form]}", FILES.dump(sent, form))
    ] == [content, "Another"]


def test_strength_and_use_come_back_from_json(tmp_path: Path) -> None:
    source = stored(
        tmp_path,
        "x.json",
        FILES.dump([a_memory(salience=0.4, access_count=7), a_memory(2)], "json"),
    )
    first, second = load(source)
    assert first.usage == Usage(salience=0.4, access_count=7)
    assert second.usage == Usage()


def test_nothing_is_nothing(tmp_path: Path) -> None:
    assert FILES.dump([], "markdown") == ""
    assert loaded(tmp_path, "x.json", FILES.dump([], "json")) == []
    with pytest.raises(
        InvalidRequest,
        match="^format must be one of markdown, html, json, jsonl, mcp-memory .*'xml'",
    ):
        FILES.dump([], "xml")


@pytest.mark.parametrize(
    ("item", "field", "value"),
    [
        ({"content": "x"}, "content", "x"),
        ({"text": "x"}, "content", "x"),
        ({"memory": "x", "user_id": "u", "score": 1}, "content", "x"),
        ({"content": "x", "text": "y"}, "content", "x"),
        ({"content": "x", "type": "fact"}, "kind", "fact"),
        ({"content": "x", "category": "facts", "kind": "note"}, "kind", "note"),
        ({"content": "x", "tags": ["a", " b "]}, "keywords", ("a", "b")),
        ({"content": "x", "keywords": "a, b"}, "keywords", ("a", "b")),
        ({"content": "x", "title": None}, "title", None),
        ({"content": "x", "created_at": "2026-03-10T12:00:00Z"}, "created_at", NOON),
        ({"content": "x", "created_at": "2026-03-10T14:00:00+02:00"}, "created_at", NOON),
    ],
)
def test_other_programs_names_are_understood(
    tmp_path: Path, item: dict[str, Any], field: str, value: Any
) -> None:
    for name, data in (
        ("list.json", json.dumps([item])),
        ("wrapped.json", json.dumps({"memories": [item]})),
        ("results.json", json.dumps({"results": [item]})),
        ("lines.jsonl", f"\n{json.dumps(item)}\r\n\n"),
    ):
        (draft,) = loaded(tmp_path, name, data)
        assert getattr(draft, field) == value


BAD_ITEMS: list[Any] = [
    5, None, [], "text", {}, {"nothing": 1}, {"content": None}, {"content": 5}, {"content": "x", "title": 5}, {"content": "x", "kind": ["a"]},
    {"content": "x", "keywords": 5}, {"content": "x", "keywords": [1]}, {"content": "x", "files": {"a": 1}},
    {"content": "x", "created_at": "soon"}, {"content": "x", "created_at": 5}, {"content": "x", "valid_from": "0001-01-01T00:00:00+10:00"},
    {"content": "x", "importance": "high"}, {"content": "x", "importance": 7}, {"content": "x", "salience": "x"}, {"content": "x", "salience": -1},
    {"content": "x", "id": 5}, {"content": "x", "id": "../x"}, {"content": "x", "session_id": 5}, {"content": "x", "tier": 1},
]  # fmt: skip


@pytest.mark.parametrize("item", BAD_ITEMS, ids=lambda item: json.dumps(item)[:40])
def test_a_bad_item_is_named_by_its_place(tmp_path: Path, item: Any) -> None:
    with pytest.raises(ImportFailed, match=r"x\.json, memory 2: "):
        loaded(tmp_path, "x.json", json.dumps([{"content": "fine"}, item]))
    with pytest.raises(ImportFailed, match=r"x\.jsonl, line 2: "):
        loaded(tmp_path, "x.jsonl", f'{{"content": "fine"}}\n{json.dumps(item)}\n')


@pytest.mark.parametrize("count", [-1, True, 10**30, "7", 1.5])
def test_a_count_that_is_none_is_left_out(tmp_path: Path, count: Any) -> None:
    source = stored(tmp_path, "x.json", json.dumps([{"content": "x", "access_count": count}]))
    assert load(source)[0].usage.access_count == 0


BAD_FILES: list[tuple[str, str | bytes, str]] = [
    ("x.json", "", "is not valid JSON"),
    ("x.json", "{", "is not valid JSON"),
    ("x.json", b"[\xff\xfe\xfd]", "is not UTF-8 text"),
    ("x.json", "[" * 100_000, "is not valid JSON"),
    ("x.json", "5", "must be a list of memories"),
    ("x.json", '{"memories": 5}', "must be a list of memories"),
    ("x.json", "{}", "must be a list of memories"),
    ("x.jsonl", '{"content": "x"}\n{', "line 2: is not valid JSON"),
    ("x.md", b"\xff\xfe", r"x\.md: is not UTF-8 text; save it as UTF-8"),
    ("x.md", "---\ntitle: [\n---\n\nx\n", r"x\.md: the front matter is not valid YAML"),
    ("x.md", "---\nkind: nonsense\n---\n\nx\n", r"x\.md: kind must be .*'nonsense'"),
    ("x.md", "", r"x\.md: content must not be empty"),
    ("x.txt", "x", "pass a .af, .json, .jsonl, .md or .zip file"),
    ("x", "x", "pass a .af, .json, .jsonl, .md or .zip file"),
]


@pytest.mark.parametrize(("name", "data", "message"), BAD_FILES, ids=lambda value: repr(value)[:25])
def test_a_bad_file_says_why(tmp_path: Path, name: str, data: str | bytes, message: str) -> None:
    with pytest.raises(ImportFailed, match=message) as raised:
        loaded(tmp_path, name, data)
    assert name in str(raised.value)


def test_a_source_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ImportFailed, match=r"gone\.json: No such file"):
        load(tmp_path / "gone.json")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ImportFailed, match="empty: contains nothing that muisti can import"):
        load(tmp_path / "empty")


@pytest.mark.parametrize(
    "spoil",
    [
        lambda text: text.replace("Second", "Second, longer"),
        lambda text: text[:-4],
        lambda text: text + "more",
    ],
)
def test_an_export_whose_lengths_do_not_fit_is_refused(tmp_path: Path, spoil) -> None:
    """Taking in a part of it would lose the rest without a word."""
    text = FILES.dump(
        [a_memory(1, "First"), a_memory(2, "Second"), a_memory(3, "Third")], "markdown"
    )
    with pytest.raises(ImportFailed, match=r"x\.md, memory \d: "):
        loaded(tmp_path, "x.md", spoil(text))


def test_a_bad_memory_in_an_export_is_named(tmp_path: Path) -> None:
    text = FILES.dump([a_memory(1, "First"), a_memory(2, "Second")], "markdown")
    spoiled = text[::-1].replace("kind: note"[::-1], "kind: n0te"[::-1], 1)[::-1]
    with pytest.raises(ImportFailed, match=r"x\.md, memory 2: kind must be .*'n0te'"):
        loaded(tmp_path, "x.md", spoiled)


def test_a_folder_of_notes(tmp_path: Path) -> None:
    for path, text in (
        ("decisions/2026-01-31_a.md", "A"),
        ("b.md", "---\ntitle: B\n---\n\nB text\n"),
        (".hidden/c.md", "C"),
        ("d.txt", "D"),
    ):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    first, second = (imported.draft for imported in load(tmp_path))
    assert (first.title, first.content, first.id) == ("B", "B text", None)
    assert (second.content, second.kind) == ("A", "decision")
