"""Which texts are standing instructions or preferences."""

from __future__ import annotations

import pytest

from muisti.text.standing import MAX_CHARS, Standing, recognize_standing
from tests.unit.standing_table import count, read_halves
from tests.unit.timing import grows_linearly

WRITTEN_BY, HELD_OUT = read_halves()


@pytest.mark.parametrize("rows", [WRITTEN_BY, HELD_OUT])
def test_precision_and_recall(rows: list[tuple[str, bool]]) -> None:
    assert len(rows) >= 80
    precision, recall = count([recognize_standing(text) is not None for text, _ in rows], rows)
    assert precision >= 0.95
    assert recall >= 0.9


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Always use type hints", Standing.INSTRUCTION),
        ("I'm allergic to nuts", Standing.PREFERENCE),
        ("I’m allergic to nuts", Standing.PREFERENCE),
        ("Answer in Finnish", Standing.INSTRUCTION),
        ("- Never push on a Friday.\n- Always ask first.", Standing.INSTRUCTION),
        ("I'm vegan. Never suggest cheese.", Standing.INSTRUCTION),
        ("I'm vegan. We met in Oslo.", Standing.PREFERENCE),
        ("", None),
        ("   \n ", None),
        ("?" * 5, None),
        ("Always use tabs. " + "The build is green. " * 30, None),
        ("Always use tabs. " * (MAX_CHARS // 10), None),
    ],
)
def test_whole_texts(text: str, kind: Standing | None) -> None:
    assert recognize_standing(text) is kind


@pytest.mark.parametrize(
    "piece",
    ["please ", "use a ", "i ", "in the a ", "the ", "all a ", "a ", "- ", "; ", "always ", "用"],
)
def test_time_grows_with_the_text(piece: str) -> None:
    assert grows_linearly(recognize_standing, lambda size: (piece * size)[:size], MAX_CHARS // 2)
