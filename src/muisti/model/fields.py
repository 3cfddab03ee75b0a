"""Descriptions of the fields of a memory.

Each field is described once, in `FIELDS` of muisti.model.memory. Validation, redaction, front
matter, index columns, filters, REST models, CLI options, import and export are derived from it.
CONTRIBUTING.md shows how to add a field.
"""

from __future__ import annotations

from dataclasses import MISSING
from dataclasses import fields as dataclass_fields
from enum import Enum, IntEnum, StrEnum
from typing import NamedTuple


class ValueType(Enum):
    """The type of a field's values: how they are validated, written, stored and shown."""

    ID = "id"
    BODY = "body"
    """Text of any length that must not be empty."""
    TEXT = "text"
    """Text of any length."""
    LINE = "line"
    """One line of text."""
    NAME = "name"
    """One short line. It must not be empty unless empty is the default."""
    KIND = "kind"
    """The name of a kind; the settings list them."""
    PROJECT = "project"
    """The name of a project, which is also the name of a folder."""
    WORD = "word"
    """A member of the enumeration `Field.choices`."""
    LIST = "list"
    """A list of lines."""
    SHARE = "share"
    """A number between 0 and 1."""
    COUNT = "count"
    """A whole number."""
    TIME = "time"
    FLAG = "flag"
    LINKS = "links"


class Given(IntEnum):
    """When a caller may set a value. Each includes those before it."""

    NEVER = 0
    """muisti computes it."""
    IMPORT = 1
    """In a `Draft` only."""
    SAVE = 2
    """When a memory is saved."""
    UPDATE = 3
    """When it is saved or updated."""


class Redaction(Enum):
    """What happens to private text and secrets in a value."""

    TEXT = "text"
    """Redact the text."""
    LIST = "list"
    """Redact each item."""
    NAME = "name"
    """Refuse a value that would have to be redacted: names are used as identifiers."""


class Match(Enum):
    """Which memories a filter on a field accepts."""

    ANY_OF = "any of"
    """Those with one of the values."""
    ALL_OF = "all of"
    """Those whose list has all of the values."""
    EXACT = "exact"
    """Those with this value."""
    EXACT_OR_EMPTY = "exact or empty"
    """Those with this value and those without a value."""


class Field(NamedTuple):
    """The description of one field. A tuple: thirty are created at every start."""

    value_type: ValueType
    given: Given = Given.NEVER
    choices: type[StrEnum] | None = None
    """The members of a WORD."""
    redaction: Redaction | None = None
    versioned: bool | None = None
    """Whether changing it changes the memory's version. Unset: if callers can update it."""
    front_matter: bool | None = None
    """Whether it is in the file's front matter. Unset: if callers can set it."""
    always_written: bool = False
    """Whether it is in the front matter even if it has the default value."""
    alias: str = ""
    """Another key that is accepted in front matter."""
    lenient: bool = False
    """Ignore an invalid value: older files may use this key for something else."""
    json_aliases: tuple[str, ...] = ()
    """Names that other programs use in JSON."""
    stored: bool = True
    """Whether the index has a column for it; if not, it is computed."""
    place: bool = False
    """Whether duplicates must agree in it (contract C3)."""
    help: str = ""
    """The help text of its CLI option. Unset: `save` and `update` have no such option."""
    flags: tuple[str, ...] = ()
    """The names of its CLI option. Unset: derived from the field's name."""
    match: Match | None = None
    """How lists and searches filter by it. Unset: not at all, or by a separate rule."""
    match_help: str = ""
    """The help text of that filter."""
    name: str = ""
    required: bool = False
    """Whether it has no default."""
    default: object = None
    """The value of a memory that does not set it."""
    nullable: bool = False

    @property
    def filter_name(self) -> str:
        """The attribute of `Filter` with the wanted value or values."""
        return f"{self.name}s" if self.match is Match.ANY_OF else self.name


def describe(described: type, **descriptions: Field) -> tuple[Field, ...]:
    """Return the completed descriptions of a dataclass's fields, in the order of the dataclass.

    Raises TypeError if a field has no description, or a description no field.
    """
    known = {attribute.name: attribute for attribute in dataclass_fields(described)}
    if differing := known.keys() ^ descriptions.keys():
        raise TypeError(
            f"{described.__name__} and its description differ in: {', '.join(differing)}"
        )
    completed = []
    for name, attribute in known.items():
        field = descriptions[name]
        versioned, front_matter = field.versioned, field.front_matter
        required = attribute.default is MISSING
        completed.append(
            field._replace(
                name=name,
                required=required,
                default=None if required else attribute.default,
                nullable=str(attribute.type).endswith("| None"),
                versioned=field.given is Given.UPDATE if versioned is None else versioned,
                front_matter=field.given > Given.NEVER if front_matter is None else front_matter,
            )
        )
    return tuple(completed)
