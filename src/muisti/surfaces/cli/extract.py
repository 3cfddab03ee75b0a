"""`muisti extract`: find memories in a conversation."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import click

from muisti.errors import InvalidRequest
from muisti.model import Utterance
from muisti.surfaces.cli import render
from muisti.surfaces.cli.shared import (
    Time,
    common_options,
    note,
    open_vault,
    print_json,
    read_stdin,
)

_LINE = re.compile(r"(?P<speaker>[^\s:][^:\n]{0,39}):[ \t]+(?P<text>\S.*)")
_ROLES = {
    "user": ("User", "user"),
    "human": ("User", "user"),
    "assistant": ("Assistant", "assistant"),
    "ai": ("Assistant", "assistant"),
}


@click.command()
@click.argument("source", type=click.Path(path_type=Path), required=False)
@click.option("--save", is_flag=True, help="Save the memories. Default: only show them.")
@click.option(
    "--mode",
    default="default",
    show_default=True,
    help="default, coding or research: which memories weigh more.",
)
@click.option(
    "--threshold", type=float, default=0.3, show_default=True, help="Minimum importance, 0 to 1."
)
@click.option("--at", type=Time(), help="Time of the conversation, for words like yesterday.")
@click.option("--session-id", "--session", metavar="ID", help="Session of the memories.")
@click.option("--project", help="Project of the memories.")
@click.option("--user", help="User the memories belong to.")
@common_options
def extract(
    source: Path | None,
    save: bool,
    mode: str,
    threshold: float,
    at: datetime | None,
    session_id: str | None,
    project: str | None,
    user: str | None,
    vault: str | None,
    as_json: bool,
) -> None:  # shape: one argument for each option
    """Extract memories from a conversation.

    SOURCE is a file, or - for standard input, with lines like `Anna: I moved to Turku`, or JSON
    lines with `role` and `content`. Works without a language model.
    """
    utterances = [replace(one, at=at) for one in parse_transcript(_read_source(source))]
    with open_vault(vault, create=True, in_project=True) as memory:
        found = [
            extracted
            for extracted in memory.extract(utterances, mode=mode)
            if extracted.importance >= threshold
        ]
        known_ids, saved = set(), []
        if save:
            known = memory.list(limit=None, project="*", user="*")
            known_ids = {one.id for one in known}
            saved = memory.save_extracted(
                found, session_id=session_id, project=project, user=user, said_at=at
            )
    if as_json:
        print_json(saved if save else found)
        return
    if not found:
        if memory.settings.extraction_enabled:
            note("No memories found in this conversation.")
        else:
            note('Extraction is off: the setting extractor is "none".')
        return
    render.print_extracted(found)
    if save:
        new = len({memory.id for memory in saved} - known_ids)
        number = render.format_count(new, "memory")
        note(f"{number} saved, {len(found) - new} already known.")
    else:
        note("Nothing was saved; add --save to save them.")


def _read_source(source: Path | None) -> str:
    if source is None or str(source) == "-":
        return read_stdin().removeprefix("\ufeff")
    try:
        return source.read_text("utf-8-sig")
    except OSError as error:
        raise InvalidRequest("source", source, f"cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InvalidRequest("source", source, f"is not UTF-8 (byte {error.start})") from error


def parse_transcript(text: str) -> list[Utterance]:
    """Return the messages of a transcript. A line without a speaker continues the one before.

    Raises InvalidRequest for a JSON line without `content`.
    """
    is_json = text.lstrip().startswith("{")
    found: list[Utterance] = []
    continued: dict[int, list[str]] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        if is_json:
            try:
                item = json.loads(line)
            except (ValueError, RecursionError):
                item = None
            if not isinstance(item, dict) or not isinstance(item.get("content"), str):
                example = '{"role": "user", "content": "…"}'
                reason = f"line {number} must be an object like {example}"
                raise InvalidRequest("source", "", reason)
            speaker, role = _ROLES.get(str(item.get("role", "user")).casefold(), ("User", "user"))
            found.append(Utterance(item["content"], str(item.get("name") or speaker), role))
        elif match := _LINE.match(line):
            name = match["speaker"]
            speaker, role = _ROLES.get(name.casefold(), (name, "user"))
            found.append(Utterance(match["text"], speaker, role))
        elif found:
            continued.setdefault(len(found) - 1, []).append(line)
        else:
            found.append(Utterance(line))
    for at, lines in continued.items():
        found[at] = replace(found[at], text="\n".join([found[at].text, *lines]))
    return found


COMMANDS = {"extract": extract}
