"""Which paths a client may name: only those in folders that the server was started with."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from muisti.surfaces.rest.problems import HttpProblem


def resolve_allowed_path(path: str, folders: Sequence[Path]) -> str:
    """Return the real path if it is in one of the folders.

    Raises HttpProblem (403) otherwise, whether the path exists or not.
    """
    real = None
    if os.path.isabs(path) and "\0" not in path:
        try:
            real = Path(os.path.realpath(path))
        except (OSError, ValueError):
            real = None
    if real is None or not any(real.is_relative_to(os.path.realpath(folder)) for folder in folders):
        names = ", ".join(str(folder) for folder in folders)
        detail = f"allowed folders: {names or 'none; start the server with --documents FOLDER'}"
        raise HttpProblem(403, "path-not-allowed", "Path not allowed", detail)
    return str(real)
