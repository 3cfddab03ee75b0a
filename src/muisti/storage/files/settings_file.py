"""Change single lines of a vault's settings file."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

from muisti.errors import VaultNotFound
from muisti.filesystem import Tree, is_occupied
from muisti.settings import SETTINGS_FILE
from muisti.settings_tables import MAX_SETTINGS
from muisti.storage.files.atomic_write import AtomicWriter
from muisti.storage.files.disk import Disk, disk_errors


def change_settings(root: Path, values: Mapping[str, str], disk: Disk | None = None) -> None:
    """Set top-level keys; other lines are unchanged.

    Raises VaultNotFound, VaultError, and Conflict if a person changes the file meanwhile.
    """
    disk = (disk or Disk()).confine(root)
    path = root / SETTINGS_FILE
    if not is_occupied(path):
        raise VaultNotFound(f"there is no vault at {root}: create one with `muisti init`")
    with disk_errors(path):
        before, _ = Tree(root).read(SETTINGS_FILE, MAX_SETTINGS)
        text = before.decode("utf-8")
        for key, value in values.items():
            line = f"{key} = {json.dumps(value, ensure_ascii=False)}"
            # A new key goes above the first table, or it would become part of that.
            table = re.search(r"^[ \t]*\[", text, re.MULTILINE)
            end = table.start() if table else len(text)
            top, rest = text[:end], text[end:]
            old = re.search(rf"^[ \t]*{re.escape(key)}[ \t]*=.*$", top, re.MULTILINE)
            if old:
                top = top[: old.start()] + line + top[old.end() :]
            else:
                top += ("" if not top or top.endswith("\n") else "\n") + line + "\n"
            text = top + rest
        writer = AtomicWriter(root, root / ".muisti" / "tmp", disk)
        writer.prepare()
        writer.replace(SETTINGS_FILE, text.encode(), expected=before)
