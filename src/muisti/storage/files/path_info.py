"""What the path of a memory's file says, and paths in the trash and the archive."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from muisti.settings import Settings

TRASH = ".trash"
ARCHIVE = "archive"
_TRASHED = r"(?s)(?P<stem>.*)\.(?P<at>\d{8}T\d{12}Z)\.md\Z"
_DATED = r"(\d{4}-\d\d-\d\d)[_ -]"
_EPOCH = datetime.fromtimestamp(0, UTC)


class PathInfo:
    """What a path says of a memory: kind, project, when it was deleted, the date in its name."""

    def __init__(self, kind: str, project: str, deleted_at: datetime | None, name: str) -> None:
        self.kind = kind
        self.project = project
        self.deleted_at = deleted_at
        self._name = name

    @property
    def date(self) -> datetime | None:
        """The date that the name begins with."""
        if dated := re.match(_DATED, self._name):
            with suppress(ValueError):
                return datetime.fromisoformat(dated[1]).replace(tzinfo=UTC)
        return None

    @classmethod
    def of(cls, path: str, settings: Settings) -> PathInfo:
        """Parse a path."""
        parts = tuple(part for part in path.split("/") if part not in ("", "."))
        deleted_at = None
        if parts[0] == TRASH:
            parts = parts[1:]
            deleted_at = _EPOCH  # if a person moved it there, its name has no time
            if stamped := re.match(_TRASHED, parts[-1]):
                with suppress(ValueError):
                    at = datetime.strptime(stamped["at"], "%Y%m%dT%H%M%S%fZ")
                    deleted_at = at.replace(tzinfo=UTC)
        project = ""
        if parts[0] == "projects" and len(parts) > 2:
            project, parts = parts[1], parts[2:]
        kind = ""
        if len(parts) > 1:
            folder = parts[0]
            for known in settings.kinds.values():
                if known.folder == folder:
                    kind = known.name
        return cls(kind, project, deleted_at, parts[-1])


def make_trash_path(path: str, at: datetime) -> str:
    """Return the path in the trash, which has the old path and the time of deletion."""
    stem = path.removesuffix(".md")
    folder, _, name = stem.rpartition("/")
    name = name.encode()[:200].decode("utf-8", "ignore")
    return f"{TRASH}/{folder}/{name}.{at:%Y%m%dT%H%M%S%fZ}.md".replace("//", "/")


def make_restored_path(path: str) -> str:
    """Return the path that a file in the trash had before."""
    inside = path.removeprefix(f"{TRASH}/")
    stamped = re.match(_TRASHED, inside)
    return f"{stamped['stem']}.md" if stamped else inside


def is_in_archive(path: str) -> bool:
    """Return whether a path of the vault is that of an archived file."""
    return path.startswith(f"{ARCHIVE}/")
