"""Remembers what configurations were like before, so that removing muisti leaves them as they were.

A convenience: where the ledger is lost, removing still works, only empty objects that stood there before go as well.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from muisti.surfaces.hooks.paths import made_folder, state_folder
from muisti.surfaces.setup.contents import OriginalState

FILE = "setup.json"


def load_original_state(path: Path) -> OriginalState | None:
    """What a file was like before muisti was in it; None if nobody knows. Never raises."""
    said = _read().get(str(path))
    if not isinstance(said, dict):
        return None
    empty, folders, glue = said.get("empty"), said.get("folders"), said.get("glue")
    return OriginalState(
        new=said.get("new") is True,
        folders=tuple(one for one in folders if isinstance(one, str))
        if isinstance(folders, list)
        else (),
        empty={k: v for k, v in empty.items() if _is_blank(v)} if isinstance(empty, dict) else {},
        glue=glue if isinstance(glue, str) and not glue.strip() else None,
    )


def save_original_state(path: Path, before: OriginalState | None) -> None:
    """Remember what a file was like, or forget it. Never raises."""
    with suppress(OSError):
        entries = _read()
        if before is None:
            entries.pop(str(path), None)
        else:
            entries[str(path)] = asdict(before)
        folder = made_folder(state_folder())
        temporary = folder / f".{FILE}-{os.getpid()}"
        temporary.write_text(json.dumps(entries, indent=1), "utf-8")
        os.replace(temporary, folder / FILE)


def _read() -> dict[str, object]:
    try:
        said = json.loads((state_folder() / FILE).read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return said if isinstance(said, dict) else {}


def _is_blank(literal: object) -> bool:
    """What is written into a configuration from here must be an empty object or list, whoever wrote the ledger."""
    return (
        isinstance(literal, str)
        and literal[:1] + literal[-1:] in ("{}", "[]")
        and not literal[1:-1].strip(" \t\r\n")
    )
