"""What one file of an agent says with muisti in it, and without: text in, text out."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from muisti.surfaces.setup import commands, tomledit
from muisti.surfaces.setup.agents import File, Hooks
from muisti.surfaces.setup.errors import Malformed
from muisti.surfaces.setup.jsonedit import append, drop, emptiness, put
from muisti.surfaces.setup.jsontext import Node, Step, Value, find, parse, plain

Path_ = tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Starting:
    """How agents are to start muisti."""

    command: tuple[str, ...]
    vault: Path | None = None


@dataclass(frozen=True, slots=True)
class Before:
    """What a file was like before muisti was in it, as far as the file itself does not tell."""

    new: bool = False
    """There was no such file."""
    folders: tuple[str, ...] = ()
    """Folders that were made for it, the innermost first."""
    empty: Mapping[str, str] = field(default_factory=dict)
    """Objects and lists that were there with nothing in them, and how they were written."""
    glue: str | None = None
    """What was put before a new table."""


@dataclass(frozen=True, slots=True)
class Found:
    """What of muisti is in a file."""

    server: Mapping[str, object] | None = None
    hooks: Mapping[str, str] = field(default_factory=dict)
    """The command of each event."""

    def __bool__(self) -> bool:
        return self.server is not None or bool(self.hooks)


def found_in(text: str, file: File) -> Found:
    """What of muisti is in a file. Raises Malformed."""
    if file.toml:
        table = tomledit.table_at(text, (*file.servers, commands.NAME))
        return Found(table if commands.is_server(table) else None)
    root = parse(text, file.grammar)
    server = _value_at(root, (*file.servers, commands.NAME)) if file.servers else None
    ours = {event: command for event, _, command in _our_hooks(root, file)}
    return Found(server if isinstance(server, dict) and commands.is_server(server) else None, ours)


def switched_off(text: str, file: File) -> str:
    """The setting of a file that switches hooks off, as `a.b = true`; empty if none does. Raises Malformed."""
    if file.off is None:
        return ""
    path, value = file.off
    said: object = tomledit.parse(text) if file.toml else plain(parse(text, file.grammar))
    for name in path:
        said = said.get(name) if isinstance(said, dict) else None
    return f"{'.'.join(path)} = {json.dumps(value)}" if said is value else ""


def with_muisti(text: str, file: File, starting: Starting) -> tuple[str, Before]:
    """The text with muisti in it, and what it was like before. Raises Malformed."""
    if file.toml:
        return _with_table(text, file, starting)
    before = Before(empty=_empty_places(text, file))
    if file.servers:
        text = _with_server(text, file, starting)
    if file.hooks:
        for event in file.hooks.events:
            text = _with_hook(text, file, file.hooks, event, starting)
    return text, before


def without_muisti(text: str, file: File, before: Before | None) -> str:
    """The text without muisti, and without what was only made for it. Raises Malformed."""
    if file.toml:
        path = (*file.servers, commands.NAME)
        ours = commands.is_server(tomledit.table_at(text, path))
        return tomledit.remove(text, path, before.glue if before else None) if ours else text
    empty = before.empty if before else {}
    if found_in(text, file).server is not None:
        text = _dropped(text, (*file.servers, commands.NAME), file, empty)
    while places := [place for _, place, _ in _our_hooks(parse(text, file.grammar), file)]:
        text = _dropped(text, places[-1], file, empty)
    return text


def by_hand(file: File, starting: Starting) -> str:
    """What a person would paste into the file."""
    if file.toml:
        return tomledit.written(
            (*file.servers, commands.NAME), commands.server(starting.command, starting.vault)
        )
    return with_muisti("{}", file, starting)[0] + "\n"


def _with_table(text: str, file: File, starting: Starting) -> tuple[str, Before]:
    path = (*file.servers, commands.NAME)
    wanted = commands.server(starting.command, starting.vault)
    there = tomledit.table_at(text, path)
    if there is None:
        text, glue = tomledit.add(text, path, wanted)
        return text, Before(glue=glue)
    _check_ours(there, 0)
    values = {key: value for key, value in wanted.items() if there.get(key) != value}
    return tomledit.change(text, path, values) if values else text, Before()


def _with_server(text: str, file: File, starting: Starting) -> str:
    path = (*file.servers, commands.NAME)
    wanted = commands.server(starting.command, starting.vault)
    node = find(parse(text, file.grammar), path)
    if node is None:
        kind = {"type": file.kind} if file.kind else {}
        return put(text, path, {**kind, **_json(wanted)}, file.grammar)
    there = plain(node)
    _check_ours(there, node.start)
    for key, value in _json(wanted).items():
        if not isinstance(there, dict) or there.get(key) != value:
            text = put(text, (*path, key), value, file.grammar)
    return text


def _check_ours(there: object, position: int) -> None:
    """Raises Malformed if a server of this name is somebody else's."""
    if not commands.is_server(there):
        raise Malformed(
            position,
            f'there is a server "{commands.NAME}" already, which is not `muisti mcp`: rename or remove it',
        )


def _with_hook(text: str, file: File, hooks: Hooks, event: str, starting: Starting) -> str:
    """The text in which the event runs us exactly once."""
    wanted = commands.hook(starting.command, event, starting.vault, hooks.agent)
    ours = [
        (place, command)
        for name, place, command in _our_hooks(parse(text, file.grammar), file)
        if name == event
    ]
    for place, _ in reversed(ours[1:]):
        text = _dropped(text, place, file, {})
    if ours:
        place, command = ours[0]
        return text if command == wanted else put(text, (*place, "command"), wanted, file.grammar)
    named: dict[str, Value] = {"name": hooks.name} if hooks.name else {}
    group: Value = {
        "hooks": [{**named, "type": "command", "command": wanted, "timeout": hooks.timeout}]
    }
    return append(text, ("hooks", event), group, file.grammar)


def _our_hooks(root: Node, file: File) -> list[tuple[str, Path_, str]]:
    """Event, place and command of each hook that is ours, wherever a person has moved it to."""
    found: list[tuple[str, Path_, str]] = []
    hooks = find(root, ("hooks",)) if file.hooks else None
    for child in (hooks.children or ()) if hooks and hooks.is_object else ():
        event = child.key or ""
        groups = plain(child.node)
        for number, group in enumerate(groups if isinstance(groups, list) else []):
            hooks_of_group = group.get("hooks") if isinstance(group, dict) else None
            for index, one in enumerate(hooks_of_group if isinstance(hooks_of_group, list) else []):
                command = one.get("command") if isinstance(one, dict) else None
                if isinstance(command, str) and commands.is_hook(command):
                    found.append((event, ("hooks", event, number, "hooks", index), command))
    return found


def _dropped(text: str, path: Path_, file: File, empty: Mapping[str, str]) -> str:
    """Without what is at a path, and without everything around it that has nothing left in it and was not there before."""
    while path:
        holder = path[:-1]
        text = drop(text, path, file.grammar, empty=empty.get(_key(holder)))
        if _key(holder) in empty or emptiness(text, holder, file.grammar) is None:
            return text
        path = holder[:-1] if len(path) == len(("hooks", "event", 0, "hooks", 0)) else holder
    return text


def _empty_places(text: str, file: File) -> dict[str, str]:
    """Objects and lists that have nothing in them, of those that something will be put into."""
    events: Sequence[str] = file.hooks.events if file.hooks else ()
    places: list[Path_] = [
        (),
        file.servers,
        *((("hooks",), *(("hooks", event) for event in events)) if events else ()),
    ]
    written = {_key(place): emptiness(text, place, file.grammar) for place in places}
    return {key: literal for key, literal in written.items() if literal is not None}


def _key(path: Sequence[Step]) -> str:
    return json.dumps(list(path))


def _value_at(root: Node, path: Sequence[Step]) -> Value:
    node = find(root, path)
    return None if node is None else plain(node)


def _json(server: Mapping[str, str | list[str]]) -> dict[str, Value]:
    return {key: list(value) if isinstance(value, list) else value for key, value in server.items()}
