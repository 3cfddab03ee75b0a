"""The files that the pages load: known by name, so that no path of a client reaches the disk."""

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
def _digests() -> dict[str, str]:
    """Every file and the beginning of its hash."""
    files = (path for path in _FOLDER.rglob("*") if path.is_file())
    return {
        path.relative_to(_FOLDER).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()[:16]
        for path in files
    }


def asset(name: str) -> str:
    """The address of a file; another one whenever its content changes, so that browsers may keep it."""
    return f"/static/{_digests()[name]}/{name}"


@router.get("/static/{digest}/{name:path}")
def static(digest: str, name: str) -> Response:
    """One file; an address with an old hash is answered with what there is now, to be asked for again."""
    if name not in _digests():
        raise HTTPException(404, "there is no such file")
    kind = (
        _TYPES.get(Path(name).suffix)
        or mimetypes.guess_type(name)[0]
        or "text/plain; charset=utf-8"
    )
    keep = _FOREVER if digest == _digests()[name] else "no-cache"
    return Response(
        (_FOLDER / name).read_bytes(), media_type=kind, headers={**HEADERS, "Cache-Control": keep}
    )
