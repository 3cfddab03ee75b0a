"""Write the reference of the Python API from its signatures and docstrings."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import fields
from itertools import pairwise
from typing import Any

from muisti import errors
from muisti.engine import Muisti
from muisti.engine.signatures import describe_options
from muisti.model import (
    CompactResult,
    Conversation,
    CoreMemory,
    DocumentSource,
    Explanation,
    Extracted,
    ForgetReport,
    Graph,
    Histogram,
    HistoryEntry,
    IndexedDocument,
    Link,
    Memory,
    Message,
    Metrics,
    MoveReport,
    Problem,
    QueueStatus,
    ReviewCount,
    ReviewItem,
    SearchResult,
    Session,
    SessionUse,
    Signal,
    Stats,
    SyncReport,
    UpkeepReport,
    Utterance,
    VerifyReport,
)
from muisti.recall.filters import FilterOptions, ScopeOptions
from muisti.remember.options import SaveOptions, UpdateOptions

PYTHON_INTRO = """# Python

`Muisti.open(path)` is synchronous. `await MemoryService.open(path)` has the same methods as
coroutines. [Build and deploy a chat bot](chat-bot.md) is a guide from the first save to a service.

## Names that look alike

| name | meaning |
|---|---|
| `session_id` in a read | The current session: sets project and user, adds its own memories. |
| `session_id` in `save` | The session that the memory comes from. |
| `session` | A filter: only memories that were created in this session. |
| `created_at` | When the memory was written. Imports preserve it. |
| `valid_from`, `valid_until` | When the fact was true. Default: until it is replaced. |
| `as_of` | Only what was true at this time, as known today. |
| `known_at` | Only what was stored by this time. Together with `as_of`: what was believed then. |
| `since`, `until` | Only what was created, or is about a time, between these. |
| `kind` | What a memory is: decision, fact … One value, with a folder and a decay rate. |
| `sector` | How fast it fades. Inferred from the text. |
| `tier` | How far it is visible: `session`, `project` or `global`. |
| `keywords` | Words to find and filter by. |
| `categories` | Names of your own. They are kept and searched, and mean nothing to muisti. |
| `concepts` | Names and terms that muisti found in the text. |
| `importance` | How much it matters; set by you, and constant. |
| `salience` | How present it is now; it decays, and use raises it. |
| `score` | The probability that a result answers the query. |
| `user` | Whose memory it is. A read for one user sees theirs and those without a user. |
| `agent` | Who wrote it. Only a filter. |
| `source` | Where it came from: `user`, `ai`, `system` … |
| `project` | What it belongs to. `""`: to none; `"*"` in a read: all. |

[Several users](users.md) explains `project`, `user` and `session_id`.
"""
PYTHON_ERRORS = """## Errors

Every error is a `MuistiError` whose message names the field and the fix. `MemoryNotFound`,
`SessionNotFound`, `ConversationNotFound`, `MessageNotFound` and `CoreEntryNotFound` are `NotFound`.

Any call can raise `VaultError` (a problem of the disk or the database) or `MuistiError` (the vault
was closed). A read with an unknown `session_id` raises `SessionNotFound`, and a `project` or `user`
that is not a valid name raises `InvalidMemory`. In addition:

| method | raises |
|---|---|
"""


def public_methods() -> Iterator[tuple[str, Callable[..., object]]]:
    """Yield the methods of Muisti that callers use."""
    for part in Muisti.__mro__[:-1]:
        for name, method in vars(part).items():
            function = method.__func__ if isinstance(method, classmethod) else method
            if (
                not name.startswith("_")
                and inspect.isfunction(function)
                and not hasattr(function, "__deprecated__")
                and name not in ("make_ready", "fill_core")
            ):
                yield name, function


def find_raised(method: str) -> list[str]:
    """Return the errors that a method's docstring names after "Raises"."""
    said = inspect.getdoc(getattr(Muisti, method)) or ""
    after = " ".join(re.findall(r"Raises\b([^.]*(?:\.|$))", said.replace("\n", " ")))
    named = [word for word in re.findall(r"\b[A-Z]\w+\b", after) if hasattr(errors, word)]
    return [f"`{error}`" for error in dict.fromkeys(named)]


def python_page() -> str:
    """The methods that Muisti and MemoryService have."""
    parts = [PYTHON_INTRO, "## Methods\n"]
    methods = dict(public_methods())
    for name, function in methods.items():
        signature, options = describe_signature(name, function)
        doc = inspect.getdoc(function) or ""
        if options:
            doc = (
                f"{OPTION_LINE.sub('', doc).rstrip()}\n\nOptions: [{options}](#{options.lower()})."
            )
        parts.append(f"### {name}\n\n```python\n{signature}\n```\n\n{doc}\n")
    rows = [f"| `{name}` | {', '.join(find_raised(name))} |" for name in sorted(methods)]
    parts.append(PYTHON_ERRORS + "\n".join(row for row in rows if not row.endswith("|  |")) + "\n")
    parts.append("## Options\n")
    for options_type in OPTIONS:
        notes = read_notes(options_type) | describe_options(options_type)
        if options_type is FilterOptions:
            notes |= read_notes(ScopeOptions)
        hints = options_type.__annotations__
        parts.append(_rows(options_type, hints, notes))
    parts.append("## Values\n")
    for value in VALUES:
        hints = {field.name: field.type for field in fields(value)}
        parts.append(_rows(value, hints, read_notes(value)))
    return "\n".join(parts)


OPTIONS: tuple[Any, ...] = (SaveOptions, UpdateOptions, FilterOptions)
OPTION_LINE = re.compile(r"^- `\w+`: .*\n?", re.MULTILINE)
"""A line about an option of `save` or `update` in a docstring."""


def describe_signature(name: str, function: Callable[..., object]) -> tuple[str, str]:
    """Return how a method is called, and the name of its options; empty if it has none."""
    written = inspect.unwrap(function)
    code, hints = written.__code__, written.__annotations__
    number = code.co_argcount + code.co_kwonlyargcount
    options = (
        re.fullmatch(r"Unpack\[(\w+)\]", hints.get(code.co_varnames[number], ""))
        if (code.co_flags & inspect.CO_VARKEYWORDS)
        else None
    )
    named = options[1] if options and options[1] in {one.__name__ for one in OPTIONS} else ""
    parameters: list[str] = []
    signature = inspect.signature(function)
    for one in signature.parameters.values():
        if one.name in ("self", "cls") or (named and one.name not in code.co_varnames[:number]):
            continue
        if one.kind is one.KEYWORD_ONLY and "*" not in parameters:
            parameters.append("*")
        default = "" if one.default is one.empty else f" = {one.default!r}"
        prefix = "**" if one.kind is one.VAR_KEYWORD else ""
        parameters.append(f"{prefix}{one.name}: {one.annotation}{default}")
        if one.kind is one.POSITIONAL_ONLY:
            parameters.append("/")
    if named:
        parameters.append(f"**options: {named}")
    line = f"{name}({', '.join(parameters)}) -> {signature.return_annotation}"
    if len(line) > 88:
        indented = "".join(f"    {one},\n" for one in parameters)
        line = f"{name}(\n{indented}) -> {signature.return_annotation}"
    return line, named


def read_notes(described: type) -> dict[str, str]:
    """Return the strings below the attributes of a class, by attribute."""
    notes = {}
    (body,) = ast.parse(textwrap.dedent(inspect.getsource(described))).body
    statements = body.body if isinstance(body, ast.ClassDef) else []
    for field, after in pairwise(statements):
        if (
            isinstance(field, ast.AnnAssign)
            and isinstance(field.target, ast.Name)
            and isinstance(after, ast.Expr)
            and isinstance(after.value, ast.Constant)
        ):
            notes[field.target.id] = " ".join(str(after.value.value).split())
    return notes


VALUES = (
    Memory, CoreMemory, Message, Conversation, DocumentSource, IndexedDocument, Utterance,
    Extracted, Metrics, Histogram, QueueStatus,
    Link, Graph, ReviewItem, ReviewCount, HistoryEntry, SearchResult, Signal, CompactResult,
    Explanation, Session,
    SessionUse, Stats,
    UpkeepReport, ForgetReport, MoveReport, SyncReport, VerifyReport, Problem,
)  # fmt: skip


def _rows(described: type, hints: dict[str, Any], notes: dict[str, str]) -> str:
    """Return the section of a class: a row for each field."""
    rows = "".join(
        f"| `{name}` | `{_type(hint)}` | {notes.get(name, '').replace('|', chr(92) + '|')} |\n"
        for name, hint in hints.items()
    )
    head = f"### {described.__name__}\n\n{inspect.getdoc(described)}\n\n"
    return f"{head}| name | type | meaning |\n|---|---|---|\n{rows}"


def _type(hint: object) -> str:
    return str(getattr(hint, "__forward_arg__", hint)).replace("|", "\\|")
