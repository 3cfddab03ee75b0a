"""A · The model."""

from __future__ import annotations

import dataclasses
import inspect
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from muisti import KINDS, InvalidMemory, InvalidRequest, Memory, Muisti, Sector, Tier
from muisti.errors import SessionNotFound
from tests.conftest import Opener

FIELDS = (
    "id content title summary kind sector tier project user agent session_id source keywords concepts files importance salience "
    "access_count created_at updated_at last_accessed valid_from valid_until deleted_at content_hash simhash chunk_count "
    "embedding_model file_path"
).split()


def test_A1_memory_has_the_fields_and_defaults(memory: Muisti) -> None:
    saved = memory.save("The API endpoint is /api/users")
    assert set(FIELDS) <= {field.name for field in dataclasses.fields(Memory)}
    assert uuid.UUID(saved.id).version == 7
    assert (saved.tier, saved.importance, saved.salience, saved.source) == (
        Tier.PROJECT,
        0.5,
        1.0,
        "user",
    )
    assert saved.created_at.tzinfo is UTC
    assert len(saved.content_hash) == 64
    assert len(saved.simhash) == 16
    with pytest.raises(dataclasses.FrozenInstanceError):
        saved.title = "other"  # type: ignore[misc]


def test_A1_ids_ascend_with_time(memory: Muisti) -> None:
    ids = [memory.save(f"Memory number {n}").id for n in range(50)]
    assert ids == sorted(ids)


@pytest.mark.parametrize("kind", KINDS)
def test_A2_every_kind_has_its_folder(memory: Muisti, kind: str) -> None:
    saved = memory.save(f"Something of kind {kind}", kind=kind)
    assert saved.kind == kind
    assert str(saved.file_path).startswith(f"{KINDS[kind].folder}/")


@pytest.mark.parametrize(
    ("given", "kind"), [("decisions", "decision"), ("Summaries", "summary"), ("FACT", "fact")]
)
def test_A2_plurals_and_any_case_are_understood(memory: Muisti, given: str, kind: str) -> None:
    assert memory.save(f"A {given} for the record", kind=given).kind == kind
    assert memory.list(kind=given)[0].kind == kind


def test_A2_users_add_kinds_in_the_settings(opened: Opener, vault: Path) -> None:
    opened().close()
    (vault / "muisti.toml").write_text('[kinds.idea]\nfolder = "ideas"\n')
    saved = opened().save("A bicycle with square wheels", kind="idea")
    assert str(saved.file_path).startswith("ideas/")


def test_A3_a_search_sees_its_project_its_session_and_what_is_global(memory: Muisti) -> None:
    for project in ("web", "api"):
        memory.save(f"zebra of {project}", project=project)
        memory.save(
            f"zebra of a session in {project}",
            project=project,
            tier="session",
            session_id=f"s-{project}",
        )
    memory.save("zebra of everybody", project="api", tier="global")

    def seen(**options: str) -> set[str]:
        return {result.memory.content for result in memory.search("zebra", **options)}  # type: ignore[arg-type]

    assert seen(project="web") == {"zebra of web", "zebra of everybody"}
    assert seen(project="web", session_id="s-web") == {
        "zebra of web",
        "zebra of everybody",
        "zebra of a session in web",
    }
    assert seen(session_id="s-web") == seen(project="web", session_id="s-web")
    for another in ("s-api", "never started"):
        with pytest.raises(SessionNotFound, match=another):
            seen(project="web", session_id=another)
    assert seen() == {"zebra of web", "zebra of api", "zebra of everybody"}


BAD: list[tuple[str, object]] = [
    ("content", ""),
    ("content", " \n\t "),
    ("content", "a\0b"),
    ("content", "half \ud800 pair"),
    ("content", "x" * 2_000_000),
    ("title", "nul\0"),
    ("title", "two\nlines"),
    ("title", "t" * 301),
    ("kind", "rumour"),
    ("kind", ""),
    ("sector", "cerebral"),
    ("tier", "planet"),
    ("project", "../etc"),
    ("project", "a/b"),
    ("project", ".hidden"),
    ("project", "x" * 200),
    ("importance", 1.01),
    ("importance", -0.1),
    ("importance", float("nan")),
    ("importance", True),
    ("importance", "high"),
    ("salience", 2),
    ("keywords", [""]),
    ("keywords", ["a\0"]),
    ("keywords", "one,two"),
    ("files", [3]),
    ("session_id", " "),
    ("session_id", "a\nb"),
    ("source", ""),
    ("created_at", datetime(2026, 1, 1)),  # no zone: that is the point
    ("valid_from", "yesterday"),
    ("colour", "red"),
]


@pytest.mark.parametrize(("field", "value"), BAD, ids=lambda value: repr(value)[:24])
def test_A4_bad_values_name_the_field_and_write_nothing(
    memory: Muisti, vault: Path, field: str, value: object
) -> None:
    before = sorted(vault.rglob("*"))
    options = {"content": "A good content", field: value}
    with pytest.raises(InvalidMemory) as error:
        memory.save(options.pop("content"), **options)  # type: ignore[arg-type]
    assert error.value.field == field
    assert field in str(error.value)
    assert sorted(vault.rglob("*")) == before


def test_A4_a_span_of_validity_must_not_end_before_it_begins(memory: Muisti) -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    with pytest.raises(InvalidMemory, match="valid_until"):
        memory.save("x", valid_from=now, valid_until=now - timedelta(days=1))


def test_A4_one_bad_item_keeps_the_whole_batch_out(memory: Muisti) -> None:
    with pytest.raises(InvalidMemory, match="importance"):
        memory.save_batch([{"content": "good"}, {"content": "bad", "importance": 9}])
    assert memory.list() == []


def test_A4_update_checks_too(memory: Muisti) -> None:
    saved = memory.save("A good memory")
    with pytest.raises(InvalidMemory, match="kind"):
        memory.update(saved.id, kind="rumour")
    with pytest.raises(InvalidRequest, match="created_at"):
        memory.update(saved.id, created_at=None)  # type: ignore[call-arg]
    assert memory.get(saved.id) == saved


@pytest.mark.parametrize("sector", list(Sector))
def test_A3_sectors_and_tiers_are_kept(memory: Muisti, sector: Sector) -> None:
    saved = memory.save(f"Something {sector}", sector=sector.value, tier="global")
    assert memory.get(saved.id) == saved
    assert (saved.sector, saved.tier) == (sector, Tier.GLOBAL)


NUMBERS = [
    (name, parameter.name)
    for name, method in inspect.getmembers(Muisti, inspect.isfunction)
    if not name.startswith("_")
    for parameter in inspect.signature(method).parameters.values()
    if str(parameter.annotation).removesuffix(" | None") in ("int", "float")
]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize(("method", "number"), NUMBERS)
def test_A4_what_is_not_a_number_is_named(memory: Muisti, method: str, number: str) -> None:
    saved, other = (
        memory.save("The API listens on port 8080"),
        memory.save("Deploys are on Fridays"),
    )
    memory.start_session("shop", session_id="s1")
    known = {
        "memory_id": saved.id,
        "source_id": saved.id,
        "target_id": other.id,
        "session_id": "s1",
        "conversation": "cli_1",
        "keywords": ["port"],
    }
    needed = [
        parameter.name
        for parameter in inspect.signature(getattr(memory, method)).parameters.values()
        if parameter.default is parameter.empty
        and parameter.kind is not parameter.VAR_KEYWORD
        and parameter.name != number
    ]
    positional = [known.get(name, "port") for name in needed]
    wrong: tuple[object, ...] = ("x", -1, [], float("nan"))
    for value in wrong:
        with pytest.raises((InvalidRequest, InvalidMemory), match=number):
            getattr(memory, method)(*positional, **{number: value})
