"""A search that is parsed without click is the same as one that click parses."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from muisti.recall.filters import to_filter
from muisti.settings import Settings
from muisti.surfaces.cli import search as command
from muisti.surfaces.cli.simple_search import COMPLETE_VARIABLE, parse_simple
from tests.surfaces.cli.forking import run_command
from tests.surfaces.cli.test_cli import Cli

SIMPLE = [
    ["which", "database"],
    ["--mode", "keyword", "which database"],
    ["which", "--vault", "/tmp/v", "-n", "3"],
    ["--store=/tmp/v", "--limit=7", "--mode=vector", "--json", "a=b"],
    ["--limit", "1", "--limit", "2", "twice"],
]
NOT_SIMPLE = [
    [],
    ["--json"],
    ["-h"],
    ["words", "--vault"],
    ["words", "--kind", "fact"],
    ["words", "--for-agent"],
    ["words", "--", "-n"],
    ["words", "-n5"],
    ["words", "-n", "many"],
    ["words", "-n", "-1"],
    ["words", "-n=5"],
    ["words", "--json=1"],
    ["words", "--mode", "fuzzy"],
    ["words", "-"],
]


@pytest.mark.parametrize("arguments", SIMPLE)
def test_J2_simple_options_mean_what_click_makes_of_them(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed: list[dict[str, object]] = []
    monkeypatch.setattr(
        command, "run_search", lambda text, filters, **more: parsed.append(
            {"text": text, "filters": filters, **more}
        )
    )  # fmt: skip
    command.search.main(list(arguments), standalone_mode=False)
    (wanted,) = parsed
    found = parse_simple(arguments)
    assert found is not None
    settings = Settings()
    filters = wanted.pop("filters"), found.pop("filters")
    assert to_filter(settings, filters[0]) == to_filter(settings, filters[1])  # type: ignore[arg-type]
    assert {"for_agent": False, "also": (), "source": (), **found} == wanted


@pytest.mark.parametrize("arguments", NOT_SIMPLE)
def test_J2_everything_else_is_left_to_click(arguments: list[str]) -> None:
    assert parse_simple(arguments) is None


def test_J2_a_shell_that_completes_asks_click(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(COMPLETE_VARIABLE, "bash_complete")
    assert parse_simple(["word"]) is None


@pytest.fixture
def cli(vault: Path, tmp_path: Path) -> Cli:
    made = Cli(vault, tmp_path)
    made.environment |= {"MUISTI_EMBEDDER": "none", "MUISTI_RECORD_RECALL": "0"}
    return made


@pytest.mark.parametrize("form", [[], ["--json"]])
@pytest.mark.parametrize("words", [["database"], ["nothing-like-it"], ["database", "-n", "0"]])
def test_J2_output_errors_and_exit_code_are_the_same(
    cli: Cli, words: list[str], form: list[str]
) -> None:
    cli.run("save", "We chose PostgreSQL as our database", "--kind", "decision")
    simple = run_command(["search", *words, *form], cli.environment, cli.cwd)
    asked = ["search", *words, *form, "--min-salience", "0"]
    through_click = run_command(asked, cli.environment, cli.cwd)
    assert "Traceback" not in simple.stderr
    assert simple.returncode == through_click.returncode
    assert simple.stderr == through_click.stderr
    assert _mask_scores(simple.stdout) == _mask_scores(through_click.stdout)


def _mask_scores(output: str) -> str:
    """Return the output without numbers that depend on the age of a memory in seconds."""
    return re.sub(r"\d\.\d{3,}(e-\d+)?", "0.5", output)
