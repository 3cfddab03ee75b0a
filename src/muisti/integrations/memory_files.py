"""The six commands of a file-based memory tool, for the files in one folder of a vault.

A model sees the folder as `/memories`. Replies are the same, word for word, as those of the
file-system tool in Anthropic's SDK. Where that tool follows a symbolic link, stores a secret or
fails with a Python exception, this one refuses and gives the reason.
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
MAX_LINES = 999_999
_WIDTH = len(str(MAX_LINES))
_DEPTH = 2
_READ_FACTOR = 10
"""Times the largest content of a memory: the largest file that is shown and indexed."""
_MAX_NAME, _MAX_PATH = 200, 1000
"""In bytes. Leaves room for the time that is appended in the trash and in `.history`."""
_MAX_LISTED = 1000
"""The most line numbers in a reply that lists where a text occurs."""
_NOT_ON_WINDOWS = frozenset('<>:"|?*')
_DEVICES = frozenset(
    {"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(1, 10))}
)


class CommandRefused(MuistiError):
    """A command was refused and nothing changed. The message is for the model."""

    status = 422
    title = "The command was refused"


class MemoryFiles:
    """Runs commands. Each returns the reply, or raises CommandRefused or VaultError."""

    def __init__(self, notes: Notebook, settings: Settings) -> None:
        self._settings = settings
        self._notes = notes
        self.place = notes.place

    def prepare(self) -> None:
        """Create the folder if the vault is writable. Otherwise files can still be viewed."""
        if self._notes.status("") is None:
            with suppress(VaultError), self._notes.lock():
                self._notes.prepare()

    # -- Reading

    def view(self, path: str, view_range: Sequence[int] | None = None) -> str:
        """Return a file with line numbers, or the listing of a folder."""
        inside = self._resolve(path)
        self.prepare()
        mode = self._read_mode(path, inside)
        if mode is None:
            raise CommandRefused(f"The path {path} does not exist. Please provide a valid path.")
        if stat.S_ISDIR(mode):
            folder = self._notes.status(inside)
            listed = [f"{_format_size(folder.st_size if folder else 0)}\t{path}"]
            for size, name in self._walk(inside, "", 1):
                listed.append(f"{_format_size(size)}\t{path}/{name}")
            levels = f"up to {_DEPTH} levels deep in {path}, excluding hidden items:"
            return "\n".join((f"Here're the files and directories {levels}", *listed))
        if not stat.S_ISREG(mode):
            raise CommandRefused(f"Unsupported file type for {path}")
        lines = redact_text(self._read(path, inside), self._settings).split("\n")
        if len(lines) > MAX_LINES:
            raise CommandRefused(f"File {path} exceeds maximum line limit of 999,999 lines.")
        first = 0
        if view_range and len(view_range) == 2:
            first = max(1, view_range[0]) - 1
            lines = lines[first : len(lines) if view_range[1] == -1 else view_range[1]]
        return f"Here's the content of {path} with line numbers:\n" + _number_lines(
            lines, first + 1
        )

    def _walk(self, inside: str, above: str, depth: int) -> Iterator[tuple[int, str]]:
        for entry in self._notes.entries(posixpath.join(inside, above)):
            name = f"{above}{entry.name}"
            yield entry.size, f"{name}/" if entry.is_folder else name
            if entry.is_folder and depth < _DEPTH:
                yield from self._walk(inside, f"{name}/", depth + 1)

    # -- Writing

    def create(self, path: str, file_text: str) -> str:
        """Create a file and its folders."""
        inside = self._resolve(path, new=True)
        text = self._redact("file_text", file_text)
        data = self._encode(path, text)
        with self._notes.lock():
            self._notes.prepare()
            if self._read_mode(path, inside) is not None:
                raise CommandRefused(f"File {path} already exists")
            self._check_parents(path, inside)
            self._notes.create(inside, data)
        return f"File created successfully at: {path}{_note_redaction(file_text, text)}"

    def str_replace(self, path: str, old_str: str, new_str: str) -> str:
        """Replace a text that occurs once."""
        inside = self._resolve(path)
        added = self._redact("new_str", new_str)
        with self._notes.lock():
            content = self._read_for_edit(path, inside)
            count = content.count(old_str)
            if count == 0:
                raise CommandRefused(
                    f"No replacement was performed, old_str `{old_str}` did not appear "
                    f"verbatim in {path}."
                )
            if count > 1:
                raise CommandRefused(
                    "No replacement was performed. Multiple occurrences of old_str "
                    f"`{old_str}` in lines: {', '.join(_find_lines(content, old_str))}. "
                    "Please ensure it is unique"
                )
            changed = content.replace(old_str, added)
            self._replace(path, inside, changed)
        line = content.count("\n", 0, content.find(old_str))
        start = max(0, line - 2)
        shown = _number_lines(changed.split("\n")[start : line + 3], start + 1)
        edited = "The memory file has been edited."
        return f"{edited} Here is the snippet showing the change (with line numbers):\n{shown}"

    def insert(self, path: str, insert_line: int, insert_text: str) -> str:
        """Insert lines after a line of a file; 0 is before the first."""
        inside = self._resolve(path)
        added = self._redact("insert_text", insert_text)
        with self._notes.lock():
            lines = self._read_for_edit(path, inside).split("\n")
            if lines[-1] == "":
                lines.pop()
            if not 0 <= insert_line <= len(lines):
                raise CommandRefused(
                    f"Invalid `insert_line` parameter: {insert_line}. "
                    f"It should be within the range [0, {len(lines)}]."
                )
            lines.insert(insert_line, added.rstrip("\n"))
            changed = "\n".join(lines)
            self._replace(path, inside, changed if changed.endswith("\n") else f"{changed}\n")
        return f"The file {path} has been edited.{_note_redaction(insert_text, added)}"

    def delete(self, path: str) -> str:
        """Move a file, or a folder with its files, to the vault's trash."""
        inside = self._resolve(path)
        if not inside:
            raise CommandRefused(f"Cannot delete the {ROOT} directory itself")
        with self._notes.lock():
            mode = self._read_mode(path, inside)
            if mode is None or not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
                raise CommandRefused(f"The path {path} does not exist")
            self._notes.trash(inside)
        return f"Successfully deleted {path}"

    def rename(self, old_path: str, new_path: str) -> str:
        """Rename or move a file or a folder."""
        old, new = self._resolve(old_path), self._resolve(new_path, new=True)
        if not old:
            raise CommandRefused(f"Cannot rename the {ROOT} directory itself")
        with self._notes.lock():
            mode = self._read_mode(old_path, old)
            if self._read_mode(new_path, new) is not None:
                raise CommandRefused(f"The destination {new_path} already exists")
            if mode is None:
                raise CommandRefused(f"The path {old_path} does not exist")
            if new.startswith(f"{old}/"):
                raise CommandRefused(f"Cannot move {old_path} into itself, to {new_path}")
            self._check_parents(new_path, new)
            self._notes.move(old, new)
        return f"Successfully renamed {old_path} to {new_path}"

    def clear(self) -> str:
        """Move all files to the trash."""
        with self._notes.lock():
            if self._read_mode(ROOT, "") is not None:
                self._notes.trash("")
            self._notes.prepare()
        return "All memory cleared"

    # -- Paths

    def _resolve(self, path: str, *, new: bool = False) -> str:
        """Return the model's path relative to the folder.

        A `new` path must be valid on every system.
        """
        if path != ROOT and not path.startswith(f"{ROOT}/"):
            raise CommandRefused(f"Path must start with {ROOT}, got: {path}")
        plain = posixpath.normpath(path)
        if plain != ROOT and not plain.startswith(f"{ROOT}/"):
            raise CommandRefused(f"Path {path} would escape {ROOT} directory")
        inside = plain[len(ROOT) + 1 :]
        fault = _find_path_fault(inside, new=new)
        if fault:
            raise CommandRefused(f"The path {path[:_MAX_PATH]!r} is not valid: {fault}")
        return inside

    def _read_mode(self, path: str, inside: str) -> int | None:
        """Return the mode of a file or folder, or None. Raises CommandRefused for a link."""
        found = self._notes.status(inside)
        if found is not None and stat.S_ISLNK(found.st_mode):
            raise CommandRefused(f"Path {path} would escape {ROOT} directory")
        return None if found is None else found.st_mode

    def _check_parents(self, path: str, inside: str) -> None:
        """Raises CommandRefused if a parent of the path is a file."""
        above = posixpath.dirname(inside)
        while above:
            mode = self._read_mode(path, above)
            if mode is not None and not stat.S_ISDIR(mode):
                raise CommandRefused(
                    f"Cannot put {path} there: {ROOT}/{above} is a file, not a directory"
                )
            above = posixpath.dirname(above)

    # -- Texts

    def _read(self, path: str, inside: str) -> str:
        most = _READ_FACTOR * self._settings.max_content_bytes
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

    def _read_for_edit(self, path: str, inside: str) -> str:
        """Return the text of a file. Raises CommandRefused if a part of it must not be shown."""
        mode = self._read_mode(path, inside)
        if mode is None:
            raise CommandRefused(f"The path {path} does not exist. Please provide a valid path.")
        if not stat.S_ISREG(mode):
            raise CommandRefused(f"The path {path} is not a file.")
        content = self._read(path, inside)
        if redact_text(content, self._settings) != content:
            raise CommandRefused(
                f"File {path} contains private text or a secret of its owner; "
                "it cannot be edited here: write to another file"
            )
        return content

    def _redact(self, field: str, text: str) -> str:
        """Return the text to write without secrets. Raises CommandRefused if nothing is left."""
        kept = redact_text(text, self._settings)
        if text.strip() and not kept.strip():
            raise CommandRefused(
                f"{field} must have text outside of <private>; nothing was changed"
            )
        return kept

    def _replace(self, path: str, inside: str, text: str) -> None:
        data = self._encode(path, text)
        if redact_text(text, self._settings) != text:
            raise CommandRefused(
                f"With this change File {path} would contain private text or a secret; "
                "nothing was changed"
            )
        self._notes.replace(inside, data)

    def _encode(self, path: str, text: str) -> bytes:
        """Return the bytes of a file to write. Raises CommandRefused if it is not valid."""
        try:
            data = validate_text(path, text, self._settings).encode()
        except InvalidMemory as error:
            raise CommandRefused(f"{error}; nothing was changed") from error
        if looks_like_memory(data):
            raise CommandRefused(
                f"{path} must not have front matter with the ID of a memory; remove its line `id:`"
            )
        return data


def validate_folder(folder: str, settings: Settings) -> str:
    """Return the folder. Raises InvalidRequest if it is not `memories` or below."""
    plain = (
        isinstance(folder, str)
        and posixpath.normpath(folder) == folder
        and not _find_path_fault(folder, new=True)
    )
    if not plain or folder.split("/", maxsplit=1)[0] != FOLDER:
        raise InvalidRequest(
            "folder", folder, f"must be {FOLDER} or a folder in it, such as {FOLDER}/anna"
        )
    if settings.kind(FOLDER) is not None:
        raise InvalidRequest(
            "folder",
            folder,
            "is the folder of a kind; give that kind another folder in muisti.toml",
        )
    return folder


def _find_path_fault(inside: str, *, new: bool) -> str:
    """Return why a path is not valid, or "".

    Hidden names are not, and new ones must be valid on every system the vault may be copied to.
    """
    if len(inside.encode("utf-8", "surrogatepass")) > _MAX_PATH:
        return f"it is longer than {_MAX_PATH} bytes"
    names = inside.split("/") if inside else []
    for name in names:
        if len(name.encode("utf-8", "surrogatepass")) > _MAX_NAME:
            return f"a name in it is longer than {_MAX_NAME} bytes"
        categories = {unicodedata.category(char) for char in name}
        if "\\" in name or categories & {"Cc", "Cs", "Zl", "Zp"}:
            return "a name in it contains a backslash or a control character"
        if name.startswith("."):
            return "names must not begin with a dot"
        if not new:
            continue
        if not _NOT_ON_WINDOWS.isdisjoint(name) or not name.rstrip(". ") or name[-1] in ". ":
            forbidden = " ".join(sorted(_NOT_ON_WINDOWS))
            return f"a name must contain none of {forbidden} and not end with a dot or a space"
        stem = name.split(".", maxsplit=1)[0].strip().casefold()
        if stem in _DEVICES or name.casefold() == SETTINGS_FILE:
            return "this name is reserved; choose another"
    return ""


def _find_lines(content: str, wanted: str) -> Iterator[str]:
    """Yield the line number of each occurrence, overlapping ones too, up to a maximum."""
    line, last = 1, 0
    at = content.find(wanted)
    for _ in range(_MAX_LISTED):
        if at < 0:
            return
        line, last = line + content.count("\n", last, at), at
        yield str(line)
        at = content.find(wanted, at + 1)
    if at >= 0:
        yield "…"


def _number_lines(lines: Sequence[str], first: int) -> str:
    return "\n".join(
        f"{number:>{_WIDTH}}\t{line}" for number, line in enumerate(lines, start=first)
    )


def _format_size(count: int) -> str:
    """Return a number of bytes as 512B or 1.5K."""
    step = min(max(count.bit_length() - 1, 0) // 10, 3)
    size = count / 1024**step
    return f"{int(size)}{'BKMG'[step]}" if size == int(size) else f"{size:.1f}{'BKMG'[step]}"


def _note_redaction(wanted: str, kept: str) -> str:
    return "" if wanted == kept else " Private or secret text was redacted."
