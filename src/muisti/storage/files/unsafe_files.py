"""Find what muisti does not open in a vault: links, named pipes, devices, too large files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from muisti.filesystem import LINK, Tree, UnsafeFile, is_link
from muisti.model import Problem
from muisti.settings import SETTINGS_FILE, Settings
from muisti.settings_tables import MAX_SETTINGS
from muisti.storage.files.core_memory import MAX_CORE_FILE, MAX_USER_FILE, NAME, USER_FILE
from muisti.storage.files.jsonl import MAX_REWRITTEN
from muisti.storage.files.safe_read import MAX_FILE

OWN = frozenset({".trash", ".history", ".muisti", ".queue"})
"""The hidden folders that are muisti's. Others, such as `.git`, are not looked into."""
_SUFFIXES = frozenset({"", ".md", ".markdown", ".json", ".jsonl", ".toml", ".corrupt", ".db"})
_LIMITS = {NAME: MAX_CORE_FILE, SETTINGS_FILE: MAX_SETTINGS}
_MEMORIES = ("archive/", ".history/", ".trash/")
"""Folders whose memories are only read when they are asked for. Of others `sync` reports them."""


def find_unsafe_files(root: Path, settings: Settings) -> list[Problem]:
    """Return a problem for each link and each special or too large file, by path.

    Files that muisti would not read anyway, such as pictures, may be links.
    """
    limit = settings.max_content_bytes + MAX_FILE
    return sorted(_look(Tree(root), "", limit), key=lambda problem: problem.path)


def _look(tree: Tree, folder: str, limit: int) -> Iterator[Problem]:
    prefix = f"{folder}/" if folder else ""
    folders: list[str] = []
    try:
        with tree.scan(folder) as entries:
            names = {entry.name for entry in entries}
            if folder and SETTINGS_FILE in names:
                return  # a vault of its own
            for entry in entries:
                path = prefix + entry.name
                if entry.name.startswith(".") and (folder or entry.name not in OWN):
                    continue
                if entry.is_dir(follow_symlinks=False) and not is_link(_lstat(entry)):
                    folders += [path] if entry.name != "node_modules" else []
                elif reason := _find_fault(tree, path, entry, limit):
                    yield Problem(path, reason)
    except UnsafeFile as error:
        yield Problem(error.path, error.reason)
    except OSError:
        return  # removed meanwhile, or not readable, which reading it reports
    for below in folders:
        yield from _look(tree, below, limit)


def _find_limit(path: PurePosixPath, memory_limit: int) -> int | None:
    """Return how many bytes a file may have; None if that does not matter."""
    if path.suffix == ".jsonl":
        return MAX_REWRITTEN
    if path.suffix == ".md" and str(path).startswith(_MEMORIES):
        return memory_limit
    return MAX_USER_FILE if str(path) == USER_FILE else _LIMITS.get(path.name)


def _find_fault(tree: Tree, path: str, entry: os.DirEntry[str], memory_limit: int) -> str:
    name = PurePosixPath(path)
    if entry.is_file(follow_symlinks=False):
        limit = _find_limit(name, memory_limit)
        size = 0 if limit is None else _lstat(entry).st_size
        if limit is not None and size > limit:
            return f"has {size} bytes, the limit is {limit}: make it smaller, or split it"
        return ""
    status = _lstat(entry)
    if is_link(status):
        return LINK if name.suffix.lower() in _SUFFIXES else ""
    try:
        tree.check_regular(path, status)
    except UnsafeFile as error:
        return error.reason
    return ""


def _lstat(entry: os.DirEntry[str]) -> os.stat_result:
    return entry.stat(follow_symlinks=False)
