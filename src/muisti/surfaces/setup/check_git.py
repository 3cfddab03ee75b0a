"""Check that git merges a vault with muisti, if it is meant to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from muisti.surfaces.git.repository import ATTRIBUTES, find_set_up
from muisti.surfaces.setup.findings import Finding, Level

_FIX = "muisti git setup"


def check_git(root: Path) -> Iterator[Finding]:
    """Report whether the merge driver can run. Of a vault that was never set up, nothing."""
    found = find_set_up(root)
    if found is None or not (found.has_rules or found.driver):
        return
    if not found.driver:
        what = "the merge driver is missing in this clone: memories are merged as plain text"
        yield Finding("git", Level.NOTE, what, _FIX)
    elif not found.is_runnable:
        what = "the program of the merge driver is missing: memories are merged as plain text"
        yield Finding("git", Level.NOTE, what, _FIX)
    elif not found.has_rules:
        what = f"{ATTRIBUTES} does not name the merge driver: memories are merged as plain text"
        yield Finding("git", Level.NOTE, what, _FIX)
    else:
        yield Finding("git", Level.OK, "merges with muisti")
