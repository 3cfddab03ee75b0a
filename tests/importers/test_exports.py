"""Exports for other programs: what a format can carry comes back."""

from __future__ import annotations

import io
import json
import tracemalloc
from html.parser import HTMLParser
from pathlib import Path

import pytest

from muisti import InvalidRequest, Muisti, bootstrap
from muisti.importers.json_stream import iterate_array
from tests.conftest import Opener
from tests.importers.making import KEY, dump_lines, write

HOSTILE = (
    "</pre><script>alert(1)</script> ![x](https://x.example/a.png) [j](javascript:alert(1)) \"'&"
)


def fill(memory: Muisti) -> None:
    one = memory.save("Otters sleep", title="A/b: c?", keywords=["two words", "x"], project="shop")
    two = memory.save(HOSTILE, title="A/b: c?", summary="<b>")
    three = memory.save("Bees dance", title="..", kind="decision", user="anna")
    memory.link(one.id, two.id, "DEPENDS_ON")
    memory.link(three.id, one.id, "RELATED_TO")


def test_J7_a_vault_for_obsidian_comes_back(opened: Opener, tmp_path: Path) -> None:
    memory = opened()
    fill(memory)
    target = tmp_path / "Vault"
    assert memory.export_folder(target) == 4
    paths = sorted(str(path.relative_to(target)) for path in target.rglob("*.md"))
    assert paths[-1] == "projects/shop/A-b- c.md"
    text = (target / paths[-1]).read_text()
    other = next(path[:-3] for path in paths if path.startswith("A-b- c ("))
    assert f'related:\n  - "[[{other}]]"' in text
    assert "tags:\n  - two-words\n  - x\n" in text
    with bootstrap.open(tmp_path / "second", settings={"embedder": "none"}) as second:
        report = second.import_from(target, trusted=True)
        assert (report.format, report.imported, report.problems) == ("obsidian", 3, ())
        before = memory.list(project="*", user="*", order="asc")
        after = second.list(project="*", user="*", order="asc")
        for field in ("id", "content", "title", "kind", "project", "user", "keywords", "summary"):
            assert [getattr(one, field) for one in after] == [getattr(one, field) for one in before]
        assert [one.links for one in after] == [one.links for one in before]
    with pytest.raises(InvalidRequest, match="must be a new or an empty folder"):
        memory.export_folder(target)
    with pytest.raises(InvalidRequest, match="format must be one of obsidian"):
        memory.export_folder(tmp_path / "other", format="json")


def test_J7_an_mcp_memory_file_comes_back(opened: Opener, tmp_path: Path) -> None:
    lines = [
        {"type": "entity", "name": "Anna", "entityType": "person", "observations": ["Likes tea"]},
        {"type": "entity", "name": "Acme", "entityType": "company", "observations": ["Sells tea", "Old\n\nand large"]},
        {"type": "entity", "name": "Ben", "entityType": "person", "observations": []},
        {"type": "relation", "from": "Anna", "to": "Acme", "relationType": "depends_on"},
    ]  # fmt: skip
    memory = opened()
    memory.import_from(dump_lines(tmp_path / "memory.jsonl", lines))
    text = memory.export_memories(format="mcp-memory")
    assert sorted(text.splitlines()) == sorted(json.dumps(line) for line in lines)
    own = opened()
    fill(own)
    entities = [json.loads(line) for line in own.export_memories(format="mcp-memory").splitlines()]
    assert [one["observations"] for one in entities if "Otters" in str(one)] == [["Otters sleep"]]
    assert len({one["name"] for one in entities if one["type"] == "entity"}) == 6


class Page(HTMLParser):
    """Collects the elements and addresses of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.loads: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        for name, value in attrs:
            if name in ("src", "srcset", "data") or tag == "link" or name.startswith("on"):
                self.loads.append(f"{tag} {name} {value}")
            if name == "href":
                self.links.append(str(value))


def test_J7_a_page_to_read_offline_loads_and_runs_nothing(memory: Muisti) -> None:
    fill(memory)
    text = memory.export_memories(format="html")
    page = Page()
    page.feed(text)
    assert page.loads == []
    assert not page.tags & {"script", "img", "iframe", "object", "link", "form", "base"}
    assert not [link for link in page.links if not link.startswith(("#", "https://x.example"))]
    assert "default-src 'none'" in text
    assert "Bees dance" in text
    ids = {one.id for one in memory.list(project="*", user="*")}
    assert {link[1:] for link in page.links if link.startswith("#")} == ids


def test_J7_a_page_to_read_offline_has_tables_and_wikilinks(memory: Muisti) -> None:
    one = memory.save("Otters sleep", title="Otters", aliases=["Lutra"])
    table = "| a | b |\n|---|---|\n| [[Otters\\|them]] | ~~x~~ |"
    links = "[[lutra]], [[Nature/Otters#Sleep]], ![[Otters]], [[Nobody]] `[[Otters]]` [[#Top]]"
    memory.save(f"{table}\n\n{links}", title="Links")
    text = memory.export_memories(format="html")
    for label in ("them", "lutra", "Nature/Otters", "Otters"):
        assert f'<a href="#{one.id}">{label}</a>' in text
    assert "Nobody <code>[[Otters]]</code> [[#Top]]" in text
    assert "<td><s>x</s></td>" in text


def test_J7_a_large_array_is_read_in_bounded_memory() -> None:
    item = json.dumps({"content": "x" * 1000}).encode()
    data = io.BytesIO(b"[" + b",".join([item] * 12_000) + b"]")
    tracemalloc.start()
    try:
        assert sum(1 for element in iterate_array(data, "x") if not element.error) == 12_000
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 8 << 20  # the array has 12 MB


@pytest.mark.parametrize("form", ["obsidian", "markdown", "json", "jsonl"])
def test_J7_keys_of_other_programs_are_exported_and_come_back(
    opened: Opener, tmp_path: Path, form: str
) -> None:
    head = f"status: active\npeople:\n  - Anna\n  - Ben\nkey: {KEY}\nscore: 5\ntags: [a]"
    write(tmp_path / "Obsidian/.obsidian/app.json", "{}")
    write(tmp_path / "Obsidian/Otters.md", f"---\n{head}\n---\nOtters sleep on the water.")
    memory = opened()
    memory.import_from(tmp_path / "Obsidian")
    if form == "obsidian":
        target = tmp_path / "Exported"
        memory.export_folder(target)
        text = (target / "Otters.md").read_text()
        assert "status: active\npeople:\n  - Anna\n  - Ben\n" in text
    else:
        target = tmp_path / ("out.md" if form == "markdown" else f"out.{form}")
        target.write_text(memory.export_memories(format=form))
        assert KEY not in target.read_text()
    with bootstrap.open(tmp_path / "second") as second:
        second.import_from(target)
        [one] = second.list()
        found = (second.root / str(one.file_path)).read_text()
    for line in ("status: active", "  - Ben", 'imported_from: "obsidian: Obsidian/Otters.md"'):
        assert line in found
    assert "source_imported_from" not in found
