"""A memory as front matter and body, and back; what paths tell."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muisti.model import Memory, Sector, Tier
from muisti.settings import Settings
from muisti.storage.files.errors import BadFrontMatter
from muisti.storage.files.frontmatter import compose, edit, parse
from muisti.storage.files.memory_codec import (
    TYPED,
    check_conflict_markers,
    find_changed_fields,
    format_fields,
    has_conflict_markers,
    parse_memory,
)
from muisti.storage.files.path_info import PathInfo, make_restored_path, make_trash_path
from muisti.storage.files.timestamps import format_time, parse_time
from tests.unit.making import ANY_CONTENT, ANY_LINE, ANY_SHARE, ANY_TIME, NOON, a_memory

SETTINGS = Settings()
CONFLICT = "<<<<<<< HEAD\nmine\n=======\nyours\n>>>>>>> branch\n"


def read_back(memory: Memory) -> Memory:
    text = compose(format_fields(memory), memory.content, numbers=TYPED)
    return parse_memory("notes/x.md", parse(text), SETTINGS, NOON)


@st.composite
def memories(draw) -> Memory:
    start, end = sorted((draw(ANY_TIME), draw(ANY_TIME)))
    lines = st.lists(ANY_LINE.map(str.strip), max_size=3, unique=True).map(tuple)
    return a_memory(
        draw(st.integers(0, 10**12 - 1)),
        draw(ANY_CONTENT),
        title=draw(ANY_LINE),
        kind=draw(st.sampled_from(sorted(SETTINGS.kinds))),
        sector=draw(st.sampled_from(Sector)),
        tier=draw(st.sampled_from(Tier)),
        project=draw(st.sampled_from(["", "app", "проект 1"])),
        user=draw(st.just("") | ANY_LINE.filter(lambda name: name != "*")),  # stands for all users
        agent=draw(st.just("") | ANY_LINE),
        session_id=draw(st.none() | ANY_LINE),
        source=draw(ANY_LINE),
        summary=draw(st.just("") | ANY_CONTENT),
        keywords=draw(lines),
        files=draw(lines),
        importance=draw(ANY_SHARE),
        salience=draw(ANY_SHARE),
        created_at=start,
        updated_at=end,
        valid_from=draw(st.none() | st.just(start)),
        valid_until=draw(st.none() | st.just(end)),
    )


@settings(max_examples=100)
@given(memories())
def test_every_field_survives_the_file(memory: Memory) -> None:
    assert read_back(memory) == replace(memory, file_path="notes/x.md")


@settings(max_examples=80)
@given(memories(), memories())
def test_a_rewritten_file_says_what_the_new_memory_says(old: Memory, new: Memory) -> None:
    document = parse(compose(format_fields(old), old.content, numbers=TYPED))
    text = edit(
        document, find_changed_fields(document, new, Settings()), new.content, numbers=TYPED
    )
    found = parse_memory("notes/x.md", parse(text), SETTINGS, NOON)
    expected = replace(new, file_path="notes/x.md")
    assert found == expected


@given(memories())
def test_a_memory_that_did_not_change_changes_nothing(memory: Memory) -> None:
    assert (
        find_changed_fields(
            parse(compose(format_fields(memory), memory.content, numbers=TYPED)), memory, Settings()
        )
        == {}
    )


@pytest.mark.parametrize(
    "head",
    [
        "importance: 0.50\ncreated_at: 2026-03-10 12:00\n",
        "created_at: 2026-03-10T14:00:00+02:00\nupdated_at: '2026-03-10T12:00:00Z'\n",
        "keywords: a, b\ntier: project\nsalience: 1.0\n",
        "keywords: [a, b]\nsummary:\nproject: ''\n",
    ],
)
def test_a_persons_way_of_writing_is_left_alone(head: str) -> None:
    document = parse(
        f"---\nid: x\ntitle: T\nkind: note\nsector: semantic\nsource: me\n{head}---\n\nText\n"
    )
    memory = parse_memory("notes/x.md", document, SETTINGS, NOON)
    touched = set(find_changed_fields(document, memory, Settings()))
    assert not touched & {line.split(":")[0] for line in head.splitlines()}


@pytest.mark.parametrize(
    ("head", "field", "value"),
    [
        ("", "title", "Text."),
        ("title: T\n", "title", "T"),
        ("category: decisions\n", "kind", "decision"),
        ("kind: Facts\ncategory: decisions\n", "kind", "fact"),
        ("", "kind", "note"),
        ("tags: [a, b]\n", "keywords", ("a", "b")),
        ("tags: a, b\n", "keywords", ("a", "b")),
        ("keywords: [k]\ntags: [a]\n", "keywords", ("k",)),
        ("concepts: [c]\n", "concepts", ("c",)),
        ("session_id:\n", "session_id", None),
        ("importance: 1\n", "importance", 1.0),
        ("", "created_at", datetime(2026, 1, 31, tzinfo=UTC)),
        ("created_at: 2026-02-01\n", "created_at", datetime(2026, 2, 1, tzinfo=UTC)),
        ("created_at: 2026-02-01\n", "updated_at", datetime(2026, 2, 1, tzinfo=UTC)),
        ("", "project", "app"),
        ("project: other\n", "project", "other"),
    ],
)
def test_what_a_file_by_hand_says(head: str, field: str, value: Any) -> None:
    document = parse(f"---\n{head}---\n\nText. More.\n")
    memory = parse_memory("projects/app/notes/2026-01-31_x.md", document, SETTINGS, NOON)
    assert getattr(memory, field) == value


@pytest.mark.parametrize(
    ("head", "message"),
    [
        ("kind: nonsense\n", "kind must be one of decision.*got 'nonsense'"),
        ("kind: [note]\n", "kind must be a single text"),
        ("title: {a: b}\n", "title must be a single text"),
        ("sector: x\n", "sector must be one of .*episodic.*got 'x'"),
        ("tier: x\n", "tier must be one of session.*got 'x'"),
        ("importance: high\n", "importance must be a number .*got 'high'"),
        ("importance: nan\n", "importance must be a number .*got 'nan'"),
        ("importance: 5\n", "importance must be .*between 0 and 1.*got 5.0"),
        ("created_at: yesterday\n", "created_at must be a time such as .*got 'yesterday'"),
        ("valid_from: 0001-01-01T00:00:00+10:00\n", "valid_from must be a time"),
        ("valid_from: 2026-02-01\nvalid_until: 2026-01-01\n", "valid_until .*before valid_from"),
        ("keywords: {a: b}\n", "keywords must be a list of texts"),
        ("files: [[a]]\n", "files must be a list of texts"),
        ("project: ../up\n", "project .*got '../up'"),
        ("id: ../../up\n", "id .*got '../../up'"),
        ('title: "a\\nb"\n', "title .*control character"),
    ],
)
def test_what_cannot_be_is_named(head: str, message: str) -> None:
    with pytest.raises(BadFrontMatter, match=message):
        parse_memory("notes/x.md", parse(f"---\n{head}---\n\nText\n"), SETTINGS, NOON)


@pytest.mark.parametrize(
    "text", [f"---\nid: x\n---\n\n{CONFLICT}", f"---\n{CONFLICT}---\n\nText\n", CONFLICT]
)
def test_conflict_markers_are_reported(text: str) -> None:
    with pytest.raises(BadFrontMatter, match="conflict markers"):
        check_conflict_markers(text)


def test_a_memory_about_conflict_markers_can_be_kept() -> None:
    memory = a_memory(1, f"How a conflict looks:\n\n{CONFLICT}")
    assert has_conflict_markers(memory.content)
    assert read_back(memory).content == memory.content


@pytest.mark.parametrize(
    "text",
    [
        "=======\n<<<<<<< a\n",
        "<<<<<<< a\n>>>>>>> b\n",
        " <<<<<<< a\n=======\n>>>>>>> b\n",
        "Title\n=======\n",
    ],
)
def test_no_conflict(text: str) -> None:
    assert not has_conflict_markers(text)


@pytest.mark.parametrize(
    ("path", "kind", "project", "deleted"),
    [
        ("notes/x.md", "note", "", False),
        ("decisions/sub/x.md", "decision", "", False),
        ("projects/app/facts/x.md", "fact", "app", False),
        ("projects/app/x.md", "", "app", False),
        ("projects/x.md", "", "", False),
        ("x.md", "", "", False),
        ("elsewhere/x.md", "", "", False),
        (".trash/notes/x.20260310T120000000000Z.md", "note", "", True),
        (".trash/projects/app/facts/x.20260310T120000000000Z.md", "fact", "app", True),
        (".trash/x.md", "", "", True),
        (".trash/notes/x.99999999T999999999999Z.md", "note", "", True),
    ],
)
def test_places(path: str, kind: str, project: str, deleted: bool) -> None:
    place = PathInfo.of(path, SETTINGS)
    assert (place.kind, place.project, place.deleted_at is not None) == (kind, project, deleted)


@pytest.mark.parametrize(
    ("name", "dated"),
    [
        ("2026-01-31_x.md", True),
        ("2026-01-31 x.md", True),
        ("2026-13-31_x.md", False),
        ("x.md", False),
    ],
)
def test_dates_in_names(name: str, dated: bool) -> None:
    assert (PathInfo.of(f"notes/{name}", SETTINGS).date is not None) is dated


@pytest.mark.parametrize(
    "path", ["notes/x.md", "projects/a b/facts/sub/2026-01-31_ä.md", "x.md", "notes/x.y.md"]
)
@given(at=ANY_TIME)
def test_the_trash_remembers_where_and_when(path: str, at: datetime) -> None:
    trashed = make_trash_path(path, at)
    assert trashed.startswith(".trash/")
    assert make_restored_path(trashed) == path
    assert PathInfo.of(trashed, SETTINGS).deleted_at == at


def test_a_long_name_fits_into_the_trash() -> None:
    trashed = make_trash_path(f"notes/{'ä' * 125}.md", NOON)
    assert len(trashed.rsplit("/", 1)[1].encode()) <= 255


@given(ANY_TIME)
def test_times_survive(at: datetime) -> None:
    assert parse_time("x", format_time(at)) == at
    assert format_time(at).endswith("Z")


@pytest.mark.parametrize(
    "text",
    ["2026-03-10T12:00:00Z", " 2026-03-10 12:00 ", "2026-03-10T14:00:00+02:00", "20260310T120000"],
)
def test_times_as_people_write_them(text: str) -> None:
    assert parse_time("x", text) == NOON


def test_a_date_is_its_midnight() -> None:
    assert parse_time("x", "2026-03-10") == NOON - timedelta(hours=12)
