"""Which project a folder belongs to: agents work in folders, memories belong to projects."""

from __future__ import annotations

import os
import re
from pathlib import Path


def project_at(folder: Path) -> str:
    """The name of the repository that a folder is in; "" outside of one. All worktrees of a repository are one project."""
    try:
        here = folder.resolve()
        root = next((one for one in (here, *here.parents) if (one / ".git").exists()), None)
        return (
            ""
            if root is None or root == Path.home().resolve()
            else as_project(_main_folder(root).name)
        )
    except (
        OSError,
        RuntimeError,
        ValueError,
    ):  # a folder that cannot be looked at is in no project
        return ""


def as_project(name: str) -> str:
    """A folder's name as a project may be called: what a name cannot hold becomes a hyphen. May be ""."""
    clean = re.sub(r"[^\w .+-]+", "-", name)
    return re.sub(r"^[\W_]+|[ .]+$", "", clean)[:60].rstrip(" .")


def _main_folder(root: Path) -> Path:
    """Of a worktree, the folder of the repository that it was made from."""
    marker = root / ".git"
    if not marker.is_file():
        return root
    text = marker.read_text("utf-8", "replace").strip()
    place = Path(os.path.normpath(root / text.removeprefix("gitdir:").strip()))
    if place.parent.name == "worktrees" and place.parent.parent.name == ".git" and place.is_dir():
        return place.parent.parent.parent
    return root
