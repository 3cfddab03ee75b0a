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
from muisti.integrations.memory_files import CommandRefused, MemoryFiles

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
    raise ImportError("the memory tool needs Anthropic's SDK: pip install 'muisti[anthropic]'") from error

log = logging.getLogger("muisti")
Field = TypeVar("Field")


class _Vault:
    """What both tools share: the files, and what is done if the search cannot follow them."""

    def __init__(self, memory: Muisti | MemoryService, folder: str) -> None:
        self.files = MemoryFiles(memory.root, memory.settings, folder)

    def looked(self, command: Callable[[], str]) -> str:
        """The reply to a command that changes nothing. Raises ToolError."""
        try:
            return command()
        except MuistiError as error:
            raise ToolError(str(error)) from error

    @contextmanager
    def indexing(self) -> Iterator[None]:
        """The files are the truth: an index that cannot follow them now catches up when the vault is opened next."""
        try:
            yield
        except MuistiError as error:
            log.warning("%s is changed, and searched as it was: %s", self.files.place, error)


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
        self._vault = _Vault(memory, folder)

    def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """A file with its lines numbered, or what is in a folder. Raises ToolError, as all of these do."""
        return self._vault.looked(partial(_view, self._vault.files, command))

    def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """A new file."""
        return self._changed(partial(_create, self._vault.files, command))

    def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Other words in a file. What it said before is kept in the vault's `.history`."""
        return self._changed(partial(_str_replace, self._vault.files, command))

    def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """More lines in a file. What it said before is kept in the vault's `.history`."""
        return self._changed(partial(_insert, self._vault.files, command))

    def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """A file or a folder goes to the vault's `.trash`."""
        return self._changed(partial(_delete, self._vault.files, command))

    def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Another name for a file or a folder."""
        return self._changed(partial(_rename, self._vault.files, command))

    def clear_all_memory(self) -> str:
        """All files go to the vault's `.trash`. Memories, conversations and documents elsewhere stay."""
        return self._changed(self._vault.files.clear)

    def _changed(self, command: Callable[[], str]) -> str:
        """The reply to a command that changes files, which are searched as they are from then on. Raises ToolError."""
        reply = self._vault.looked(command)
        with self._vault.indexing():
            self._memory.index_path(self._vault.files.place, project=self._project)
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
        self._vault = _Vault(memory, folder)

    async def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """A file with its lines numbered, or what is in a folder. Raises ToolError, as all of these do."""
        return await to_thread.run_sync(self._vault.looked, partial(_view, self._vault.files, command))

    async def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """A new file."""
        return await self._changed(partial(_create, self._vault.files, command))

    async def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Other words in a file. What it said before is kept in the vault's `.history`."""
        return await self._changed(partial(_str_replace, self._vault.files, command))

    async def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """More lines in a file. What it said before is kept in the vault's `.history`."""
        return await self._changed(partial(_insert, self._vault.files, command))

    async def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """A file or a folder goes to the vault's `.trash`."""
        return await self._changed(partial(_delete, self._vault.files, command))

    async def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Another name for a file or a folder."""
        return await self._changed(partial(_rename, self._vault.files, command))

    async def clear_all_memory(self) -> str:
        """All files go to the vault's `.trash`. Memories, conversations and documents elsewhere stay."""
        return await self._changed(self._vault.files.clear)

    async def _changed(self, command: Callable[[], str]) -> str:
        reply = await to_thread.run_sync(self._vault.looked, command)
        place, memory = self._vault.files.place, self._memory
        with self._vault.indexing():
            if isinstance(memory, MemoryService):
                await memory.index_path(place, project=self._project)
            else:
                await to_thread.run_sync(partial(memory.index_path, place, project=self._project))
        return reply


# The SDK hands on what the model wrote, unchecked: any field may be missing, or be of another type.


def _view(files: MemoryFiles, command: BetaMemoryTool20250818ViewCommand) -> str:
    lines: object = getattr(command, "view_range", None)
    if lines is not None and not (isinstance(lines, list) and all(isinstance(line, int) for line in lines)):
        raise CommandRefused(f"Invalid `view_range` parameter: {lines!r}. It should be two line numbers, such as [1, 20].")
    return files.view(_given(command, "path", str), lines)


def _create(files: MemoryFiles, command: BetaMemoryTool20250818CreateCommand) -> str:
    return files.create(_given(command, "path", str), _given(command, "file_text", str))


def _str_replace(files: MemoryFiles, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
    return files.str_replace(_given(command, "path", str), _given(command, "old_str", str), _given(command, "new_str", str))


def _insert(files: MemoryFiles, command: BetaMemoryTool20250818InsertCommand) -> str:
    return files.insert(_given(command, "path", str), _given(command, "insert_line", int), _given(command, "insert_text", str))


def _delete(files: MemoryFiles, command: BetaMemoryTool20250818DeleteCommand) -> str:
    return files.delete(_given(command, "path", str))


def _rename(files: MemoryFiles, command: BetaMemoryTool20250818RenameCommand) -> str:
    return files.rename(_given(command, "old_path", str), _given(command, "new_path", str))


def _given(command: object, name: str, wanted: type[Field]) -> Field:
    value: object = getattr(command, name, None)
    if not isinstance(value, wanted):
        needed = "a text" if wanted is str else "a whole number"
        raise CommandRefused(f"Invalid `{name}` parameter: {value!r}. It should be {needed}.")
    return value


__all__ = ["AsyncVaultMemoryTool", "VaultMemoryTool"]
