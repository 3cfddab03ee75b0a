"""Remove messages of a conversation, and put them back from `.trash/conversations`."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from muisti.filesystem import Tree, UnsafeFile
from muisti.model import Message
from muisti.remember.index_rows import get_own_scope
from muisti.storage.files.disk import Disk, disk_errors
from muisti.storage.files.jsonl import (
    CORRUPT,
    MAX_REWRITTEN,
    quarantine_torn_tail,
    read_all_lines,
    replace_file,
)

FOLDER = "conversations"
TRASH = f".trash/{FOLDER}"


def remove_messages(
    root: Path, disk: Disk, conversation: str, ids: Collection[str] | None, *, hard: bool
) -> list[str]:
    """Remove the messages with these IDs, or all, and return the paths of the changed files.

    They are moved to the trash; with `hard` nothing is kept, there either. Call under the lock.
    """
    folder = root / FOLDER / conversation
    tree = Tree(root)
    changed = []
    with disk_errors(folder):
        for path in _list_files(tree, folder):
            quarantine_torn_tail(disk, path)
            before = tree.read(path, MAX_REWRITTEN)[0]
            kept, removed = _split(before, path.stem, ids)
            if not removed:
                continue
            if not hard:
                trash = root / TRASH / conversation / path.name
                disk.make_folder(trash.parent)
                if tree.is_file(trash):
                    quarantine_torn_tail(disk, trash)
                disk.append(trash, b"".join(removed), durable=True)
                disk.sync_folder(trash.parent)
            replace_file(disk, root, path, b"".join(kept), before)
            changed.append(f"{FOLDER}/{conversation}/{path.name}")
        if hard:
            trash_folder = root / TRASH / conversation
            for path in _list_files(tree, trash_folder):
                before = tree.read(path, MAX_REWRITTEN)[0]
                kept, removed = _split(before, path.stem, ids)
                if removed:
                    replace_file(disk, root, path, b"".join(kept), before)
            _remove_if_empty(disk, trash_folder)
            if ids is None:
                for name in tree.list_files(folder, CORRUPT):
                    disk.remove(folder / name)
        _remove_if_empty(disk, folder)
    return changed


def restore_messages(root: Path, disk: Disk, conversation: str) -> tuple[list[str], int]:
    """Put messages back from the trash. Return the changed files and how many messages.

    Each line goes before the first later one, so that the order of the others is kept.
    """
    trash_folder = root / TRASH / conversation
    tree = Tree(root)
    changed, count = [], 0
    with disk_errors(trash_folder):
        for trash in _list_files(tree, trash_folder):
            path = root / FOLDER / conversation / trash.name
            disk.make_folder(path.parent)
            before = tree.read(path, MAX_REWRITTEN)[0] if tree.exists(path) else None
            lines = (before or b"").splitlines(keepends=True)
            known = set(lines)  # a crash while they were moved left them in both files
            for line in tree.read(trash, MAX_REWRITTEN)[0].splitlines(keepends=True):
                if line in known:
                    continue
                at = _read_time(line)
                later = (n for n, other in enumerate(lines) if _read_time(other) > at)
                lines.insert(next(later, len(lines)), line)
                count += 1
            if before is None:
                disk.write_new(path, b"")
            replace_file(disk, root, path, b"".join(lines), before or b"")
            disk.remove(trash)
            changed.append(f"{FOLDER}/{conversation}/{path.name}")
        _remove_if_empty(disk, trash_folder)
    return changed, count


def read_trash(root: Path) -> Iterator[Message]:
    """Yield the messages in the trash. Lines that cannot be read are skipped."""
    tree = Tree(root)
    for conversation in tree.list_names(TRASH):
        for name in tree.list_files(f"{TRASH}/{conversation}", ".jsonl"):
            path = root / TRASH / conversation / name
            for place, line in _iterate_lines(tree, path):
                with suppress(ValueError, TypeError, KeyError, AttributeError, RecursionError):
                    parsed = json.loads(line.decode("utf-8-sig"))
                    project, user = get_own_scope(parsed.get("meta") or {})
                    yield Message(
                        id=_read_id(line, path.stem, place),
                        conversation=conversation,
                        role=str(parsed["role"]),
                        content=str(parsed["content"]),
                        at=_read_time(line),
                        project=project,
                        user=user,
                    )


def _list_files(tree: Tree, folder: Path) -> list[Path]:
    """Return the files of a folder, sorted. Raises UnsafeFile if a folder is a symbolic link."""
    with suppress(FileNotFoundError, NotADirectoryError), tree.scan(folder):
        return [folder / name for name in tree.list_files(folder, ".jsonl")]
    return []


def _iterate_lines(tree: Tree, path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield each complete line with its offset. A file that cannot be read has none."""
    with suppress(FileNotFoundError, UnsafeFile):
        for part in read_all_lines(tree, path):
            place = part.start
            for line in part.data.splitlines(keepends=True):
                yield place, line
                place += len(line)


def _split(data: bytes, day: str, ids: Collection[str] | None) -> tuple[list[bytes], list[bytes]]:
    """Return the lines to keep and the lines to remove."""
    kept: list[bytes] = []
    removed: list[bytes] = []
    place = 0
    for line in data.splitlines(keepends=True):
        is_wanted = ids is None or _read_id(line, day, place) in ids
        (removed if is_wanted else kept).append(line)
        place += len(line)
    return kept, removed


def _read_id(line: bytes, day: str, place: int) -> str:
    """Return the message ID of a line, as the reader of conversations does."""
    try:
        parsed = json.loads(line.decode("utf-8-sig"))
        return str(parsed.get("id") or f"line-{day}-{place}")
    except (ValueError, AttributeError, RecursionError):
        return ""


def _read_time(line: bytes) -> datetime:
    """Return when a message was sent; the earliest time if its line does not say."""
    try:
        at = datetime.fromisoformat(json.loads(line.decode("utf-8-sig"))["ts"])
        return at if at.tzinfo else at.replace(tzinfo=UTC)
    except (ValueError, TypeError, KeyError, RecursionError):
        return datetime.min.replace(tzinfo=UTC)


def _remove_if_empty(disk: Disk, folder: Path) -> None:
    tree = disk.tree(folder)
    if tree.is_folder(folder) and not tree.list_names(folder):
        disk.remove_folder(folder)
