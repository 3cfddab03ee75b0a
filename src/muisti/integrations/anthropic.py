"""Anthropic's file-based memory tool (`memory_20250818`) with the files in a vault: Claude's notes are the person's files.

    with Muisti.open("~/notes") as memory:
        client.beta.messages.tool_runner(tools=[VaultMemoryTool(memory)], model=…, messages=…, max_tokens=…)

Claude sees `/memories`; the vault has the folder `memories/`. What it writes there is found by `memory.search` at once.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TypeVar

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
    from anyio import to_thread  # which the SDK brings
except ImportError as error:
    raise ImportError(
        "the memory tool needs Anthropic's SDK: pip install 'muisti[anthropic]'"
    ) from error

log = logging.getLogger("muisti")
Field = TypeVar("Field")


Command = Callable[[MemoryFiles], str]
"""Carries out what the model asked for, and returns the reply."""


def _reply(files: MemoryFiles, command: Command) -> str:
    """Return the reply to a command. Raises ToolError."""
    try:
        return command(files)
    except MuistiError as error:
        raise ToolError(str(error)) from error


@contextmanager
def _indexing(files: MemoryFiles) -> Iterator[None]:
    """The files are the truth: an index that cannot follow them now catches up when the vault is opened next."""
    try:
        yield
    except MuistiError as error:
        log.warning("%s is changed, and searched as it was: %s", files.place, error)


class VaultMemoryTool(BetaAbstractMemoryTool):
    """The memory tool for `anthropic.Anthropic`.

    `folder` is where in the vault the files lie, `memories` or below: give each of several users one of their own.
    `project` is whose searches find them; None: those of no project in particular. Raises InvalidRequest.
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
        """A file with its lines numbered, or what is in a folder. Raises ToolError, as all of these do."""
        return _reply(self._files, partial(_view, command))

    def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """A new file."""
        return self._changed(partial(_create, command))

    def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Other words in a file. What it said before is kept in the vault's `.history`."""
        return self._changed(partial(_str_replace, command))

    def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """More lines in a file. What it said before is kept in the vault's `.history`."""
        return self._changed(partial(_insert, command))

    def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """A file or a folder goes to the vault's `.trash`."""
        return self._changed(partial(_delete, command))

    def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Another name for a file or a folder."""
        return self._changed(partial(_rename, command))

    def clear_all_memory(self) -> str:
        """All files go to the vault's `.trash`. Memories, conversations and documents elsewhere stay."""
        return self._changed(MemoryFiles.clear)

    def _changed(self, command: Command) -> str:
        """Return the reply to a command that changes files, which are searched as they are from then on. Raises ToolError."""
        reply = _reply(self._files, command)
        with _indexing(self._files):
            self._memory.index_path(self._files.place, project=self._project)
        return reply


class AsyncVaultMemoryTool(BetaAsyncAbstractMemoryTool):
    """The memory tool for `anthropic.AsyncAnthropic`: the same as VaultMemoryTool, the work is done in threads."""

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
        """A file with its lines numbered, or what is in a folder. Raises ToolError, as all of these do."""
        return await to_thread.run_sync(_reply, await self._files(), partial(_view, command))

    async def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """A new file."""
        return await self._changed(partial(_create, command))

    async def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Other words in a file. What it said before is kept in the vault's `.history`."""
        return await self._changed(partial(_str_replace, command))

    async def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """More lines in a file. What it said before is kept in the vault's `.history`."""
        return await self._changed(partial(_insert, command))

    async def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """A file or a folder goes to the vault's `.trash`."""
        return await self._changed(partial(_delete, command))

    async def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Another name for a file or a folder."""
        return await self._changed(partial(_rename, command))

    async def clear_all_memory(self) -> str:
        """All files go to the vault's `.trash`. Memories, conversations and documents elsewhere stay."""
        return await self._changed(MemoryFiles.clear)

    async def _changed(self, command: Command) -> str:
        files, memory = await self._files(), self._memory
        reply = await to_thread.run_sync(_reply, files, command)
        with _indexing(files):
            if isinstance(memory, MemoryService):
                await memory.index_path(files.place, project=self._project)
            else:
                await to_thread.run_sync(
                    partial(memory.index_path, files.place, project=self._project)
                )
        return reply

    async def _files(self) -> MemoryFiles:
        """Return the files. The first command makes this: a MemoryService has to be awaited."""
        if self._made is None:
            memory = self._memory
            notes = (
                await memory.notebook(self._folder)
                if isinstance(memory, MemoryService)
                else memory.notebook(self._folder)
            )
            self._made = MemoryFiles(notes, memory.settings)
        return self._made


# The SDK hands on what the model wrote, unchecked: any field may be missing, or be of another type.


def _view(command: BetaMemoryTool20250818ViewCommand, files: MemoryFiles) -> str:
    lines: object = getattr(command, "view_range", None)
    if lines is not None and not (
        isinstance(lines, list) and all(isinstance(line, int) for line in lines)
    ):
        raise CommandRefused(
            f"Invalid `view_range` parameter: {lines!r}. It should be two line numbers, such as [1, 20]."
        )
    return files.view(_given(command, "path", str), lines)


def _create(command: BetaMemoryTool20250818CreateCommand, files: MemoryFiles) -> str:
    return files.create(_given(command, "path", str), _given(command, "file_text", str))


def _str_replace(command: BetaMemoryTool20250818StrReplaceCommand, files: MemoryFiles) -> str:
    return files.str_replace(
        _given(command, "path", str),
        _given(command, "old_str", str),
        _given(command, "new_str", str),
    )


def _insert(command: BetaMemoryTool20250818InsertCommand, files: MemoryFiles) -> str:
    return files.insert(
        _given(command, "path", str),
        _given(command, "insert_line", int),
        _given(command, "insert_text", str),
    )


def _delete(command: BetaMemoryTool20250818DeleteCommand, files: MemoryFiles) -> str:
    return files.delete(_given(command, "path", str))


def _rename(command: BetaMemoryTool20250818RenameCommand, files: MemoryFiles) -> str:
    return files.rename(_given(command, "old_path", str), _given(command, "new_path", str))


def _given(command: object, name: str, wanted: type[Field]) -> Field:
    value: object = getattr(command, name, None)
    if not isinstance(value, wanted):
        needed = "a text" if wanted is str else "a whole number"
        raise CommandRefused(f"Invalid `{name}` parameter: {value!r}. It should be {needed}.")
    return value


__all__ = ["AsyncVaultMemoryTool", "VaultMemoryTool"]
