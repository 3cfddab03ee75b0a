"""The benchmark of what is found through extraction, on a talk of four turns."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from benchmarks import tables, through_extraction

TURNS = (
    "I moved to Turku last month.",
    "Wow! How come?",
    "My sister Liisa lives there.",
    "Haha, nice!",
)
QUESTIONS = (
    ("Where did Anna move?", ["D1:1"], 4),
    ("What did Ben ask?", ["D1:2"], 1),
    ("Who is unknown?", ["D9:1"], 5),
)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    said = [
        {"speaker": ("Anna", "Ben")[n % 2], "dia_id": f"D1:{n + 1}", "text": text}
        for n, text in enumerate(TURNS)
    ]
    talk = {
        "speaker_a": "Anna",
        "speaker_b": "Ben",
        "session_1": said,
        "session_1_date_time": "1:56 pm on 8 May, 2023",
    }
    asked = [
        {"question": text, "evidence": gold, "category": category}
        for text, gold, category in QUESTIONS
    ]
    item = {"sample_id": "small", "conversation": talk, "qa": asked}
    (tmp_path / "locomo_dev.json").write_text(json.dumps([item]), "utf-8")
    return tmp_path


@pytest.fixture
def found(data: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("MUISTI_EMBEDDER", "none")
    path = data / "found.json"
    assert through_extraction.main(["--data", str(data), "--json", str(path)]) == 0
    return json.loads(path.read_text("utf-8"))


def test_less_is_kept_and_what_is_lost_is_told(found: Any) -> None:
    whole, less = found["ways"]["every turn"], found["ways"]["extracted"]
    assert (whole["memories"], whole["recall@10"], whole["evidence_turns_without_memory"]) == (
        4,
        1.0,
        0,
    )
    assert (less["memories"], less["recall@10"], less["evidence_turns_without_memory"]) == (
        2,
        0.5,
        1,
    )
    assert less["possible"] == 0.5
    assert {name: one["recall@10"] for name, one in less["categories"].items()} == {
        "one turn": 1.0,
        "several turns": 0.0,
    }
    assert all(less[size] < whole[size] for size in ("content", "files"))


def test_the_tables_fit_the_page(found: Any, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(tables.PAGE.read_text("utf-8"), "utf-8")
    made = {table.name: table.markdown() for table in through_extraction.tables(found)}
    tables.rewrite(page, made)
    assert all(section in page.read_text("utf-8") for section in made.values())


def test_without_data_it_is_skipped_and_says_what_to_get(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert through_extraction.main(["--data", str(tmp_path)]) == 0
    assert "locomo_dev.json is missing" in capsys.readouterr().err
