"""A memory as front matter and body, and back."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import PurePosixPath

from muisti.errors import InvalidMemory
from muisti.model import KINDS, Link, Memory, Tier
from muisti.remember.classify import classify_kind, classify_sector
from muisti.remember.complete import completed, derived_title
from muisti.remember.validate import checked_id, checked_memory
from muisti.settings import Settings
from muisti.storage.files.frontmatter import BadFrontMatter, Document, Value
from muisti.storage.files.linked import link_from, link_text
from muisti.storage.files.timestamps import from_text, to_text
from muisti.text.redact import redact_fields, redact_labels, redact_text

TRASH = ".trash"
NUMBERS = frozenset({"importance", "salience"})
TYPED = NUMBERS | {"created_at", "updated_at", "valid_from", "valid_until", "pinned", "trusted"}
"""Keys whose values other YAML parsers shall read as what they are; all else is text to them."""
_TRASHED = re.compile(r"(?P<stem>.*)\.(?P<at>\d{8}T\d{12}Z)\.md\Z", re.DOTALL)
_DATED = re.compile(r"(\d{4}-\d\d-\d\d)[_ -]")
_CONFLICT = ("<<<<<<< ", "=======", ">>>>>>> ")

_OTHER_NAMES = {"kind": "category", "keywords": "tags", "created_at": "created"}
_TEXTS = ("id", "title", "kind", "sector", "tier", "project", "session_id", "source", "summary")
_LISTS = ("keywords", "files", "links")
_FLAGS = {"pinned": False, "trusted": True}
"""With what they are when nothing is said."""
_TIMES = ("created_at", "updated_at", "valid_from", "valid_until")


def to_fields(memory: Memory) -> dict[str, Value]:
    """What the front matter says; what has its default value is left out, to keep files easy to read."""
    known: dict[str, Value | None] = {
        "id": memory.id,
        "title": memory.title,
        "kind": memory.kind,
        "sector": memory.sector.value,
        "tier": memory.tier.value if memory.tier is not Tier.PROJECT else None,
        "project": memory.project,
        "session_id": memory.session_id,
        "source": memory.source,
        "importance": _shortest(memory.importance),
        "salience": _shortest(memory.salience) if memory.salience != 1.0 else None,
        "summary": memory.summary,
        "keywords": memory.keywords,
        "files": memory.files,
        "created_at": to_text(memory.created_at),
        "updated_at": to_text(memory.updated_at),
        "valid_from": to_text(memory.valid_from) if memory.valid_from else None,
        "valid_until": to_text(memory.valid_until) if memory.valid_until else None,
        "pinned": "true" if memory.pinned else None,
        "trusted": None if memory.trusted else "false",
        "links": tuple(link_text(link) for link in memory.links),
        "conflict_markers": "intended" if has_conflict(memory.content) else None,
    }
    return {key: value for key, value in known.items() if value}


def _shortest(number: float) -> str:
    """All digits that matter, so that reading gives the same number."""
    return repr(float(number)).removesuffix(".0")


def changed_fields(document: Document, memory: Memory, settings: Settings) -> dict[str, Value | None]:
    """Which keys must be written so that the file says what the memory says. What a person wrote that is private stays theirs."""
    wanted = to_fields(memory)
    have = redact_fields(document.values, settings)
    for key, other in _OTHER_NAMES.items():  # what a person calls otherwise keeps that name
        if other in have and key not in have and key in wanted:
            wanted[other] = wanted.pop(key)
    changes: dict[str, Value | None] = {key: value for key, value in wanted.items() if not _says(key, have.get(key), value)}
    for key in (*_TEXTS, *_LISTS, *_TIMES, *NUMBERS, *_FLAGS):
        if key in have and key not in wanted and have[key] not in ("", ()) and not _is_default(key, have[key]):
            changes[key] = None
    return changes


def _says(key: str, have: Value | None, wanted: Value) -> bool:
    """Whether a person's way of writing a value means the same as ours."""
    if have == wanted:
        return True
    try:
        if key == "links":
            return _same_links(have, wanted)
        if key in (*_LISTS, "tags"):
            return _listed(have) == wanted
        if not isinstance(have, str) or not isinstance(wanted, str):
            return False
        if key in ("kind", "category"):
            return have.strip().casefold() in (wanted, KINDS[wanted].folder if wanted in KINDS else wanted)
        if key in _TEXTS and key != "summary":
            return have.rstrip("\r\n") == wanted
        if key in (*_TIMES, "created"):
            return from_text(key, have) == from_text(key, wanted)
        if key in _FLAGS:
            return _flag(key, have) is _flag(key, wanted)
        if key in NUMBERS:
            return _number(key, have) == _number(key, wanted)
    except BadFrontMatter:
        return False
    return False


def _is_default(key: str, have: Value | None) -> bool:
    if key in _FLAGS:
        return isinstance(have, str) and _flag(key, have) is _FLAGS[key]
    return (key, have) in {("tier", "project"), ("salience", "1.0"), ("salience", "1")}


def from_document(path: str, document: Document, settings: Settings, modified: datetime) -> Memory:
    """The memory that a file holds. Raises BadFrontMatter that names the field and the cure."""
    values = document.values
    content = redact_text(document.body, settings)
    place = Place.of(path, settings)
    created = _time(values, "created_at") or _time(values, "created") or place.dated or modified
    kind = _text(values, "kind") or _text(values, "category") or place.kind or classify_kind(content, settings)
    sector = _text(values, "sector") or classify_sector(content, settings)
    concepts = _listed(values.get("concepts"))
    memory = Memory(
        id=_text(values, "id") or "",
        content=content,
        title=_text(values, "title") or derived_title(content),
        kind=kind,
        sector=sector,  # type: ignore[arg-type]  # checked just below
        tier=_text(values, "tier") or Tier.PROJECT,  # type: ignore[arg-type]
        project=_text(values, "project") or place.project,
        session_id=_text(values, "session_id") or None,
        source=_text(values, "source") or "user",
        summary=_text(values, "summary"),
        keywords=_texts(values, "keywords") or _listed(values.get("tags")),
        files=_texts(values, "files"),
        importance=_number("importance", _text(values, "importance") or "0.5"),
        salience=_number("salience", _text(values, "salience") or "1"),
        created_at=created,
        updated_at=_time(values, "updated_at") or created,
        valid_from=_time(values, "valid_from"),
        valid_until=_time(values, "valid_until"),
        pinned=_flag("pinned", _text(values, "pinned")),
        trusted=_flag("trusted", _text(values, "trusted")),
        links=_links(_text(values, "id"), values, created),
        deleted_at=place.deleted_at,
        file_path=path,
    )
    try:
        memory = checked_memory(redact_labels(memory, settings), settings)
        if memory.id:
            checked_id(memory.id)
    except InvalidMemory as error:
        raise BadFrontMatter(str(error)) from error
    return completed(replace(memory, concepts=concepts))


class Place:
    """What a path tells: project, kind, whether it lies in the trash, the date in its name."""

    def __init__(self, kind: str, project: str, deleted_at: datetime | None, dated: datetime | None) -> None:
        self.kind = kind
        self.project = project
        self.deleted_at = deleted_at
        self.dated = dated

    @classmethod
    def of(cls, path: str, settings: Settings) -> Place:
        """Read a path."""
        parts = PurePosixPath(path).parts
        deleted_at = None
        if parts[0] == TRASH:
            parts = parts[1:]
            stamped = _TRASHED.match(parts[-1])
            deleted_at = _stamped(stamped["at"] if stamped else "")
        project = ""
        if parts[0] == "projects" and len(parts) > 2:
            project, parts = parts[1], parts[2:]
        by_folder = {kind.folder: kind.name for kind in settings.kinds.values()}
        dated = _DATED.match(parts[-1])
        return cls(
            by_folder.get(parts[0], "") if len(parts) > 1 else "",
            project,
            deleted_at,
            _midnight(dated[1]) if dated else None,
        )


def trashed_path(path: str, at: datetime) -> str:
    """The name of a file in the trash: where it was and when it went, so that one rename says it all."""
    stem = path.removesuffix(".md")
    folder, _, name = stem.rpartition("/")
    name = name.encode()[:200].decode("utf-8", "ignore")
    return f"{TRASH}/{folder}/{name}.{at:%Y%m%dT%H%M%S%fZ}.md".replace("//", "/")


def restored_path(path: str) -> str:
    """Where a file of the trash was before."""
    inside = path.removeprefix(f"{TRASH}/")
    stamped = _TRASHED.match(inside)
    return f"{stamped['stem']}.md" if stamped else inside


def check_conflict(text: str) -> None:
    """Raises BadFrontMatter if a merge was left unresolved, in the front matter or below it."""
    if has_conflict(text) and "\nconflict_markers:" not in text:
        raise BadFrontMatter("it holds conflict markers (<<<<<<< … >>>>>>>): resolve the merge and save the file")


def has_conflict(text: str) -> bool:
    """Whether a merge left its three markers, in their order, at the beginning of lines."""
    if not all(marker in text for marker in _CONFLICT):
        return False
    awaited = 0
    for line in text.splitlines():
        if line.startswith(_CONFLICT[awaited]):
            awaited += 1
            if awaited == len(_CONFLICT):
                return True
    return False


def _stamped(moment: str) -> datetime:
    """When a file went to the trash; long ago, if a person put it there under another name."""
    try:
        return datetime.strptime(moment, "%Y%m%dT%H%M%S%fZ").replace(tzinfo=UTC)
    except ValueError:
        return datetime.fromtimestamp(0, UTC)


def _midnight(date: str) -> datetime | None:
    try:
        return datetime.fromisoformat(date).replace(tzinfo=UTC)
    except ValueError:
        return None


def _text(values: Mapping[str, Value | None], key: str) -> str:
    value = values.get(key, "")
    if isinstance(value, str):
        return value if key == "summary" else value.rstrip("\r\n")  # a title written as block text has a line end
    raise BadFrontMatter(f"{key}: must be one text, not a list or a table")


def _time(values: dict[str, Value | None], key: str) -> datetime | None:
    text = _text(values, key)
    return from_text(key, text) if text else None


def _number(key: str, text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if math.isnan(number):
        raise BadFrontMatter(f"{key}: {text!r} is not a number: write a value between 0 and 1")
    return number


def _flag(key: str, text: str) -> bool:
    word = text.strip().casefold()
    if word in ("", "true", "yes", "on"):
        return True if word else _FLAGS[key]
    if word in ("false", "no", "off"):
        return False
    raise BadFrontMatter(f"{key}: {text!r} is neither true nor false: write one of the two")


def _links(source: str, values: Mapping[str, Value | None], created: datetime) -> tuple[Link, ...]:
    if values.get("links", "") is None:
        raise BadFrontMatter("links: must be a list of texts such as `SUPERSEDES 0197…`")
    links = tuple(link_from(source, item, created) for item in _listed(values.get("links")))
    if source and any(link.target == source for link in links):
        raise BadFrontMatter("links: a memory cannot be linked to itself: remove that line")
    return links


def _same_links(have: Value | None, wanted: Value) -> bool:
    """A line without a time says the same as one that names the time that was taken for it."""
    mine, theirs = ([link_from("", item, _NEVER) for item in _listed(value)] for value in (have, wanted))
    return len(mine) == len(theirs) and all(
        replace(one, created_at=_NEVER) == replace(other, created_at=_NEVER) and one.created_at in (other.created_at, _NEVER)
        for one, other in zip(mine, theirs, strict=True)
    )


_NEVER = datetime.fromtimestamp(0, UTC)


def _texts(values: dict[str, Value | None], key: str) -> tuple[str, ...]:
    if values.get(key, "") is None:
        raise BadFrontMatter(f"{key}: must be a list of texts, not a table or a list of lists")
    return _listed(values.get(key))


def _listed(value: Value | None) -> tuple[str, ...]:
    """Lists, and the comma-separated line that people write instead of one."""
    if not value:
        return ()
    items = [item.strip() for item in (value.split(",") if isinstance(value, str) else value)]
    return tuple(dict.fromkeys(item for item in items if item))
