"""Unicode normalization form NFKC in linear time.

Sorting a run of combining marks takes quadratic time: a megabyte of them would take minutes. No
script stacks more than a few on one letter, so those beyond thirty (Unicode's limit for streams)
are removed first.
"""

from __future__ import annotations

import re
import unicodedata

MOST_MARKS = 30
# Letters, digits and white space are not combining marks: only long runs of others are checked.
_RUN = re.compile(rf"[^\w\s\x00-\x7f]{{{MOST_MARKS + 1},}}")


def to_nfkc(text: str) -> str:
    """Return the text in form NFKC."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFKC", _RUN.sub(_drop_excess_marks, text))


def _drop_excess_marks(run: re.Match[str]) -> str:
    kept: list[str] = []
    marks = 0
    for char in run[0]:
        marks = marks + 1 if unicodedata.combining(char) else 0
        if marks <= MOST_MARKS:
            kept.append(char)
    return "".join(kept)
