"""Obsidian vaults and folders of notes: every note is imported, merged, or named in the report."""

from __future__ import annotations

import zipfile
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from muisti import ImportReport, LinkType, Memory, Muisti, bootstrap
from tests.conftest import Opener
from tests.importers import making


def add_up(report: ImportReport) -> bool:
    """Return whether everything that was found is accounted for."""
    return report.found == (
        report.imported
        + report.merged
        + report.existing
        + report.messages
        + report.existing_messages
        + len(report.problems)
        + sum(report.left_out.values())
    )


def by_title(memory: Muisti) -> dict[str, Memory]:
    return {one.title: one for one in memory.list(limit=None, project="*")}


def read_file(memory: Muisti, title: str) -> str:
    return (memory.root / str(by_title(memory)[title].file_path)).read_text()


@pytest.fixture
def brain(tmp_path: Path) -> Path:
    root = tmp_path / "Second brain"
    files = {
        ".obsidian/app.json": "{}",
        "Otters.md": "---\naliases: [Lutra]\ntags: [animal, water]\nrating: 5\nsource: https://x.example\n"
        "nested:\n  a: 1\n---\nOtters sleep on the water. See [[Rivers|the rivers]] and #mammal.\n",
        "Nature/Rivers.md": "Rivers flow. ![[map.png]] ![[Otters]] `[[Code]]` #fff #water/fresh\n",
        "Nature/Bees.md": "Bees dance, like [[lutra]] and [[Nothing here]] and [Rivers](Rivers.md#a).\n",
        "Daily/2026-03-10.md": "Met Anna today.\n",
        "Empty.md": "\n\n",
        "Template.md": "---\ntitle: [{{title}\n---\nx\n",
        "map.png": "png",
        "Board.canvas": "{}",
        "projects/shop/Payment.md": "---\ncategory: Books\nkind: decision\n---\nWe chose invoices.\n",
        "projects/shop/Payment.markdown": "---\ncategory: Books\nkind: decision\n---\nWe chose invoices.\n",
    }
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    (root / "Latin.md").write_bytes(b"caf\xe9")
    (root / "Outside.md").symlink_to(tmp_path / "secret")
    return root


def test_J7_an_obsidian_vault_is_imported(memory: Muisti, brain: Path) -> None:
    before = {path: path.read_bytes() for path in brain.rglob("*") if path.is_file()}
    report = memory.import_from(brain)
    assert (report.format, report.imported, report.merged) == ("obsidian", 5, 1)
    assert add_up(report)
    assert {Path(one.path).name for one in report.problems} == {
        "Empty.md",
        "Template.md",
        "Latin.md",
        "Outside.md",
    }
    assert report.left_out == {"attachments and canvases": 2}
    assert [one.reason for one in report.unresolved] == ["Nothing here"]
    found = by_title(memory)
    assert found["2026-03-10"].created_at == datetime(2026, 3, 10, tzinfo=UTC)
    assert found["Rivers"].keywords == ("water/fresh", "Nature")
    assert (found["Payment"].project, found["Payment"].kind) == ("shop", "decision")
    assert not any(one.trusted for one in found.values())
    otters = found.get("Otters") or found["Copy of otters"]
    links = {
        (one.title, link.target)
        for one in found.values()
        for link in memory.links(one.id)
        if link.source == one.id and link.type is LinkType.RELATED_TO
    }
    rivers = found["Rivers"].id
    assert links == {
        (otters.title, rivers), ("Rivers", otters.id), ("Bees", otters.id), ("Bees", rivers)
    }  # fmt: skip
    assert report.links == 4
    assert {path: path.read_bytes() for path in brain.rglob("*") if path.is_file()} == before
    assert memory.verify(deep=True).ok


def test_J7_other_keys_are_kept_in_the_front_matter(memory: Muisti, brain: Path) -> None:
    memory.import_from(brain)
    text = read_file(memory, "Otters")
    for line in (
        'imported_from: "obsidian: Second brain/Otters.md"',
        "aliases:\n  - Lutra\n",
        'rating: "5"',
        'source_source: "https://x.example"',
        'nested: "a: 1"',
    ):
        assert line in text
    assert "source_category: Books" in read_file(memory, "Payment")
    changed = memory.update(by_title(memory)["Otters"].id, importance=0.9)
    assert 'rating: "5"' in (memory.root / str(changed.file_path)).read_text()


def test_J7_an_import_can_be_repeated(memory: Muisti, brain: Path) -> None:
    memory.import_from(brain)
    before = {path: path.read_bytes() for path in memory.root.rglob("*.md")}
    again = memory.import_from(brain)
    assert (again.imported, again.existing, again.merged, again.links) == (0, 5, 1, 0)
    assert {path: path.read_bytes() for path in memory.root.rglob("*.md")} == before
    memory.delete(by_title(memory)["Bees"].id)
    (brain / "Nothing here.md").write_text("Now it is here.\n")
    (brain / "Daily/2026-03-10.md").write_text("Met Anna and Bob today.\n")
    later = memory.import_from(brain)
    assert (later.imported, later.existing) == (1, 4)
    assert "Bees" not in by_title(memory)
    assert any("differs from memory" in one.reason for one in later.problems)
    assert add_up(again)
    assert add_up(later)


def test_J7_a_link_to_a_note_that_comes_later_is_added(memory: Muisti, brain: Path) -> None:
    memory.import_from(brain)
    (brain / "Nothing here.md").write_text("Now it is here.\n")
    assert memory.import_from(brain).links == 1
    found = by_title(memory)
    assert found["Nothing here"].id in {link.target for link in memory.links(found["Bees"].id)}


def test_J7_a_dry_run_writes_nothing(memory: Muisti, brain: Path) -> None:
    (brain / "Key.md").write_text("The key is AKIA" + "A2B3C4D5" + "E6F7G2H3 for the shop.\n")
    before = {path: path.read_bytes() for path in memory.root.rglob("*.md")}
    planned = memory.import_from(brain, dry_run=True)
    assert {path: path.read_bytes() for path in memory.root.rglob("*.md")} == before
    assert memory.list() == []
    done = memory.import_from(brain)
    for name in ("found", "imported", "merged", "links", "redacted", "kinds", "examples"):
        assert getattr(planned, name) == getattr(done, name), name
    assert (planned.dry_run, planned.redacted, len(planned.examples)) == (True, 1, 6)
    assert "AKIA" not in read_file(memory, "Key")


def test_J7_links_to_merged_notes_lead_to_the_memory_with_their_text(
    opened: Opener, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if the note comes in a later batch than the link."""
    monkeypatch.setattr("muisti.remember.importing.BATCH", 1)
    memory = opened()
    mine = memory.save("The walrus sings")
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "a.md").write_text("See [[z]] and [[y]] and [[broken]]")
    (notes / "broken.md").write_bytes(b"\xff")
    (notes / "y.md").write_text("The bee dances")
    (notes / "z.md").write_text("The walrus sings")
    report = memory.import_from(notes)
    assert (report.imported, report.merged, len(report.problems)) == (2, 1, 1)
    found = by_title(memory)
    links = {link.target: link for link in memory.links(found["a"].id)}
    assert links.keys() == {mine.id, found["y"].id}
    assert links[mine.id].proposed, "an untrusted import does not link what was here before"
    assert not links[found["y"].id].proposed
    assert memory.verify(deep=True).ok


@pytest.mark.parametrize("batch", [1, 500])
def test_J7_notes_with_the_same_text_keep_their_titles(
    memory: Muisti, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, batch: int
) -> None:
    """Such as stubs from a template: a link to Ben must not lead to Anna."""
    monkeypatch.setattr("muisti.remember.importing.BATCH", batch)
    notes = tmp_path / "notes"
    for name in ("Anna.md", "Ben.md", "Anna.markdown"):
        making.write(notes / name, "#person\n")
    making.write(notes / "Friends.md", "I know [[Ben]].\n")
    planned = memory.import_from(notes, dry_run=True)
    report = memory.import_from(notes)
    assert (report.imported, report.merged) == (planned.imported, planned.merged) == (3, 1)
    found = by_title(memory)
    assert [one.target for one in memory.links(found["Friends"].id)] == [found["Ben"].id]
    making.write(tmp_path / "later" / "Carl.md", "#person\n")
    assert memory.import_from(tmp_path / "later").imported == 1
    again = memory.import_from(notes)
    assert (again.existing, again.merged, again.imported) == (3, 1, 0)


@pytest.mark.parametrize("batch", [1, 500])
def test_J7_only_an_item_that_adds_nothing_is_merged(
    memory: Muisti, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, batch: int
) -> None:
    monkeypatch.setattr("muisti.remember.importing.BATCH", batch)
    memory.save("Anna likes tea", user="anna", keywords=["drink"])
    item = {"memory": "Anna likes tea", "user_id": "anna"}
    items: list[object] = [
        {**item, "id": "1"},  # as the saved one
        {**item, "id": "2", "categories": ["food"]},
        {**item, "id": "3", "metadata": {"mood": "good"}},
        {**item, "id": "4", "metadata": {"mood": "good"}},
        {**item, "id": "5", "agent_id": "bot"},
        {**item, "id": "2", "categories": ["food"]},
        {"id": "6", "memory": "Anna likes tea", "user_id": "ben"},
    ]
    source = making.dump(tmp_path / "m.json", items)
    planned = memory.import_from(source, dry_run=True)
    report = memory.import_from(source)
    assert (report.imported, report.merged, report.problems) == (4, 3, ())
    assert (planned.imported, planned.merged) == (4, 3)
    stored = memory.list(user="*")
    assert {one.categories for one in stored} >= {("food",)}
    assert {one.agent for one in stored} >= {"bot"}
    again = memory.import_from(source)
    assert (again.imported, again.merged, again.existing) == (0, 3, 4)


NAMES = st.sampled_from(["a", "b", "c", "d/e", "d/f", "Äpfel", "long name"])
TEXTS = st.sampled_from(
    ["", "One [[a]]", "Two [[b|x]] #t", "One [[a]]", "[[e]] [[nowhere]]", "---\nk: v\n---\nT [[d/f]]", "---\n"]
)  # fmt: skip


@settings(
    max_examples=15,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(notes=st.dictionaries(NAMES, TEXTS, min_size=1))
def test_J7_every_note_is_imported_merged_or_named(
    tmp_path_factory: pytest.TempPathFactory, notes: dict[str, str]
) -> None:
    root = tmp_path_factory.mktemp("property")
    for name, text in notes.items():
        path = root / "notes" / f"{name}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    with bootstrap.open(root / "vault", settings={"embedder": "none"}) as memory:
        planned = memory.import_from(root / "notes", dry_run=True)
        report = memory.import_from(root / "notes")
        assert report.found == len(notes)
        assert add_up(report)
        assert planned.imported == report.imported == len(memory.list(limit=None))
        known = {one.id for one in memory.list(limit=None)}
        linked = {link.target for one in known for link in memory.links(one)}
        assert linked <= known, "no link leads nowhere"
        again = memory.import_from(root / "notes")
        assert (again.imported, again.links) == (0, 0)
        assert add_up(again)


def test_J7_a_zip_archive_is_imported_as_its_content(
    opened: Opener, brain: Path, tmp_path: Path
) -> None:
    archive = tmp_path / "vault.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        for path in sorted(brain.rglob("*")):
            if path.is_file() and not path.is_symlink():
                packed.write(path, f"Second brain/{path.relative_to(brain)}")
        packed.writestr("../evil.md", "Outside")
        packed.writestr("/etc/evil.md", "Outside")
        link = zipfile.ZipInfo("Second brain/link.md")
        link.external_attr = 0o120777 << 16
        packed.writestr(link, "/etc/passwd")
    memory = opened()
    report = memory.import_from(archive)
    assert (report.format, report.imported, report.merged) == ("obsidian", 5, 1)
    reasons = {Path(one.path).name: one.reason for one in report.problems}
    assert reasons["evil.md"] == "its path leads out of the archive"
    assert reasons["link.md"] == "is a symbolic link"
    assert sum(one.reason == "its path leads out of the archive" for one in report.problems) == 2
    assert add_up(report)
    assert not (tmp_path / "evil.md").exists()
    assert memory.import_from(brain).existing == 5, "the folder has the same notes"
