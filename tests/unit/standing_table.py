"""The table of everyday sentences that the recognition of standing instructions is measured on."""

from __future__ import annotations

import random
from pathlib import Path

TABLE = Path(__file__).parents[1] / "data" / "standing_sentences.txt"


def read_halves() -> tuple[list[tuple[str, bool]], list[tuple[str, bool]]]:
    """Return two halves of (sentence, is standing): one to write rules by, one held out."""
    lines = [line for line in TABLE.read_text("utf-8").splitlines() if line[:2] in ("+ ", "- ")]
    rows = [(line[2:], line[0] == "+") for line in lines]
    random.Random(18).shuffle(rows)
    middle = len(rows) // 2
    return rows[:middle], rows[middle:]


def count(recognized: list[bool], rows: list[tuple[str, bool]]) -> tuple[float, float]:
    """Return precision and recall."""
    true = sum(found and wanted for found, (_, wanted) in zip(recognized, rows, strict=True))
    return true / max(1, sum(recognized)), true / sum(wanted for _, wanted in rows)
