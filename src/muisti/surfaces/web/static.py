"""Static files. They are looked up by name, so no path from a client reaches the disk."""

from __future__ import annotations

import hashlib
import mimetypes
from functools import cache
from pathlib import Path

from fastapi import APIRouter, HTTPException, Response

from muisti.surfaces.web.csrf import HEADERS

_FOLDER = Path(__file__).parent / "static"
_TYPES = {
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}
_FOREVER = "public, max-age=31536000, immutable"
router = APIRouter(include_in_schema=False)


@cache
def _hash_files() -> dict[str, str]:
    """Return every file's name and a short hash of its content."""
    hashes = {}
    for path in _FOLDER.rglob("*"):
        if path.is_file():
            name = path.relative_to(_FOLDER).as_posix()
            hashes[name] = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    return hashes


def asset_url(name: str) -> str:
    """Return the address of a file. It contains the hash, so browsers may cache it forever."""
    return f"/static/{_hash_files()[name]}/{name}"


@router.get("/static/{digest}/{name:path}")
def get_static_file(digest: str, name: str) -> Response:
    """Return one file. With an outdated hash it is the current file, and not to be cached."""
    hashes = _hash_files()
    if name not in hashes:
        raise HTTPException(404, "there is no such file")
    path = _FOLDER / name
    guessed = mimetypes.guess_type(name)[0] or "text/plain; charset=utf-8"
    return Response(
        path.read_bytes(),
        media_type=_TYPES.get(path.suffix, guessed),
        headers={
            **HEADERS,
            "Cache-Control": _FOREVER if digest == hashes[name] else "no-cache",
        },
    )
