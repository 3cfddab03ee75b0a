"""Read a settings file, and its tables: custom kinds and patterns for classification."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from muisti.errors import SettingsError, describe_reading
from muisti.filesystem import UnsafeFile, read_file
from muisti.model import Kind, Sector
from muisti.safe_regex import find_fault
from muisti.safe_toml import parse_toml

MAX_SETTINGS = 1_000_000
"""The most bytes of a settings file."""
MAX_PATTERNS = 100
RESERVED_FOLDERS = frozenset({"projects", "conversations", "journal", "archive"})


def read_table(path: Path) -> dict[str, Any]:
    """Return the parsed file. Raises SettingsError."""
    try:
        data, _ = read_file(path, MAX_SETTINGS)
        text = data.decode("utf-8-sig")  # some editors write a byte order mark
    except FileNotFoundError:
        return {}
    except UnsafeFile as error:
        raise SettingsError(f"{path} cannot be read: it {error.reason}") from error
    except (OSError, UnicodeDecodeError) as error:
        reason = describe_reading(error)
        raise SettingsError(
            f"{path}: cannot be read ({reason}); make it a readable UTF-8 text file"
        ) from error
    if not any(line.strip() and not line.lstrip().startswith("#") for line in text.splitlines()):
        return {}
    try:
        return parse_toml(text)
    except ValueError as error:
        raise SettingsError(f"{path}: is not valid TOML ({error}); fix that line") from error


def parse_kinds(table: object, where: str) -> dict[str, Kind]:
    """Return the kinds of a `[kinds]` table. Raises SettingsError."""
    if not isinstance(table, dict):
        raise SettingsError(f"{where}: kinds must be tables such as [kinds.idea]")
    found = {}
    for name, spec in table.items():
        if not re.fullmatch(r"[a-z][a-z0-9_-]{0,39}", name):
            raise SettingsError(f"{where}: kind {name!r} must be a short lowercase word")
        if not isinstance(spec, dict) or set(spec) - {"folder", "decay_per_day", "protected"}:
            raise SettingsError(
                f"{where}: [kinds.{name}] may only have folder, decay_per_day and protected"
            )
        folder = spec.get("folder", f"{name}s")
        if (
            not isinstance(folder, str)
            or not re.fullmatch(r"[\w][\w -]{0,59}", folder)
            or folder in RESERVED_FOLDERS
        ):
            raise SettingsError(
                f"{where}: [kinds.{name}] folder = {folder!r} must be a plain folder name"
            )
        decay = spec.get("decay_per_day")
        if decay is not None and (
            isinstance(decay, bool) or not isinstance(decay, int | float) or not 0 < decay <= 1
        ):
            raise SettingsError(
                f"{where}: [kinds.{name}] decay_per_day = {decay!r} must be above 0 and at most 1"
            )
        protected = spec.get("protected", False)
        if not isinstance(protected, bool):
            raise SettingsError(
                f"{where}: [kinds.{name}] protected = {protected!r} must be true or false"
            )
        found[name] = Kind(name, folder, decay, protected)
    return found


def parse_patterns(
    table: object, kinds: Mapping[str, Kind], where: str
) -> dict[str, dict[str, tuple[str, ...]]]:
    """Return the patterns of a `[classify]` table, for these kinds. Raises SettingsError."""
    known = {"kind": tuple(kinds), "sector": tuple(sector.value for sector in Sector)}
    if not isinstance(table, dict) or not set(table) <= set(known):
        raise SettingsError(
            f"{where}: classify may only have the tables [classify.kind] and [classify.sector]"
        )
    found: dict[str, dict[str, tuple[str, ...]]] = {}
    count = 0
    for what, lists in table.items():
        if not isinstance(lists, dict):
            raise SettingsError(
                f"{where}: classify.{what} must be a table such as [classify.{what}] "
                f'with {known[what][0]} = ["a word"]'
            )
        unknown = [name for name in lists if name not in known[what]]
        if unknown:
            raise SettingsError(
                f"{where}: [classify.{what}] has an unknown {what} {unknown[0]!r}; "
                f"known: {', '.join(known[what])}"
            )
        found[what] = {}
        for name, patterns in lists.items():
            place = f"{where}: [classify.{what}] {name}"
            if not isinstance(patterns, list) or not all(isinstance(one, str) for one in patterns):
                raise SettingsError(
                    f"{place} = {patterns!r} must be a list of strings "
                    'such as ["hotfix", "post-?mortem"]'
                )
            for pattern in patterns:
                problem = find_fault(pattern)
                if problem:
                    raise SettingsError(f"{place}: the pattern {pattern[:80]!r} {problem}")
            found[what][name] = tuple(patterns)
            count += len(patterns)
    if count > MAX_PATTERNS:  # every pattern runs on every memory
        raise SettingsError(
            f"{where}: classify has {count} patterns, more than {MAX_PATTERNS}: join some with |"
        )
    return found
