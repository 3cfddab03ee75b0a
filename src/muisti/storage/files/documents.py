"""Markdown files that stay where they are: notes, manuals, `MEMORY.md`. They are read and never written."""

from __future__ import annotations

import hashlib
import os
import re
import stat
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

from muisti.errors import InvalidRequest
from muisti.model import DocumentSource
from muisti.remember.index_rows import Section
from muisti.settings import SETTINGS_FILE, Settings
from muisti.storage.files.disk import escape_path
from muisti.storage.files.frontmatter import BadFrontMatter, parse
from muisti.storage.files.memory_codec import PathInfo
from muisti.storage.files.timestamps import make_file_stat, read_mtime
from muisti.storage.files.vault import has_memory_id
from muisti.storage.sync_state import FileStat, SeenFile
from muisti.text.markdown import parse_blocks
from muisti.text.redact import redact_text

ENDINGS = (".md", ".markdown")
NOTES = "memories"
"""The vault's folder in which agents keep notes of their own: any text there is searched, whatever its name ends in."""
_SKIPPED = frozenset({"node_modules", "__pycache__"})
_MOST = 10
"""Times the largest content of a memory: the largest document."""
_NO_ANCHOR = re.compile(r"[^\w-]+")
_LATEST = 2**62
"""Nanoseconds, the year 2116: some disks hold times that neither an index nor a calendar can."""
_ESCAPED = re.compile(rb"\\x([0-9a-f]{2})")
_HEAD = re.compile(
    r"---[ \t]*\r?\n(?=[^\W\d_][\w-]*:[ \t\r\n])(?:(?!---|\.\.\.)[^\n]*\n)++(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)"
)
"""Front matter by its looks: few programs mind that `title: a: b` is no YAML."""


@dataclass(frozen=True, slots=True)
class Document:
    """A Markdown file that stays where it is, as it was when it was read."""

    path: str
    source: DocumentSource
    seen: SeenFile
    changed_at: datetime
    name: str
    """What it is called in answers."""
    sections: Sequence[Section]
    problem: str = ""
    """Why it cannot be read; then it has no sections."""


class FileDocuments:
    """Reads what lies outside of the memories of one vault."""

    def __init__(self, root: Path, settings: Settings) -> None:
        self._root = root
        self._settings = settings

    def list_workspace_sources(self) -> list[DocumentSource]:
        """`MEMORY.md` and `memory/` of the workspace, which are the user's own."""
        folder = (
            (self._root / Path(self._settings.workspace).expanduser()).resolve()
            if self._settings.workspace
            else self._root
        )
        return [
            DocumentSource(self._shown(folder / name), "", trusted=True)
            for name in ("MEMORY.md", "memory")
        ]

    def resolve_source(self, path: str) -> str:
        """Relative to the vault if it lies within, else absolute."""
        if not path.strip() or "\0" in path:
            raise InvalidRequest("path", path, "name a Markdown file, or a folder with some")
        try:
            found = Path(path).expanduser().resolve(strict=True)
        except (OSError, RuntimeError) as error:
            raise InvalidRequest(
                "path",
                path,
                f"it cannot be read ({error}); name a Markdown file, or a folder with some",
            ) from error
        if found.is_file() and found.suffix.lower() not in ENDINGS:
            raise InvalidRequest(
                "path", path, f"only Markdown is read; its name must end in {' or '.join(ENDINGS)}"
            )
        if not found.is_file() and not found.is_dir():
            raise InvalidRequest(
                "path",
                path,
                "it is neither a file nor a folder; name a Markdown file, or a folder with some",
            )
        if escape_path(str(found)) != str(found):
            raise InvalidRequest(
                "path", escape_path(str(found)), "its name is not UTF-8 text; rename it"
            )
        shown = self._shown(found)
        if shown in ("", ".") or (
            not os.path.isabs(shown)
            and (shown[0] == "." or PathInfo.of(f"{shown}/x.md", self._settings).kind)
        ):
            raise InvalidRequest("path", path, "these are memories, which are searched already")
        return shown

    def _shown(self, path: Path) -> str:
        try:
            return path.relative_to(self._root.resolve()).as_posix()
        except ValueError:
            with suppress(ValueError):
                return path.relative_to(self._root).as_posix()
            return str(path)

    def exists(self, shelf: DocumentSource) -> bool:
        """Whether there is a file or a folder of that name."""
        return os.path.lexists(self._root / shelf.path)

    def scan(self, shelf: DocumentSource) -> list[tuple[str, FileStat]] | None:
        """Hidden folders, other vaults and links are left out."""
        place = self._root / shelf.path
        try:
            status = place.lstat()
        except OSError:
            return None
        if stat.S_ISREG(status.st_mode):
            return [(shelf.path, make_file_stat(status))]
        return [*self._inside(place)] if stat.S_ISDIR(status.st_mode) else None

    def _inside(self, folder: Path) -> Iterator[tuple[str, FileStat]]:
        failed: list[OSError] = []
        vault = (self._root, self._root.resolve())
        any_text = folder.is_relative_to(self._root / NOTES)
        for above, folders, names in os.walk(folder, onerror=failed.append):
            if above != str(folder) and (SETTINGS_FILE in names or Path(above) in vault):
                folders[:] = []  # a vault has memories, not documents
                continue
            folders[:] = sorted(name for name in folders if name[0] != "." and name not in _SKIPPED)
            for name in sorted(names):
                if name[0] != "." and (any_text or name.lower().endswith(ENDINGS)):
                    with suppress(FileNotFoundError):
                        status = os.lstat(os.path.join(above, name))
                        if stat.S_ISREG(status.st_mode):
                            yield (
                                escape_path(self._shown(Path(above, name))),
                                make_file_stat(status),
                            )
        for error in failed:
            if not isinstance(error, FileNotFoundError):  # which was removed while we walked
                yield (
                    escape_path(self._shown(Path(error.filename))),
                    FileStat(0, 0, 0),
                )  # reading it tells what is wrong

    def stat(self, path: str, source: DocumentSource) -> FileStat | None:
        """Return the stat of one file of a source; None if it is gone, or is none that `scan` would list."""
        place = self._place(path)
        folder = self._root / source.path
        steps = place.relative_to(folder).parts
        any_text = folder.is_relative_to(self._root / NOTES)
        if any(name[0] == "." or name in _SKIPPED for name in steps):
            return None
        if steps and not any_text and not steps[-1].lower().endswith(ENDINGS):
            return None
        between = [folder.joinpath(*steps[:depth]) for depth in range(1, len(steps))]
        if any(os.path.lexists(above / SETTINGS_FILE) for above in between):
            return None  # a vault has memories, not documents
        try:
            status = place.lstat()
        except OSError:
            return None
        return make_file_stat(status) if stat.S_ISREG(status.st_mode) else None

    def read(self, path: str, shelf: DocumentSource) -> Document | None:
        """One file by its sections. One that cannot be read says why."""
        place = self._place(path)
        seen_ns = time.time_ns()
        try:
            fd = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
            with open(fd, "rb") as file:
                status = os.fstat(fd)
                most = _MOST * self._settings.max_content_bytes
                data = file.read(most + 1)
        except FileNotFoundError:
            return None
        except OSError as error:
            return self._unread(
                path, shelf, f"cannot be read ({error.strerror}): check its permissions"
            )
        seen = SeenFile(make_file_stat(status), seen_ns, hashlib.sha256(data).hexdigest(), None)
        changed = read_mtime(status)
        source = shelf.source or self._called(path, shelf)
        problem = ""
        sections: list[Section] = []
        if has_memory_id(data[:4096]) and not os.path.isabs(path):
            pass  # a memory, whatever its folder is called
        elif len(data) > most:
            problem = f"has more than {most} bytes and is not searched: split it, or raise max_content_bytes"
        else:
            try:
                sections = _sections(redact_text(_body(data.decode("utf-8-sig")), self._settings))
            except UnicodeDecodeError as error:
                if path.lower().endswith(ENDINGS):  # among notes there may be a picture
                    problem = f"is not UTF-8 text (byte {error.start}) and is not searched: save it as UTF-8"
        return Document(path, shelf, seen, changed, source, sections, problem)

    def _place(self, path: str) -> Path:
        """Where a file lies. One whose name is not UTF-8 is spelled with escapes."""
        place = self._root / path
        if "\\x" not in path or os.path.lexists(place):
            return place
        return self._root / os.fsdecode(
            _ESCAPED.sub(lambda hex_: bytes.fromhex(hex_[1].decode()), path.encode())
        )

    def _unread(self, path: str, shelf: DocumentSource, problem: str) -> Document:
        seen = SeenFile(FileStat(0, 0, 0), time.time_ns(), "", None)
        return Document(
            path,
            shelf,
            seen,
            datetime.fromtimestamp(0, UTC),
            self._called(path, shelf),
            [],
            problem,
        )

    def _called(self, path: str, shelf: DocumentSource) -> str:
        """As a person would call it: with the name of the folder that was indexed, without what is above that."""
        return (
            path
            if not os.path.isabs(path)
            else Path(path).relative_to(Path(shelf.path).parent).as_posix()
        )


def _body(text: str) -> str:
    """Without front matter, even if that is not quite YAML."""
    with suppress(BadFrontMatter):
        return parse(text).body
    head = _HEAD.match(text)
    return text[head.end() :] if head else text


def _sections(text: str) -> list[Section]:
    """From each heading to the next. A heading with nothing but smaller ones below it is only the beginning of their paths."""
    text = text.replace("\0", " ")
    found: list[Section] = []
    path: list[tuple[int, str]] = []
    used: dict[str, int] = {}
    parts = parse_blocks(text)
    starts = [at for at, block in enumerate(parts) if block.level or at == 0]
    for first, end in pairwise([*starts, len(parts)]):
        head = parts[first] if parts[first].level else None
        if head is not None:
            path = [*(step for step in path if step[0] < head.level), (head.level, head.title)]
            if end == first + 1 and end < len(parts) and parts[end].level > head.level:
                continue
        content = text[parts[first].start : parts[end - 1].end]
        titles = [title for _, title in path if title] if head is not None else []
        found.append(
            Section(_anchor(titles[-1] if titles else "", used), " > ".join(titles), content)
        )
    return found


def _anchor(title: str, used: dict[str, int]) -> str:
    """Unique: the same heading for the second time is `heading-1`. Used: how often each name was asked for."""
    anchor = plain = _NO_ANCHOR.sub("-", title.casefold()).strip("-")[:80]
    while anchor in used:
        anchor = f"{plain}-{used[plain]}"
        used[plain] += 1
    used[anchor] = 1
    return anchor
