"""How a field of a memory is described.

Each field is described once, in `FIELDS` of muisti.model.memory. What callers may give and change,
redaction, validation, front matter, columns of an index, filters, REST models, CLI options and export
follow from that description. CONTRIBUTING.md shows how a field is added.
"""

from __future__ import annotations

from dataclasses import MISSING
from dataclasses import fields as dataclass_fields
from enum import Enum, IntEnum, StrEnum
from typing import NamedTuple


class ValueType(Enum):
    """What values a field has: it decides how they are checked, written, stored and shown."""

    ID = "id"
    BODY = "body"
    """Text of any length that must not be empty."""
    TEXT = "text"
    """Text of any length."""
    LINE = "line"
    """One line of text."""
    NAME = "name"
    """One short line. It must not be empty, unless that is the field's default."""
    KIND = "kind"
    """The name of a kind; the settings know which there are."""
    PROJECT = "project"
    """The name of a project, which becomes the name of a folder."""
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
    """When a caller may give a value. Each includes those before it."""

    NEVER = 0
    """muisti works it out."""
    IMPORT = 1
    """In a `Draft` only."""
    SAVE = 2
    """When a memory is saved."""
    UPDATE = 3
    """When it is changed, too."""


class Redaction(Enum):
    """What happens to private text and secrets in a value."""

    TEXT = "text"
    """They are removed from the text."""
    LIST = "list"
    """They are removed from each item."""
    NAME = "name"
    """A name is used as it is: one that holds a secret is refused."""


class Match(Enum):
    """Which memories a filter on a field lets through."""

    ANY_OF = "any of"
    """Those with one of the values."""
    ALL_OF = "all of"
    """Those whose list has all of the values."""
    EXACT = "exact"
    """Those with this value."""
    EXACT_OR_EMPTY = "exact or empty"
    """Those with this value, and those without one."""


class Field(NamedTuple):
    """The description of one field. A tuple, because every start of muisti makes some thirty of them."""

    value_type: ValueType
    given: Given = Given.NEVER
    choices: type[StrEnum] | None = None
    """The members of a WORD."""
    redaction: Redaction | None = None
    versioned: bool | None = None
    """Whether a change of it makes another version of the memory. Unset: if callers can change it."""
    front_matter: bool | None = None
    """Whether the front matter of the file has it. Unset: if callers can give it."""
    always_written: bool = False
    """Whether the front matter has it even if it is the default."""
    alias: str = ""
    """Another key that people use for it in front matter."""
    lenient: bool = False
    """Files from before this field existed may use its key for something else: a value that does not fit is ignored."""
    json_aliases: tuple[str, ...] = ()
    """What other programs call it in JSON."""
    stored: bool = True
    """Whether the index keeps it with the memory; if not, it is computed."""
    place: bool = False
    """Whether memories that differ in it are never duplicates of each other (contract C3)."""
    help: str = ""
    """The help of its CLI option. Unset: `save` and `update` have no such option."""
    flags: tuple[str, ...] = ()
    """The names of its CLI option. Unset: made from the field's name."""
    match: Match | None = None
    """How lists and searches filter by it. Unset: not at all, or by a rule of its own."""
    match_help: str = ""
    """The help of that filter."""
    name: str = ""
    required: bool = False
    """Whether every memory has a value of its own."""
    default: object = None
    """The value of a memory about which nothing was said, if it is not required."""
    nullable: bool = False

    @property
    def filter_name(self) -> str:
        """The attribute of `Filter` with the wanted value or values."""
        return f"{self.name}s" if self.match is Match.ANY_OF else self.name


def describe(described: type, **descriptions: Field) -> tuple[Field, ...]:
    """The fields of a dataclass with their descriptions completed, in the order of the dataclass.

    Raises TypeError if a field has no description, or a description no field.
    """
    known = {one.name: one for one in dataclass_fields(described)}
    if differing := known.keys() ^ descriptions.keys():
        raise TypeError(
            f"{described.__name__} and its description differ in: {', '.join(differing)}"
        )
    found = []
    for name, one in known.items():
        field = descriptions[name]
        versioned, front_matter = field.versioned, field.front_matter
        found.append(
            field._replace(
                name=name,
                required=one.default is MISSING,
                default=None if one.default is MISSING else one.default,
                nullable=str(one.type).endswith("| None"),
                versioned=field.given is Given.UPDATE if versioned is None else versioned,
                front_matter=field.given > Given.NEVER if front_matter is None else front_matter,
            )
        )
    return tuple(found)
