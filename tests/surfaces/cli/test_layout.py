"""J2 · Results and lists fit the terminal, and show no sentence twice."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.cells import cell_len

from muisti import Muisti
from muisti.surfaces.cli import render, render_results
from muisti.surfaces.cli.render import find_title_end
from muisti.surfaces.cli.render_results import cut
from tests.surfaces.cli.terminal import run_on_terminal

LONG = (
    "We chose PostgreSQL as our database because it has JSON support and everyone here knows it. "
    "It also has logical replication, which the reports of the shops need every night at three."
)
TEXTS = (
    LONG,
    "Short one about the database",
    "# Database\n\nThe database server is called db1. It stands in the cellar.",
    "数据库是PostgreSQL，我们选择它因为它支持JSON。数据库每天晚上备份，备份保存三十天，然后删除。"
    * 3
    + "database",
    "The database team 😀👨‍👩‍👧 meets on Mondays\n\nBring cake. 🎂🎂🎂",
    "database " + "x" * 300,
)


@pytest.fixture
def memory() -> Iterator[Muisti]:
    with Muisti.open(":memory:", embedder="none") as memory:
        for text in TEXTS:
            memory.save(text, project="shop")
        yield memory


def show(memory: Muisti, capsys: pytest.CaptureFixture[str], query: str = "database") -> list[str]:
    results = memory.search(query, limit=20)
    assert results
    render_results.print_results(results, render.current_time())
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_J2_a_result_has_at_most_four_lines_that_fit(
    memory: Muisti,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    columns: int,
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = show(memory, capsys)
    assert all(cell_len(line) <= columns for line in lines), lines
    starts = [at for at, line in enumerate(lines) if not line.startswith("  ")]
    assert len(starts) == len(TEXTS)
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        assert 2 <= end - start <= 4
        assert lines[start + 1].startswith("  …")


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_J2_no_sentence_is_shown_twice(
    memory: Muisti,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    columns: int,
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    text = " ".join(show(memory, capsys))
    for once in ("We chose PostgreSQL", "Short one about", "server is called", "meets on"):
        assert text.count(once) == 1, once
    assert "# Database" not in text


def test_J2_what_the_title_line_cuts_off_follows_below(
    memory: Muisti, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    lines = show(memory, capsys, "PostgreSQL JSON")
    at = next(number for number, line in enumerate(lines) if line.startswith("We chose"))
    assert lines[at] == "We chose PostgreSQL as our database…"
    assert lines[at + 2].startswith("  … because it has JSON")


def test_J2_show_has_the_title_once(memory: Muisti, capsys: pytest.CaptureFixture[str]) -> None:
    saved = memory.save(LONG)
    render.print_memory(saved)
    assert " ".join(capsys.readouterr().out.split()).count("We chose PostgreSQL") == 1
    render.print_memory(memory.save("Something else", title="Its own title"))
    assert capsys.readouterr().out.startswith("Its own title\n")


@pytest.mark.parametrize("columns", [40, 80, 120])
def test_J2_a_list_fits(
    memory: Muisti,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    columns: int,
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    memory.save("Of another project", project="web")
    found = memory.list()
    now = render.current_time()
    render_results.print_memories(found, now)
    render_results.print_compact(memory.timeline(found[2].id), now, None, found[2].id)
    output = capsys.readouterr().out
    lines = output.splitlines()
    assert all(cell_len(line) <= columns for line in lines)
    assert "→" in output
    if columns >= 80:
        assert "shop" in output
        assert len(lines) == 2 + len(found) + 2 + len(memory.timeline(found[2].id))


@pytest.mark.parametrize(
    ("text", "title", "rest"),
    [
        ("Deploys are on Tuesdays.", "Deploys are on Tuesdays", ""),
        ("**Deploys** are on Tuesdays. Really.", "Deploys are on Tuesdays", " Really."),
        ("# Title\n\nText", "Title", "\n\nText"),
        ("Something else", "Deploys", "Something else"),
        ("", "Deploys", ""),
        ("Text", "", "Text"),
        ("Text", "…", "Text"),
    ],
)
def test_J2_where_a_text_continues_after_its_title(text: str, title: str, rest: str) -> None:
    assert text[find_title_end(text, title) :] == rest


def test_J2_text_is_cut_by_columns() -> None:
    assert cut("short", 10) == "short"
    assert cut("some words that are too long", 16) == "some words that…"
    assert cut("数据库数据库数据库", 8) == "数据库…"
    assert cell_len(cut("x" * 100, 20)) == 20


def test_J2_the_default_output_fits_80_by_24(tmp_path: Path) -> None:
    with Muisti.open(tmp_path / "vault", embedder="none") as memory:
        for number in range(25):
            memory.save(f"Fact {number} of the database: {number * 7919 % 1000}. {LONG}")
    lines = run_on_terminal(tmp_path / "vault", tmp_path, "search", "database fact")
    assert len(lines) <= 23
    assert "more; --limit 10 shows all." in lines[-1]
    assert (
        len(run_on_terminal(tmp_path / "vault", tmp_path, "search", "database fact", "-n", "10"))
        > 30
    )
    listed = run_on_terminal(tmp_path / "vault", tmp_path, "list")
    assert len(listed) <= 23
    assert "use --limit or --offset for more" in listed[-1]


@pytest.mark.parametrize(
    "columns",
    [
        ("when", "role", "what", "tenant", "details"),  # `tenants audit`
        ("ID", "scope", "label", "created", "state"),  # `tenants token list`
        ("in", "title", "wikilink"),  # `links --unresolved`
    ],
)
def test_J2_a_long_cell_wraps_and_the_others_stay_whole(
    columns: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    table = render.new_table(*columns)
    cells = {name: f"{name}-12345678" for name in columns}
    long = next(name for name in columns if name in ("details", "label", "wikilink"))
    table.add_row(*{**cells, long: "many words " * 18}.values())
    render.new_console().print(table)
    shown = capsys.readouterr().out
    assert all(cell in shown for name, cell in cells.items() if name != long)
