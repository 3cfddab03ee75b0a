"""Create a new vault."""

from __future__ import annotations

import os
from pathlib import Path

from muisti.errors import VaultUnusable
from muisti.filesystem import is_occupied
from muisti.settings import SETTINGS_FILE
from muisti.storage.files.disk import Disk, disk_errors

_SETTINGS = """\
# Settings of this vault. All are optional; `muisti settings` shows them with their defaults.
# To add a kind of memory:
# [kinds.idea]
# folder = "ideas"
"""
_IGNORE = """\
# The search index, which `muisti reindex` rebuilds from the files.
/.muisti/
"""
_ATTRIBUTES = """\
# Append-only logs: a merge keeps the lines of both sides.
/journal/*.jsonl merge=union
/conversations/**/*.jsonl merge=union
"""


def is_vault(root: Path) -> bool:
    """Return whether there is a vault. Raises VaultUnusable for a path that is a file."""
    if root.exists() and not root.is_dir():
        raise VaultUnusable(f"{root} is a file; a vault is a folder: choose another path")
    return is_occupied(root / SETTINGS_FILE)


def create_vault(root: Path, disk: Disk) -> None:
    """Create the folder and its first files. Existing files are left unchanged."""
    with disk_errors(root):
        disk.confine(root).make_folder(root)
        for name, text in (
            (".gitignore", _IGNORE),
            (".gitattributes", _ATTRIBUTES),
            (SETTINGS_FILE, _SETTINGS),
        ):
            path = root / name
            if not os.path.lexists(path):
                temporary = root / f".{name}-{os.getpid()}"
                disk.write_new(temporary, text.encode())
                try:
                    disk.publish(temporary, path)
                except FileExistsError:  # another process, or a person, was faster
                    disk.discard(temporary)
        disk.sync_folder(root)
