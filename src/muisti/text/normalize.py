"""Unicode's compatible form, in linear time.

Sorting a run of combining marks takes quadratic time: a megabyte of them would stop a program for minutes.
No script stacks more than a handful on one letter, so those beyond thirty (Unicode's own limit for streams)
are left out first.
"""

from __future__ import annotations

import re
import unicodedata

MOST_MARKS = 30
# No letter, digit or white space is a combining mark, so only long runs of other characters need a closer look.
_RUN = re.compile(rf"[^\w\s\x00-\x7f]{{{MOST_MARKS + 1},}}")


def to_nfkc(text: str) -> str:
    """The text in the form NFKC."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFKC", _RUN.sub(_thinned, text))


def _thinned(run: re.Match[str]) -> str:
    kept: list[str] = []
    marks = 0
    for char in run[0]:
        marks = marks + 1 if unicodedata.combining(char) else 0
        if marks <= MOST_MARKS:
            kept.append(char)
    return "".join(kept)
