"""docs/specs.md names only tests and modules that exist, and leaves no requirement without an answer."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "specs.md").read_text("utf-8")
ROWS = [
    [cell.strip() for cell in line.strip().strip("|").split(" | ")]
    for line in PAGE.splitlines()
    if line.startswith("|") and not line.startswith(("|---", "| requirement"))
]


def test_every_test_that_is_named_exists() -> None:
    sources = [path.read_text("utf-8") for path in (ROOT / "tests").rglob("test_*.py")]
    sources += [path.read_text("utf-8") for path in (ROOT / "tests").rglob("*_suite.py")]
    defined = {name for text in sources for name in re.findall(r"def (test_\w+)", text)}
    named = set(re.findall(r"`(test_\w+)`", PAGE))
    assert len(named) > 80
    assert sorted(named - defined) == []


def test_every_module_that_is_named_exists() -> None:
    named = set(re.findall(r"`([\w/]+\.py)`", PAGE))
    assert len(named) > 30
    assert [path for path in sorted(named) if not (ROOT / "src" / "muisti" / path).is_file()] == []


def test_every_requirement_has_a_place_and_a_test_or_a_reason() -> None:
    assert len(ROWS) > 100
    assert [row[0] for row in ROWS if len(row) != 3 or not row[2]] == []
