"""A bar chart as SVG, without a dependency: what is found, set by set and way by way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

CHART = Path(__file__).resolve().parents[1] / "docs" / "quality.svg"
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
