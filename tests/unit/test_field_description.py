"""The description of a memory's fields and every place that follows it: a field that is forgotten
somewhere fails here.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, get_type_hints

import apsw
import click
import pytest

from muisti.model import Draft, Filter, Link, Memory
from muisti.model.argument_names import FIELD_OF
from muisti.model.fields import Field, Given, Match, Redaction, ValueType, describe
from muisti.model.memory import FIELDS, PLACE, VERSIONED
from muisti.recall.filters import FilterOptions
from muisti.remember.change import CHANGEABLE
from muisti.remember.options import SaveOptions, UpdateOptions
from muisti.storage.files.memory_codec import FRONT_MATTER
from muisti.storage.sqlite.connect import connect
from muisti.storage.sqlite.migrate import migrate
from muisti.storage.sqlite.rows import PLACES, STORED, decode_memory
from muisti.surfaces.cli.memories import COMMANDS
from muisti.surfaces.cli.search import COMMANDS as FINDING
from muisti.surfaces.rest import schemas, schemas_search

GIVEN = {level: {field.name for field in FIELDS if field.given >= level} for level in Given}
FILTERED = [field for field in FIELDS if field.match is not None]
TYPES: dict[ValueType, Any] = {
    **dict.fromkeys(ValueType, str),
    ValueType.LIST: tuple[str, ...],
    ValueType.SHARE: float,
    ValueType.COUNT: int,
    ValueType.TIME: datetime,
    ValueType.FLAG: bool,
    ValueType.LINKS: tuple[Link, ...],
}


@pytest.fixture
def db(tmp_path: Path) -> Iterator[apsw.Connection]:
    db = connect(tmp_path / "x.db", 1)
    migrate(db)
    yield db
    db.close()


def of(typed: type) -> set[str]:
    return set(get_type_hints(typed))


@pytest.mark.parametrize("field", FIELDS, ids=lambda field: field.name)
def test_the_type_of_a_field_is_the_one_that_is_described(field: Field) -> None:
    wanted = field.choices or TYPES[field.value_type]
    assert get_type_hints(Memory)[field.name] == (wanted | None if field.nullable else wanted)
    assert (field.value_type is ValueType.WORD) == (field.choices is not None)


def test_a_field_without_a_description_and_a_description_without_a_field() -> None:
    @dataclasses.dataclass
    class Small:
        name: str

    assert describe(Small, name=Field(ValueType.NAME))[0].required
    with pytest.raises(TypeError, match="differ in: name"):
        describe(Small)
    with pytest.raises(TypeError, match="differ in: other"):
        describe(Small, name=Field(ValueType.NAME), other=Field(ValueType.NAME))


def test_callers_may_give_what_the_description_says() -> None:
    assert of(Draft) == GIVEN[Given.IMPORT]
    assert of(SaveOptions) == GIVEN[Given.SAVE] - {"content"} | {"tags"}
    assert set(CHANGEABLE) == GIVEN[Given.UPDATE]
    assert of(UpdateOptions) == GIVEN[Given.UPDATE] | FIELD_OF.keys()


def test_a_draft_says_nothing_by_default_or_what_memories_have_by_default() -> None:
    defaults = {field.name: field.default for field in FIELDS}
    for one in dataclasses.fields(Draft):
        if one.name != "content":
            assert one.default is None or one.default == defaults[one.name]


def test_what_a_caller_can_change_makes_another_version() -> None:
    assert set(VERSIONED) >= GIVEN[Given.UPDATE]


@pytest.mark.parametrize(
    "field", [one for one in FIELDS if one.given >= Given.SAVE], ids=lambda field: field.name
)
def test_every_text_that_a_caller_gives_is_redacted(field: Field) -> None:
    wanted = {
        ValueType.BODY: {Redaction.TEXT},
        ValueType.TEXT: {Redaction.TEXT},
        ValueType.LINE: {Redaction.TEXT},
        ValueType.NAME: {Redaction.TEXT, Redaction.NAME},
        ValueType.PROJECT: {Redaction.NAME},
        ValueType.LIST: {Redaction.LIST},
    }
    assert field.redaction in wanted.get(field.value_type, {None})


def test_files_hold_all_that_cannot_be_worked_out() -> None:
    assert {field.name for field in FRONT_MATTER} == GIVEN[Given.IMPORT] - {"content"} | {
        "updated_at"
    }


def test_the_index_has_a_column_for_each_stored_field(db: apsw.Connection) -> None:
    for table in ("entries", "memories"):
        columns = {name for _, name, *_ in db.execute(f"PRAGMA table_info({table})")}
        assert columns - {"n", "source_hash"} == set(STORED)


def test_a_row_sets_every_field_as_creating_a_memory_does() -> None:
    row: list[Any] = [None] * len(PLACES)
    for field in FIELDS:
        if field.name in PLACES:
            cell = {ValueType.TIME: 0, ValueType.LIST: "", ValueType.LINKS: ""}
            value = cell.get(field.value_type, field.name)
            choices = tuple(field.choices or ())
            row[PLACES[field.name]] = choices[0].value if choices else value
    read = decode_memory(row)
    names = [field.name for field in dataclasses.fields(Memory)]
    assert read == Memory(**{name: getattr(read, name) for name in names})
    assert read.index_pending is False


def test_rest_tells_and_takes_the_fields() -> None:
    assert set(schemas.Memory.model_fields) == of(Memory)
    assert set(schemas.NewMemory.model_fields) == GIVEN[Given.SAVE]
    assert set(schemas.MemoryUpdate.model_fields) == GIVEN[Given.UPDATE]
    assert set(schemas.MemoryReplacement.model_fields) < GIVEN[Given.UPDATE]


@pytest.mark.parametrize("verb", ["save", "update"])
def test_the_command_line_has_an_option_for_what_can_be_changed(verb: str) -> None:
    options = {
        option.name: option for option in COMMANDS[verb].params if isinstance(option, click.Option)
    }
    assert GIVEN[Given.UPDATE] - {"content"} <= set(options)
    assert all(options[name].help for name in GIVEN[Given.UPDATE] - {"content"})


@pytest.mark.parametrize("field", FILTERED, ids=lambda field: field.name)
def test_a_filter_is_everywhere(field: Field) -> None:
    assert field.filter_name in of(Filter)
    assert field.name in of(FilterOptions)
    assert field.name in schemas.FilterQuery.model_fields
    assert field.name in schemas_search.SearchRequest.model_fields
    for command in (COMMANDS["list"], FINDING["search"]):
        option = next(one for one in command.params if one.name == field.name)
        assert isinstance(option, click.Option)
        assert option.help == field.match_help != ""
        assert option.multiple is (field.match in (Match.ANY_OF, Match.ALL_OF))


def test_no_other_filter_has_the_name_of_a_field_but_those_with_rules_of_their_own() -> None:
    own = {"project", "session_id", "source"}
    assert of(FilterOptions) & of(Memory) == {field.name for field in FILTERED} | own


def test_duplicates_agree_in_the_fields_that_decide_who_sees_a_memory() -> None:
    assert {"project", "tier"} <= set(PLACE)
    assert all(isinstance(field.default, str | StrEnum) for field in FIELDS if field.place)
