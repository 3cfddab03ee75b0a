"""Errors for a model: what is wrong and what to do next. The agent can continue after each one."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import ValidationError

from muisti import errors

CONTINUE = "Tell the user and continue without memory."
DO_NOT_RETRY = "Tell the user; do not retry."


def describe_error(error: errors.MuistiError | OSError) -> str:
    """Return what went wrong and the next step, in a few sentences."""
    if isinstance(error, OSError):
        return f"{errors.VaultError.title}: {error}. {CONTINUE}"
    if isinstance(error, errors.MemoryNotFound):  # without the hint for the command line
        detail = f"no memory has the ID {', '.join(memory_id[:100] for memory_id in error.ids)}"
    elif isinstance(error, errors.InvalidMemory) and "max_content_bytes" in error.reason:
        detail = (
            f"{error.field} {error.reason}. Nothing was saved. "
            "Save a summary, or several smaller memories with one fact each"
        )
    else:
        detail = str(error).rstrip(".")
    steps = [error.next_step] if error.next_step else []
    is_beyond_the_caller = error.status == 403 or error.status >= 500
    if is_beyond_the_caller and not error.is_temporary:
        steps.append(DO_NOT_RETRY if steps else CONTINUE)
    return " ".join((f"{error.title}: {detail}.", *steps))


def describe_argument_errors(tool: str, known: Iterable[str], error: ValidationError) -> str:
    """Return which arguments of a call are wrong, and which ones the tool takes."""
    problems = []
    for one in error.errors():
        name = ".".join(str(part) for part in one["loc"])[:100]
        if one["type"] == "extra_forbidden":
            problems.append(f"there is no argument {name!r}")
        elif one["type"] == "missing":
            problems.append(f"the argument {name!r} is missing")
        else:
            problems.append(f"{name}: {one['msg']}")
    arguments = ", ".join(known) or "none"
    return (
        f"{tool}: {'; '.join(problems)}. Arguments: {arguments}. Nothing was done; call it again."
    )
