"""Collects every name that others build upon, and keeps the list of them.

    python -m scripts.public_names            add new names to tests/data/public_names.json
    python -m scripts.public_names --check    tell which recorded names are gone

A name that was ever recorded stays in the list (contract M2): one that is renamed keeps working as
a hidden alias. `tests/acceptance/test_M_public_names.py` compares.
"""

from __future__ import annotations

import dataclasses
import enum
import inspect
import json
import re
import sys
import typing
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import click
from scripts.public_surfaces import (
    empty_vault,
    error_names,
    exit_codes,
    installed_commands,
    mcp_names,
    metric_names,
    rest_names,
)

import muisti
from muisti import MemoryService, Muisti

RECORDED = Path(__file__).parents[1] / "tests" / "data" / "public_names.json"
SOURCES = Path(muisti.__file__).parent
FURTHER_VALUES = ("Histogram", "Problem", "SessionUse")
"""Values that methods return and docs/python.md describes, though `muisti` does not export them."""
HIDDEN = " (hidden)"
Names = dict[str, list[str]]


def collect_names() -> Names:
    """Return all public names of the present code, by where they are used."""
    sections: dict[str, Callable[[], Iterator[str]]] = {
        "python": python_names,
        "cli": cli_names,
        "settings": setting_names,
        "variables": variable_names,
        "rest": rest_names,
        "mcp": mcp_names,
        "metrics": metric_names,
        "errors": error_names,
        "exit codes": exit_codes,
        "installed commands": installed_commands,
    }
    return {section: sorted(set(names())) for section, names in sections.items()}


def recorded_names() -> Names:
    """Return the recorded list."""
    names: Names = json.loads(RECORDED.read_text("utf-8")) if RECORDED.exists() else {}
    return names


def missing_names(recorded: Mapping[str, list[str]], present: Mapping[str, list[str]]) -> list[str]:
    """Return what was recorded and exists no longer. A name that is hidden now still exists."""
    still_there = {"python": resolves_in_python, "cli": resolves_in_cli}
    missing = []
    for section, names in recorded.items():
        here = {_visible(name) for name in present.get(section, ())}
        for name in map(_visible, names):
            resolves = still_there.get(section)
            if name not in here and not (resolves and resolves(name)):
                missing.append(f"{section}: {name}")
    return missing


def _visible(name: str) -> str:
    return name.removesuffix(HIDDEN)


# -- Python


def python_names() -> Iterator[str]:
    """Names of the package, methods with their parameters, fields and members of its values."""
    from muisti import model

    for name in muisti.__all__:
        yield f"muisti.{name}"
        yield from _members(f"muisti.{name}", getattr(muisti, name))
    for name in FURTHER_VALUES:
        yield from _members(f"muisti.model.{name}", getattr(model, name))
    yield from (f"muisti.KINDS[{kind}]" for kind in muisti.KINDS)
    with empty_vault() as memory:
        yield from (f"muisti.Muisti.{name}" for name in vars(memory) if name[0] != "_")


def _members(path: str, value: object) -> Iterator[str]:
    if not isinstance(value, type):
        return
    if issubclass(value, enum.Enum):
        yield from (f"{path}.{member.name}={member.value}" for member in value)
    elif value in (Muisti, MemoryService):
        yield from _methods(path, value)
    elif dataclasses.is_dataclass(value):
        yield from (f"{path}.{field.name}" for field in dataclasses.fields(value))
    if issubclass(value, muisti.SearchResults):
        yield from (f"{path}.{name}" for name in vars(value()))
    properties = inspect.getmembers(value, lambda one: isinstance(one, property))
    yield from (f"{path}.{name}" for name, _ in properties if name[0] != "_")


def _methods(path: str, owner: type) -> Iterator[str]:
    for name, method in inspect.getmembers(owner, inspect.isroutine):
        if name[0] == "_" or hasattr(method, "__deprecated__"):
            continue
        if not hasattr(MemoryService, name):
            continue  # what the service does not offer is for the parts of the package
        yield f"{path}.{name}"
        for parameter in inspect.signature(method).parameters.values():
            if parameter.name in ("self", "cls"):
                continue
            if parameter.kind is parameter.VAR_KEYWORD:
                options = _unpacked(method, parameter.annotation)
                yield from (f"{path}.{name}({option})" for option in options)
            else:
                yield f"{path}.{name}({parameter.name})"


def _unpacked(method: Any, annotation: object) -> list[str]:
    """The keys of `**options: Unpack[SomeOptions]`; none if any keyword is taken."""
    function = inspect.unwrap(method)
    if isinstance(annotation, str):
        annotation = eval(annotation, getattr(function, "__globals__", {}))
    if typing.get_origin(annotation) is not typing.Unpack:
        return []
    return list(typing.get_args(annotation)[0].__annotations__)


def resolves_in_python(name: str) -> bool:
    """Whether a name that is listed no longer can still be reached, as an alias that warns."""
    path, _, parameter = name.partition("=")[0].removesuffix(")").partition("(")
    if "[" in path:
        return False
    found: Any = muisti
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        for part in path.split(".")[1:]:
            try:
                found = getattr(found, part)
            except AttributeError:
                return False
    if not parameter:
        return True
    return parameter in {
        *inspect.signature(found).parameters,
        *getattr(found, "renamed_arguments", ()),
    }


# -- The command line


def cli_names() -> Iterator[str]:
    """Verbs with their arguments, options and choices."""
    yield from _commands("muisti", _group())


def _group() -> click.Group:
    from muisti.surfaces.cli import main

    group: click.Group = main.cli
    return group


def _commands(path: str, command: click.Command) -> Iterator[str]:
    yield path + (HIDDEN if command.hidden else "")
    for parameter in command.params:
        yield from _parameter(path, parameter)
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from _commands(f"{path} {name}", found)


def _parameter(path: str, parameter: click.Parameter) -> Iterator[str]:
    mark = HIDDEN if getattr(parameter, "hidden", False) else ""
    options = [*parameter.opts, *parameter.secondary_opts]
    names = options if isinstance(parameter, click.Option) else [str(parameter.name).upper()]
    choices = parameter.type.choices if isinstance(parameter.type, click.Choice) else ()
    for name in names:
        yield f"{path} {name}{mark}"
        yield from (f"{path} {name}={choice}{mark}" for choice in choices)


def resolves_in_cli(name: str) -> bool:
    """Whether the command line still understands a verb and its option, though it lists neither."""
    command: click.Command = _group()
    words = name.split(maxsplit=1)[1:]
    while words and isinstance(command, click.Group) and not words[0].startswith("-"):
        verb, *words = words[0].split(maxsplit=1)
        found = command.get_command(click.Context(command), verb)
        if found is None:
            return False
        command = found
    taken = {_visible(one) for parameter in command.params for one in _parameter("", parameter)}
    return not words or f" {words[0]}" in taken


# -- Settings


def setting_names() -> Iterator[str]:
    """Keys of muisti.toml."""
    from muisti.settings import Settings

    yield from (field.name for field in dataclasses.fields(Settings))
    yield from (f"kinds.NAME.{field}" for field in ("folder", "decay_per_day", "protected"))
    yield from (f"classify.{table}" for table in ("kind", "sector"))


def variable_names() -> Iterator[str]:
    """Variables of the environment: one for each setting, and those that the sources name."""
    from muisti.settings import Settings

    tables = ("kinds", "classify")
    names = [field.name for field in dataclasses.fields(Settings) if field.name not in tables]
    yield from (f"MUISTI_{name.upper()}" for name in names)
    for path in sorted(SOURCES.rglob("*.py")):
        yield from re.findall(r"\bMUISTI_[A-Z][A-Z_]*[A-Z]\b", path.read_text("utf-8"))


def main() -> int:
    """Add to the list, or compare with it."""
    recorded, present = recorded_names(), collect_names()
    missing = missing_names(recorded, present)
    for name in missing:
        print(f"is gone: {name}")
    if "--check" not in sys.argv:
        merged = dict(recorded)
        for section, names in present.items():
            merged[section] = sorted({*recorded.get(section, ()), *names})
        text = json.dumps(merged, ensure_ascii=False, indent=1)
        RECORDED.write_text(text + "\n", "utf-8")
        print(f"{RECORDED.name}: {sum(map(len, merged.values()))} names")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
