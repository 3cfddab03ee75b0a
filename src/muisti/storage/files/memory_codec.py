"""Convert a memory to front matter and body, and back."""

from __future__ import annotations

import math
from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from muisti.errors import InvalidMemory
from muisti.model import KINDS, Memory
from muisti.model.fields import Field, ValueType
from muisti.model.memory import FIELDS
from muisti.remember.classify import classify_kind, classify_sector
from muisti.remember.derive import derive_title, derive_values
from muisti.remember.validate import validate_id, validate_value, validate_values
from muisti.storage.files import frontmatter
from muisti.storage.files.errors import BadFrontMatter
from muisti.storage.files.frontmatter import Document, Value
from muisti.storage.files.link_codec import format_link, parse_link
from muisti.storage.files.path_info import PathInfo
from muisti.storage.files.safe_read import MAX_HEAD
from muisti.storage.files.timestamps import format_time, parse_time
from muisti.text.redact import redact_fields, redact_text

if TYPE_CHECKING:
    from muisti.settings import Settings

FRONT_MATTER = tuple(field for field in FIELDS if field.front_matter)
TYPED = frozenset(
    field.name
    for field in FRONT_MATTER
    if field.value_type in (ValueType.SHARE, ValueType.TIME, ValueType.FLAG)
)
"""Keys whose values YAML parsers should read as numbers, times or booleans, not as text."""
_EPOCH = datetime.fromtimestamp(0, UTC)
_CONFLICT = ("<<<<<<< ", "=======", ">>>>>>> ")
_FLAGS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}

_LENIENT = tuple(field for field in FRONT_MATTER if field.lenient)
_BY_KEY = {field.name: field for field in FRONT_MATTER} | {
    field.alias: field for field in FRONT_MATTER if field.alias
}


def format_fields(memory: Memory) -> dict[str, Value]:
    """Return the front matter of a memory. Fields with their default value are left out."""
    fields: dict[str, Value | None] = {
        field.name: _format_value(field, value)
        for field, value in zip(FRONT_MATTER, _read_fields(memory), strict=True)
        if value is not field.default or field.always_written
    }
    fields["conflict_markers"] = "intended" if has_conflict_markers(memory.content) else None
    return {key: value for key, value in fields.items() if value}


_read_fields = attrgetter(*(field.name for field in FRONT_MATTER))


def _format_value(field: Field, value: Any) -> Value | None:
    """Return a value as it is written to front matter; None if it is left out."""
    if value is None or (value == field.default and not field.always_written):
        return None
    match field.value_type:
        case ValueType.SHARE:
            return repr(float(value)).removesuffix(".0")  # all digits, to read the same number
        case ValueType.TIME:
            return format_time(value)
        case ValueType.FLAG:
            return "true" if value else "false"
        case ValueType.WORD:
            return str(value)
        case ValueType.LINKS:
            return tuple(format_link(link) for link in value)
        case _:
            return value  # type: ignore[no-any-return]  # text or a list of texts


def find_changed_fields(
    document: Document, memory: Memory, settings: Settings
) -> dict[str, Value | None]:
    """Return the keys to write, or with None to remove, so that a file holds a memory's fields.

    A private value in the file that equals the memory's after redaction is unchanged.
    """
    wanted = format_fields(memory)
    have = redact_fields(_drop_invalid(document.values, settings), settings)
    for field in FRONT_MATTER:  # keep an alias that the file uses
        if field.alias and field.alias in have and field.name not in have and field.name in wanted:
            wanted[field.alias] = wanted.pop(field.name)
    changes: dict[str, Value | None] = {
        key: value for key, value in wanted.items() if not _is_equal(key, have.get(key), value)
    }
    for field in FRONT_MATTER:
        value = have.get(field.name, "")
        if field.name in wanted or value in ("", ()):
            continue
        can_be_default = isinstance(value, str) and not field.required
        if can_be_default and _parse_value(field, field.name, value) == field.default:
            continue
        changes[field.name] = None
    return changes


def _is_equal(key: str, have: Value | None, wanted: Value) -> bool:
    """Return whether a value in a file, written in any way, means the same as ours."""
    if have == wanted:
        return True
    field = _BY_KEY.get(key)
    if field is None:
        return False
    try:
        if field.value_type is ValueType.LINKS:
            old = [parse_link("", item, _EPOCH) for item in _split_list(have)]
            new = [parse_link("", item, _EPOCH) for item in _split_list(wanted)]
            if len(old) != len(new):
                return False
            # A link without a time equals one with any: it got that time when it was read.
            timed = [
                replace(after, created_at=_EPOCH) if before.created_at == _EPOCH else after
                for before, after in zip(old, new, strict=True)
            ]
            return old == timed
        if field.value_type is ValueType.LIST:
            return _split_list(have) == wanted
        if not isinstance(have, str) or not isinstance(wanted, str):
            return False
        match field.value_type:
            case ValueType.KIND:
                folder = KINDS[wanted].folder if wanted in KINDS else wanted
                return have.strip().casefold() in (wanted, folder)
            case ValueType.TEXT:
                return False
            case ValueType.SHARE | ValueType.TIME | ValueType.FLAG:
                return bool(_parse_value(field, key, have) == _parse_value(field, key, wanted))
            case _:
                return have.rstrip("\r\n") == wanted
    except BadFrontMatter:
        return False


KnownValues = dict[tuple[str, str], Any]
"""Values of fields that were parsed, redacted and validated before, by field and text."""
_MOST_KNOWN = 10_000
_REPEATED = frozenset(
    field.name
    for field in FRONT_MATTER
    if field.value_type
    in (
        ValueType.KIND,
        ValueType.WORD,
        ValueType.PROJECT,
        ValueType.NAME,
        ValueType.SHARE,
        ValueType.FLAG,
    )
)
"""Fields that have the same value in many files."""
_READ = tuple(
    (field, field.name, field.alias or None, field.name in _REPEATED) for field in FRONT_MATTER
)


def parse_memory(path: str, document: Document, settings: Settings, modified: datetime) -> Memory:
    """Return the memory of a file. Raises BadFrontMatter, which names the field and the fix."""
    info = PathInfo.of(path, settings)
    values, content = document.values, redact_text(document.body, settings)
    fields = parse_fields(path, values, content, settings, modified, info, {})
    [memory] = derive_memories([fields], settings)
    return memory


def derive_memories(fields: Sequence[dict[str, Any]], settings: Settings) -> list[Memory]:
    """Return the memories with these fields of files, and those that follow from the content."""
    concepts = [values.pop("concepts", ()) for values in fields]
    contents = [values["content"] for values in fields]
    derived = derive_values(contents, concepts, wikilinks=settings.wikilinks)
    return [Memory(**values, **more) for values, more in zip(fields, derived, strict=True)]


def read_fields(
    values: Mapping[str, Value | None], known: KnownValues
) -> tuple[dict[str, Any], dict[str, Any], list[tuple[str, str]]]:
    """Return the fields to validate, those with a known value, and keys for new known values."""
    fields: dict[str, Any] = {}
    repeated: dict[str, Any] = {}
    new: list[tuple[str, str]] = []
    for field, name, alias, is_repeated in _READ:
        if name not in values and (alias is None or alias not in values):
            continue
        if is_repeated:
            text = values.get(name, "")
            if isinstance(text, str) and text:
                if (name, text) in known:
                    repeated[name] = known[name, text]
                    continue
                new.append((name, text))
        value = _read_field(field, values)
        if value is not None:
            fields[name] = value
    return fields, repeated, new


def parse_fields(
    path: str,
    values: dict[str, Value | None],
    content: str,
    settings: Settings,
    modified: datetime,
    info: PathInfo,
    known: KnownValues,
) -> dict[str, Any]:
    """Return the fields of a file's memory. Raises BadFrontMatter.

    Values: of the front matter. Content: the redacted body. Info: what the path says. Known: shared
    by all files of one vault.
    """
    values = _drop_invalid(values, settings, known)
    fields, repeated, new = read_fields(values, known)
    if not settings.vault_trusted:  # whatever the file says
        fields["trusted"] = False
        repeated.pop("trusted", None)
    fields.setdefault("id", "")
    if "created_at" not in fields:
        fields["created_at"] = info.date or modified
    created = fields["created_at"]
    fields.setdefault("updated_at", created)
    if "project" not in repeated:
        fields.setdefault("project", info.project)
    if values.get("links", "") is None:
        raise BadFrontMatter("links must be a list of texts such as `SUPERSEDES 0197…`")
    source, items = fields["id"], _split_list(values.get("links"))
    fields["links"] = tuple(parse_link(source, item, created) for item in items)
    if source and any(link.target == source for link in fields["links"]):
        raise BadFrontMatter("links must not lead to the memory itself: remove that line")
    if "title" not in fields:
        fields["title"] = derive_title(content)
    if "kind" not in fields and "kind" not in repeated:
        fields["kind"] = info.kind or classify_kind(content, settings)
    if "sector" not in fields and "sector" not in repeated:
        fields["sector"] = classify_sector(content, settings)
    try:
        fields = redact_fields(fields, settings)
        fields["content"] = content  # is redacted already
        fields = validate_values(fields, settings, known=repeated)
        if source:
            validate_id(source)
    except InvalidMemory as error:
        raise BadFrontMatter(str(error)) from error
    if len(known) + len(new) > _MOST_KNOWN:
        known.clear()
    known.update((key, fields[key[0]]) for key in new if fields.get(key[0]) is not None)
    fields.update(repeated)
    fields["concepts"] = _split_list(values.get("concepts"))
    fields["deleted_at"] = info.deleted_at
    fields["file_path"] = path
    return fields


def _drop_invalid(
    values: dict[str, Value | None],
    settings: Settings,
    known: Container[tuple[str, Value | None]] = (),
) -> dict[str, Value | None]:
    """Remove invalid values of lenient fields, and return the others.

    Such a key is not ours: a person uses it for something else (`Field.lenient`).
    """
    for field in _LENIENT:
        if field.name in values and (field.name, values[field.name]) not in known:
            try:
                if field.value_type is ValueType.LIST:
                    value = _read_field(field, values) or ()
                else:
                    value = _read_text(field, field.name, values[field.name])
                value = validate_value(field, value, settings)
                redact_fields({field.name: value}, settings)
            except (BadFrontMatter, InvalidMemory):
                del values[field.name]
    return values


def _read_field(field: Field, values: Mapping[str, Value | None]) -> Any:
    """Return the value of a field, under its name or its alias; None if there is none."""
    if field.value_type is ValueType.LINKS:
        return None  # read later: a link without a time gets that of its memory
    if field.value_type is ValueType.LIST:
        if values.get(field.name, "") is None:
            raise BadFrontMatter(f"{field.name} must be a list of texts, not a table or nested")
        items = _split_list(values.get(field.name))
        if not items and field.alias:
            items = _split_list(values.get(field.alias))
        return items or None
    for key in (field.name, field.alias) if field.alias else (field.name,):
        if text := _read_text(field, key, values.get(key, "")):
            return _parse_value(field, key, text)
    return None


def _parse_value(field: Field, key: str, text: str) -> Any:
    """Parse the text of a value. Raises BadFrontMatter."""
    match field.value_type:
        case ValueType.TIME:
            return parse_time(key, text)
        case ValueType.SHARE:
            try:
                number = float(text)
            except ValueError:
                number = math.nan
            if math.isnan(number):
                raise BadFrontMatter(f"{key} must be a number between 0 and 1 (got {text!r})")
            return number
        case ValueType.FLAG:
            word = text.strip().casefold()
            if not word:
                return bool(field.default)
            if word not in _FLAGS:
                raise BadFrontMatter(f"{field.name} must be true or false (got {text!r})")
            return _FLAGS[word]
        case _:
            return text


def encode_file(text: str, memory: Memory) -> bytes:
    """Return the bytes of a file. Raises InvalidMemory if its front matter is too long to read."""
    head = len(text) - len(memory.content)
    if head > MAX_HEAD:
        fields = ("summary", "keywords", "categories", "files")
        longest = max(fields, key=lambda name: len(repr(getattr(memory, name))))
        raise InvalidMemory(
            longest,
            f"{head} characters",
            f"must be shorter: all fields together may have {MAX_HEAD} characters",
        )
    return text.encode()


def edit_document(document: Document, memory: Memory, settings: Settings) -> tuple[bytes, set[str]]:
    """Return the bytes of a file with a memory's fields and content, and the keys that changed.

    Raises InvalidMemory, and BadFrontMatter if the front matter cannot be edited safely.
    """
    changes = find_changed_fields(document, memory, settings)
    is_same = memory.content == redact_text(document.body, settings)
    text = frontmatter.edit(document, changes, None if is_same else memory.content, numbers=TYPED)
    data = encode_file(text, memory)
    wanted = {**document.values, **changes}
    try:
        found = frontmatter.parse(text).values
    except BadFrontMatter:
        found = {}
    if _drop_none(found) != _drop_none(wanted):
        raise BadFrontMatter(
            "has front matter that cannot be edited safely: use simple `key: value` lines"
        )
    return data, set(changes)


def _drop_none(values: Mapping[str, Value | None]) -> dict[str, Value]:
    return {key: value for key, value in values.items() if value is not None}


def check_conflict_markers(text: str) -> None:
    """Raise BadFrontMatter if a file has conflict markers of an unresolved merge."""
    if has_conflict_markers(text) and "\nconflict_markers:" not in text:
        raise BadFrontMatter(
            "has conflict markers (<<<<<<< … >>>>>>>): resolve the merge and save the file"
        )


def has_conflict_markers(text: str) -> bool:
    """Return whether a text has the three markers of a merge in order, each starting a line."""
    if not all(marker in text for marker in _CONFLICT):
        return False
    found = 0
    for line in text.splitlines():
        if line.startswith(_CONFLICT[found]):
            found += 1
            if found == len(_CONFLICT):
                return True
    return False


def _read_text(field: Field, key: str, value: Value | None) -> str:
    if not isinstance(value, str):
        raise BadFrontMatter(f"{key} must be a single text, not a list or a table")
    # A title that is written as a YAML block ends with a newline.
    return value if field.value_type is ValueType.TEXT else value.rstrip("\r\n")


def _split_list(value: Value | None) -> tuple[str, ...]:
    """Return the items of a list, or of the comma-separated line that people write instead."""
    if not value:
        return ()
    items = [item.strip() for item in (value.split(",") if isinstance(value, str) else value)]
    return tuple(dict.fromkeys(item for item in items if item))
