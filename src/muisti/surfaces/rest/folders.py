"""Which paths a client may name: none, but within folders that the server was started with."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from muisti.surfaces.rest.problems import HttpProblem


def resolve_allowed_path(path: str, folders: Sequence[Path]) -> str:
    """The path without links and dots, if it lies in one of the folders. Raises Refused, whether it exists or not."""
    try:
        real = Path(os.path.realpath(path)) if "\0" not in path and os.path.isabs(path) else None
    except (OSError, ValueError):
        real = None
    if real is None or not any(real.is_relative_to(os.path.realpath(folder)) for folder in folders):
        allowed = (
            ", ".join(str(folder) for folder in folders)
            or "none: start the server with --documents FOLDER"
        )
        raise HttpProblem(
            403,
            "path-not-allowed",
            "This server does not read there",
            f"folders that may be named: {allowed}",
        )
    return str(real)
