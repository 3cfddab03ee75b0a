"""A1 · Every field of a memory, on its way through files, index, REST, export and import; `user`
and `agent` among them.
"""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from muisti import InvalidMemory, InvalidRequest, Memory, Muisti, Sector, Tier
from muisti.errors import MemoryNotFound
from muisti.model.fields import Given
from muisti.model.jsonable import to_jsonable
from muisti.model.memory import FIELDS
from muisti.surfaces.rest.app import create_app
from muisti.surfaces.rest.config import ServerConfig
from tests.conftest import Opener

THEN = datetime(2026, 1, 31, 12, 30, tzinfo=UTC)
SAMPLES: dict[str, Any] = {
    "content": "The harbour office opens at eight.", "title": "Opening hours", "aliases": ("Office hours", "a: b"), "kind": "summary", "sector": Sector.EMOTIONAL,
    "tier": Tier.GLOBAL, "project": "harbour", "user": "anna@example.com", "agent": "claude-code 2.1", "session_id": "s-1",
    "source": "letter", "importance": 0.75, "salience": 0.25, "summary": "Opens at\neight", "keywords": ("hours", "a: b"),
    "categories": ("Opening times", "city: harbour"),
    "files": ("src/hours.py",), "created_at": THEN, "valid_from": THEN, "valid_until": THEN.replace(year=2027),
    "pinned": True, "trusted": False, "conversation": "telegram_123456", "from_message": "m1", "to_message": "m2",
}  # fmt: skip
"""Of every field that a caller can give, a value that is not its default."""
KEPT = [field.name for field in FIELDS if field.given >= Given.SAVE]


@pytest.fixture
def memory(opened: Opener) -> Muisti:
    return opened(embedder="none")


def log_messages(memory: Muisti) -> None:
    """Log the messages that the sample of a summary covers."""
    for id_ in ("m1", "m2"):
        memory.append_message("telegram_123456", "user", "Hello", id=id_)


def said(memory: Memory | None) -> dict[str, Any]:
    assert memory is not None
    return {name: getattr(memory, name) for name in KEPT}


def test_A1_there_is_a_sample_of_every_field_that_can_be_given() -> None:
    assert set(SAMPLES) == set(KEPT)
    defaults = {field.name: field.default for field in FIELDS}
    assert [name for name in KEPT if SAMPLES[name] == defaults[name]] == []


def test_A1_every_field_goes_through_file_index_rest_export_and_import(
    memory: Muisti, tmp_path: Path
) -> None:
    log_messages(memory)
    saved = memory.save(**SAMPLES)
    assert said(saved) == SAMPLES
    text = (memory.root / str(saved.file_path)).read_text("utf-8")
    for name in set(KEPT) - {"content"}:
        assert f"\n{name}:" in text
    memory.reindex()
    assert said(memory.get(saved.id)) == SAMPLES
    with TestClient(
        create_app(memory, ServerConfig(web_page=False, watch=False)),
        base_url="http://127.0.0.1:8765",
    ) as client:
        told = client.get(f"/api/memories/{saved.id}").json()
    assert {name: told[_camel(name)] for name in KEPT} == to_jsonable(SAMPLES)
    for form, suffix in (("json", ".json"), ("markdown", ".md")):
        exported = tmp_path / f"export{suffix}"
        exported.write_text(memory.export_memories(format=form), "utf-8")
        with Muisti.open(tmp_path / form, embedder="none") as other:
            assert other.import_memories(exported) == 1
            assert said(other.get(saved.id)) == SAMPLES


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.title() for word in rest)


def test_A1_every_field_can_be_given_over_rest_and_changed(memory: Muisti) -> None:
    log_messages(memory)
    fixed = [field.name for field in FIELDS if field.given is Given.SAVE] + ["content"]
    with TestClient(
        create_app(memory, ServerConfig(web_page=False, watch=False)),
        base_url="http://127.0.0.1:8765",
    ) as client:
        body = {_camel(name): value for name, value in to_jsonable(SAMPLES).items()}  # type: ignore[union-attr]
        made = client.post("/api/memories", json=body)
        assert made.status_code == 201, made.text
        assert said(memory.get(made.json()["id"])) == SAMPLES
        bare = client.post("/api/memories", json={"content": "The ferry leaves at nine."}).json()
        changes = {key: body[key] for key in body if key not in map(_camel, fixed)}
        changed = client.patch(f"/api/memories/{bare['id']}", json=changes)
        assert changed.status_code == 200, changed.text
        stays = {name: getattr(memory.get(bare["id"]), name) for name in fixed}
        assert said(memory.get(bare["id"])) == SAMPLES | stays


# -- categories


def test_A1_categories_are_kept_and_found(memory: Muisti) -> None:
    saved = memory.save("The API endpoint is /api/users", categories=["Backend", "öffentlich"])
    assert saved.categories == ("Backend", "öffentlich")
    assert [one.memory.id for one in memory.search("backend")] == [saved.id]
    assert memory.save("The API endpoint is /api/users").categories == saved.categories
    changed = memory.update(saved.id, categories=["Frontend"])
    assert (changed.categories, changed.keywords) == (("Frontend",), ())
    assert [one.memory.id for one in memory.search("frontend")] == [saved.id]
    assert memory.update(saved.id, categories=[]).categories == ()


@pytest.mark.parametrize("field", ["keywords", "categories", "files"])
@pytest.mark.parametrize("value", ["Backend", [5], ["a\nb"], ["a\0"], 5, 0, False])
def test_A4_a_list_that_is_none(memory: Muisti, field: str, value: Any) -> None:
    with pytest.raises(InvalidMemory, match=field):
        memory.save("The API endpoint is /api/users", **{field: value})
    assert memory.list() == []
    saved = memory.save("The API endpoint is /api/users")
    with pytest.raises(InvalidMemory, match=field):
        memory.update(saved.id, **{field: value})


def test_C1_secrets_in_categories_are_redacted(memory: Muisti) -> None:
    saved = memory.save("The boat is red", categories=["key AKIAIOSFODNN7EXAMPLE", "boats"])
    assert "AKIA" not in str(saved.categories)
    assert saved.categories[1] == "boats"


@pytest.mark.needs_files("writes files as a person does")
@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("categories: [work, home]", ("work", "home")),
        ("categories:\n  - work", ("work",)),
        ("categories: work, home", ("work", "home")),
        ("categories:\n  work: 1", ()),
        ("categories:", ()),
    ],
)
def test_B2_categories_that_a_person_wrote(
    memory: Muisti, written: str, expected: tuple[str, ...]
) -> None:
    saved = memory.save("The boat is red")
    path = memory.root / str(saved.file_path)
    path.write_text(path.read_text("utf-8").replace("---\n", f"---\n{written}\n", 1), "utf-8")
    assert memory.sync().problems == ()
    found = memory.get(saved.id)
    assert found is not None
    assert found.categories == expected
    memory.update(saved.id, title="A boat")
    assert written in path.read_text("utf-8")


# -- user and agent


@pytest.mark.needs_files("looks at the bytes of a file")
def test_A1_user_and_agent_are_empty_unless_said_and_then_no_file_has_them(memory: Muisti) -> None:
    saved = memory.save("The API endpoint is /api/users")
    assert (saved.user, saved.agent) == ("", "")
    text = (memory.root / str(saved.file_path)).read_text("utf-8")
    assert "user:" not in text
    assert "agent:" not in text
    changed = memory.update(saved.id, user="anna", agent="codex")
    assert (changed.user, changed.agent) == ("anna", "codex")
    cleared = memory.update(saved.id, user="", agent="")
    assert cleared == replace(saved, updated_at=cleared.updated_at)
    assert (memory.root / str(saved.file_path)).read_text("utf-8").count("user:") == 0


@pytest.mark.parametrize("field", ["user", "agent"])
@pytest.mark.parametrize(
    "value", ["a\nb", "x" * 201, " ", "a\0", 5, ["a"], "ghp_0123456789abcdefghijABCDEFGHIJ012345"]
)
def test_A4_a_user_or_an_agent_that_is_no_name(memory: Muisti, field: str, value: Any) -> None:
    with pytest.raises(InvalidMemory, match=field):
        memory.save("Anna lives in Turku", **{field: value})
    assert memory.list() == []


def test_A3_a_filter_for_a_user_sees_theirs_and_nobodys_and_one_for_an_agent_only_its_own(
    memory: Muisti,
) -> None:
    texts = {
        "The tea is in the kitchen": {},
        "The boat is red": {"user": "anna", "agent": "codex"},
        "The shed is blue": {"user": "bo"},
    }
    for text, options in texts.items():
        memory.save(text, **options)  # type: ignore[arg-type]

    def seen(**options: Any) -> set[str]:
        listed = {one.content for one in memory.list(**options)}
        found = {
            one.memory.content
            for one in memory.search("where is the tea, the boat, the shed", **options)
        }
        assert listed == found
        return {text.split()[1] for text in listed}

    assert seen() == {"tea", "boat", "shed"}
    assert seen(user="anna") == {"tea", "boat"}
    assert seen(user="nobody") == seen(user="") == {"tea"}
    assert seen(agent="codex") == {"boat"}
    assert seen(agent="codex", user="bo") == set()
    shed = memory.list(user="bo")[0]
    with pytest.raises(MemoryNotFound):
        memory.explain("shed", shed.id, user="anna")
    with pytest.raises(InvalidRequest, match="user"):
        memory.list(user=["anna"])  # type: ignore[arg-type]


@pytest.mark.parametrize("near", ["The boat of the family is red", "The family's boat is red"])
def test_C3_what_two_users_say_is_never_merged_nor_linked(memory: Muisti, near: str) -> None:
    mine = memory.save("The boat of the family is red", user="anna")
    theirs = memory.save(near, user="bo")
    nobodys = memory.save(near)
    assert len({mine.id, theirs.id, nobodys.id}) == 3
    assert memory.save("The boat of the family is red", user="anna", agent="codex").id == mine.id
    other = memory.save("The boat of the family is blue", user="bo")
    assert [link.target for link in other.links if link.target in (mine.id, nobodys.id)] == []
    batch = memory.save_batch(
        [{"content": "The oars are new", "user": user} for user in ("anna", "bo", "anna")]
    )
    assert batch[0].id == batch[2].id != batch[1].id


FOREIGN = [
    "user: [anna, bo]\nagent:\n  - a\n  - b\n",
    "user:\n  name: Anna\n  age: 5\nagent: {x: 1}\n",
    f"user: {'x' * 300}\nagent: |\n  two\n  lines\n",
    "user: ghp_0123456789abcdefghijABCDEFGHIJ012345\nagent: ' '\n",
    "user:\nagent: ''\n",
]


@pytest.mark.needs_files("edits a file by hand")
@pytest.mark.parametrize("head", FOREIGN)
def test_B2_keys_of_a_person_that_are_no_user_and_no_agent_are_left_alone(
    memory: Muisti, head: str
) -> None:
    path = memory.root / "notes" / "own.md"
    path.parent.mkdir(exist_ok=True)
    path.write_text(
        f"---\ntitle: Own\n{head}mood: fine\n---\n\nThe tea is in the kitchen.\n", "utf-8"
    )
    assert not memory.sync().problems
    (found,) = memory.list()
    assert (found.user, found.agent) == ("", "")
    memory.update(found.id, title="Changed")
    assert head in path.read_text("utf-8")
    changed = memory.update(found.id, user="anna", agent="codex")
    assert (changed.user, changed.agent) == ("anna", "codex")
    memory.reindex()
    assert said(memory.get(found.id)) == said(changed)
    assert "mood: fine\n" in path.read_text("utf-8")


@pytest.mark.needs_files("edits a file by hand")
def test_B2_a_text_that_a_person_wrote_as_user_is_the_user(memory: Muisti) -> None:
    path = memory.root / "notes" / "own.md"
    path.parent.mkdir(exist_ok=True)
    path.write_text("---\nuser: Anna  # my sister\n---\n\nThe tea is in the kitchen.\n", "utf-8")
    memory.sync()
    (found,) = memory.list()
    assert found.user == "Anna"
    memory.update(found.id, title="Changed")
    assert "user: Anna  # my sister\n" in path.read_text("utf-8")


def test_J7_json_of_other_programs_may_call_something_else_user(
    memory: Muisti, tmp_path: Path
) -> None:
    source = tmp_path / "other.json"
    source.write_text(
        json.dumps([{"memory": "The tea is in the kitchen.", "user": {"id": 1}, "agent": "codex"}]),
        "utf-8",
    )
    memory.import_memories(source)
    (taken,) = memory.list()
    assert (taken.user, taken.agent) == ("", "codex")
