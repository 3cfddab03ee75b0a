"""Anthropic's file-based memory tool (`memory_20250818`), with its files in a vault.

    with Muisti.open("~/notes") as memory:
        tool = VaultMemoryTool(memory)
        client.beta.messages.tool_runner(tools=[tool], model=…, messages=…, max_tokens=…)

Claude sees `/memories`, which is the folder `memories/` of the vault. `memory.search` finds what it
writes there at once.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

from muisti.aio import MemoryService
from muisti.engine import Muisti
from muisti.errors import MuistiError
from muisti.integrations.memory_files import CommandRefused, MemoryFiles, validate_folder

try:
    from anthropic.lib.tools import ToolError
    from anthropic.tools.memory import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool
    from anthropic.types.beta import (
        BetaCacheControlEphemeralParam,
        BetaMemoryTool20250818CreateCommand,
        BetaMemoryTool20250818DeleteCommand,
        BetaMemoryTool20250818InsertCommand,
        BetaMemoryTool20250818RenameCommand,
        BetaMemoryTool20250818StrReplaceCommand,
        BetaMemoryTool20250818ViewCommand,
    )
    from anyio import to_thread  # a dependency of the SDK
except ImportError as error:
    raise ImportError(
        "the memory tool needs Anthropic's SDK: pip install 'muisti[anthropic]'"
    ) from error

log = logging.getLogger("muisti")
Field = TypeVar("Field")


Command = Callable[[MemoryFiles], str]
"""Runs one command of the model and returns the reply."""


def _run(files: MemoryFiles, command: Command) -> str:
    """Run a command and return the reply. Raises ToolError."""
    try:
        return command(files)
    except MuistiError as error:
        raise ToolError(str(error)) from error


@contextmanager
def _indexing(files: MemoryFiles) -> Iterator[None]:
    """Log an error of the index: the files are written, and the next open indexes them."""
    try:
        yield
    except MuistiError as error:
        log.warning("%s is written, but not indexed yet: %s", files.place, error)


class VaultMemoryTool(BetaAbstractMemoryTool):
    """The memory tool for `anthropic.Anthropic`.

    `folder` is `memories` or a folder in it: give each user their own. `project` limits searches
    that find the files to one project. Raises InvalidRequest.
    """

    def __init__(
        self,
        memory: Muisti,
        *,
        folder: str = "memories",
        project: str | None = None,
        cache_control: BetaCacheControlEphemeralParam | None = None,
    ) -> None:
        super().__init__(cache_control=cache_control)
        self._memory, self._project = memory, project
        self._files = MemoryFiles(
            memory.notebook(validate_folder(folder, memory.settings)), memory.settings
        )

    def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """Return a file with line numbers, or the listing of a folder. Raises ToolError."""
        return _run(self._files, partial(_view, command))

    def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """Create a file. Raises ToolError."""
        return self._write(partial(_create, command))

    def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Replace text in a file. `.history` keeps the version before. Raises ToolError."""
        return self._write(partial(_str_replace, command))

    def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """Insert lines in a file. `.history` keeps the version before. Raises ToolError."""
        return self._write(partial(_insert, command))

    def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """Move a file or folder to the vault's `.trash`. Raises ToolError."""
        return self._write(partial(_delete, command))

    def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Rename a file or folder. Raises ToolError."""
        return self._write(partial(_rename, command))

    def clear_all_memory(self) -> str:
        """Move all files of the folder to the vault's `.trash`. Raises ToolError."""
        return self._write(MemoryFiles.clear)

    def _write(self, command: Command) -> str:
        """Run a command that changes files, and index them. Raises ToolError."""
        reply = _run(self._files, command)
        with _indexing(self._files):
            self._memory.index_path(self._files.place, project=self._project)
        return reply


class AsyncVaultMemoryTool(BetaAsyncAbstractMemoryTool):
    """The memory tool for `anthropic.AsyncAnthropic`. Works as VaultMemoryTool, in threads."""

    def __init__(
        self,
        memory: Muisti | MemoryService,
        *,
        folder: str = "memories",
        project: str | None = None,
        cache_control: BetaCacheControlEphemeralParam | None = None,
    ) -> None:
        super().__init__(cache_control=cache_control)
        self._memory, self._project = memory, project
        self._folder = validate_folder(folder, memory.settings)
        self._made: MemoryFiles | None = None

    async def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """Return a file with line numbers, or the listing of a folder. Raises ToolError."""
        return await to_thread.run_sync(_run, await self._get_files(), partial(_view, command))

    async def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """Create a file. Raises ToolError."""
        return await self._write(partial(_create, command))

    async def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Replace text in a file. `.history` keeps the version before. Raises ToolError."""
        return await self._write(partial(_str_replace, command))

    async def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """Insert lines in a file. `.history` keeps the version before. Raises ToolError."""
        return await self._write(partial(_insert, command))

    async def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """Move a file or folder to the vault's `.trash`. Raises ToolError."""
        return await self._write(partial(_delete, command))

    async def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Rename a file or folder. Raises ToolError."""
        return await self._write(partial(_rename, command))

    async def clear_all_memory(self) -> str:
        """Move all files of the folder to the vault's `.trash`. Raises ToolError."""
        return await self._write(MemoryFiles.clear)

    async def _write(self, command: Command) -> str:
        files, memory = await self._get_files(), self._memory
        reply = await to_thread.run_sync(_run, files, command)
        with _indexing(files):
            if isinstance(memory, MemoryService):
                await memory.index_path(files.place, project=self._project)
            else:
                index = partial(memory.index_path, files.place, project=self._project)
                await to_thread.run_sync(index)
        return reply

    async def _get_files(self) -> MemoryFiles:
        """Return the files. Not made in `__init__`, because a MemoryService must be awaited."""
        if self._made is None:
            memory = self._memory
            if isinstance(memory, MemoryService):
                notes = await memory.notebook(self._folder)
            else:
                notes = memory.notebook(self._folder)
            self._made = MemoryFiles(notes, memory.settings)
        return self._made


# The SDK does not check what the model wrote: a field may be missing or have another type.


def _view(command: BetaMemoryTool20250818ViewCommand, files: MemoryFiles) -> str:
    lines: Any = getattr(command, "view_range", None)
    is_range = isinstance(lines, list) and all(isinstance(line, int) for line in lines)
    if lines is not None and not is_range:
        raise CommandRefused(
            f"Invalid `view_range` parameter: {lines!r}. "
            "It should be two line numbers, such as [1, 20]."
        )
    return files.view(_read_field(command, "path", str), lines)


def _create(command: BetaMemoryTool20250818CreateCommand, files: MemoryFiles) -> str:
    return files.create(_read_field(command, "path", str), _read_field(command, "file_text", str))


def _str_replace(command: BetaMemoryTool20250818StrReplaceCommand, files: MemoryFiles) -> str:
    return files.str_replace(
        _read_field(command, "path", str),
        _read_field(command, "old_str", str),
        _read_field(command, "new_str", str),
    )


def _insert(command: BetaMemoryTool20250818InsertCommand, files: MemoryFiles) -> str:
    return files.insert(
        _read_field(command, "path", str),
        _read_field(command, "insert_line", int),
        _read_field(command, "insert_text", str),
    )


def _delete(command: BetaMemoryTool20250818DeleteCommand, files: MemoryFiles) -> str:
    return files.delete(_read_field(command, "path", str))


def _rename(command: BetaMemoryTool20250818RenameCommand, files: MemoryFiles) -> str:
    return files.rename(
        _read_field(command, "old_path", str), _read_field(command, "new_path", str)
    )


def _read_field(command: object, name: str, wanted: type[Field]) -> Field:
    value: object = getattr(command, name, None)
    if not isinstance(value, wanted):
        needed = "a text" if wanted is str else "a whole number"
        raise CommandRefused(f"Invalid `{name}` parameter: {value!r}. It should be {needed}.")
    return value


__all__ = ["AsyncVaultMemoryTool", "VaultMemoryTool"]
