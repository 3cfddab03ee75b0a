"""Documents: Markdown files outside of the memories, such as `MEMORY.md`. Never written."""

from __future__ import annotations

import errno
import os
import re
import stat
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from muisti.errors import InvalidRequest, describe_reading
from muisti.filesystem import Tree, UnsafeFile, is_link
from muisti.model import DocumentSource
from muisti.settings import SETTINGS_FILE, Settings
from muisti.storage.files.disk import escape_path
from muisti.storage.files.errors import BadFrontMatter
from muisti.storage.files.memory_ids import has_memory_id
from muisti.storage.files.path_info import PathInfo
from muisti.storage.files.safe_read import hash_bytes
from muisti.storage.files.timestamps import make_file_stat, read_mtime
from muisti.storage.sync_state import FileStat, SeenFile

if TYPE_CHECKING:
    from muisti.remember.index_rows import Section
    from muisti.text.markdown import Block

SUFFIXES = (".md", ".markdown")
NOTES = "memories"
"""The vault's folder for notes of agents: any text there is searched, whatever its suffix."""
_SKIPPED = frozenset({"node_modules", "__pycache__"})
_MAX_SIZE_FACTOR = 10
"""How much larger a document may be than the content of a memory."""
_NO_ANCHOR = r"[^\w-]+"
_ESCAPED = rb"\\x([0-9a-f]{2})"
_HEAD = (
    r"---[ \t]*\r?\n(?=[^\W\d_][\w-]*:[ \t\r\n])(?:(?!---|\.\.\.)[^\n]*\n)++"
    r"(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)"
)
"""Front matter that may not be valid YAML, such as `title: a: b`."""
_MUST_BE = "must be a Markdown file, or a folder with some"


class Document(NamedTuple):
    """A document as it was when it was read."""

    path: str
    source: DocumentSource
    seen: SeenFile
    changed_at: datetime
    name: str
    """The name shown in results."""
    sections: Sequence[Section]
    problem: str = ""
    """Why it cannot be read; then it has no sections."""


class LoadedDocument(NamedTuple):
    """The bytes of a document."""

    data: bytes
    status: os.stat_result | None
    problem: str = ""
    """Why it cannot be read; then it has no status."""


class FileDocuments:
    """Finds and reads the documents of one vault."""

    def __init__(self, root: Path, settings: Settings) -> None:
        self._root = root
        self._settings = settings
        self._limit = _MAX_SIZE_FACTOR * settings.max_content_bytes

    def list_workspace_sources(self) -> list[DocumentSource]:
        """Return `MEMORY.md` and `memory/` of the workspace, which are trusted if the vault is."""
        folder = self._root
        if self._settings.workspace:
            folder = (self._root / Path(self._settings.workspace).expanduser()).resolve()
        return [
            DocumentSource(
                self._make_relative(folder / name), "", trusted=self._settings.vault_trusted
            )
            for name in ("MEMORY.md", "memory")
        ]

    def resolve_source(self, path: str) -> str:
        """Return a source's path, relative to the vault if it is inside. Raises InvalidRequest."""
        if not path.strip() or "\0" in path:
            raise InvalidRequest("path", path, _MUST_BE)
        try:
            found = Path(path).expanduser().resolve(strict=True)
        except (OSError, RuntimeError) as error:
            reason = f"cannot be read ({describe_reading(error)})"
            raise InvalidRequest("path", path, reason) from error
        if found.is_file() and found.suffix.lower() not in SUFFIXES:
            reason = f"{_MUST_BE}; the name of a file must end in {' or '.join(SUFFIXES)}"
            raise InvalidRequest("path", path, reason)
        if not found.is_file() and not found.is_dir():
            raise InvalidRequest("path", path, _MUST_BE)
        if escape_path(str(found)) != str(found):
            reason = "has a name that is not UTF-8; rename it"
            raise InvalidRequest("path", escape_path(str(found)), reason)
        relative = self._make_relative(found)
        is_memories = relative in ("", ".")
        if not is_memories and not os.path.isabs(relative):
            kind = PathInfo.of(f"{relative}/x.md", self._settings).kind
            is_memories = relative[0] == "." or bool(kind)
        if is_memories:
            raise InvalidRequest("path", path, "is a folder of memories, which are always searched")
        return relative

    def _make_relative(self, path: Path) -> str:
        try:
            return path.relative_to(self._root.resolve()).as_posix()
        except ValueError:
            with suppress(ValueError):
                return path.relative_to(self._root).as_posix()
            return str(path)

    def exists(self, source: DocumentSource) -> bool:
        """Return whether the file or folder of a source exists."""
        return os.path.lexists(self._root / source.path)

    def scan(self, source: DocumentSource) -> list[tuple[str, FileStat]] | None:
        """Return the files of a source; None if the source is gone.

        Hidden folders, other vaults and links are left out.
        """
        path = self._root / source.path
        try:
            status = self._make_tree(source).lstat(path)
        except OSError:
            return None
        if status is None or is_link(status):
            return None
        if stat.S_ISREG(status.st_mode):
            return [(source.path, make_file_stat(status))]
        if not stat.S_ISDIR(status.st_mode):
            return None
        any_text = path.is_relative_to(self._root / NOTES)
        return list(self._scan_folder(self._make_tree(source), path, path, any_text=any_text))

    def _make_tree(self, source: DocumentSource) -> Tree:
        """Return the folder that no link leads out of: the vault, or the one of the source."""
        return Tree(Path(source.path).parent if os.path.isabs(source.path) else self._root)

    def _scan_folder(
        self, tree: Tree, top: Path, folder: Path, *, any_text: bool
    ) -> Iterator[tuple[str, FileStat]]:
        folders: list[Path] = []
        try:
            with tree.scan(folder) as entries:
                is_vault = any(entry.name == SETTINGS_FILE for entry in entries)
                if folder != top and (is_vault or folder in (self._root, self._root.resolve())):
                    return  # a vault has memories, not documents
                for entry in sorted(entries, key=lambda entry: entry.name):
                    name = entry.name
                    if name[0] == ".":
                        continue
                    if entry.is_dir(follow_symlinks=False):
                        folders += [folder / name] if name not in _SKIPPED else []
                    elif not any_text and not name.lower().endswith(SUFFIXES):
                        continue
                    elif entry.is_file(follow_symlinks=False):
                        with suppress(FileNotFoundError):
                            stat = make_file_stat(entry.stat(follow_symlinks=False))
                            yield escape_path(self._make_relative(folder / name)), stat
        except (FileNotFoundError, NotADirectoryError, UnsafeFile):
            return  # removed meanwhile, or replaced by a link
        except OSError:
            # List the folder as a file: reading it reports the problem.
            yield escape_path(self._make_relative(folder)), FileStat(0, 0, 0)
        for below in folders:
            yield from self._scan_folder(tree, top, below, any_text=any_text)

    def stat(self, path: str, source: DocumentSource) -> FileStat | None:
        """Return the stat of one file of a source; None if `scan` would not list it."""
        file = self._locate(path)
        folder = self._root / source.path
        steps = file.relative_to(folder).parts
        if not is_listed(steps, any_text=folder.is_relative_to(self._root / NOTES)):
            return None
        parents = [folder.joinpath(*steps[:depth]) for depth in range(1, len(steps))]
        if any(os.path.lexists(parent / SETTINGS_FILE) for parent in parents):
            return None  # a vault has memories, not documents
        try:
            status = self._make_tree(source).lstat(file)
        except OSError:
            return None
        is_regular = status is not None and stat.S_ISREG(status.st_mode)
        return make_file_stat(status) if status is not None and is_regular else None

    def read(self, path: str, source: DocumentSource) -> Document | None:
        """Read one file; None if it is gone. If it cannot be used, the document has a problem."""
        seen_ns = time.time_ns()
        loaded = self.load(path, source)
        if loaded is None:
            return None
        data, status, problem = loaded
        name = make_document_name(path, source)
        if status is None:
            seen = SeenFile(FileStat(0, 0, 0), time.time_ns(), "", None)
            return Document(path, source, seen, datetime.fromtimestamp(0, UTC), name, [], problem)
        seen = SeenFile(make_file_stat(status), seen_ns, hash_bytes(data), None)
        body, problem = self.extract_body(path, data)
        sections = split_sections(body)
        return Document(path, source, seen, read_mtime(status), name, sections, problem)

    def load(self, path: str, source: DocumentSource) -> LoadedDocument | None:
        """Return the bytes of a file, up to one more than are searched; None if it is gone."""
        try:
            fd, status = self._make_tree(source).open(self._locate(path), os.O_RDONLY)
            with os.fdopen(fd, "rb") as file:
                return LoadedDocument(file.read(self._limit + 1), status)
        except FileNotFoundError:
            return None
        except OSError as error:
            problem = f"cannot be read ({error.strerror}): check its permissions"
            if isinstance(error, UnsafeFile) and error.errno == errno.ELOOP:
                problem = error.reason
            return LoadedDocument(b"", None, problem)

    def extract_body(self, path: str, data: bytes) -> tuple[str, str]:
        """Return the text of a document, redacted, and why it is not searched, or ""."""
        if has_memory_id(data[:4096]) and not os.path.isabs(path):
            return "", ""  # a memory, whatever its folder is called
        if len(data) > self._limit:
            problem = f"has more than {self._limit} bytes and is not searched:"
            return "", f"{problem} split it, or raise max_content_bytes"
        from muisti.text.redact import redact_text

        try:
            return redact_text(_strip_front_matter(data.decode("utf-8-sig")), self._settings), ""
        except UnicodeDecodeError as error:
            if not path.lower().endswith(SUFFIXES):  # notes may have a picture among them
                return "", ""
            problem = f"is not UTF-8 text (byte {error.start}) and is not searched:"
            return "", f"{problem} save it as UTF-8"

    def _locate(self, path: str) -> Path:
        """Return the absolute path of a file, whose name has escapes where it is not UTF-8."""
        file = self._root / path
        if "\\x" not in path or os.path.lexists(file):
            return file
        raw = re.sub(_ESCAPED, lambda match: bytes.fromhex(match[1].decode()), path.encode())
        return self._root / os.fsdecode(raw)


def is_listed(steps: Sequence[str], *, any_text: bool) -> bool:
    """Return whether a file is a document, from the names of its path below the source.

    Any_text: whatever its suffix is.
    """
    if any(name[:1] in (".", "") or name in _SKIPPED for name in steps):
        return False
    return not steps or any_text or steps[-1].lower().endswith(SUFFIXES)


def make_document_name(path: str, source: DocumentSource) -> str:
    """Return the name that results show for a document."""
    if source.source or not os.path.isabs(path):
        return source.source or path
    # Begin with the name of the indexed folder.
    return Path(path).relative_to(Path(source.path).parent).as_posix()


def _strip_front_matter(text: str) -> str:
    from muisti.storage.files.frontmatter import parse

    with suppress(BadFrontMatter):
        return parse(text).body
    head = re.match(_HEAD, text)
    return text[head.end() :] if head else text


def split_sections(text: str) -> list[Section]:
    """Split a text at its headings.

    A heading that is followed by a smaller one has no section: it is only part of that one's path.
    """
    from muisti.remember.index_rows import Section
    from muisti.text.markdown import parse_blocks

    text = text.replace("\0", " ")
    found: list[Section] = []
    headings: list[Block] = []
    used: dict[str, int] = {}  # the count by anchor
    blocks = parse_blocks(text)
    starts = [at for at, block in enumerate(blocks) if block.level or at == 0]
    for first, end in pairwise([*starts, len(blocks)]):
        head = blocks[first]
        if head.level:
            headings = [above for above in headings if above.level < head.level]
            headings.append(head)
            is_empty = end == first + 1 and end < len(blocks)
            if is_empty and blocks[end].level > head.level:
                continue
        content = text[head.start : blocks[end - 1].end]
        titles = [heading.title for heading in headings if heading.title]
        last = titles[-1] if titles else ""
        anchor = plain = re.sub(_NO_ANCHOR, "-", last.casefold()).strip("-")[:80]
        while anchor in used:  # a repeated heading is `heading-1`
            anchor = f"{plain}-{used[plain]}"
            used[plain] += 1
        used[anchor] = 1
        found.append(Section(anchor, " > ".join(titles), content))
    return found
