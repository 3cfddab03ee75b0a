"""File names of memories: the date, the title in any script, and the end of the ID."""

from __future__ import annotations

import unicodedata

from muisti.filesystem import is_portable_name
from muisti.model import Memory
from muisti.settings import Settings

MAX_BYTES = 120


def make_file_name(memory: Memory, settings: Settings) -> str:
    """Return the preferred path of a memory: `projects/NAME/decisions/2026-01-31_title_a1b2c3.md`.

    The end of the ID keeps two clones of a vault from using one name for two memories.
    """
    kind = settings.kinds[memory.kind]
    above = f"projects/{make_folder_name(memory.project)}/" if memory.project else ""
    name = f"{memory.created_at:%Y-%m-%d}_{make_slug(memory.title)}_{memory.id[-6:]}.md"
    return f"{above}{kind.folder}/{name}"


def make_folder_name(project: str) -> str:
    """Return the name of a project's folder: its own, unless Windows reserves that, as `CON`."""
    if is_portable_name(project):
        return project
    stem, dot, rest = project.partition(".")
    name = f"{stem}_{dot}{rest}"
    return name if is_portable_name(name) else f"{name}_"


def make_slug(title: str) -> str:
    """Return letters and digits of any script, joined by underscores; never empty or too long."""
    from slugify import slugify  # 14 ms to import, and only writers need it

    slug = slugify(title, allow_unicode=True, separator="_", lowercase=True)
    data = unicodedata.normalize("NFC", slug).encode()[:MAX_BYTES]
    return data.decode("utf-8", "ignore").strip("_") or "memory"
