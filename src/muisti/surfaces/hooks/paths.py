"""Where hooks keep their state: the log of runs, waiting entries, and files of sessions."""

from __future__ import annotations

from pathlib import Path

from muisti.locations import get_state_path

READ_SETTINGS: dict[str, str | int | float | bool] = {
    "sync_on_open": False,  # syncing has a timeout of its own
    "embedder": "none",  # loading a model takes longer than everything else
    "record_recall": False,  # an unrequested recall does not reinforce a memory
    "lock_timeout": 0.5,
    "index_timeout": 0.5,
}
"""Settings for the start of a session: read only, with short timeouts."""


def get_state_folder() -> Path:
    """Return the user's state folder, or the one that `MUISTI_STATE` names."""
    return Path(get_state_path())


def create_folder(folder: Path) -> Path:
    """Create a folder that only this user can access, and return it. Raises OSError."""
    if not folder.is_dir():
        # `mode` applies to the last folder only, so the state folder is created by itself.
        get_state_folder().mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder
