"""Where hooks keep what is no memory: the log of their runs, and what each session was given."""

from __future__ import annotations

import os
import sys
from pathlib import Path

READING: dict[str, str | int | float | bool] = {
    "sync_on_open": False,  # it has a time limit of its own
    "embedder": "none",  # a model takes longer to load than all the rest
    "record_recall": False,  # what is recalled unasked does not become stronger
    "lock_timeout": 0.5,
    "index_timeout": 0.5,
}
"""How the start of a session opens a vault: only to read, and waiting for nobody for long."""


def get_state_folder() -> Path:
    """The user's folder for state; `MUISTI_STATE` names another."""
    named = os.environ.get("MUISTI_STATE", "").strip()
    if named:
        return Path(named)
    if (
        sys.platform.startswith("linux") and "ANDROID_DATA" not in os.environ
    ):  # importing platformdirs takes as long as a search
        base = os.environ.get("XDG_STATE_HOME", "").strip()
        return (
            Path(base if os.path.isabs(base) else os.path.expanduser("~/.local/state")) / "muisti"
        )
    import platformdirs

    return Path(platformdirs.user_state_path("muisti", appauthor=False))


def create_folder(folder: Path) -> Path:
    """The folder, for this user alone. Raises OSError."""
    if not folder.is_dir():
        get_state_folder().mkdir(
            mode=0o700, parents=True, exist_ok=True
        )  # the mode holds for the last one only
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder
