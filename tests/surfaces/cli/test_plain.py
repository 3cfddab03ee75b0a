"""J2 · Output into a pipe is the same with and without Rich."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from muisti import Muisti
from muisti.surfaces.cli import plain, render, render_results
from tests.surfaces.cli.test_layout import TEXTS

ODD = (
    "# Tab\tin a title about the database\n\nand\ta\ttab",
    "“Quoted” database – naïve café … and a soft\u00adhyphen, Ωmega, a\u0301ccent",
    "database\x1b[31m red \x07 bell",
    "the database is at https://example.org/" + "very-long-path/" * 20 + "end of it",
)


@pytest.mark.parametrize("columns", [11, 40, 80, 200])
@pytest.mark.parametrize("brief", [False, True])
def test_J2_results_are_the_same_with_and_without_rich(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, columns: int, brief: bool
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    with Muisti.open(":memory:", embedder="none") as memory:
        for text in (*TEXTS, *ODD):
            memory.save(text, project="shop")
        old, new = memory.save("the database is Oracle"), memory.save("the database is Postgres")
        memory.supersede(old.id, new.id)
        results = memory.search("database", limit=20)
        outdated = memory.find_outdated([one.memory.id for one in results])
    assert len(results) == len(TEXTS) + len(ODD) + 2
    assert outdated
    now = render.current_time()
    shown = []
    for width in (plain.get_width, lambda: None):
        monkeypatch.setattr(plain, "get_width", width)
        count = render_results.print_results(results, now, outdated, brief=brief, most_lines=30)
        shown.append((count, capsys.readouterr().out))
    assert shown[0] == shown[1]


@given(st.lists(st.text("abcdéñ…“-,.", min_size=1, max_size=12)), st.integers(10, 40))
def test_lines_break_where_rich_breaks_them(words: list[str], width: int) -> None:
    text = " ".join(words)
    by_rich = [line.plain.rstrip() for line in Text(text).wrap(Console(), width)] if text else []
    lines = plain.wrap_narrow(text, width)
    assert lines is None or lines == by_rich
    assert (lines is None) == any(len(word) > width for word in words)


def test_narrow_characters_are_one_column_wide() -> None:
    narrow = [char for char in map(chr, range(0x11_0000)) if plain.is_narrow(char)]
    assert set(plain._NARROW) <= set(narrow)
    assert len(narrow) > 600
    assert {cell_len(char) for char in narrow} == {1}
    assert not any(map(plain.is_narrow, "数\t\n\x1b\u0301\u00ad😀"))


SHOW_WIDTH = """
from muisti.surfaces.cli import plain
from rich.console import Console
print(plain.get_width(), Console().width, Console().is_terminal)
"""


@pytest.mark.parametrize(
    ("variables", "is_plain"),
    [
        ({}, True),
        ({"COLUMNS": "47"}, True),
        ({"COLUMNS": "wide"}, True),
        ({"COLUMNS": "0"}, False),
        ({"FORCE_COLOR": "1"}, False),
        ({"TTY_COMPATIBLE": "1"}, False),
        ({"TERM": "dumb", "LINES": "7"}, True),
    ],
)
@pytest.mark.parametrize("on_terminal", [False, True])
def test_the_width_is_that_of_rich(
    variables: dict[str, str], is_plain: bool, on_terminal: bool
) -> None:
    """Also if not standard output but another stream is on a terminal."""
    removed = ("COLUMNS", "LINES", "FORCE_COLOR", "TTY_COMPATIBLE")
    environment = {name: value for name, value in os.environ.items() if name not in removed}
    leader, follower = pty.openpty()
    try:
        found = subprocess.run(
            [sys.executable, "-c", SHOW_WIDTH],
            stdin=follower if on_terminal else subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=True,
            env={**environment, **variables},
        )
    finally:
        os.close(leader)
        os.close(follower)
    width, by_rich, is_terminal = found.stdout.split()
    if is_plain:
        assert (width, is_terminal) == (by_rich, "False")
    else:
        assert width == "None"
