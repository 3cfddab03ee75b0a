"""Which vaults found in the working folder are the user's own (contract K6).

A vault that is named by a path, an option or a variable, and the user's default vault, are not
asked about. One that is only found may have come with a stranger's repository.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from muisti.errors import MuistiError
from muisti.logs import get_log
from muisti.settings import SETTINGS_FILE, get_data_folder, get_own_vault

if TYPE_CHECKING:
    from muisti.storage.files.consent import Consent, ConsentList

MAX_GIT_INDEX = 256_000_000


def is_trusted(root: Path) -> bool:
    """Return whether the user made or approved a vault. Reads little: hooks ask at every prompt.

    A vault that the user made before there was a list is recognized and added to it.
    """
    if root == get_own_vault():
        return True
    consents = _open_list()
    if consents.has(root):
        return True
    if consents.is_marked(root) or not _was_made_here(root):
        return False
    with _warn("the vault is trusted, but that could not be recorded"):
        consents.add(root)
    return True


def note_use(root: Path) -> None:
    """Note that muisti is about to write to a vault. A problem is only logged.

    Only a vault without this note can be one that an earlier version made.
    """
    consents = _open_list()
    if root == get_own_vault() or consents.is_marked(root):
        return
    with _warn("the vault is only used if it is named"):
        if consents.has(root) or _was_made_here(root):
            consents.add(root)
        else:
            consents.mark(root)


def give_consent(root: Path) -> None:
    """Trust a vault. Raises VaultError, VaultBusy.

    An index that came with it is removed, and built again from the files.
    """
    consents = _open_list()
    folder = root / ".muisti"
    if not consents.has(root) and folder.is_dir() and not folder.is_symlink():
        from muisti.storage.files.disk import Disk, disk_errors

        with disk_errors(folder):
            for file in folder.iterdir():
                if file.name == "current" or file.name.startswith("index-"):
                    Disk().remove(file)
    consents.add(root)


def record_creation(root: Path) -> None:
    """Trust a vault that was just created. A problem is only logged."""
    if root != get_own_vault():
        with _warn(f"the new vault is only used if it is named (--vault {root})"):
            _open_list().add(root)


def withdraw_consent(root: Path) -> bool:
    """Trust a vault no longer. Return whether it was trusted. Raises VaultError, VaultBusy."""
    return _open_list().remove(root)


def list_consents() -> list[Consent]:
    """Return the trusted vaults. Raises VaultUnusable if the list is damaged."""
    return _open_list().list()


def _open_list() -> ConsentList:
    from muisti.storage.files.consent import ConsentList

    return ConsentList(get_data_folder())


def _was_made_here(root: Path) -> bool:
    """Return whether an earlier version of muisti made this vault on this machine.

    Its index was built from these very files. If the vault may have come with a repository, muisti
    must also have written the oldest file itself: in a clone it found files.
    """
    if not (root / ".muisti" / "current").is_file():
        return False
    from muisti.storage.sqlite.built_here import find_origin

    origin = find_origin(root)
    return origin.built_here and (origin.written_here or not _is_in_git(root))


def _is_in_git(root: Path) -> bool:
    """Return whether a vault's settings file is, or may be, tracked by git."""
    folder = Path(os.path.realpath(root))
    for parent in (folder, *folder.parents):
        git = parent / ".git"
        if not git.exists():
            continue
        with suppress(OSError):
            index = git / "index"
            if git.is_dir() and not index.exists():
                return False
            if index.is_file() and index.stat().st_size < MAX_GIT_INDEX:
                data = index.read_bytes()
                name = (folder / SETTINGS_FILE).relative_to(parent).as_posix()
                # Version 4 shortens names.
                return data[4:8] == b"\0\0\0\4" or os.fsencode(name) in data
        return True
    return False


@contextmanager
def _warn(what: str) -> Iterator[None]:
    """Log a problem with the list instead of raising it."""
    try:
        yield
    except (MuistiError, OSError) as error:
        get_log().warning("%s: %s", what, error)
