"""Which memory a wikilink means: `[[title or ID]]` in the text of another. Pure.

The index has labels for the names of memories and for what wikilinks lead to, so that both are
found quickly. `choose_target` decides, when links are read: a memory that appears later, gets
another title or is deleted needs no change of the memories that link to it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from muisti.model import Tier
from muisti.text.normalize import to_nfkc

if TYPE_CHECKING:
    from muisti.model import Memory

_WITH_ID = re.compile(r"\d{4}-\d\d-\d\d_.*_([0-9a-f]{6})\Z")
KEY_LENGTH = 200
NAME, WIKILINK = "name", "wikilink"
"""The labels of a memory for its own names and for its wikilinks."""


def normalize_name(name: str) -> str:
    """Return a title, alias or path without differences that do not count: case, spaces, `.md`."""
    return " ".join(to_nfkc(name).casefold().split()).removesuffix(".md").strip("/")


def make_link_key(name: str) -> str:
    """Return the label for a name: its last part, so that `[[folder/note]]` finds `note`.

    Some characters are eighteen in NFKC, and an index of PostgreSQL has short keys: it is cut.
    """
    return normalize_name(name).rpartition("/")[2].strip()[:KEY_LENGTH]


def list_names(memory: Memory) -> list[str]:
    """Return what wikilinks may call a memory besides its ID: title, aliases, file name."""
    names = [memory.title, *memory.aliases]
    if memory.file_path:
        names.append(memory.file_path.rpartition("/")[2])
    return names


def list_labels(memory: Memory) -> list[tuple[str, str]]:
    """Return the labels of a memory for its names and for its wikilinks.

    A file name with the end of the ID needs none: `find_id_end` reads the memory from it.
    """
    names = list_names(memory)
    if names[-1].endswith(f"_{memory.id[-6:]}.md"):
        names.pop()
    labels = [(NAME, make_link_key(name)) for name in names]
    if memory.wikilinks:
        labels += [(WIKILINK, make_link_key(target)) for target in memory.wikilinks]
    return labels


def find_id_end(target: str) -> str:
    """Return the end of the ID in a file name such as `2026-03-10_python_9f12ab`, or ""."""
    match = _WITH_ID.search(normalize_name(target))
    return match[1] if match else ""


def is_named(memory: Memory, target: str) -> bool:
    """Return whether a wikilink with this target can mean a memory."""
    wanted = normalize_name(target)
    if wanted == memory.id or wanted in map(normalize_name, list_names(memory)):
        return True
    path = normalize_name(memory.file_path or "")
    return "/" in wanted and f"/{path}".endswith(f"/{wanted}")


def choose_target(source: Memory, target: str, candidates: Iterable[Memory]) -> Memory | None:
    """Return the memory that a wikilink of `source` means; None if there is none.

    A wikilink never leads to a memory of another user, or of another session only. Of several with
    the name, one that `source` is linked to already comes first, then one of the same project, then
    the newest. The source itself is returned only if no other memory has the name. A path such as
    `folder/note` of another program means a memory `note` that `source` is linked to.
    """
    linked = {link.target for link in source.links if not link.proposed}
    last = make_link_key(target)
    visible = [
        memory
        for memory in candidates
        if memory.deleted_at is None
        and memory.user in (source.user, "")
        and (memory.tier is not Tier.SESSION or memory.session_id == source.session_id)
        and (is_named(memory, target) or (memory.id in linked and is_named(memory, last)))
    ]
    return max(
        visible,
        key=lambda memory: (
            memory.id != source.id,
            memory.id == normalize_name(target),
            memory.id in linked,
            memory.project == source.project,
            memory.created_at,
            memory.id,
        ),
        default=None,
    )
