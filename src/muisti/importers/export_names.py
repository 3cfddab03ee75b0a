"""Names for exported memories: their titles, each only once."""

from __future__ import annotations

import re
from collections.abc import Sequence

from muisti.filesystem import fold_name, is_portable_name
from muisti.model import Memory

_FORBIDDEN = re.compile(r'[\[\]#^|\\/:*?"<>\x00-\x1f\x7f]+')
LONGEST = 120
"""Characters of a file name: some systems allow 255 bytes."""


def make_unique_names(memories: Sequence[Memory], *, as_files: bool = False) -> dict[str, str]:
    """Return a name for each memory by its ID: the title, with a part of the ID if it is taken.

    As_files: without characters that a file name or a wikilink cannot have.
    """
    names: dict[str, str] = {}
    taken: set[str] = set()
    for memory in memories:
        name = memory.title.strip()
        if as_files:
            name = _FORBIDDEN.sub("-", name)[:LONGEST].strip(" .-")
            name = name.encode()[:200].decode("utf-8", "ignore")
        if not name or (as_files and not is_portable_name(name)):
            name = f"Memory {memory.id[-6:]}"
        if fold_name(name) in taken:
            name = f"{name} ({memory.id[-6:]})"
        while fold_name(name) in taken:
            name += "+"
        taken.add(fold_name(name))
        names[memory.id] = name
    return names
