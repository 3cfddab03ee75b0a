"""Where the index of a vault is: in the vault, or in a temporary folder if it is read-only."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from muisti.filesystem import Tree, UnsafeFile


def is_writable(root: Path) -> bool:
    """Return whether a vault and its index can be written."""
    folders = [root]
    if os.path.lexists(root / ".muisti"):
        if not Tree(root).is_folder(".muisti"):
            return False  # a link: the index is a private copy
        folders.append(root / ".muisti")
    return all(os.access(folder, os.W_OK | os.X_OK) for folder in folders)


def make_index_folder() -> Path:
    """Create a temporary folder for an index of this process only."""
    import tempfile

    return Path(tempfile.mkdtemp(prefix="muisti-"))


def copy_index(index: Path) -> Path:
    """Copy the index of a read-only vault to a temporary folder, where it can be updated."""
    import shutil

    private = make_index_folder()
    tree = Tree(index.parent)
    # If it cannot be copied, it is built from the files.
    with suppress(FileNotFoundError, NotADirectoryError, PermissionError, UnsafeFile):
        for name in tree.list_files(index, ""):
            if name.startswith(("current", "index-")):
                fd, _ = tree.open(index / name, os.O_RDONLY)
                with os.fdopen(fd, "rb") as source, (private / name).open("xb") as copy:
                    shutil.copyfileobj(source, copy)
    return private
