"""Errors as a model needs them: what is wrong, and what to do next. An agent goes on after every one of them."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import ValidationError

from muisti import errors

OUT_OF_REACH = "Tell the user, and go on without memory."
LATER = "Wait a few seconds and call again."

_NEXT: tuple[tuple[type[errors.MuistiError], str], ...] = (
    (errors.CoreEntryNotFound, "core_get shows the entries there are."),
    (errors.Conflict, "Read it again with get, then repeat the change."),
    (errors.VaultReadOnly, "Searching and reading still work. Tell the user that nothing can be saved; do not retry."),
    (errors.VaultFull, "Nothing was changed. Tell the user to free some space; do not retry before."),
    (errors.VaultBusy, LATER),
    (errors.IndexBusy, LATER),
    (errors.BrokenFile, "Tell the user: the file has to be mended by hand."),
    (errors.VaultNotFound, OUT_OF_REACH),
    (errors.VaultError, OUT_OF_REACH),
    (errors.SettingsError, OUT_OF_REACH),
    (errors.IndexTooNew, f"{OUT_OF_REACH} Updating muisti helps."),
    (errors.MuistiError, ""),
)


def told(error: errors.MuistiError | OSError) -> str:
    """The error, and the next step."""
    if isinstance(error, errors.MemoryNotFound):
        named = ", ".join(one[:100] for one in error.ids)
        return f"No memory has the id {named}. Ids come from search, timeline and save: search for it first."
    if isinstance(error, errors.InvalidMemory) and error.field == "content" and "limit" in error.cure:
        return f"content: {error.cure}. Nothing was saved. Save a summary, or several smaller memories, each of one thing."
    if isinstance(error, OSError):
        return f"The vault cannot be used now: {error}. {OUT_OF_REACH}"
    step = next(step for kind, step in _NEXT if isinstance(error, kind))
    text = str(error).rstrip(".")
    return f"{text}. {step}".rstrip()


def refused(tool: str, known: Iterable[str], error: ValidationError) -> str:
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
