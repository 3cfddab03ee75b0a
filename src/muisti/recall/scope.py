"""Advice about the scope of a search that finds nothing of its project or user (contract A3)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from muisti.errors import quote_value

if TYPE_CHECKING:
    from muisti.model import Filter, Memory, SearchResult
    from muisti.ports import Services


def find_hint(services: Services, where: Filter, found: Iterable[Memory] = ()) -> str:
    """Return advice if the project or the user of a filter is unknown; else "".

    `found` are results of the filter: what belongs to the project and the user shows that both
    are known.
    """
    project, user = where.project or "", where.user or ""
    for memory in found:
        project = "" if memory.project == project else project
        user = "" if memory.user == user else user
    if not project and not user:
        return ""
    projects, users = services.index.find_scope_names()
    hints = []
    for what, name, known in (("project", project, projects), ("user", user, users)):
        if name and name not in known:
            hints.append(_describe_unknown(what, name, known))
    return "; ".join(hints)


def hint_for_results(services: Services, where: Filter, results: Iterable[SearchResult]) -> str:
    """Return the hint for the results of a search."""
    return find_hint(services, where, (result.memory for result in results))


def _describe_unknown(what: str, name: str, known: Sequence[str]) -> str:
    from difflib import get_close_matches  # rarely needed

    folded = {other.casefold(): other for other in known}
    near = get_close_matches(name.casefold(), folded, n=1, cutoff=0.5)
    if near:
        return f"there is no {what} {quote_value(name)}; did you mean {folded[near[0]]!r}?"
    return f"there is no {what} {quote_value(name)}"
