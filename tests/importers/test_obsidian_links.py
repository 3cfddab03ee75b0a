"""Links, tags and times of Obsidian as people write them."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest

from muisti import Muisti
from tests.importers.making import write
from tests.importers.test_detection import pack
from tests.importers.test_obsidian import by_title


@pytest.fixture
def brain(tmp_path: Path) -> Path:
    root = tmp_path / "Obsidian"
    notes = {
        "Home": "See [[Projects/Kitchen/Plan|the plan]], [[Kitchen/Sink#Size|sink]], [[Anna Müller]].",
        "Projects/Kitchen/Plan": "---\ntitle: Kitchen plan\nup: [[Home]]\nrelated:\n"
        '  - "[[Anna Müller]]"\n  - "[[Nowhere]]"\n---\nAn induction cooktop',
        "Projects/Kitchen/Sink": "---\ntags: home steel\n---\nA deep sink\n```\n[[Code]]",
        unicodedata.normalize("NFD", "People/Anna Müller"): "She lives in Köln",
        "Other/Plan": "Not meant by any link",
        "Daily": '---\ncreated: "[[2024-05-06]]"\ntag: "#a #b"\n---\nMet ![[Plän.png]]',
    }
    write(root / ".obsidian/app.json", "{}")
    write(root / unicodedata.normalize("NFD", "Files/Plän.png"), "png")
    for path, text in notes.items():
        write(root / f"{path}.md", text)
    return root


def linked(memory: Muisti, title: str) -> set[str]:
    notes = by_title(memory)
    titles = {one.id: one.title for one in notes.values()}
    id_ = notes[title].id
    return {titles[link.target] for link in memory.links(id_) if link.source == id_}


def test_J7_links_by_path_and_in_front_matter(memory: Muisti, brain: Path) -> None:
    report = memory.import_from(brain)
    assert [one.reason for one in report.unresolved] == ["2024-05-06", "Nowhere"]
    assert report.links == 5
    assert linked(memory, "Home") == {"Kitchen plan", "Sink", "Anna Müller"}
    assert linked(memory, "Kitchen plan") == {"Home", "Anna Müller"}
    assert by_title(memory)["Kitchen plan"].aliases == ("Plan",)
    assert linked(memory, "Plan") == linked(memory, "Sink") == set()


def test_J7_wikilinks_with_paths_still_lead_to_notes_after_the_import(
    memory: Muisti, brain: Path
) -> None:
    memory.import_from(brain)
    assert "![[Plän.png]]" in by_title(memory)["Daily"].content
    assert memory.unresolved_links() == []  # attachments are no memories


def test_J7_attachments_in_an_archive_are_not_missing(
    memory: Muisti, brain: Path, tmp_path: Path
) -> None:
    archive = pack(brain, tmp_path / "Obsidian.zip", "Obsidian/")
    report = memory.import_from(archive)
    assert [one.reason for one in report.unresolved] == ["2024-05-06", "Nowhere"]
    assert report.left_out == {"files that are not text": 1}


def test_J7_tags_and_times_in_a_line(memory: Muisti, brain: Path) -> None:
    memory.import_from(brain)
    notes = by_title(memory)
    assert notes["Sink"].keywords == ("home", "steel", "Projects", "Kitchen")
    assert notes["Daily"].keywords == ("a", "b")
    assert f"{notes['Daily'].created_at:%Y-%m-%d}" == "2024-05-06"
