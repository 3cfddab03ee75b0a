"""Start a warm process after an answer that was given the ordinary way."""

from __future__ import annotations

import os
from contextlib import suppress

from muisti.surfaces.warm import protocol

MODULE = "muisti.surfaces.warm.server"


def start(vault: str, *, foreign: bool) -> None:
    """Start the warm process of a vault, unless one runs, and return at once.

    It checks by itself whether it may run: the setting, whether the vault is trusted and writable,
    and that it is the only one.
    """
    if protocol.is_disabled() or is_alive(vault):
        return
    from pathlib import Path

    from muisti.surfaces import detached

    arguments = [vault, "foreign"] if foreign else [vault]
    with suppress(OSError):
        detached.start_process(MODULE, *arguments, folder=Path("/"))


def is_alive(vault: str) -> bool:
    """Return whether a warm process listens for a vault, or at least holds its place."""
    from muisti.surfaces.warm import client

    try:
        client.connect(os.path.realpath(vault)).close()
    except client.NotRunning:
        return False
    except OSError:  # it hangs, or something else is in its place
        return True
    return True
