"""Errors for a model: what is wrong and what it can do next. The agent can continue after each one.

A model cannot run commands of muisti, so that its steps are in a table of their own, and commands
in messages for people are left out.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from pydantic import ValidationError

from muisti import errors
from muisti.recall.fence import quote_text
from muisti.text.near_names import suggest_field

CONTINUE = "Tell the user and continue without memory."
DO_NOT_RETRY = "Tell the user; do not retry."
WAIT = "Wait a few seconds and try again."
STEPS: Mapping[type[errors.MuistiError], str] = {
    errors.MemoryNotFound: "Search for it: memory_search returns the IDs.",
    errors.SessionNotFound: "Leave the session out.",
    errors.CoreEntryNotFound: "memory_core_get returns the entries.",
    errors.Conflict: "Read it again with memory_get, then repeat the change.",
    errors.VaultNotTrusted: "Reading and searching still work. Only the user may approve it, "
    "with `muisti trust` in a terminal; do not run it yourself.",
    errors.VaultReadOnly: "Reading and searching still work; saving does not.",
    errors.VaultFull: "Nothing was changed.",
    errors.VaultBusy: WAIT,
    errors.StoreUnavailable: "The user must check the database server.",
    errors.BrokenFile: "The user must fix the file.",
    errors.IndexProblem: "The memories are safe; the user must rebuild the index.",
    errors.IndexBusy: WAIT,
    errors.IndexTooNew: "The user must upgrade muisti.",
    errors.EmbedderProblem: "Saving and keyword search still work.",
    errors.ExtractorProblem: "Nothing was stored; saving and searching still work.",
}
"""What a model can do, by class; subclasses inherit it. Other messages say so themselves."""
_COMMAND = re.compile(r"`(?:muisti|pip) |\b(?:run|pip install) (?:muisti|'muisti)")
_CLAUSE = re.compile(r"((?:[;:,]|(?<=[.!?]))\s+)")


def describe_error(error: errors.MuistiError | OSError) -> str:
    """Return what went wrong and the next step, in a few sentences."""
    if isinstance(error, OSError):
        reason = quote_text(errors.redact_message(str(error)))
        return f"{errors.VaultError.title}: {reason}. {CONTINUE}"
    detail = quote_text(_describe_detail(error)).rstrip(".")
    steps = []
    for kind in type(error).__mro__:
        if kind in STEPS:
            steps.append(STEPS[kind])
            break
    is_beyond_the_caller = error.status == 403 or error.status >= 500
    if is_beyond_the_caller and not error.is_temporary:
        steps.append(DO_NOT_RETRY if steps else CONTINUE)
    return " ".join((f"{error.title}: {detail}.", *steps))


def _describe_detail(error: errors.MuistiError) -> str:
    """Return what is wrong, without stored text and commands."""
    if isinstance(error, errors.MemoryNotFound):
        shown = (errors.redact_message(memory_id)[:100] for memory_id in error.ids)
        return f"no memory has the ID {', '.join(shown)}"
    if isinstance(error, errors.CoreEntryNotFound):  # its message lists the stored keys
        return (
            f"core memory has no entry {errors.quote_value(error.key)} in section {error.section}"
        )
    if isinstance(error, errors.Conflict):  # its message has the path, which is made of the title
        return "it was changed by someone else meanwhile"
    if isinstance(error, errors.InvalidMemory) and "max_content_bytes" in error.reason:
        return (
            f"{error.field} {error.reason}. Nothing was saved. "
            "Save a summary, or several smaller memories with one fact each"
        )
    return drop_commands(str(error)) or "see the log of the server"


def drop_commands(text: str) -> str:
    """Return a text without the clauses that tell a person to run a command."""
    parts = _CLAUSE.split(text)
    clauses = [("", parts[0]), *zip(parts[1::2], parts[2::2], strict=True)]
    kept = "".join(mark + clause for mark, clause in clauses if not _COMMAND.search(clause))
    return kept.strip(" ;:,(")


def describe_argument_errors(tool: str, known: Collection[str], error: ValidationError) -> str:
    """Return which arguments of a call are wrong, and which ones the tool takes."""
    problems = []
    for one in error.errors():
        name = errors.redact_message(".".join(str(part) for part in one["loc"]))[:100]
        if one["type"] == "extra_forbidden":
            meant = suggest_field(name, known) if len(one["loc"]) == 1 else ""
            hint = f"; did you mean {meant!r}?" if meant else ""
            problems.append(f"there is no argument {name!r}{hint}")
        elif one["type"] == "missing":
            problems.append(f"the argument {name!r} is missing")
        else:
            problems.append(f"{name}: {errors.redact_message(one['msg'])}")
    arguments, reasons = ", ".join(known) or "none", quote_text("; ".join(problems))
    return f"{tool}: {reasons}. Arguments: {arguments}. Nothing was done; call it again."
