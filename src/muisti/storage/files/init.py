"""Makes a new vault."""

from __future__ import annotations

import os
from pathlib import Path

from muisti.errors import VaultUnusable
from muisti.settings import SETTINGS_FILE
from muisti.storage.files.disk import Disk, disk_errors

_SETTINGS = """\
# The settings of this vault. All of them are optional; `muisti settings` shows them with their defaults.
# A kind of memory of your own:
# [kinds.idea]
# folder = "ideas"
"""
_IGNORE = """\
# The search index is rebuilt from the files at any time: `muisti reindex`.
/.muisti/
"""
_ATTRIBUTES = """\
# Logs that are only appended to: after a merge both sides' lines are kept.
/journal/*.jsonl merge=union
/conversations/**/*.jsonl merge=union
"""


def is_vault(root: Path) -> bool:
    """Whether there is a vault. Raises VaultUnusable for a path that cannot be one."""
    if root.exists() and not root.is_dir():
        raise VaultUnusable(f"{root} is a file; a vault is a folder: name another path")
    return (root / SETTINGS_FILE).is_file()


def create_vault(root: Path, disk: Disk) -> None:
    """Make the folder and its first files. What is there already stays as it is."""
    with disk_errors(root):
        disk.make_folder(root)
        for name, text in (
            (".gitignore", _IGNORE),
            (".gitattributes", _ATTRIBUTES),
            (SETTINGS_FILE, _SETTINGS),
        ):
            path = root / name
            if not path.exists():
                temporary = root / f".{name}-{os.getpid()}"
                disk.write_new(temporary, text.encode())
                disk.replace(temporary, path)
        disk.sync_folder(root)
