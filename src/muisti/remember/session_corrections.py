"""Apply corrections ("no, it's 9090") to what earlier exchanges of the session said (contract H3).

A correction is explicit, so it replaces a memory, but only one that extraction itself stored in the
same session and that nobody confirmed or pinned. For others, a link is suggested as for any save.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from muisti.model import Extracted, Filter, Link, LinkSource, LinkType, Memory
from muisti.ports import Services

MOST_CORRECTABLE = 8
"""How many of the session's latest memories a correction may concern."""


def resolve_corrections(
    services: Services, session_id: str, found: Sequence[Extracted]
) -> list[tuple[Extracted, Memory | None]]:
    """Return what was extracted, corrections as whole statements with the memory they correct."""
    if not any(item.corrects for item in found):
        return [(item, None) for item in found]
    # Imported on first use, as the rules that set `corrects`.
    from muisti.remember.extract.corrections import find_corrected, read_correction
    from muisti.remember.extract.scoring import CORRECTED
    from muisti.remember.extract.sentences import expand_shorthand

    where = Filter(session=session_id, all_sessions=True)
    said = services.index.select(where, order="created_at", limit=None)
    said = sorted(said, key=lambda memory: (memory.created_at, memory.id))[-MOST_CORRECTABLE:]
    said = services.index.filter_current([memory.id for memory in said])
    resolved: list[tuple[Extracted, Memory | None]] = []
    for item in found:
        correction = read_correction(expand_shorthand(item.source_text)) if item.corrects else None
        corrected = None
        if correction is not None:
            contents = [memory.content for memory in said]
            # "no, it's green" has no class of values to look for; here that is too little.
            corrected = find_corrected(replace(correction, points=False), item.content, contents)
        if corrected is None:
            resolved.append((item, None))
            continue
        old = said[corrected[0]]
        kind = old.kind if correction and correction.value else item.kind
        whole = replace(item, content=corrected[1], kind=kind, importance=CORRECTED, corrects=False)
        resolved.append((whole, old))
    return resolved


def link_correction(memory: Memory, old: Memory | None, now: datetime, source: str) -> Memory:
    """Return the memory with a link that replaces the corrected one, if extraction may do that.

    Source: of extracted memories.
    """
    if (
        old is None
        or old.source != source
        or old.trusted
        or old.pinned
        or old.place != memory.place
    ):
        return memory
    link = Link(
        source=memory.id,
        type=LinkType.SUPERSEDES,
        target=old.id,
        created_at=now,
        extracted_by=LinkSource.SYSTEM,
    )
    return replace(memory, links=(*memory.links, link))
