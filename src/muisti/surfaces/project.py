"""Which project a folder belongs to. Agents work in folders; memories belong to projects."""

from __future__ import annotations

import os
import re
from pathlib import Path


def detect_project(folder: Path) -> str:
    """Return the name of the git repository that a folder is in, or "".

    All worktrees of a repository are one project. The home folder is none.
    """
    found = find_repository(folder)
    return make_project_name(found.name) if found is not None else ""


def find_repository(folder: Path) -> Path | None:
    """Return the main folder of the git repository that a folder is in; None if it is in none."""
    try:
        start = folder.resolve()
        for root in (start, *start.parents):
            if (root / ".git").exists():
                is_home = root == Path.home().resolve()
                return None if is_home else _find_main_folder(root)
    except (OSError, RuntimeError, ValueError):  # an unreadable folder belongs to no project
        pass
    return None


def describe_project(project: str) -> str:
    """Return how an answer names its project."""
    return f"in project {project}" if project else "in all projects"


def make_project_name(folder_name: str) -> str:
    """Return a valid project name for a folder: invalid characters become hyphens. May be ""."""
    clean = re.sub(r"[^\w .+-]+", "-", folder_name)
    return re.sub(r"^[\W_]+|[ .]+$", "", clean)[:60].rstrip(" .")


def _find_main_folder(root: Path) -> Path:
    """Return the repository's main folder for a worktree, and `root` for anything else."""
    marker = root / ".git"
    if not marker.is_file():
        return root
    text = marker.read_text("utf-8", "replace").strip()
    git_dir = Path(os.path.normpath(root / text.removeprefix("gitdir:").strip()))
    worktrees = git_dir.parent
    if worktrees.name == "worktrees" and worktrees.parent.name == ".git" and git_dir.is_dir():
        return worktrees.parent.parent
    return root
