"""Add muisti to the text of a configuration file, find it there, and remove it. No I/O."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from muisti.surfaces.setup import commands, tomledit
from muisti.surfaces.setup.agents import File, Hooks
from muisti.surfaces.setup.errors import Malformed
from muisti.surfaces.setup.jsonedit import append_value, get_empty_literal, remove_value, set_value
from muisti.surfaces.setup.jsontext import Node, Step, Value, find, parse, to_value
from muisti.surfaces.setup.scripts import check_script, find_script_hooks, render_script

Path_ = tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class LaunchCommand:
    """How agents start muisti."""

    command: tuple[str, ...]
    vault: Path | None = None


@dataclass(frozen=True, slots=True)
class OriginalState:
    """What a file was like before muisti was added, as far as the file itself does not show."""

    new: bool = False
    """The file did not exist."""
    folders: tuple[str, ...] = ()
    """Folders that were created for it, the innermost first."""
    empty: Mapping[str, str] = field(default_factory=dict)
    """Empty objects and lists by their path, as they were written."""
    glue: str | None = None
    """The newlines inserted before a new TOML table."""
    versioned: bool = False
    """The `version` at the top was added."""


@dataclass(frozen=True, slots=True)
class MuistiEntries:
    """The entries of muisti in a file."""

    server: Mapping[str, object] | None = None
    hooks: Mapping[str, str] = field(default_factory=dict)
    """The command of each event."""

    def __bool__(self) -> bool:
        return self.server is not None or bool(self.hooks)


def find_entries(text: str, file: File) -> MuistiEntries:
    """Return the entries of muisti in a file. Raises Malformed."""
    if file.script and file.hooks:
        return MuistiEntries(hooks=find_script_hooks(text, file.hooks))
    if file.toml:
        table = tomledit.get_table(text, (*file.servers, commands.NAME))
        return MuistiEntries(table if commands.is_server_entry(table) else None)
    root = parse(text, file.grammar)
    node = find(root, (*file.servers, commands.NAME)) if file.servers else None
    server = to_value(node) if node else None
    ours = {event: command for event, _, command in _find_hooks(root, file)}
    return MuistiEntries(
        server if isinstance(server, dict) and commands.is_server_entry(server) else None, ours
    )


def find_disabling_setting(text: str, file: File) -> str:
    """Return the setting that disables hooks, as `a.b = true`, or "". Raises Malformed."""
    if file.off is None:
        return ""
    path, value = file.off
    found: object = tomledit.parse(text) if file.toml else to_value(parse(text, file.grammar))
    for name in path:
        found = found.get(name) if isinstance(found, dict) else None
    return f"{'.'.join(path)} = {json.dumps(value)}" if found is value else ""


def add_muisti(text: str, file: File, launch: LaunchCommand) -> tuple[str, OriginalState]:
    """Return the text with muisti added, and its original state. Raises Malformed."""
    if file.script and file.hooks:
        check_script(text, file.hooks)
        script = render_script(file.script, file.hooks, launch.command, launch.vault)
        return script, OriginalState()
    if file.toml:
        path = (*file.servers, commands.NAME)
        wanted = commands.make_server_entry(launch.command, launch.vault)
        there = tomledit.get_table(text, path)
        if there is None:
            text, glue = tomledit.add_table(text, path, wanted)
            return text, OriginalState(glue=glue)
        _check_ours(there, 0)
        values = {key: value for key, value in wanted.items() if there.get(key) != value}
        return tomledit.update_table(text, path, values) if values else text, OriginalState()
    places: list[Path_] = [(), file.servers]
    if file.hooks:
        places += [("hooks",), *(("hooks", event) for event in file.hooks.events)]
    written = {_key(place): get_empty_literal(text, place, file.grammar) for place in places}
    empty = {key: literal for key, literal in written.items() if literal is not None}
    if file.servers:
        text = _add_server(text, file, launch)
    versioned = False
    if file.hooks:
        versioned = file.hooks.version is not None and not _has_version(text, file)
        if versioned:
            text = set_value(text, ("version",), file.hooks.version, file.grammar)
        for event in file.hooks.events:
            text = _add_hook(text, file, file.hooks, event, launch)
    return text, OriginalState(empty=empty, versioned=versioned)


def remove_muisti(text: str, file: File, before: OriginalState | None) -> str:
    """Return the text without muisti and without what was created for it. Raises Malformed."""
    if file.script:
        return "" if find_entries(text, file) else text
    if file.toml:
        path = (*file.servers, commands.NAME)
        ours = commands.is_server_entry(tomledit.get_table(text, path))
        return tomledit.remove_table(text, path, before.glue if before else None) if ours else text
    empty = before.empty if before else {}
    if find_entries(text, file).server is not None:
        text = _remove(text, (*file.servers, commands.NAME), file, empty)
    while places := [place for _, place, _ in _find_hooks(parse(text, file.grammar), file)]:
        text = _remove(text, places[-1], file, empty)
    if before is not None and before.versioned and _has_version(text, file):
        text = _remove(text, ("version",), file, empty)
    return text


def _has_version(text: str, file: File) -> bool:
    return find(parse(text, file.grammar), ("version",)) is not None


def format_for_pasting(file: File, launch: LaunchCommand) -> str:
    """Return the text to paste into the file manually."""
    if file.toml:
        return tomledit.format_table(
            (*file.servers, commands.NAME),
            commands.make_server_entry(launch.command, launch.vault),
        )
    return add_muisti("" if file.script else "{}", file, launch)[0] + "\n"


def _add_server(text: str, file: File, launch: LaunchCommand) -> str:
    path = (*file.servers, commands.NAME)
    wanted = commands.make_server_entry(launch.command, launch.vault, one_list=file.one_list)
    node = find(parse(text, file.grammar), path)
    if node is None:
        kind = {"type": file.kind} if file.kind else {}
        return set_value(text, path, {**kind, **_json(wanted)}, file.grammar)
    there = to_value(node)
    _check_ours(there, node.start)
    for key, value in _json(wanted).items():
        if not isinstance(there, dict) or there.get(key) != value:
            text = set_value(text, (*path, key), value, file.grammar)
    return text


def _check_ours(there: object, position: int) -> None:
    """Raises Malformed if a server of this name is not `muisti mcp`."""
    if not commands.is_server_entry(there):
        raise Malformed(
            position,
            f'another server is already named "{commands.NAME}"; rename or remove it',
        )


def _add_hook(text: str, file: File, hooks: Hooks, event: str, launch: LaunchCommand) -> str:
    """Return the text in which the event runs muisti exactly once."""
    wanted = commands.make_hook_command(launch.command, event, launch.vault, hooks.agent)
    ours = [
        (place, command)
        for name, place, command in _find_hooks(parse(text, file.grammar), file)
        if name == event
    ]
    for place, _ in reversed(ours[1:]):
        text = _remove(text, place, file, {})
    if ours:
        place, command = ours[0]
        return (
            text
            if command == wanted
            else set_value(text, (*place, "command"), wanted, file.grammar)
        )
    hook: dict[str, Value] = {"name": hooks.name, "type": hooks.kind, "command": wanted}
    hook = {key: value for key, value in hook.items() if value is not None}
    hook["timeout"] = hooks.timeout
    added: Value = hook if hooks.flat else {"hooks": [hook]}
    return append_value(text, ("hooks", event), added, file.grammar)


def _find_hooks(root: Node, file: File) -> list[tuple[str, Path_, str]]:
    """Return event, path and command of each muisti hook, wherever it was moved."""
    found: list[tuple[str, Path_, str]] = []
    hooks = find(root, ("hooks",)) if file.hooks else None
    for child in (hooks.children or ()) if hooks and hooks.is_object else ():
        event = child.key or ""
        groups = to_value(child.node)
        for number, group in enumerate(groups if isinstance(groups, list) else []):
            if not isinstance(group, dict):
                continue
            place: Path_ = ("hooks", event, number)
            of_group = group.get("hooks")
            candidates: list[tuple[Path_, object]] = [(place, group)]
            for index, one in enumerate(of_group if isinstance(of_group, list) else []):
                candidates.append(((*place, "hooks", index), one))
            for path, value in candidates:
                command = value.get("command") if isinstance(value, dict) else None
                if isinstance(command, str) and commands.is_hook_command(command):
                    found.append((event, path, command))
    return found


def _remove(text: str, path: Path_, file: File, empty: Mapping[str, str]) -> str:
    """Remove the value at a path, and containers left empty that were not there before."""
    while path:
        holder = path[:-1]
        text = remove_value(text, path, file.grammar, empty=empty.get(_key(holder)))
        if _key(holder) in empty or get_empty_literal(text, holder, file.grammar) is None:
            return text
        path = holder[:-1] if len(path) == len(("hooks", "event", 0, "hooks", 0)) else holder
    return text


def _key(path: Sequence[Step]) -> str:
    return json.dumps(list(path))


def _json(server: Mapping[str, str | list[str]]) -> dict[str, Value]:
    return {key: list(value) if isinstance(value, list) else value for key, value in server.items()}
