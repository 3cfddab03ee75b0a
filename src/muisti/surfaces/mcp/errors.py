"""Errors as a model needs them: what is wrong, and what to do next. An agent goes on after every one of them."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import ValidationError

from muisti import errors

GO_ON = "Tell the user, and go on without memory."
DO_NOT_RETRY = "Tell the user; do not retry."


def describe_error(error: errors.MuistiError | OSError) -> str:
    """Return what went wrong and the next step, in a few sentences for a model."""
    if isinstance(error, OSError):
        return f"{errors.VaultError.title}: {error}. {GO_ON}"
    steps = [error.next_step] if error.next_step else []
    is_beyond_the_caller = error.status == 403 or error.status >= 500
    if is_beyond_the_caller and not error.is_temporary:
        steps.append(DO_NOT_RETRY if steps else GO_ON)
    return " ".join((f"{error.title}: {_detail(error)}.", *steps))


def _detail(error: errors.MuistiError) -> str:
    """Return the message without what only helps on a command line, and with what helps a model."""
    if isinstance(error, errors.MemoryNotFound):
        return f"no memory has the id {', '.join(one[:100] for one in error.ids)}"
    if (
        isinstance(error, errors.InvalidMemory)
        and error.field == "content"
        and "limit" in error.reason
    ):
        return f"content: {error.reason}. Nothing was saved. Save a summary, or several smaller memories, each of one thing"
    return str(error).rstrip(".")


def describe_argument_errors(tool: str, known: Iterable[str], error: ValidationError) -> str:
    """Arguments that a tool does not take, each by its name and with what is wrong about it."""
    faults = []
    for one in error.errors():
        name = ".".join(str(part) for part in one["loc"])[:100]
        if one["type"] == "extra_forbidden":
            faults.append(f"there is no argument {name!r}")
        elif one["type"] == "missing":
            faults.append(f"the argument {name!r} is missing")
        else:
            faults.append(f"{name}: {one['msg']}")
    return f"{tool}: {'; '.join(faults)}. It takes: {', '.join(known) or 'no arguments'}. Nothing was done; call it again."
