"""Bar charts as SVG, without a dependency: what is found, and how fast, next to others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any
from xml.sax.saxutils import escape

CHART = Path(__file__).resolve().parents[1] / "docs" / "quality.svg"
SPEED_CHART = CHART.with_name("peers.svg")
COLOURS = ("#b8b8b8", "#8fb7d9", "#e0b468", "#2f6f4f")
_BAR, _GAP, _HEIGHT, _LEFT, _TOP = 30, 34, 220, 46, 46


def drawn(title: str, bars: Mapping[str, Mapping[str, float]], ways: Sequence[str]) -> str:
    """Groups of bars between 0 and 1, one group for each set."""
    group = _BAR * len(ways) + _GAP
    width, height = _LEFT + group * len(bars) + 10, _TOP + _HEIGHT + 56
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
        f'<text x="{_LEFT}" y="20" font-size="14" font-weight="bold">{escape(title)}</text>',
        *(_line(share, width) for share in (0, 0.25, 0.5, 0.75, 1.0)),
    ]
    for place, (name, values) in enumerate(bars.items()):
        left = _LEFT + place * group + _GAP // 2
        parts += [
            _bar(left + at * _BAR, values[way], COLOURS[at])
            for at, way in enumerate(ways)
            if way in values
        ]
        middle = left + _BAR * len(ways) / 2
        parts.append(
            f'<text x="{middle:.0f}" y="{_TOP + _HEIGHT + 18}" text-anchor="middle">{escape(name)}</text>'
        )
    for at, way in enumerate(ways):
        x, y = _LEFT + at * 120, _TOP + _HEIGHT + 34
        parts.append(f'<rect x="{x}" y="{y}" width="12" height="12" fill="{COLOURS[at]}"/>')
        parts.append(f'<text x="{x + 17}" y="{y + 10}">{escape(way)}</text>')
    return "\n".join([*parts, "</svg>", ""])


def _line(share: float, width: int) -> str:
    y = _TOP + _HEIGHT * (1 - share)
    return (
        f'<line x1="{_LEFT}" y1="{y:.0f}" x2="{width - 8}" y2="{y:.0f}" stroke="#ddd"/>'
        f'<text x="{_LEFT - 8}" y="{y + 4:.0f}" text-anchor="end" fill="#666">{share:.2f}</text>'
    )


def _bar(x: float, value: float, colour: str) -> str:
    tall = _HEIGHT * value
    top = _TOP + _HEIGHT - tall
    return (
        f'<rect x="{x + 2:.0f}" y="{top:.1f}" width="{_BAR - 4}" height="{tall:.1f}" fill="{colour}"/>'
        f'<text x="{x + _BAR / 2:.0f}" y="{top - 3:.1f}" text-anchor="middle" font-size="10">{value:.2f}</text>'
    )


_STYLE = """<style>
text { fill: #333; } .bar { fill: #9aa7b4; } .own { fill: #2f6f4f; }
@media (prefers-color-scheme: dark) { text { fill: #ddd; } .bar { fill: #7d8a97; } .own { fill: #58b487; } }
</style>"""
"""Readable on white and on black: the chart has no background of its own."""
_ROW, _LABEL, _WIDE, _BETWEEN = 22, 78, 130, 72
_CUT = 5.0
"""A bar that is so many times longer than that of the median is cut off."""


def draw_speed(found: Any) -> str:
    """Draw recall, search and ingest of each system at the largest size that was measured.

    Search is the processor time to the bare query embedding. Ingest is texts for each second of the
    processor, beside the model.
    """
    size, systems = list(found["sizes"].items())[-1]
    measured = {name: part for name, part in systems.items() if "error" not in part}
    search = {
        name: part["search"]["cpu_p50_ms"] / part["embedding"]["cpu_p50_ms"]
        for name, part in measured.items()
    }
    ingest = {name: part["ingest"]["per_cpu_second"] for name, part in measured.items()}
    quality = found.get("quality", {})
    recall = {
        name: part["recall@10"]
        for name, part in quality.items()
        if part.get("recall@10") is not None
    }
    panels = [
        ("Recall@10, LoCoMo (more is better)", recall, ""),
        ("Search to query embedding (less is better)", search, "×"),
        ("Ingest, texts per CPU second (more is better)", ingest, ""),
    ]
    panels = [panel for panel in panels if panel[1]]
    step = _LABEL + _WIDE + _BETWEEN
    width, height = step * len(panels), 62 + _ROW * len(measured)
    rows = [line for place, panel in enumerate(panels) for line in _draw_rows(step * place, *panel)]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">',
            _STYLE,
            f'<text x="0" y="16" font-size="14" font-weight="bold">{int(size):,} memories, same texts, same embedder</text>',
            *rows,
            "</svg>",
            "",
        ]
    )


def _draw_rows(left: int, title: str, values: Mapping[str, float], unit: str) -> list[str]:
    parts = [f'<text x="{left}" y="40">{escape(title)}</text>']
    most = min(max(values.values()), _CUT * median(values.values()))
    for place, (name, value) in enumerate(values.items()):
        y = 52 + place * _ROW
        wide = max(1.0, _WIDE * min(value, most) / most)
        shown = f"{value:.2f}{unit}" if value < 100 else f"{value:,.0f}{unit}"
        shown += " →" if value > most else ""
        kind = "own" if name == "muisti" else "bar"
        parts += [
            f'<text x="{left + _LABEL - 8}" y="{y + 13}" text-anchor="end">{escape(name)}</text>',
            f'<rect class="{kind}" x="{left + _LABEL}" y="{y + 2}" width="{wide:.1f}" height="{_ROW - 6}" rx="2"/>',
            f'<text x="{left + _LABEL + wide + 6:.1f}" y="{y + 13}">{shown}</text>',
        ]
    return parts
