"""Remove messages of a conversation, and put them back from `.trash/conversations`."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from muisti.errors import VaultUnusable
from muisti.model import Message
from muisti.remember.index_rows import get_own_scope
from muisti.storage.files.disk import Disk, disk_errors
from muisti.storage.files.jsonl import CORRUPT, quarantine_torn_tail, replace_file

FOLDER = "conversations"
TRASH = f".trash/{FOLDER}"


def remove_messages(
    root: Path, disk: Disk, conversation: str, ids: Collection[str] | None, *, hard: bool
) -> list[str]:
    """Remove the messages with these IDs, or all, and return the paths of the changed files.

    They are moved to the trash; with `hard` nothing is kept, there either. Call under the lock.
    """
    folder = root / FOLDER / conversation
    changed = []
    with disk_errors(folder):
        for path in _list_files(folder):
            quarantine_torn_tail(disk, path)
            kept, removed = _split(path, ids)
            if not removed:
                continue
            if not hard:
                trash = root / TRASH / conversation / path.name
                disk.make_folder(trash.parent)
                disk.append(trash, b"".join(removed), durable=True)
                disk.sync_folder(trash.parent)
            replace_file(disk, path, b"".join(kept))
            changed.append(f"{FOLDER}/{conversation}/{path.name}")
        if hard:
            trash_folder = root / TRASH / conversation
            for path in _list_files(trash_folder):
                kept, removed = _split(path, ids)
                if removed:
                    replace_file(disk, path, b"".join(kept))
            _remove_if_empty(trash_folder)
            if ids is None and folder.is_dir():
                for path in folder.glob(f"*{CORRUPT}"):
                    disk.remove(path)
        _remove_if_empty(folder)
    return changed


def restore_messages(root: Path, disk: Disk, conversation: str) -> tuple[list[str], int]:
    """Put messages back from the trash. Return the changed files and how many messages.

    Each line goes before the first later one, so that the order of the others is kept.
    """
    trash_folder = root / TRASH / conversation
    changed, count = [], 0
    with disk_errors(trash_folder):
        for trash in _list_files(trash_folder):
            path = root / FOLDER / conversation / trash.name
            disk.make_folder(path.parent)
            lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
            known = set(lines)  # a crash while they were moved left them in both files
            for line in trash.read_bytes().splitlines(keepends=True):
                if line in known:
                    continue
                at = _read_time(line)
                later = (n for n, other in enumerate(lines) if _read_time(other) > at)
                lines.insert(next(later, len(lines)), line)
                count += 1
            replace_file(disk, path, b"".join(lines))
            disk.remove(trash)
            changed.append(f"{FOLDER}/{conversation}/{path.name}")
        _remove_if_empty(trash_folder)
    return changed, count


def read_trash(root: Path) -> Iterator[Message]:
    """Yield the messages in the trash. Lines that cannot be read are skipped."""
    for folder in sorted((root / TRASH).glob("*")):
        for path in _list_files(folder):
            place = 0
            for line in path.read_bytes().splitlines(keepends=True):
                with suppress(ValueError, TypeError, KeyError, AttributeError, RecursionError):
                    parsed = json.loads(line.decode("utf-8-sig"))
                    project, user = get_own_scope(parsed.get("meta") or {})
                    yield Message(
                        id=_read_id(line, path.stem, place),
                        conversation=folder.name,
                        role=str(parsed["role"]),
                        content=str(parsed["content"]),
                        at=_read_time(line),
                        project=project,
                        user=user,
                    )
                place += len(line)


def _list_files(folder: Path) -> Iterator[Path]:
    """Return the files of a folder, sorted. Raises VaultUnusable for a symbolic link."""
    if folder.is_symlink() or folder.parent.is_symlink():
        raise VaultUnusable(f"{folder} is a symbolic link; muisti does not write through links")
    if not folder.is_dir():
        return iter(())
    return iter(sorted(path for path in folder.glob("*.jsonl") if path.is_file()))


def _split(path: Path, ids: Collection[str] | None) -> tuple[list[bytes], list[bytes]]:
    """Return the lines to keep and the lines to remove."""
    kept: list[bytes] = []
    removed: list[bytes] = []
    place = 0
    for line in path.read_bytes().splitlines(keepends=True):
        is_wanted = ids is None or _read_id(line, path.stem, place) in ids
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


def _remove_if_empty(folder: Path) -> None:
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()
