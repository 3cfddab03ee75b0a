"""One call of a hook: read, answer, leave the rest to the worker. Whatever happens, the agent goes on.

Nothing reaches the agent but one answer, written at once; what goes wrong is in the log. A call that takes too long ends
itself without an answer. Imports are late on purpose: this runs with every prompt and after every tool.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # `signal` without its enumerations: a third of the time
import _thread
import gc
import os
import time
from contextlib import suppress
from typing import NoReturn

from muisti.surfaces.hooks.options import Options, parse_options

LIMITS = {"SessionStart": 4.0, "UserPromptSubmit": 3.0}
LIMIT = 5.0
"""Seconds that a call may take."""
GRACE = 0.5
"""Seconds that noting so may take."""


class Outcome:
    """How a call went, as far as it is known."""

    __slots__ = ("answer", "detail", "done", "event", "foreign", "project", "vault")

    def __init__(self, event: str) -> None:
        self.event = event
        self.answer = b""
        self.done = False
        self.detail = ""
        self.vault = ""
        self.foreign = False
        """Nobody named the vault: it was found in the folder that the agent works in."""
        self.project = ""


def main(arguments: list[str]) -> NoReturn:
    """Run a hook and end the process, always with success."""
    began = time.monotonic()
    gc.disable()  # it all goes in a moment
    outcome = Outcome(arguments[0][:40] if arguments else "")
    error: BaseException | None = None
    options = Options()
    once = _thread.allocate_lock()
    out = -1
    try:
        _ignore_signals()
        out = _own_output()
        options = parse_options(arguments)
        outcome.event = options.event
        limit = LIMITS.get(options.event, LIMIT)
        _thread.start_new_thread(_give_up, (began, limit, options, outcome, once))
        _thread.start_new_thread(_end_after, (limit + GRACE,))
        if options.event:
            from muisti.surfaces.hooks.dispatch import handle_event

            handle_event(options, outcome)
    except (
        BaseException
    ) as problem:  # also an interrupt: whoever called wants an answer, not our troubles
        error = problem
    with suppress(BaseException):
        if once.acquire(False):
            if error is None:
                _write(out, outcome.answer)
            _note(began, options, outcome, error)
    os._exit(0)


def _ignore_signals() -> None:
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGPIPE"):
        with suppress(AttributeError, ValueError, OSError):
            _signal.signal(getattr(_signal, name), _signal.SIG_IGN if name == "SIGPIPE" else _leave)


def _leave(*_: object) -> None:
    os._exit(0)


def _own_output() -> int:
    """Where the answer goes. Whatever else is printed, by whomever, goes nowhere."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    try:
        out = os.dup(1)
    except OSError:
        out = nowhere
    for number in (1, 2):
        os.dup2(nowhere, number)
    return out


def _write(out: int, answer: bytes) -> None:
    with suppress(OSError):  # nobody listens any more
        while answer:
            answer = answer[os.write(out, answer) :]


def _give_up(
    began: float, limit: float, options: Options, outcome: Outcome, once: _thread.LockType
) -> None:
    time.sleep(max(0.0, limit - (time.monotonic() - began)))
    if once.acquire(False):
        _note(began, options, outcome, TimeoutError(f"it took longer than {limit:g} s"))
        with suppress(BaseException):
            _leave_it_to_the_worker(options, outcome)
        os._exit(0)


def _leave_it_to_the_worker(options: Options, outcome: Outcome) -> None:
    """Building an index takes longer than a hook has; whoever has the time does it."""
    if outcome.vault and options.event in LIMITS:
        from muisti.surfaces.hooks import worker

        worker.start(outcome.vault, foreign=outcome.foreign)


def _end_after(seconds: float) -> None:
    time.sleep(seconds)
    os._exit(0)


def _note(began: float, options: Options, outcome: Outcome, error: BaseException | None) -> None:
    """In the log; but not that a tool was counted, which happens all the time."""
    if error is None and options.event == "PostToolUse":
        return
    from datetime import UTC, datetime

    from muisti.surfaces.hooks.log import Run, record

    taken = (time.monotonic() - began) * 1000
    how = "error" if error is not None else "ok" if outcome.done else "nothing"
    detail = outcome.detail if error is None else describe_error(error)
    record(
        Run(
            datetime.now(UTC),
            outcome.event,
            options.agent,
            outcome.vault,
            outcome.project,
            taken,
            how,
            detail,
        )
    )


def describe_error(error: BaseException) -> str:
    """What went wrong, without anything that was said or is remembered: only errors that never quote it are quoted."""
    from muisti.errors import MuistiError

    kind = type(error).__name__
    if isinstance(error, OSError) and error.strerror:
        return f"{kind}: {error.strerror}: {error.filename or ''}"
    if isinstance(error, TimeoutError) or kind in ("BadPayload", "BadOptions"):
        return f"{kind}: {error}"
    title = ""
    if isinstance(error, MuistiError):
        if not error.may_quote:
            return f"{kind}: {error}"
        title = f": {error.title}"
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = (
        f" at {os.path.basename(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno}"
        if trace is not None
        else ""
    )
    return f"{kind}{title}{where}"
