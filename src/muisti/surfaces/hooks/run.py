"""One hook call: read the input, write the reply, leave the rest to the worker.

A hook must never disturb the agent. It prints its reply and nothing else, always exits with
success, and ends itself without a reply when it takes too long. Errors go to the log. Imports are
late on purpose: this runs with every prompt and after every tool call.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # `signal` without its enums: a third of the time
import _thread
import gc
import os
import time
from contextlib import suppress

from muisti.surfaces.hooks.options import Options, parse_options

TYPE_CHECKING = False  # `typing` is slow to import
if TYPE_CHECKING:
    from typing import NoReturn

RECALL_TIMEOUTS = {"SessionStart": 4.0, "UserPromptSubmit": 3.0}
TIMEOUT = 5.0
"""Seconds that any other call may take."""
LOG_TIMEOUT = 0.5
"""Seconds allowed for logging a timeout."""


class Outcome:
    """What is known so far about a call."""

    __slots__ = (
        "detail",
        "done",
        "event",
        "foreign",
        "project",
        "reply",
        "start_warm",
        "vault",
    )

    def __init__(self, event: str) -> None:
        self.event = event
        self.reply = b""
        self.done = False
        self.detail = ""
        self.vault = ""
        self.foreign = False
        """The vault was found in the agent's working folder, not configured by the user."""
        self.project = ""
        self.start_warm = False
        """No warm process runs for the vault, which could have answered."""


def main(arguments: list[str]) -> NoReturn:
    """Run a hook and exit with 0, whatever happens."""
    started = time.monotonic()
    gc.disable()  # the process is too short-lived to benefit
    outcome = Outcome(arguments[0] if arguments else "")
    error: BaseException | None = None
    options = Options()
    finished = _thread.allocate_lock()
    out = -1
    try:
        _handle_signals()
        out = _take_stdout()
        options = parse_options(arguments)
        outcome.event = options.event
        timeout = RECALL_TIMEOUTS.get(options.event, TIMEOUT)
        _thread.start_new_thread(_time_out, (started, timeout, options, outcome, finished))
        _thread.start_new_thread(_exit_after, (timeout + LOG_TIMEOUT,))
        if options.event:
            from muisti.surfaces.hooks.dispatch import handle_event

            handle_event(options, outcome)
    except BaseException as problem:  # also an interrupt: the agent must never see a failure
        error = problem
    with suppress(BaseException):
        if finished.acquire(False):
            if error is None:
                reply = outcome.reply
                with suppress(OSError):  # the agent has closed its end
                    while reply:
                        reply = reply[os.write(out, reply) :]
            _log_run(started, options, outcome, error)
            if error is None and outcome.start_warm:
                from muisti.surfaces.warm.start import start

                start(outcome.vault, foreign=outcome.foreign)
    os._exit(0)


def _handle_signals() -> None:
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGPIPE"):
        handler = _signal.SIG_IGN if name == "SIGPIPE" else lambda *_: os._exit(0)
        with suppress(AttributeError, ValueError, OSError):
            _signal.signal(getattr(_signal, name), handler)


def _take_stdout() -> int:
    """Return a descriptor for the reply, and discard everything else that is printed."""
    null = os.open(os.devnull, os.O_RDWR)
    try:
        out = os.dup(1)
    except OSError:
        out = null
    os.dup2(null, 1)
    os.dup2(null, 2)
    return out


def _time_out(
    started: float, timeout: float, options: Options, outcome: Outcome, finished: _thread.LockType
) -> None:
    """Log a timeout and exit, unless the call has finished in time."""
    time.sleep(max(0.0, timeout - (time.monotonic() - started)))
    if not finished.acquire(False):
        return
    _log_run(started, options, outcome, TimeoutError(f"took longer than {timeout:g} s"))
    with suppress(BaseException):
        if outcome.vault and options.event in RECALL_TIMEOUTS:
            from muisti.surfaces.hooks import worker

            # Perhaps the index has to be built first: the worker has time for that.
            worker.start(outcome.vault, foreign=outcome.foreign)
    os._exit(0)


def _exit_after(seconds: float) -> None:
    time.sleep(seconds)
    os._exit(0)


def _log_run(
    started: float, options: Options, outcome: Outcome, error: BaseException | None
) -> None:
    """Log the call. Tool calls and messages within a turn are too frequent to log."""
    if error is None and options.event in ("PostToolUse", "AssistantMessage"):
        return
    from datetime import UTC, datetime

    from muisti.surfaces.hooks.log import Run, record

    if error is not None:
        result, detail = "error", describe_error(error)
    else:
        result, detail = "ok" if outcome.done else "nothing", outcome.detail
    run = Run(
        at=datetime.now(UTC),
        event=outcome.event,
        agent=options.agent,
        vault=outcome.vault,
        project=outcome.project,
        milliseconds=(time.monotonic() - started) * 1000,
        outcome=result,
        detail=detail,
    )
    record(run)


def describe_error(error: BaseException) -> str:
    """Return what went wrong. Only messages that never quote a prompt or a memory are included."""
    from muisti.errors import MuistiError

    name = type(error).__name__
    if isinstance(error, OSError) and error.strerror:
        return f"{name}: {error.strerror}: {error.filename or ''}"
    if isinstance(error, TimeoutError) or name in ("BadPayload", "BadOptions"):
        return f"{name}: {error}"
    title = ""
    if isinstance(error, MuistiError):
        if not error.may_quote:
            return f"{name}: {error}"
        title = f": {error.title}"
    trace = error.__traceback__
    if trace is None:
        return f"{name}{title}"
    while trace.tb_next is not None:
        trace = trace.tb_next
    file = os.path.basename(trace.tb_frame.f_code.co_filename)
    return f"{name}{title} at {file}:{trace.tb_lineno}"
