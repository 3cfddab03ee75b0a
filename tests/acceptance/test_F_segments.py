"""F3 · The current model and segment of a conversation, as in the table `sessions` of spec 2."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from muisti import ConversationNotFound, Muisti
from muisti.surfaces.rest.app import create_app
from muisti.surfaces.rest.config import ServerConfig
from tests.conftest import FakeClock, Opener
from tests.surfaces.cli.test_cli import Cli

CHAT = "telegram_123456"


@pytest.fixture
def memory(opened: Opener) -> Muisti:
    return opened(embedder="none")


def talk(memory: Muisti) -> None:
    """Two segments: the second begins with msg_004."""
    say = memory.append_message
    say(CHAT, "user", "Hello", id="msg_001", meta={"model": "what the user says"})
    say(CHAT, "assistant", "Hi", id="msg_002", meta={"model": "glm-5", "tokens_in": 12})
    memory.session_break(CHAT)
    say(CHAT, "user", "Again", id="msg_004")
    say(CHAT, "assistant", "Yes?", id="msg_005", meta={"model": "deepseek-chat"})
    say(CHAT, "tool", "42", id="msg_006", meta={"tool": "search", "model": "a tool's"})


def test_F3_a_conversation_has_its_model_and_the_start_of_its_segment(
    memory: Muisti, clock: FakeClock
) -> None:
    began = clock.now()
    talk(memory)
    found = memory.get_conversation(CHAT)
    assert (found.name, found.model, found.segment_start) == (CHAT, "deepseek-chat", "msg_004")
    assert (found.first_at, found.messages, found.since_break) == (began, 5, 3)
    assert memory.list_conversations() == [found]
    assert memory.window(CHAT)[0].id == found.segment_start
    memory.session_break(CHAT)
    assert memory.get_conversation(CHAT).segment_start == ""
    memory.append_message(CHAT, "user", "Once more", id="msg_008")
    found = memory.get_conversation(CHAT)
    assert (found.model, found.segment_start) == ("deepseek-chat", "msg_008")


@pytest.mark.parametrize(
    "meta", [{}, {"model": 5}, {"model": None}, {"model": ["a"]}, {"models": "x"}, {"x": '"model"'}]
)
def test_F3_a_conversation_without_a_model(memory: Muisti, meta: dict[str, object]) -> None:
    memory.append_message(CHAT, "user", "Hello", id="msg_001")
    memory.append_message(CHAT, "assistant", "Hi", meta=meta)
    found = memory.get_conversation(CHAT)
    assert (found.model, found.segment_start) == ("", "msg_001")


def test_F3_reindex_restores_model_and_segment_from_the_files(memory: Muisti, vault: Path) -> None:
    talk(memory)
    memory.append_message("web_1", "user", "Hello", id="one")
    before = memory.list_conversations()
    memory.close()
    shutil.rmtree(vault / ".muisti")
    with Muisti.open(vault, embedder="none") as again:
        again.reindex()
        assert again.list_conversations() == before
        assert again.get_conversation(CHAT).segment_start == "msg_004"


def test_A3_a_conversation_is_found_in_its_own_scope(memory: Muisti) -> None:
    memory.append_message(CHAT, "user", "Hello", project="shop", user="anna")
    assert memory.get_conversation(CHAT, project="shop", user="anna").user == "anna"
    assert memory.get_conversation(CHAT, project="*").project == "shop"
    for scope in ({"user": "bo"}, {"project": "web"}, {"project": "shop", "user": "bo"}):
        with pytest.raises(ConversationNotFound):
            memory.get_conversation(CHAT, **scope)
    for name in ("web_1", "", "a\0b", "\ud83d", 5, None):
        with pytest.raises(ConversationNotFound):
            memory.get_conversation(name)  # type: ignore[arg-type]


def test_J3_model_and_segment_over_rest(memory: Muisti) -> None:
    talk(memory)
    app = create_app(memory, ServerConfig(web_page=False, watch=False))
    with TestClient(app, base_url="http://127.0.0.1:8765") as client:
        one = client.get(f"/api/conversations/{CHAT}")
        (listed,) = client.get("/api/conversations").json()
        missing = client.get("/api/conversations/web_1")
        hidden = client.get(f"/api/conversations/{CHAT}?user=bo")
    assert one.json() == listed
    assert (listed["model"], listed["segmentStart"]) == ("deepseek-chat", "msg_004")
    assert missing.status_code == hidden.status_code == 404


def test_J2_model_and_segment_on_the_command_line(vault: Path, tmp_path: Path) -> None:
    with Muisti.open(vault, embedder="none") as memory:
        talk(memory)
    cli = Cli(vault, tmp_path)
    cli.environment |= {"MUISTI_EMBEDDER": "none", "COLUMNS": "80"}
    shown = cli.run("conversation", "show", CHAT).stdout
    assert "deepseek-chat" in shown
    assert "starts with msg_004" in shown
    printed = json.loads(cli.run("conversation", "show", CHAT, "--json").stdout)
    assert (printed["model"], printed["segment_start"]) == ("deepseek-chat", "msg_004")
    listed = cli.run("conversation", "list").stdout
    assert "deepseek-chat" in listed
    assert all(len(line) <= 80 for line in listed.splitlines())
    assert "web_1" in cli.run("conversation", "show", "web_1", code=1).stderr
