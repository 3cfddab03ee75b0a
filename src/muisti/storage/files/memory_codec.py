"""A memory as front matter and body, and back."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Any

from muisti.errors import InvalidMemory
from muisti.model import KINDS, Link, Memory
from muisti.model.fields import Field, ValueType
from muisti.model.memory import FIELDS
from muisti.remember.classify import classify_kind, classify_sector
from muisti.remember.derive import derive_fields, derive_title
from muisti.remember.validate import validate_id, validate_memory, validate_value
from muisti.settings import Settings
from muisti.storage.files.frontmatter import BadFrontMatter, Document, Value
from muisti.storage.files.link_codec import format_link, parse_link
from muisti.storage.files.timestamps import format_time, parse_time
from muisti.text.redact import redact_fields, redact_labels, redact_text

TRASH = ".trash"
FRONT_MATTER = tuple(field for field in FIELDS if field.front_matter)
TYPED = frozenset(
    field.name
    for field in FRONT_MATTER
    if field.value_type in (ValueType.SHARE, ValueType.TIME, ValueType.FLAG)
)
"""Keys whose values other YAML parsers shall read as what they are; all else is text to them."""
_TRASHED = re.compile(r"(?P<stem>.*)\.(?P<at>\d{8}T\d{12}Z)\.md\Z", re.DOTALL)
_DATED = re.compile(r"(\d{4}-\d\d-\d\d)[_ -]")
_CONFLICT = ("<<<<<<< ", "=======", ">>>>>>> ")

_BY_KEY = {field.name: field for field in FRONT_MATTER} | {
    field.alias: field for field in FRONT_MATTER if field.alias
}


def format_fields(memory: Memory) -> dict[str, Value]:
    """What the front matter says; what has its default value is left out, to keep files easy to read."""
    known: dict[str, Value | None] = {
        field.name: _written(field, getattr(memory, field.name)) for field in FRONT_MATTER
    }
    known["conflict_markers"] = "intended" if has_conflict_markers(memory.content) else None
    return {key: value for key, value in known.items() if value}


def _written(field: Field, value: Any) -> Value | None:
    """A value as front matter has it; None if it is left out."""
    if value is None or (value == field.default and not field.always_written):
        return None
    match field.value_type:
        case ValueType.SHARE:
            return repr(float(value)).removesuffix(
                ".0"
            )  # all digits, so that reading gives the same number
        case ValueType.TIME:
            return format_time(value)
        case ValueType.FLAG:
            return "true" if value else "false"
        case ValueType.WORD:
            return str(value)
        case ValueType.LINKS:
            return tuple(format_link(link) for link in value)
        case _:
            return value  # type: ignore[no-any-return]  # a text or a list of texts


def find_changed_fields(
    document: Document, memory: Memory, settings: Settings
) -> dict[str, Value | None]:
    """Which keys must be written so that the file says what the memory says. What a person wrote that is private stays theirs."""
    wanted = format_fields(memory)
    have = redact_fields(_understood(document, settings), settings)
    for field in FRONT_MATTER:  # what a person calls otherwise keeps that name
        if field.alias and field.alias in have and field.name not in have and field.name in wanted:
            wanted[field.alias] = wanted.pop(field.name)
    changes: dict[str, Value | None] = {
        key: value for key, value in wanted.items() if not _says(key, have.get(key), value)
    }
    for field in FRONT_MATTER:
        said = have.get(field.name, "")
        if field.name not in wanted and said not in ("", ()) and not _is_default(field, said):
            changes[field.name] = None
    return changes


def _says(key: str, have: Value | None, wanted: Value) -> bool:
    """Whether a person's way of writing a value means the same as ours."""
    if have == wanted:
        return True
    field = _BY_KEY.get(key)
    if field is None:
        return False
    try:
        if field.value_type is ValueType.LINKS:
            return _same_links(have, wanted)
        if field.value_type is ValueType.LIST:
            return _listed(have) == wanted
        if not isinstance(have, str) or not isinstance(wanted, str):
            return False
        match field.value_type:
            case ValueType.KIND:
                return have.strip().casefold() in (
                    wanted,
                    KINDS[wanted].folder if wanted in KINDS else wanted,
                )
            case ValueType.TEXT:
                return False
            case ValueType.SHARE | ValueType.TIME | ValueType.FLAG:
                return bool(_parsed(field, key, have) == _parsed(field, key, wanted))
            case _:
                return have.rstrip("\r\n") == wanted
    except BadFrontMatter:
        return False


def _is_default(field: Field, have: Value | None) -> bool:
    if field.required or not isinstance(have, str):
        return False
    return bool(_parsed(field, field.name, have) == field.default)


def parse_memory(path: str, document: Document, settings: Settings, modified: datetime) -> Memory:
    """The memory that a file holds. Raises BadFrontMatter that names the field and the cure."""
    values = _understood(document, settings)
    content = redact_text(document.body, settings)
    place = PathInfo.of(path, settings)
    said = {
        field.name: value for field in FRONT_MATTER if (value := _read(field, values)) is not None
    }
    said.setdefault("id", "")
    created = said.setdefault("created_at", place.dated or modified)
    said.setdefault("updated_at", created)
    said.setdefault("project", place.project)
    said["links"] = _links(said["id"], values, created)
    if "title" not in said:
        said["title"] = derive_title(content)
    if "kind" not in said:
        said["kind"] = place.kind or classify_kind(content, settings)
    if "sector" not in said:
        said["sector"] = classify_sector(content, settings)
    memory = Memory(**said, content=content, deleted_at=place.deleted_at, file_path=path)
    try:
        memory = validate_memory(redact_labels(memory, settings), settings)
        if memory.id:
            validate_id(memory.id)
    except InvalidMemory as error:
        raise BadFrontMatter(str(error)) from error
    return derive_fields(replace(memory, concepts=_listed(values.get("concepts"))))


def _understood(document: Document, settings: Settings) -> dict[str, Value | None]:
    """The values of the front matter, without those of keys that a person uses for something else (`Field.lenient`)."""
    values = document.values
    for field in FRONT_MATTER:
        if field.lenient and field.name in values:
            try:
                value = validate_value(
                    field, _text(field, field.name, values[field.name]), settings
                )
                redact_fields({field.name: value}, settings)
            except (BadFrontMatter, InvalidMemory):
                del values[field.name]
    return values


def _read(field: Field, values: Mapping[str, Value | None]) -> Any:
    """What the front matter says of a field, under its name or its other one; None if it says nothing."""
    if field.value_type is ValueType.LINKS:
        return (
            None  # a link without a time is as old as its memory: they are read when that is known
        )
    if field.value_type is ValueType.LIST:
        said = _texts(values, field.name)
        if not said and field.alias:
            said = _listed(values.get(field.alias))
        return said or None
    for key in (field.name, field.alias) if field.alias else (field.name,):
        if text := _text(field, key, values.get(key, "")):
            return _parsed(field, key, text)
    return None


def _parsed(field: Field, key: str, text: str) -> Any:
    """A value from its text. Raises BadFrontMatter."""
    match field.value_type:
        case ValueType.TIME:
            return parse_time(key, text)
        case ValueType.SHARE:
            return _number(key, text)
        case ValueType.FLAG:
            return _flag(field, text)
        case _:
            return text


class PathInfo:
    """What a path tells: project, kind, whether it lies in the trash, the date in its name."""

    def __init__(
        self, kind: str, project: str, deleted_at: datetime | None, dated: datetime | None
    ) -> None:
        self.kind = kind
        self.project = project
        self.deleted_at = deleted_at
        self.dated = dated

    @classmethod
    def of(cls, path: str, settings: Settings) -> PathInfo:
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


def make_trash_path(path: str, at: datetime) -> str:
    """The name of a file in the trash: where it was and when it went, so that one rename says it all."""
    stem = path.removesuffix(".md")
    folder, _, name = stem.rpartition("/")
    name = name.encode()[:200].decode("utf-8", "ignore")
    return f"{TRASH}/{folder}/{name}.{at:%Y%m%dT%H%M%S%fZ}.md".replace("//", "/")


def make_restored_path(path: str) -> str:
    """Where a file of the trash was before."""
    inside = path.removeprefix(f"{TRASH}/")
    stamped = _TRASHED.match(inside)
    return f"{stamped['stem']}.md" if stamped else inside


def check_conflict_markers(text: str) -> None:
    """Raises BadFrontMatter if a merge was left unresolved, in the front matter or below it."""
    if has_conflict_markers(text) and "\nconflict_markers:" not in text:
        raise BadFrontMatter(
            "it holds conflict markers (<<<<<<< … >>>>>>>): resolve the merge and save the file"
        )


def has_conflict_markers(text: str) -> bool:
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


def _text(field: Field, key: str, value: Value | None) -> str:
    if not isinstance(value, str):
        raise BadFrontMatter(f"{key}: must be one text, not a list or a table")
    # A title that is written as block text has a line end.
    return value if field.value_type is ValueType.TEXT else value.rstrip("\r\n")


def _number(key: str, text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if math.isnan(number):
        raise BadFrontMatter(f"{key}: {text!r} is not a number: write a value between 0 and 1")
    return number


def _flag(field: Field, text: str) -> bool:
    word = text.strip().casefold()
    if word in ("", "true", "yes", "on"):
        return True if word else bool(field.default)
    if word in ("false", "no", "off"):
        return False
    raise BadFrontMatter(f"{field.name}: {text!r} is neither true nor false: write one of the two")


def _links(source: str, values: Mapping[str, Value | None], created: datetime) -> tuple[Link, ...]:
    if values.get("links", "") is None:
        raise BadFrontMatter("links: must be a list of texts such as `SUPERSEDES 0197…`")
    links = tuple(parse_link(source, item, created) for item in _listed(values.get("links")))
    if source and any(link.target == source for link in links):
        raise BadFrontMatter("links: a memory cannot be linked to itself: remove that line")
    return links


def _same_links(have: Value | None, wanted: Value) -> bool:
    """A line without a time says the same as one that names the time that was taken for it."""
    mine, theirs = (
        [parse_link("", item, _NEVER) for item in _listed(value)] for value in (have, wanted)
    )
    return len(mine) == len(theirs) and all(
        replace(one, created_at=_NEVER) == replace(other, created_at=_NEVER)
        and one.created_at in (other.created_at, _NEVER)
        for one, other in zip(mine, theirs, strict=True)
    )


_NEVER = datetime.fromtimestamp(0, UTC)


def _texts(values: Mapping[str, Value | None], key: str) -> tuple[str, ...]:
    if values.get(key, "") is None:
        raise BadFrontMatter(f"{key}: must be a list of texts, not a table or a list of lists")
    return _listed(values.get(key))


def _listed(value: Value | None) -> tuple[str, ...]:
    """Lists, and the comma-separated line that people write instead of one."""
    if not value:
        return ()
    items = [item.strip() for item in (value.split(",") if isinstance(value, str) else value)]
    return tuple(dict.fromkeys(item for item in items if item))
