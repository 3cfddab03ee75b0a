"""Record the original state of configurations, so that removing muisti restores it exactly.

Without the record, removing still works, but it also removes objects that were empty before.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from muisti import filesystem
from muisti.surfaces.hooks.paths import create_folder, get_state_folder
from muisti.surfaces.setup.contents import OriginalState

FILE = "setup.json"


def load_original_state(path: Path) -> OriginalState | None:
    """Return the original state of a file; None if it was not recorded. Never raises."""
    entry = _read().get(str(path))
    if not isinstance(entry, dict):
        return None
    empty, folders, glue = entry.get("empty"), entry.get("folders"), entry.get("glue")
    blank = {}
    for key, literal in empty.items() if isinstance(empty, dict) else ():
        # Only an empty object or list may be written back into a configuration.
        is_container = isinstance(literal, str) and literal[:1] + literal[-1:] in ("{}", "[]")
        if is_container and not literal[1:-1].strip(" \t\r\n"):
            blank[key] = literal
    return OriginalState(
        new=entry.get("new") is True,
        folders=tuple(one for one in folders if isinstance(one, str))
        if isinstance(folders, list)
        else (),
        empty=blank,
        glue=glue if isinstance(glue, str) and not glue.strip() else None,
        versioned=entry.get("versioned") is True,
    )


def save_original_state(path: Path, before: OriginalState | None) -> None:
    """Record the original state of a file, or remove the record. Never raises."""
    with suppress(OSError):
        entries = _read()
        if before is None:
            entries.pop(str(path), None)
        else:
            entries[str(path)] = asdict(before)
        folder = create_folder(get_state_folder())
        temporary = folder / f".{FILE}-{os.getpid()}"
        try:
            with temporary.open("wb") as file:
                file.write(json.dumps(entries, indent=1).encode())
                file.flush()
                filesystem.system.sync(file.fileno())  # else a crash may leave an empty file
            os.replace(temporary, folder / FILE)
        finally:
            temporary.unlink(missing_ok=True)


def _read() -> dict[str, object]:
    try:
        entry = json.loads((get_state_folder() / FILE).read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return entry if isinstance(entry, dict) else {}
