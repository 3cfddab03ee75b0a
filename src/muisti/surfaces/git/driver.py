"""The merge driver: git runs it for every file that both sides of a merge have changed.

Imports are few on purpose: a merge may start it hundreds of times.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from muisti.filesystem import read_file

CONFLICT = 9
"""Exit code if conflict markers were written. Python and click exit with 1 and 2 on errors."""
MAX_MERGED = 512_000_000
"""The most bytes of a file to merge. A larger one is left to git."""
MARKER_SIZE = "7"


def main(arguments: list[str]) -> int:
    """Merge `BASE OURS THEIRS PATH [MARKER_SIZE]` into OURS, and return the exit code."""
    if len(arguments) not in (4, 5):
        sys.stderr.write("usage: muisti git merge-file BASE OURS THEIRS PATH [MARKER_SIZE]\n")
        return 1
    files = [Path(name) for name in arguments[:3]]
    marker_size = arguments[4] if len(arguments) == 5 else MARKER_SIZE
    base, ours, theirs = (read_file(file.absolute(), MAX_MERGED)[0] for file in files)
    merged, is_conflict = merge_versions(base, ours, theirs, arguments[3], marker_size)
    if merged != ours:
        files[1].write_bytes(merged)
    return CONFLICT if is_conflict else 0


def merge_versions(
    base: bytes, ours: bytes, theirs: bytes, path: str, marker_size: str = MARKER_SIZE
) -> tuple[bytes, bool]:
    """Return the merged bytes of a file, and whether they have conflict markers.

    What is not a memory, core memory or a log, and what cannot be read, is merged as git does.
    """
    from muisti.storage.files.errors import BadFrontMatter
    from muisti.storage.files.memory_ids import has_memory_id
    from muisti.storage.files.three_way import Sides, merge_core, merge_log, merge_memory

    names = path.split("/")
    if path.endswith(".jsonl"):
        return merge_log(base, ours, theirs), False
    is_core = names[-1] == "core_memory.json"
    is_backup = is_core and ".history" in names  # of the version before: no reason for a conflict
    try:
        if is_core:
            texts = (side.decode("utf-8-sig") for side in (base, ours, theirs))
            base, ours, theirs = (text.encode() for text in merge_core(Sides(*texts)))
        elif has_memory_id(ours) or has_memory_id(theirs):
            texts = (side.decode() for side in (base, ours, theirs))
            base, ours, theirs = (text.encode() for text in merge_memory(Sides(*texts)))
    except (ValueError, RecursionError, BadFrontMatter):
        pass
    if theirs in (ours, base):
        return ours, False
    if ours == base:
        return theirs, False
    return merge_lines(base, ours, theirs, marker_size, prefer_ours=is_backup)


def merge_lines(
    base: bytes, ours: bytes, theirs: bytes, marker_size: str, *, prefer_ours: bool = False
) -> tuple[bytes, bool]:
    """Return what `git merge-file` makes of three texts, and whether there is a conflict.

    Raises OSError if git fails.
    """
    with tempfile.TemporaryDirectory(prefix="muisti-merge-") as folder:
        names = ("ours", "base", "theirs")
        for name, data in zip(names, (ours, base, theirs), strict=True):
            Path(folder, name).write_bytes(data)
        options = ["--ours"] if prefer_ours else []
        labels = [word for name in names for word in ("-L", name)]
        command = ["git", "merge-file", "-p", f"--marker-size={marker_size}", *options, *labels]
        done = subprocess.run(
            [*command, *names],
            cwd=folder,
            stdout=subprocess.PIPE,
            check=False,
            env={name: value for name, value in os.environ.items() if name != "GIT_DIR"},
        )
    if done.returncode > 127:
        raise OSError(f"git merge-file failed with code {done.returncode}")
    return done.stdout, done.returncode != 0
