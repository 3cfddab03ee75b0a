"""Figures as text: aligned tables for a terminal, Markdown tables for the page."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

PAGE = Path(__file__).resolve().parents[1] / "docs" / "benchmarks.md"


@dataclass(frozen=True)
class Table:
    """A titled table; `name` is the marker in the page that it stands between."""

    name: str
    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""

    def text(self) -> str:
        """For a terminal: the first column to the left, numbers to the right."""
        lines = [self.head, *self.rows]
        widths = [max(len(line[column]) for line in lines) for column in range(len(self.head))]
        shown = ["  ".join(_aligned(line, widths)).rstrip() for line in lines]
        shown.insert(1, "  ".join("-" * width for width in widths))
        return "\n".join([self.title, *shown, *([self.note] if self.note else [])])

    def markdown(self) -> str:
        """For the page."""
        lines = [
            _piped(self.head),
            _piped(["---", *["--:"] * (len(self.head) - 1)]),
            *map(_piped, self.rows),
        ]
        return "\n".join([f"**{self.title}**", "", *lines, *(["", self.note] if self.note else [])])


def _aligned(line: Sequence[str], widths: Sequence[int]) -> list[str]:
    return [
        cell.ljust(width) if column == 0 else cell.rjust(width)
        for column, (cell, width) in enumerate(zip(line, widths, strict=True))
    ]


def _piped(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def rewrite(page: Path, sections: dict[str, str]) -> None:
    """Put each section between its markers `<!-- NAME -->` and `<!-- /NAME -->`. Raises ValueError
    if one is missing.
    """
    text = page.read_text("utf-8")
    for name, section in sections.items():
        pattern = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
        if not pattern.search(text):
            raise ValueError(f"{page} has no markers for {name}")
        text = pattern.sub(lambda found, section=section: f"{found[1]}{section}\n{found[2]}", text)  # type: ignore[misc]
    page.write_text(text, "utf-8")


def times(ratio: float) -> str:
    """A ratio: `1.84×`."""
    return f"{ratio:.2f}×" if ratio < 10 else f"{ratio:.1f}×" if ratio < 100 else f"{ratio:.0f}×"


def milliseconds(seconds: float) -> str:
    value = seconds * 1000
    return (
        f"{value:.3f} ms" if value < 1 else f"{value:.2f} ms" if value < 100 else f"{value:.0f} ms"
    )


def rate(per_second: float) -> str:
    return f"{per_second:,.0f}/s"
