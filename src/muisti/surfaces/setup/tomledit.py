"""Add, update and remove one table of a TOML text, and check that nothing else changed."""

from __future__ import annotations

import copy
import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

from muisti.errors import MuistiError
from muisti.safe_toml import parse_toml
from muisti.surfaces.setup.errors import Malformed

Table = Mapping[str, str | list[str]]
_HEADER = re.compile(r"^[ \t]*\[{1,2}[^\[\]\r\n]+\]{1,2}[ \t]*(?:#[^\n]*)?\r?$")
_PLACE = re.compile(r"\(at line (\d+), column (\d+)\)")


def parse(text: str) -> dict[str, Any]:
    """Parse the whole text. Raises Malformed."""
    if text.startswith("\ufeff"):
        raise Malformed(
            0,
            "the file starts with a byte order mark; save it as UTF-8 without BOM",
        )
    try:
        return parse_toml(text)
    except tomllib.TOMLDecodeError as error:
        at = _PLACE.search(str(error))
        position = len(text.rstrip())
        if at:
            lines_before = text.split("\n")[: int(at[1]) - 1]
            position = sum(len(line) + 1 for line in lines_before) + int(at[2]) - 1
        raise Malformed(position, f"invalid TOML: {str(error).partition(' (at ')[0]}") from error


def get_table(text: str, path: Sequence[str]) -> dict[str, Any] | None:
    """Return the table at a path, or None. Raises Malformed if it is not a table."""
    found: object = parse(text)
    for depth, name in enumerate(path):
        found = found.get(name) if isinstance(found, dict) else None
        if found is None:
            return None
        if not isinstance(found, dict):
            raise Malformed(0, f"{'.'.join(path[: depth + 1])} must be a table")
    return found if isinstance(found, dict) else None


def add_table(text: str, path: Sequence[str], table: Table) -> tuple[str, str]:
    """Return the text with a table at its end, and the newlines before it. Raises Malformed."""
    newline = "\r\n" if "\r\n" in text else "\n"
    ended = not text or text.endswith("\n")
    glue = "" if not text or text.endswith(newline * 2) else newline if ended else newline * 2
    changed = text + glue + format_table(path, table).replace("\n", newline)
    wanted = parse(text)
    _set(wanted, path, dict(table))
    return _check_result(changed, wanted, path), glue


def update_table(text: str, path: Sequence[str], values: Table) -> str:
    """Return the text with some values of a table changed. Raises Malformed, MuistiError."""
    document = _tomlkit_document(text)
    here: Any = document
    for name in path:
        here = here[name]
    for key, value in values.items():
        here[key] = value
    wanted = parse(text)
    _set(wanted, path, {**(get_table(text, path) or {}), **values})
    return _check_result(document.as_string(), wanted, path)


def remove_table(text: str, path: Sequence[str], glue: str | None = None) -> str:
    """Return the text without a table and its subtables. `glue` is what `add_table` put before it.

    Raises Malformed, MuistiError.
    """
    if get_table(text, path) is None:
        return text
    wanted = parse(text)
    _unset(wanted, path)
    cut = _remove_lines(text, tuple(path), glue)
    if _equal(cut, wanted):
        return cut
    document = _tomlkit_document(text)
    here: Any = document
    for name in path[:-1]:
        here = here[name]
    del here[path[-1]]
    return _check_result(document.as_string(), wanted, path)


def format_table(path: Sequence[str], table: Table) -> str:
    """Return a table as text."""
    lines = [f"[{'.'.join(path)}]"]
    for key, value in table.items():
        # JSON strings are TOML basic strings, except for DEL.
        literal = json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        lines.append(f"{key} = {literal}")
    return "\n".join(lines) + "\n"


def _remove_lines(text: str, path: tuple[str, ...], glue: str | None) -> str:
    """Remove the lines of a table, and the glue before it.

    Comments before the next header belong to that one.
    """
    kept: list[str] = []
    cut: list[str] = []
    for line in text.splitlines(keepends=True):
        header = _parse_header(line)
        if header is not None and header[: len(path)] == path:
            if header == path:
                before = "".join(kept)
                if glue is None:  # unknown: remove one empty line
                    newline = "\r\n" if before.endswith("\r\n\r\n") else "\n"
                    glue = newline if before.endswith(newline * 2) else ""
                kept = before.removesuffix(glue).splitlines(keepends=True)
            cut = [*cut, line]
        elif header is not None or not cut:
            kept += [*_trailing_comments(cut), line]
            cut = []
        else:
            cut.append(line)
    return "".join([*kept, *_trailing_comments(cut)])


def _trailing_comments(cut: list[str]) -> list[str]:
    """Return the empty lines and comments at the end of a table."""
    last = max(
        (
            number
            for number, line in enumerate(cut)
            if line.strip() and not line.lstrip().startswith("#")
        ),
        default=-1,
    )
    return cut[last + 1 :]


def _parse_header(line: str) -> tuple[str, ...] | None:
    """Return the path of a table header; None if the line is not one."""
    if not _HEADER.match(line.rstrip("\n")):
        return None
    try:
        found: object = parse_toml(line.strip())
    except tomllib.TOMLDecodeError:
        return None
    path: list[str] = []
    while isinstance(found, dict) and found:
        name, found = next(iter(found.items()))
        path.append(name)
        found = found[0] if isinstance(found, list) and found else found
    return tuple(path)


def _tomlkit_document(text: str) -> Any:
    try:
        import tomlkit  # an extra that only unusual files need
    except ImportError as error:
        raise MuistiError("changing this file needs tomlkit: pip install 'muisti[mcp]'") from error
    return tomlkit.parse(text)


def _set(tree: dict[str, Any], path: Sequence[str], value: dict[str, Any]) -> None:
    for depth, name in enumerate(path[:-1], start=1):
        tree = tree.setdefault(name, {})
        if not isinstance(tree, dict):
            raise Malformed(0, f"{'.'.join(path[:depth])} must be a table")
    tree[path[-1]] = copy.deepcopy(value)


def _unset(tree: dict[str, Any], path: Sequence[str]) -> None:
    """Remove the value, and tables left empty."""
    if len(path) > 1:
        _unset(tree[path[0]], path[1:])
        if not tree[path[0]]:
            del tree[path[0]]
    else:
        tree.pop(path[0], None)


def _equal(text: str, wanted: dict[str, Any]) -> bool:
    """Whether a text has these values. An empty table equals a missing one."""
    try:
        return bool(_prune(parse_toml(text)) == _prune(wanted))
    except tomllib.TOMLDecodeError:
        return False


def _prune(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    pruned = {key: _prune(inner) for key, inner in value.items()}
    return {key: inner for key, inner in pruned.items() if inner != {}}


def _check_result(text: str, wanted: dict[str, Any], path: Sequence[str]) -> str:
    if not _equal(text, wanted):
        raise Malformed(
            0, f"[{'.'.join(path)}] cannot be changed here without changing something else"
        )
    return text
