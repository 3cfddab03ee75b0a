"""Whether the vault that a server has open is still there."""

from __future__ import annotations

from pathlib import Path

from muisti.errors import VaultNotFound
from muisti.settings import SETTINGS_FILE


def check_in_place(root: Path) -> None:
    """Raises VaultNotFound if the folder is gone: an empty answer, or a new folder in its place, would not tell."""
    if not (root / SETTINGS_FILE).is_file():
        raise VaultNotFound(f"there is no vault at {root} any more: mount it or bring it back; nothing is lost here")
