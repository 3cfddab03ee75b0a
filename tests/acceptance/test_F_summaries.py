"""F7 · Summaries with message ranges, as in the table `summaries` of spec 2."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from muisti import InvalidMemory, InvalidRequest, Memory, Muisti
from muisti.errors import MuistiError
from muisti.surfaces.mcp.results import render_full
from muisti.surfaces.rest.app import create_app
from muisti.surfaces.rest.config import ServerConfig
from tests.conftest import FakeClock, Opener
from tests.surfaces.cli.test_cli import Cli

CHAT = "telegram_123456"
TEXTS = {
    "msg_001": "We deploy on Tuesdays only",
    "msg_002": "Noted",
    "msg_003": "The staging server is called heron",
    "msg_004": "And the database is Postgres",
    "msg_005": "Thanks",
}


@pytest.fixture
def memory(opened: Opener) -> Muisti:
    return opened(embedder="none")


def log_chat(memory: Muisti, clock: FakeClock | None = None, **scope: Any) -> None:
    for id_, text in TEXTS.items():
        memory.append_message(CHAT, "user", text, id=id_, **scope)
        if clock is not None:
            clock.forward(minutes=1)


def sum_up(memory: Muisti, text: str, first: str, last: str, **options: Any) -> Memory:
    return memory.save(text, conversation=CHAT, from_message=first, to_message=last, **options)


def cover(found: Memory | None) -> tuple[str, str, str]:
    assert found is not None
    return found.conversation, found.from_message, found.to_message


def test_F7_a_summary_covers_a_range_of_messages(memory: Muisti) -> None:
    log_chat(memory)
    saved = sum_up(memory, "The team deploys on Tuesdays.", "msg_001", "msg_002", kind="summary")
    assert saved.kind == "summary"
    assert cover(saved) == cover(memory.get(saved.id)) == (CHAT, "msg_001", "msg_002")
    assert sum_up(memory, "Heron runs Postgres.", "msg_003", "msg_003").kind == "summary"
    found = memory.search("deploys on Tuesdays", source="memory")
    assert cover(found[0].memory) == cover(saved)


def test_F7_the_range_is_in_the_file_and_outlives_the_index(memory: Muisti, vault: Path) -> None:
    log_chat(memory)
    saved = sum_up(memory, "The team deploys on Tuesdays.", "msg_001", "msg_004")
    text = (vault / str(saved.file_path)).read_text("utf-8")
    assert str(saved.file_path).startswith("summaries/")
    assert f"conversation: {CHAT}\nfrom_message: msg_001\nto_message: msg_004\n" in text
    plain = memory.save("A memory that covers nothing")
    assert "conversation:" not in (vault / str(plain.file_path)).read_text("utf-8")
    memory.close()
    shutil.rmtree(vault / ".muisti")
    with Muisti.open(vault, embedder="none") as again:
        again.reindex()
        assert cover(again.get(saved.id)) == (CHAT, "msg_001", "msg_004")
        assert [one.id for one in again.list_summaries(CHAT)] == [saved.id]


def test_F7_summaries_of_a_conversation_in_the_order_of_its_messages(memory: Muisti) -> None:
    log_chat(memory)
    memory.append_message("web_9", "user", "Hello", id="msg_001")
    later = sum_up(memory, "Heron runs Postgres.", "msg_003", "msg_005")
    earlier = sum_up(memory, "The team deploys on Tuesdays.", "msg_001", "msg_002")
    other = memory.save(
        "A greeting.", conversation="web_9", from_message="msg_001", to_message="msg_001"
    )
    memory.save("A summary of something else.", kind="summary")
    assert memory.list_summaries(CHAT) == [memory.get(earlier.id), memory.get(later.id)]
    assert [one.id for one in memory.list_summaries("web_9")] == [other.id]
    assert [one.id for one in memory.list_summaries(CHAT, message_ids=["msg_002"])] == [earlier.id]
    assert memory.list_summaries("web_10") == []
    with pytest.raises(InvalidRequest, match="conversation"):
        memory.list_summaries("no conversation")
    with pytest.raises(InvalidRequest, match="message_ids"):
        memory.list_summaries(CHAT, message_ids="msg_001")
    memory.delete(later.id)
    assert [one.id for one in memory.list_summaries(CHAT)] == [earlier.id]


BAD: list[tuple[str, dict[str, Any]]] = [
    ("to_message", {"from_message": "msg_003", "to_message": "msg_001"}),
    ("from_message", {"from_message": "", "to_message": "msg_001"}),
    ("from_message", {"from_message": " ", "to_message": "msg_001"}),
    ("to_message", {"from_message": "msg_001"}),
    ("conversation", {"conversation": "", "from_message": "msg_001", "to_message": "msg_002"}),
    ("conversation", {"conversation": "web_1", "from_message": "msg_001", "to_message": "msg_002"}),
    ("from_message", {"from_message": "msg_000", "to_message": "msg_002"}),
    ("to_message", {"from_message": "msg_001", "to_message": "msg_999"}),
    ("to_message", {"from_message": "msg_001", "to_message": "elsewhere"}),
    ("to_message", {"from_message": "msg_001", "to_message": 2}),
    ("from_message", {"from_message": "a\0b", "to_message": "msg_002"}),
    ("from_message", {"from_message": "\ud83d", "to_message": "msg_002"}),
    ("kind", {"from_message": "msg_001", "to_message": "msg_002", "kind": "fact"}),
    ("project", {"from_message": "msg_001", "to_message": "msg_002", "project": "other"}),
    ("user", {"from_message": "msg_001", "to_message": "msg_002", "user": "bo"}),
]


@pytest.mark.parametrize(("field", "options"), BAD)
def test_A4_a_bad_range_is_named_and_nothing_is_stored(
    memory: Muisti, field: str, options: dict[str, Any]
) -> None:
    log_chat(memory, project="shop", user="anna")
    memory.append_message("web_7", "user", "Hello", id="elsewhere")
    wanted = {"conversation": CHAT, **options}
    with pytest.raises(InvalidMemory, match=field) as caught:
        memory.save("A summary.", **wanted)
    assert caught.value.field == field
    with pytest.raises(MuistiError):
        memory.save_batch(["The tea is in the kitchen", {"content": "A summary.", **wanted}])
    assert memory.list(include_deleted=True) == []


def test_A3_a_summary_belongs_to_the_project_and_the_user_of_its_conversation(
    memory: Muisti,
) -> None:
    log_chat(memory, project="shop", user="anna")
    saved = sum_up(memory, "The team deploys on Tuesdays.", "msg_001", "msg_002")
    assert (saved.project, saved.user) == ("shop", "anna")
    assert [one.id for one in memory.list_summaries(CHAT, project="shop", user="anna")] == [
        saved.id
    ]
    for scope in ({"user": "bo"}, {"user": ""}, {"project": "other"}):
        assert memory.list_summaries(CHAT, **scope) == []  # type: ignore[arg-type]
        found = memory.search("deploys on Tuesdays", **scope)  # type: ignore[arg-type]
        assert saved.id not in [one.memory.id for one in found]


def test_C3_the_same_summary_of_other_messages_is_another_memory(memory: Muisti) -> None:
    log_chat(memory)
    first = sum_up(memory, "Nothing was decided.", "msg_001", "msg_002")
    again = sum_up(memory, "Nothing was decided.", "msg_001", "msg_002")
    other = sum_up(memory, "Nothing was decided.", "msg_003", "msg_005")
    assert first.id == again.id != other.id
    assert memory.save("Nothing was decided.", kind="summary").id not in (first.id, other.id)


def test_F7_a_changed_text_keeps_its_range(memory: Muisti) -> None:
    log_chat(memory)
    saved = sum_up(memory, "The team deploys on Tuesdays.", "msg_001", "msg_002")
    assert cover(memory.update(saved.id, content="They deploy weekly.")) == cover(saved)
    with pytest.raises(InvalidRequest, match="from_message"):
        memory.update(saved.id, from_message="msg_003")  # type: ignore[call-arg]


# -- Forgetting


def test_F6_forgetting_a_conversation_takes_its_summaries(memory: Muisti, clock: FakeClock) -> None:
    log_chat(memory, clock)
    saved = sum_up(memory, "The team deploys on Tuesdays.", "msg_001", "msg_002")
    kept = memory.save("The tea is in the kitchen")
    planned = memory.forget(conversation=CHAT, dry_run=True)
    assert planned.memories == (saved.id,)
    memory.delete_conversation(CHAT, hard=True)
    assert [one.id for one in memory.list_summaries(CHAT)] == [saved.id]
    assert memory.forget(conversation=CHAT, hard=True).memories == (saved.id,)
    assert memory.get(saved.id, include_deleted=True) is None
    assert memory.get(kept.id) is not None
    with pytest.raises(InvalidRequest, match="conversation"):
        memory.forget(conversation=CHAT)


@pytest.mark.parametrize("hard", [False, True])
def test_F6_forgetting_messages_before_a_time_takes_the_summaries_that_cover_them(
    memory: Muisti, clock: FakeClock, hard: bool
) -> None:
    start = clock.now()
    log_chat(memory, clock)
    old = sum_up(memory, "The team deploys on Tuesdays.", "msg_001", "msg_002")
    both = sum_up(memory, "Deploys and heron.", "msg_002", "msg_004")
    new = sum_up(memory, "Heron runs Postgres.", "msg_003", "msg_005")
    between = start.replace(minute=start.minute + 1, second=30)
    report = memory.forget(conversation=CHAT, before=between, hard=hard)
    assert (set(report.memories), report.messages) == ({old.id, both.id}, 2)
    assert [one.id for one in memory.list_summaries(CHAT)] == [new.id]


def test_F6_forgetting_for_good_finds_summaries_of_messages_in_the_trash(
    memory: Muisti, clock: FakeClock
) -> None:
    log_chat(memory, clock, user="anna")
    old = sum_up(memory, "The team deploys on Tuesdays.", "msg_001", "msg_002")
    new = sum_up(memory, "Heron runs Postgres.", "msg_004", "msg_005")
    between = clock.now().replace(minute=2, second=30)
    memory.delete_messages(CHAT, ["msg_001", "msg_002"])
    report = memory.forget(conversation=CHAT, before=between, hard=True)
    assert report.memories == (old.id,)
    assert memory.get(new.id) is not None


def test_F6_the_messages_of_a_summary_are_named(memory: Muisti) -> None:
    log_chat(memory)
    saved = sum_up(memory, "Deploys and heron.", "msg_002", "msg_004")
    sources = memory.find_source_messages(saved.id)
    assert [one.id for one in sources] == ["msg_002", "msg_003", "msg_004"]
    memory.delete_messages(CHAT, ["msg_002"], hard=True)
    found = [one.id for one in memory.find_source_messages(saved.id)]
    assert found == ["msg_001", "msg_003", "msg_004"]  # where it began is gone: the range is open


# -- Surfaces


def test_J3_summaries_over_rest(memory: Muisti) -> None:
    log_chat(memory, user="anna")
    app = create_app(memory, ServerConfig(web_page=False, watch=False))
    body = {"content": "The team deploys on Tuesdays.", "kind": "summary", "conversation": CHAT}
    with TestClient(app, base_url="http://127.0.0.1:8765") as client:
        made = client.post(
            "/api/memories", json={**body, "fromMessage": "msg_001", "toMessage": "msg_002"}
        )
        assert made.status_code == 201, made.text
        reversed_ = client.post(
            "/api/memories", json={**body, "fromMessage": "msg_002", "toMessage": "msg_001"}
        )
        assert reversed_.status_code == 422
        assert "to_message" in reversed_.text or "toMessage" in reversed_.text
        listed = client.get(f"/api/conversations/{CHAT}/summaries").json()
        hidden = client.get(f"/api/conversations/{CHAT}/summaries?user=bo").json()
    assert hidden == []
    assert [(one["id"], one["fromMessage"], one["toMessage"]) for one in listed] == [
        (made.json()["id"], "msg_001", "msg_002")
    ]


def test_J4_an_agent_sees_what_a_summary_covers(memory: Muisti) -> None:
    log_chat(memory)
    saved = sum_up(memory, "The team deploys on Tuesdays.", "msg_001", "msg_002")
    shown = render_full([saved])
    assert shown.structured_content is not None
    covers = f"{CHAT}, messages msg_001 to msg_002"
    assert shown.structured_content["memories"][0]["covers"] == covers
    assert f'covers="{covers}"' in str(shown.content[0])


def test_J2_summaries_on_the_command_line(vault: Path, tmp_path: Path) -> None:
    cli = Cli(vault, tmp_path)
    cli.environment |= {"MUISTI_EMBEDDER": "none", "COLUMNS": "80"}
    with Muisti.open(vault, embedder="none") as memory:
        log_chat(memory)
    given = ("--kind", "summary", "--conversation", CHAT, "--from-message", "msg_001")
    saved = cli.run("save", "Deploys on Tuesdays.", *given, "--to-message", "msg_003", "--json")
    id_ = json.loads(saved.stdout)["id"]
    assert "to_message" in cli.run("save", "Nothing.", *given, code=1).stderr
    assert f"{CHAT}, messages msg_001 to msg_003" in cli.run("show", id_).stdout
    assert "Deploys on Tuesdays." in cli.run("conversation", "summaries", CHAT).stdout
    listed = cli.run("conversation", "summaries", CHAT, "--json").stdout
    assert [one["id"] for one in json.loads(listed)] == [id_]
    assert "No summaries" in cli.run("conversation", "summaries", "web_1").stderr
    gone = cli.run("conversation", "delete", CHAT, "msg_002", "--hard", "--yes")
    assert f"1 summary of them stays; to delete it: muisti delete {id_[-8:]} --hard" in gone.stderr
    unrelated = cli.run("conversation", "delete", CHAT, "msg_005", "--hard", "--yes")
    assert "summary" not in unrelated.stderr
    removed = cli.run("delete", id_, "--hard", "--yes")
    command = f"muisti conversation delete {CHAT} msg_001 msg_003 --hard"
    assert f"The 2 messages it came from are still there; to delete them: {command}" in (
        removed.stderr
    )
