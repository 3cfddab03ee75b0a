"""Where vaults are found. Plain strings and few imports: every hook and search begins here."""

from __future__ import annotations

import os
import stat
import sys

TYPE_CHECKING = False  # `typing` takes long to import
if TYPE_CHECKING:
    from collections.abc import Mapping

SETTINGS_FILE = "muisti.toml"
KEYWORDS = ("host=", "hostaddr=", "dbname=", "service=")
"""How an address begins that libpq knows, too. Here it must be a URL."""
DATABASES = ("postgresql:/", "postgres:/")
"""How the address of a database begins. One slash: a path has lost the second."""


def find_database(named: object = None) -> str | None:
    """Return the address of the database that holds the vault; None if it is in a folder.

    The named one, or else that of `MUISTI_STORE` or `MUISTI_VAULT`.
    """
    location = str(named) if named is not None else find_named() or ""
    return location if location.startswith(DATABASES) else None


def find_other_database(location: str) -> str | None:
    """Return the address of another database, or one of PostgreSQL that is not a URL; else None.

    No folder of that name is created. A password is left out, and an address without URL is empty.
    """
    scheme, separator, _ = location.partition("://")
    if separator and scheme.replace("+", "").isalnum():
        return strip_password(location)
    return "" if location.lstrip().startswith(KEYWORDS) else None


def strip_password(address: str) -> str:
    """Return the address of a database without its password; its options stay."""
    base, _, query = address.partition("?")
    scheme, separator, rest = base.partition("://")
    owner, at, place = rest.rpartition("@")
    options = "&".join(part for part in query.split("&") if not part.startswith("password="))
    user = owner.partition(":")[0]
    return f"{scheme}{separator}{user}{at}{place}{'?' if options else ''}{options}"


def restore_password(address: str) -> str:
    """Return the address that `strip_password` was given, if the environment names it."""
    named = find_database()
    is_same = named is not None and strip_password(named) == address
    return named if named is not None and is_same else address


def find_named(environ: Mapping[str, str] | None = None) -> str | None:
    """Return the location that `MUISTI_STORE` or `MUISTI_VAULT` names, or None."""
    environment = os.environ if environ is None else environ
    return environment.get("MUISTI_STORE") or environment.get("MUISTI_VAULT") or None


def find_upwards(folder: str) -> str | None:
    """Return the nearest folder upwards that has a settings file, or None."""
    while True:
        try:
            if not stat.S_ISDIR(os.lstat(os.path.join(folder, SETTINGS_FILE)).st_mode):
                return folder
        except (OSError, ValueError):
            pass
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent


def locate_vault(named: str | None, folder: str) -> tuple[str, bool]:
    """Return the path of a vault, and whether it was only found in the folder.

    The named one, `MUISTI_STORE`, `MUISTI_VAULT`, the nearest folder upwards with a settings file,
    or the user's default vault. As `muisti.settings.find_vault` does, without its checks. The
    address of a database is returned as it is.
    """
    named = named or find_named()
    if named is not None and named.startswith(DATABASES):
        return named, False
    if named is not None:
        return os.path.join(folder, os.path.expanduser(named)), False
    own = get_own_path()
    found = find_upwards(os.path.abspath(folder)) or own
    return found, found != own


def get_data_path() -> str:
    """Return the user's data folder: it has the default vault and the list of trusted vaults."""
    if sys.platform.startswith("linux") and "ANDROID_DATA" not in os.environ:
        # As platformdirs does; importing it takes as long as a search.
        base = os.environ.get("XDG_DATA_HOME", "").strip()
        if not os.path.isabs(base):
            base = os.path.expanduser("~/.local/share")
        return os.path.join(base, "muisti")
    import platformdirs

    return str(platformdirs.user_data_path("muisti", appauthor=False))


def get_own_path() -> str:
    """Return the path of the user's default vault."""
    return os.path.join(get_data_path(), "vault")


def get_state_path() -> str:
    """Return the user's state folder, or the one that `MUISTI_STATE` names."""
    configured = os.environ.get("MUISTI_STATE", "").strip()
    if configured:
        return configured
    if sys.platform.startswith("linux") and "ANDROID_DATA" not in os.environ:
        base = os.environ.get("XDG_STATE_HOME", "").strip()
        if not os.path.isabs(base):
            base = os.path.expanduser("~/.local/state")
        return os.path.join(base, "muisti")
    import platformdirs

    return str(platformdirs.user_state_path("muisti", appauthor=False))
