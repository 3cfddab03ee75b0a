"""The six commands of a file-based memory tool, for the files in one folder of a vault: what to do, and what to reply.

A model sees the folder as `/memories`. It gets the replies that the file-system tool of Anthropic's SDK gives, word for word.
Where that one follows a link, keeps a secret or fails with an exception of Python's, this one refuses and says why.
"""

from __future__ import annotations

import posixpath
import stat
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import suppress

from muisti.errors import InvalidMemory, InvalidRequest, MuistiError, VaultError
from muisti.ports import Notebook
from muisti.remember.validate import validate_text
from muisti.settings import SETTINGS_FILE, Settings
from muisti.storage.files.agent_notes import looks_like_memory
from muisti.text.redact import redact_text

ROOT = "/memories"
FOLDER = "memories"
MOST_LINES = 999_999
_WIDTH = len(str(MOST_LINES))
_DEPTH = 2
_MOST_READ = 10
"""Times the largest content of a memory: the largest file that is shown, and that is searched."""
_MOST_NAME, _MOST_PATH = 200, 1000
"""Bytes: in the trash and among the versions a name gets a time behind it."""
_MOST_NAMED = 1000
"""Lines in a reply that tells where a text occurs."""
_NOT_ON_WINDOWS = frozenset('<>:"|?*')
_DEVICES = frozenset(
    {"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(1, 10))}
)


class CommandRefused(MuistiError):
    """A command cannot be carried out. The message is for the model; nothing was changed."""

    status = 422
    title = "The command was refused"


class MemoryFiles:
    """Carries commands out. Each answers what the model is told, or raises CommandRefused or VaultError."""

    def __init__(self, notes: Notebook, settings: Settings) -> None:
        self._settings = settings
        self._notes = notes
        self.place = notes.place

    def prepare(self) -> None:
        """Make the folder, if that can be done: in a vault that cannot be written there may be something to look at."""
        if self._notes.status("") is None:
            with suppress(VaultError), self._notes.lock():
                self._notes.prepare()

    # -- Looking

    def view(self, path: str, view_range: Sequence[int] | None = None) -> str:
        """A file with its lines numbered, or the names of what is in a folder."""
        inside = self._inside(path)
        self.prepare()
        mode = self._mode(path, inside)
        if mode is None:
            raise CommandRefused(f"The path {path} does not exist. Please provide a valid path.")
        if stat.S_ISDIR(mode):
            return self._listing(path, inside)
        if not stat.S_ISREG(mode):
            raise CommandRefused(f"Unsupported file type for {path}")
        lines = redact_text(self._text(path, inside), self._settings).split("\n")
        if len(lines) > MOST_LINES:
            raise CommandRefused(f"File {path} exceeds maximum line limit of 999,999 lines.")
        first = 0
        if view_range and len(view_range) == 2:
            first = max(1, view_range[0]) - 1
            lines = lines[first : len(lines) if view_range[1] == -1 else view_range[1]]
        return f"Here's the content of {path} with line numbers:\n" + _numbered(lines, first + 1)

    def _listing(self, path: str, inside: str) -> str:
        whole = self._notes.status(inside)
        shown = [f"{_size(whole.st_size if whole else 0)}\t{path}"]
        shown += [f"{_size(size)}\t{path}/{name}" for size, name in self._below(inside, "", 1)]
        head = f"Here're the files and directories up to {_DEPTH} levels deep in {path}, excluding hidden items:"
        return "\n".join((head, *shown))

    def _below(self, inside: str, above: str, depth: int) -> Iterator[tuple[int, str]]:
        for entry in self._notes.entries(posixpath.join(inside, above)):
            name = f"{above}{entry.name}"
            yield entry.size, f"{name}/" if entry.is_folder else name
            if entry.is_folder and depth < _DEPTH:
                yield from self._below(inside, f"{name}/", depth + 1)

    # -- Changing

    def create(self, path: str, file_text: str) -> str:
        """A new file, with the folders above it."""
        inside = self._inside(path, new=True)
        text = self._redact("file_text", file_text)
        data = self._checked(path, text)
        with self._notes.lock():
            self._notes.prepare()
            if self._mode(path, inside) is not None:
                raise CommandRefused(f"File {path} already exists")
            self._check_above(path, inside)
            self._notes.create(inside, data)
        return f"File created successfully at: {path}{_told(file_text, text)}"

    def str_replace(self, path: str, old_str: str, new_str: str) -> str:
        """Other words in the place of some that occur once."""
        inside = self._inside(path)
        added = self._redact("new_str", new_str)
        with self._notes.lock():
            content = self._editable(path, inside)
            _check_once(content, old_str, path)
            changed = content.replace(old_str, added)
            self._replace(path, inside, changed)
        line = content.count("\n", 0, content.find(old_str))
        start = max(0, line - 2)
        shown = _numbered(changed.split("\n")[start : line + 3], start + 1)
        return f"The memory file has been edited. Here is the snippet showing the change (with line numbers):\n{shown}"

    def insert(self, path: str, insert_line: int, insert_text: str) -> str:
        """New lines behind one of a file; 0 is before the first."""
        inside = self._inside(path)
        added = self._redact("insert_text", insert_text)
        with self._notes.lock():
            lines = self._editable(path, inside).split("\n")
            if lines[-1] == "":
                lines.pop()
            if not 0 <= insert_line <= len(lines):
                raise CommandRefused(
                    f"Invalid `insert_line` parameter: {insert_line}. It should be within the range [0, {len(lines)}]."
                )
            lines.insert(insert_line, added.rstrip("\n"))
            changed = "\n".join(lines)
            self._replace(path, inside, changed if changed.endswith("\n") else f"{changed}\n")
        return f"The file {path} has been edited.{_told(insert_text, added)}"

    def delete(self, path: str) -> str:
        """Away with a file, or a folder and all in it: to the vault's trash."""
        inside = self._inside(path)
        if not inside:
            raise CommandRefused(f"Cannot delete the {ROOT} directory itself")
        with self._notes.lock():
            mode = self._mode(path, inside)
            if mode is None or not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
                raise CommandRefused(f"The path {path} does not exist")
            self._notes.trash(inside)
        return f"Successfully deleted {path}"

    def rename(self, old_path: str, new_path: str) -> str:
        """Another name, or another folder, for a file or a folder."""
        old, new = self._inside(old_path), self._inside(new_path, new=True)
        if not old:
            raise CommandRefused(f"Cannot rename the {ROOT} directory itself")
        with self._notes.lock():
            there = self._mode(old_path, old)
            if self._mode(new_path, new) is not None:
                raise CommandRefused(f"The destination {new_path} already exists")
            if there is None:
                raise CommandRefused(f"The path {old_path} does not exist")
            if new.startswith(f"{old}/"):
                raise CommandRefused(f"Cannot move {old_path} into itself, to {new_path}")
            self._check_above(new_path, new)
            self._notes.move(old, new)
        return f"Successfully renamed {old_path} to {new_path}"

    def clear(self) -> str:
        """Everything to the trash."""
        with self._notes.lock():
            if self._mode(ROOT, "") is not None:
                self._notes.trash("")
            self._notes.prepare()
        return "All memory cleared"

    # -- Paths

    def _inside(self, path: str, *, new: bool = False) -> str:
        """A path as the model gives it, relative to the folder. New: as strict as every disk is about names."""
        if path != ROOT and not path.startswith(f"{ROOT}/"):
            raise CommandRefused(f"Path must start with {ROOT}, got: {path}")
        plain = posixpath.normpath(path)
        if plain != ROOT and not plain.startswith(f"{ROOT}/"):
            raise CommandRefused(f"Path {path} would escape {ROOT} directory")
        inside = plain[len(ROOT) + 1 :]
        fault = _path_fault(inside, new=new)
        if fault:
            raise CommandRefused(f"The path {path[:_MOST_PATH]!r} is not accepted: {fault}")
        return inside

    def _mode(self, path: str, inside: str) -> int | None:
        """What kind of thing is there; None if nothing is."""
        found = self._notes.status(inside)
        if found is not None and stat.S_ISLNK(found.st_mode):
            raise CommandRefused(f"Path {path} would escape {ROOT} directory")
        return None if found is None else found.st_mode

    def _check_above(self, path: str, inside: str) -> None:
        """A file cannot hold files."""
        above = posixpath.dirname(inside)
        while above:
            mode = self._mode(path, above)
            if mode is not None and not stat.S_ISDIR(mode):
                raise CommandRefused(
                    f"Cannot put {path} there: {ROOT}/{above} is a file, not a directory"
                )
            above = posixpath.dirname(above)

    # -- Texts

    def _text(self, path: str, inside: str) -> str:
        most = _MOST_READ * self._settings.max_content_bytes
        try:
            data = self._notes.read(inside, most)
        except FileNotFoundError:
            raise CommandRefused(
                f"The file {path} no longer exists (may have been deleted or renamed concurrently)."
            ) from None
        if len(data) > most:
            raise CommandRefused(
                f"File {path} has more than {most} bytes, which is too large to be shown or edited"
            )
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            raise CommandRefused(
                f"File {path} is not UTF-8 text (byte {error.start}); it cannot be shown or edited"
            ) from error

    def _editable(self, path: str, inside: str) -> str:
        """What a file says, if all of that may be seen."""
        mode = self._mode(path, inside)
        if mode is None:
            raise CommandRefused(f"The path {path} does not exist. Please provide a valid path.")
        if not stat.S_ISREG(mode):
            raise CommandRefused(f"The path {path} is not a file.")
        content = self._text(path, inside)
        if redact_text(content, self._settings) != content:
            raise CommandRefused(
                f"File {path} holds something private that its owner wrote, which is not shown; "
                "it is not edited here: put the new text into another file"
            )
        return content

    def _redact(self, field: str, text: str) -> str:
        """What the model wants to add, without secrets."""
        kept = redact_text(text, self._settings)
        if text.strip() and not kept.strip():
            raise CommandRefused(
                f"{field}: nothing of it is left outside of <private>; nothing was changed"
            )
        return kept

    def _replace(self, path: str, inside: str, text: str) -> None:
        data = self._checked(path, text)
        if redact_text(text, self._settings) != text:
            raise CommandRefused(
                f"Together with what File {path} holds this is something private or a secret; nothing was changed"
            )
        self._notes.replace(inside, data)

    def _checked(self, path: str, text: str) -> bytes:
        """A whole file as it may be written."""
        try:
            data = validate_text(path, text, self._settings).encode()
        except InvalidMemory as error:
            raise CommandRefused(f"{error}; nothing was changed") from error
        if looks_like_memory(data):
            raise CommandRefused(
                f"{path}: front matter with the id of a memory is not accepted here: leave out its line `id:`"
            )
        return data


def validate_folder(folder: str, settings: Settings) -> str:
    """`memories`, or a folder in it, of this vault. Raises InvalidRequest."""
    plain = (
        isinstance(folder, str)
        and posixpath.normpath(folder) == folder
        and not _path_fault(folder, new=True)
    )
    if not plain or folder.split("/", maxsplit=1)[0] != FOLDER:
        raise InvalidRequest(
            "folder", folder, f"must be {FOLDER} or a folder in it, such as {FOLDER}/anna"
        )
    if settings.kind(FOLDER) is not None:
        raise InvalidRequest(
            "folder",
            folder,
            "this vault has a kind of memory there: give that another folder in muisti.toml",
        )
    return folder


def _path_fault(inside: str, *, new: bool) -> str:
    """Why a path cannot be one of ours; empty if it can."""
    if len(inside.encode("utf-8", "surrogatepass")) > _MOST_PATH:
        return f"it is longer than {_MOST_PATH} bytes"
    return next(
        (fault for name in inside.split("/") if inside and (fault := _name_fault(name, new=new))),
        "",
    )


def _name_fault(name: str, *, new: bool) -> str:
    """Some names lead elsewhere, are hidden, or mean something to a system that the vault may be copied to."""
    if len(name.encode("utf-8", "surrogatepass")) > _MOST_NAME:
        return f"a name in it is longer than {_MOST_NAME} bytes"
    if "\\" in name or any(unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp") for char in name):
        return "a name in it holds a backslash or a control character"
    if name.startswith("."):
        return "names that begin with a dot are hidden, and not for notes"
    if not new:
        return ""
    if not _NOT_ON_WINDOWS.isdisjoint(name) or not name.rstrip(". ") or name[-1] in ". ":
        return f"a name must hold none of {' '.join(sorted(_NOT_ON_WINDOWS))} and not end with a dot or a space"
    if (
        name.split(".", maxsplit=1)[0].strip().casefold() in _DEVICES
        or name.casefold() == SETTINGS_FILE
    ):
        return "this name has a meaning of its own; choose another"
    return ""


def _check_once(content: str, wanted: str, path: str) -> None:
    """Raises CommandRefused unless a text occurs once."""
    count = content.count(wanted)
    if count == 0:
        raise CommandRefused(
            f"No replacement was performed, old_str `{wanted}` did not appear verbatim in {path}."
        )
    if count > 1:
        raise CommandRefused(
            f"No replacement was performed. Multiple occurrences of old_str `{wanted}` in lines: "
            f"{', '.join(_lines_of(content, wanted))}. Please ensure it is unique"
        )


def _lines_of(content: str, wanted: str) -> Iterator[str]:
    """The number of the line of each occurrence, overlapping ones too; of very many the first."""
    line, last = 1, 0
    at = content.find(wanted)
    for _ in range(_MOST_NAMED):
        if at < 0:
            return
        line, last = line + content.count("\n", last, at), at
        yield str(line)
        at = content.find(wanted, at + 1)
    if at >= 0:
        yield "…"


def _numbered(lines: Sequence[str], first: int) -> str:
    return "\n".join(
        f"{number:>{_WIDTH}}\t{line}" for number, line in enumerate(lines, start=first)
    )


def _size(count: int) -> str:
    """As people write it: 512B, 1.5K."""
    step = min(max(count.bit_length() - 1, 0) // 10, 3)
    size = count / 1024**step
    return f"{int(size)}{'BKMG'[step]}" if size == int(size) else f"{size:.1f}{'BKMG'[step]}"


def _told(wanted: str, kept: str) -> str:
    return "" if wanted == kept else " What is private or a secret in it was left out."
