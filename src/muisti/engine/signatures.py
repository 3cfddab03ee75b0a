"""Spell out the options of methods, so that `help` and editors show them with their types."""

from __future__ import annotations

import dataclasses
import inspect
from typing import Any, TypeVar

from muisti.model import Draft
from muisti.model.memory import FIELDS
from muisti.remember.options import SaveOptions, UpdateOptions

Class = TypeVar("Class", bound=type)
_NOTES = {
    "content": "The text.",
    "aliases": "List of other titles, for wikilinks.",
    "keywords": "List of keywords.",
    "categories": "List of categories of your own, independent of the kind.",
    "files": "List of files the memory is about.",
    "salience": "Salience at the start, 0 to 1. Default: 1.",
    "created_at": "When it was written. Default: now.",
}
"""What options of `save` and `update` mean, if the help of the command line does not say it."""


class _NotGiven:
    def __repr__(self) -> str:
        return "..."


NOT_GIVEN = _NotGiven()
"""Stands for the default of an option that changes something only if it is given."""


def spell_options(owner: Class) -> Class:
    """Give each method with `**options: Unpack[…]` a signature with one parameter per option.

    The docstrings of `save` and `update` get a line for each.
    """
    for part in owner.__mro__:
        for function in vars(part).values():
            if inspect.isfunction(function):
                code = inspect.unwrap(function).__code__
                if code.co_flags & inspect.CO_VARKEYWORDS:
                    _spell_function(function)
    return owner


def _spell_function(function: Any) -> None:
    if hasattr(function, "__signature__"):
        return
    signature = inspect.signature(function)
    parameters = list(signature.parameters.values())
    annotation = str(parameters[-1].annotation) if parameters else ""
    if not annotation.startswith("Unpack["):
        return
    options = inspect.unwrap(function).__globals__[annotation[len("Unpack[") : -1]]
    defaults = {}
    if options is SaveOptions:
        defaults = {field.name: field.default for field in dataclasses.fields(Draft)}
    spelled = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=defaults.get(name, NOT_GIVEN),
            annotation=getattr(hint, "__forward_arg__", hint),
        )
        for name, hint in options.__annotations__.items()
        if name not in signature.parameters
    ]
    function.__signature__ = signature.replace(parameters=[*parameters[:-1], *spelled])
    if notes := describe_options(options):
        lines = [f"- `{one.name}`: {notes[one.name]}" for one in spelled if one.name in notes]
        function.__doc__ = "\n".join([inspect.cleandoc(function.__doc__ or ""), "", *lines])


def describe_options(options: Any) -> dict[str, str]:
    """Return what each option of `save` or `update` means; empty for other options."""
    if options not in (SaveOptions, UpdateOptions):
        return {}
    notes = {field.name: field.help for field in FIELDS if field.help} | _NOTES
    if options is UpdateOptions:  # what is not given is unchanged
        notes = {name: note.partition(" Default:")[0] for name, note in notes.items()}
    return notes
