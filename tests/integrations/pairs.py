"""Anthropic's own file-system memory tool beside ours: the same calls to both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import anyio
from anthropic.lib.tools import ToolError
from anthropic.tools.memory import (
    BetaAbstractMemoryTool,
    BetaAsyncAbstractMemoryTool,
    BetaAsyncLocalFilesystemMemoryTool,
    BetaLocalFilesystemMemoryTool,
)

from muisti import Muisti
from muisti.integrations.anthropic import AsyncVaultMemoryTool, VaultMemoryTool

Tool = BetaAbstractMemoryTool | BetaAsyncAbstractMemoryTool
Call = Mapping[str, Any]


@dataclass(frozen=True)
class Answer:
    """What a model is told: a result, or an error. `raised`: the error's type, which says whether
    it was meant for a model.
    """

    text: str
    raised: str = ""


def answer(tool: Tool, call: Call) -> Answer:
    try:
        if isinstance(tool, BetaAsyncAbstractMemoryTool):
            return Answer(str(anyio.run(partial(tool.call, dict(call)))))
        return Answer(str(tool.call(dict(call))))
    except Exception as error:
        return Answer(
            str(error), type(error).__name__ if not isinstance(error, ToolError) else "ToolError"
        )


def tree(folder: Path) -> dict[str, bytes | None]:
    """Every file with its bytes, and every folder."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
        if not path.is_symlink()
    }


class Pair:
    """The two tools, each with a folder of its own."""

    def __init__(self, sdk: Path, memory: Muisti, *, asynchronous: bool = False) -> None:
        self.theirs: Tool = (
            BetaAsyncLocalFilesystemMemoryTool if asynchronous else BetaLocalFilesystemMemoryTool
        )(str(sdk))
        self.ours: Tool = (AsyncVaultMemoryTool if asynchronous else VaultMemoryTool)(memory)
        self.their_files, self.our_files = sdk / "memories", memory.root / "memories"
        for tool in (self.theirs, self.ours):
            answer(tool, {"command": "view", "path": "/memories"})  # which makes the folders

    def both(self, call: Call) -> tuple[Answer, Answer]:
        return answer(self.theirs, call), answer(self.ours, call)

    def agree(self, *calls: Call) -> None:
        """Both answer the same, and have the same files afterwards."""
        for call in calls:
            theirs, ours = self.both(call)
            assert ours == theirs, call
            assert tree(self.our_files) == tree(self.their_files), call
