"""J2 · The verbs for core memory and for what a talk teaches."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from muisti import InvalidRequest
from muisti.surfaces.cli.extract import utterances
from tests.surfaces.test_cli import Cli

TALK = "Anna: I moved to Turku last month. How are you?\nAssistant: Fine!\nAnna: Remember that my dentist is called Eero.\n"


@pytest.fixture
def cli(vault: Path, tmp_path: Path) -> Cli:
    made = Cli(vault, tmp_path)
    made.environment["MUISTI_EMBEDDER"] = "none"
    return made


def test_J2_core_set_get_unset(cli: Cli) -> None:
    assert "Anna K." in cli.run("core", "set", "user", "name", "Anna", "K.").stdout
    assert cli.json("core", "get") == {"user": {"name": "Anna K."}, "agent": {}}
    assert "its entries are: name" in cli.run("core", "unset", "user", "nme", code=1).stderr
    assert "section" in cli.run("core", "set", "world", "name", "x", code=1).stderr
    assert "Core memory is empty" in cli.run("core", "unset", "user", "name").stderr


def test_J2_extract_shows_and_keeps(cli: Cli, tmp_path: Path) -> None:
    shown = cli.run("extract", "--at", "2026-03-10", given=TALK)
    assert "Eero" in shown.stdout
    assert "February 2026" in shown.stdout
    assert "--save keeps them" in shown.stderr
    assert cli.json("list") == []
    (tmp_path / "talk.txt").write_text(TALK, "utf-8")
    kept: Any = cli.json("extract", "talk.txt", "--save", "--project", "home")
    assert {(one["project"], one["trusted"], one["source"]) for one in kept} == {
        ("home", False, "extracted")
    }
    assert (
        "0 memories kept, 2 known already"
        in cli.run("extract", "talk.txt", "--save", "--project", "home").stderr
    )
    assert "worth keeping" in cli.run("extract", given="Assistant: Hello there!\n").stderr
    assert "source" in cli.run("extract", "missing.txt", code=1).stderr
    assert "coding" in cli.run("extract", "--mode", "poetry", given=TALK, code=1).stderr


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Anna: hi\nthere\n\nUser: yes", [("Anna", "user", "hi\nthere"), ("User", "user", "yes")]),
        ('{"role": "assistant", "content": "a"}\n{"role": "user", "name": "Bo", "content": "b"}', [("Assistant", "assistant", "a"), ("Bo", "user", "b")]),
        ("no name", [("User", "user", "no name")]),
        ("", []),
    ],
)  # fmt: skip
def test_how_a_transcript_is_read(text: str, expected: list[tuple[str, str, str]]) -> None:
    assert [(one.speaker, one.role, one.text) for one in utterances(text)] == expected


@pytest.mark.parametrize(
    "text",
    ['{"broken', '{"role": "user"}', '{"content": 5}', '{"role": "user", "content": "a"}\nbroken'],
)
def test_a_line_that_is_no_message_is_named(text: str) -> None:
    with pytest.raises(InvalidRequest, match=r"^source: 'line \d'"):
        utterances(text)
