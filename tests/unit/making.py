"""Memories and texts for the tests."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from hypothesis import strategies as st

from muisti.model import KINDS, RATES, Memory, Sector
from muisti.model.salience import Trace, compute_salience
from muisti.remember.derive import derive_fields, derive_title
from muisti.settings import Settings
from muisti.text.redact import redact_text

NOON = datetime(2026, 3, 10, 12, 0, tzinfo=UTC)

ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
"""Everything that a file can hold: no lone surrogates."""
ANY_LINE = (
    st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), min_size=1, max_size=40)
    .filter(str.strip)
    .filter(lambda text: redact_text(text, Settings()) == text)
)
ANY_CONTENT = (
    st.text(
        st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=80
    )
    .filter(str.strip)
    .filter(lambda text: redact_text(text, Settings()) == text)
)
ANY_TIME = st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC))
ANY_SHARE = st.floats(0, 1)


def faded(memory: Memory, now: datetime = NOON) -> Memory:
    """The memory as it is read at a later time, if nobody has used it since it was made."""
    trace = Trace(
        salience=memory.salience,
        weighed_at=memory.created_at,
        importance=memory.importance,
        rate=RATES[memory.sector],
        decay_per_day=KINDS[memory.kind].decay_per_day if memory.kind in KINDS else None,
    )
    return replace(memory, salience=compute_salience(trace, now))


def a_memory(
    number: int = 1, content: str = "We chose PostgreSQL for its JSON support.", **fields: Any
) -> Memory:
    """A whole memory; the number makes it another one."""
    plain = Memory(
        id=f"0195f000-0000-7000-8000-{number:012d}",
        content=content,
        title=fields.pop("title", None) or derive_title(content),
        kind="note",
        sector=Sector.SEMANTIC,
        created_at=NOON,
        updated_at=NOON,
    )
    return derive_fields(replace(plain, **fields))
