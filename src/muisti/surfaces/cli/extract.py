"""`muisti extract`: what of a talk is worth keeping."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import click

from muisti.errors import InvalidRequest
from muisti.model import Utterance
from muisti.surfaces.cli import render
from muisti.surfaces.cli.shared import Moment, common, note, opened, print_json

_SAID = re.compile(r"(?P<who>[^\s:][^:\n]{0,39}):[ \t]+(?P<text>\S.*)")
_ROLES = {
    "user": ("User", "user"),
    "human": ("User", "user"),
    "assistant": ("Assistant", "assistant"),
    "ai": ("Assistant", "assistant"),
}


@click.command()
@click.argument("source", type=click.Path(path_type=Path), required=False)
@click.option("--save", is_flag=True, help="Keep them; else they are only shown.")
@click.option(
    "--mode",
    default="default",
    show_default=True,
    help="default, coding or research: what counts more.",
)
@click.option(
    "--threshold", type=float, default=0.3, show_default=True, help="Least importance, 0 to 1."
)
@click.option("--at", type=Moment(), help="When it was said, for `yesterday` and `last month`.")
@click.option("--session-id", "--session", metavar="ID", help="The session that they come from.")
@click.option("--project", help="The project that they belong to.")
@common
def extract(
    source: Path | None,
    save: bool,
    mode: str,
    threshold: float,
    at: datetime | None,
    session_id: str | None,
    project: str | None,
    vault: str | None,
    as_json: bool,
) -> None:  # shape: one argument for each option
    """What of the talk in SOURCE (or standard input) is worth remembering, found without a model.

    Lines like `Anna: I moved to Turku`, or JSON lines with `role` and `content`.
    """
    talk = [replace(one, at=at) for one in utterances(_text(source))]
    with opened(vault, create=True) as memory:
        found = [one for one in memory.extract(talk, mode=mode) if one.importance >= threshold]
        known = {one.id for one in memory.list(limit=None, project="*")} if save else set()
        kept = (
            memory.save_extracted(found, session_id=session_id, project=project, said_at=at)
            if save
            else []
        )
    if as_json:
        print_json(kept if save else found)
    elif not found:
        note("Nothing in it seems worth keeping.")
    else:
        render.extracted(found)
        new = len({one.id for one in kept} - known)
        said = (
            f"{render.count(new, 'memory')} kept, {len(found) - new} known already."
            if save
            else "Shown only; --save keeps them."
        )
        note(said)


def _text(source: Path | None) -> str:
    try:
        data = (
            sys.stdin.buffer.read() if source is None or str(source) == "-" else source.read_bytes()
        )
        return data.decode("utf-8-sig")
    except OSError as error:
        raise InvalidRequest(
            "source", str(source), f"it cannot be read ({error.strerror})"
        ) from error
    except UnicodeDecodeError as error:
        raise InvalidRequest(
            "source", str(source), f"it is not UTF-8 text (byte {error.start})"
        ) from error


def utterances(text: str) -> list[Utterance]:
    """The messages of a transcript; a line that names nobody goes on with what was said before."""
    if text.lstrip().startswith("{"):
        return [
            _from_json(number, line)
            for number, line in enumerate(text.splitlines(), start=1)
            if line.strip()
        ]
    found: list[Utterance] = []
    for line in text.splitlines():
        if said := _SAID.match(line):
            speaker, role = _ROLES.get(said["who"].casefold(), (said["who"], "user"))
            found.append(Utterance(said["text"], speaker, role))
        elif found and line.strip():
            last = found[-1]
            found[-1] = Utterance(f"{last.text}\n{line}", last.speaker, last.role)
        elif line.strip():
            found.append(Utterance(line))
    return found


def _from_json(number: int, line: str) -> Utterance:
    try:
        item = json.loads(line)
    except (ValueError, RecursionError):
        item = None
    if not isinstance(item, dict) or not isinstance(item.get("content"), str):
        raise InvalidRequest(
            "source",
            f"line {number}",
            'every line must be an object like {"role": "user", "content": "…"}',
        )
    speaker, role = _ROLES.get(str(item.get("role", "user")).casefold(), ("User", "user"))
    return Utterance(item["content"], str(item.get("name") or speaker), role)


COMMANDS = {"extract": extract}
