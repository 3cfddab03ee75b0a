"""Resolve conflicts of a merge that no merge driver sees: those about the places of files."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from muisti.filesystem import Tree
from muisti.storage.files.atomic_write import AtomicWriter
from muisti.storage.files.disk import Disk
from muisti.storage.files.memory_ids import read_memory_id
from muisti.storage.files.path_info import TRASH, make_restored_path
from muisti.surfaces.git.driver import MAX_MERGED, merge_versions
from muisti.surfaces.git.repository import run_git

BASE, THEIRS = 1, 3
_APART = (f"{TRASH}/", ".history/")
"""Folders to which muisti moves or copies a memory under a new name."""


def resolve_conflicts(root: Path) -> tuple[list[str], list[str]]:
    """Settle what needs no decision. Return the paths that are resolved, and those left.

    Git takes a memory that both sides deleted for a file with two new names: in the trash, or that
    of an earlier version. It may not see that one that only one side deleted is in the trash.
    Either way the memory is in the trash once, with the changes of both. Raises MuistiError.
    """
    stages: dict[str, dict[int, str]] = defaultdict(dict)
    for line in run_git(root, "ls-files", "--unmerged", "-z").split("\0"):
        if line:
            about, path = line.split("\t", 1)
            _, blob, number = about.split(" ")
            stages[path][int(number)] = blob
    moved: dict[str, list[str]] = defaultdict(list)
    gone: dict[str, dict[int, str]] = {}
    for path, found in stages.items():
        texts = {stage: run_git(root, "cat-file", "blob", blob) for stage, blob in found.items()}
        memory_id = read_memory_id(_encode(next(iter(texts.values()))[:4096]))
        if memory_id is not None and BASE in texts and len(texts) < THEIRS:
            gone[path] = texts
        elif memory_id is not None and len(texts) == 1 and path.startswith(_APART):
            moved[memory_id].append(path)
    resolved, left = [], set(stages)
    for path, texts in gone.items():
        base = _encode(texts.pop(BASE))
        memory_id = str(read_memory_id(base))
        names = moved.get(memory_id, [])
        if not texts and len(names) != 2:  # only one side moved it where muisti does
            continue
        changed = [_encode(text) for text in texts.values()]
        trashed = _unite_trash(root, path, memory_id, base, changed)
        if trashed is None:  # deleted permanently
            continue
        for name in (path, *names):  # of two names in the trash, one is gone
            is_kept = name != path and Tree(root).exists(name)
            options = ["add"] if is_kept else ["rm", "-q", "--force", "--ignore-unmatch"]
            run_git(root, *options, "--", name)
        left -= {path, *names}
        left |= trashed
        resolved.append(path)
    return sorted(resolved), sorted(left)


def _unite_trash(
    root: Path, path: str, memory_id: str, base: bytes, changed: Sequence[bytes]
) -> set[str] | None:
    """Merge a memory's files in the trash, and further versions of it, into the oldest.

    Path: where the memory was; the names in the trash are made from it. Return the file if it has
    conflicts, an empty set if not, and None if the memory is not in the trash.
    """
    tree = Tree(root)
    folder = f"{TRASH}/{path}".rpartition("/")[0]
    found = [f"{folder}/{name}" for name in tree.list_files(folder, ".md")]
    same = [one for one in found if make_restored_path(one) == path]
    texts = {one: tree.read(one, MAX_MERGED)[0] for one in same}
    texts = {one: data for one, data in texts.items() if read_memory_id(data) == memory_id}
    if not texts:
        return None
    first, *others = texts
    merged, is_conflict = texts[first], False
    for data in (*(texts[other] for other in others), *changed):
        merged, conflicts = merge_versions(base, merged, data, first)
        is_conflict = is_conflict or conflicts
    if others:
        run_git(root, "rm", "-q", "--force", "--ignore-unmatch", "--", *others)
    if merged != texts[first]:
        writer = AtomicWriter(root, root / ".muisti" / "tmp", Disk())
        writer.prepare()
        writer.replace(first, merged, texts[first])
    if is_conflict:
        return {first}
    run_git(root, "add", "--", first)
    return set()


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
