"""What the warm process answers: `muisti search`, and the recall of a hook, by their own code."""

from __future__ import annotations

import io
import logging
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from muisti.engine import Muisti
from muisti.engine.kept_open import KeptOpen
from muisti.errors import MuistiError
from muisti.model import SearchResults
from muisti.settings import find_vault, is_foreign
from muisti.surfaces.cli.group import cli
from muisti.surfaces.cli.shared import OpenVault
from muisti.surfaces.warm import protocol
from muisti.trust import is_trusted

Reply = dict[str, object]
Output = list[tuple[int, str]]
"""What was printed: the number of the stream, and a text."""
FULL_LOOK_SECONDS = 60.0
"""After an answer, all files are looked at again if that was so long ago, to be sure."""


class Refused(Exception):
    """The client has to answer by itself. Says why."""


class Answers:
    """Answers requests from a vault that stays open."""

    def __init__(self, memory: Muisti) -> None:
        self._memory = memory
        self._root = Path(memory.location)
        self._kept = KeptOpen(memory)
        self._next_look = 0.0
        self._warnings = _Warnings()
        logging.getLogger().addHandler(self._warnings)

    def warm_up(self) -> None:
        """Load all that a search needs."""
        self._memory.search("warm up", record=False)
        self.tidy()

    def answer(self, request: Reply) -> Reply:
        """Return the reply to a request. Raises Refused if there is any doubt about it."""
        self._warnings.count = 0
        if request.get("foreign") and not is_trusted(self._root):
            raise Refused("the vault is not trusted")
        if not self._kept.catch_up():
            raise Refused("another process holds the vault")
        try:
            what = request.get("do")
            if what == "search":
                reply = self.search(request)
            elif what == "recall":
                reply = self.recall(request)
            else:
                raise Refused("an unknown request")
        except (MuistiError, click.ClickException, click.exceptions.Exit, OSError) as error:
            raise Refused(type(error).__name__) from error
        except (KeyError, TypeError, ValueError) as error:
            raise Refused("a malformed request") from error
        if self._warnings.count:
            raise Refused("there is a warning to print")
        return reply

    def record(self) -> None:
        """Record the recalls of the last answer: the client uses it."""
        self._kept.record_recalls()

    def discard(self) -> None:
        """Forget the last answer: the client answers by itself."""
        self._kept.drop_recalls()

    def tidy(self) -> None:
        """Do what nobody has to wait for."""
        if time.monotonic() >= self._next_look:
            self._kept.look_at_all()
            self._next_look = time.monotonic() + FULL_LOOK_SECONDS

    # -- Search

    def search(self, request: Reply) -> Reply:
        """Run the command, and return what it printed."""
        arguments, variables = request["arguments"], request["variables"]
        terminals, folder = request["terminals"], request["folder"]
        if not isinstance(arguments, list) or not isinstance(variables, dict):
            raise TypeError("arguments and variables")
        if not isinstance(terminals, list) or not isinstance(folder, str):
            raise TypeError("terminals and folder")
        output: Output = []
        with _as_the_client(variables, folder, terminals, output):
            results = cli.main(
                ["search", *map(str, arguments)],
                prog_name="muisti",
                standalone_mode=False,
                obj=OpenVault(self.open_view),
            )
        if not isinstance(results, SearchResults) or results.degraded:
            raise Refused("not a complete answer")
        return {"output": output}

    def open_view(self, vault: str | None, project: str) -> Muisti:
        """Return the vault of a command line, which must be this one. Raises Refused."""
        root = find_vault(vault)
        if os.path.realpath(root) != os.path.realpath(self._root):
            raise Refused("another vault")
        if is_foreign(root, vault) and not is_trusted(root):
            raise Refused("the vault is not trusted")
        return self._kept.view(project)

    # -- Hooks

    def recall(self, request: Reply) -> Reply:
        """Return the memories for a prompt, and the prompt without secrets."""
        from muisti.surfaces.hooks.prompt import extract_query, recall_for_prompt
        from muisti.text.redact import redact_text

        prompt, session = request["prompt"], request["session"]
        project, recalled = request["project"], request["recalled"]
        if not isinstance(prompt, str) or not isinstance(session, str):
            raise TypeError("prompt and session")
        if not isinstance(project, str) or not isinstance(recalled, list):
            raise TypeError("project and recalled")
        view = self._kept.view("")
        project = view.settings.project or project
        text, ids = "", list[str]()
        if query := extract_query(prompt):
            text, ids = recall_for_prompt(
                view, query, project, session, set(recalled), mode="hybrid"
            )
        return {
            "text": text,
            "ids": ids,
            "project": project,
            "redacted": redact_text(prompt, view.settings),
        }


class _Warnings(logging.Handler):
    """Counts warnings: a command would print them, so it has to run by itself."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.count = 0

    def emit(self, record: logging.LogRecord) -> None:
        """Count one."""
        self.count += 1


class _Sink(io.RawIOBase):
    """Collects what is written to one of several streams, in order."""

    def __init__(self, number: int, output: Output) -> None:
        self._number = number
        self._output = output

    def writable(self) -> bool:
        """Return True."""
        return True

    def write(self, data: Any) -> int:
        """Collect text, which the wrapper has encoded as a whole."""
        self._output.append((self._number, bytes(data).decode()))
        return len(data)


class _Stream(io.TextIOWrapper):
    """A standard stream of the client."""

    def __init__(self, number: int, output: Output, *, is_terminal: bool) -> None:
        sink: Any = _Sink(number, output)
        super().__init__(sink, encoding="utf-8", errors="replace", write_through=True)
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        """Return whether the client's stream is a terminal."""
        return self._is_terminal


@contextmanager
def _as_the_client(
    variables: Mapping[str, str], folder: str, terminals: Sequence[bool], output: Output
) -> Iterator[None]:
    """Run code as in the client's process: its folder, variables, and standard streams."""
    for name in protocol.PASSED:
        os.environ.pop(name, None)
    os.environ.update({name: variables[name] for name in protocol.PASSED if name in variables})
    streams = sys.stdout, sys.stderr
    os.chdir(folder)
    try:
        sys.stdout, sys.stderr = (
            _Stream(number, output, is_terminal=bool(is_terminal))
            for number, is_terminal in zip((1, 2), terminals, strict=True)
        )
        yield
    finally:
        sys.stdout, sys.stderr = streams
        os.chdir("/")
