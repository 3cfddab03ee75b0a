"""M2 · Names that others build upon stay: what was recorded once still exists."""

from __future__ import annotations

import asyncio
import copy
import dataclasses
import pickle
import shlex
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
import pytest
from scripts.public_names import Names, collect_names, missing_names, recorded_names

import muisti
from muisti import MemoryService, Message, Muisti
from muisti.deprecation import RENAMED_METHODS
from muisti.surfaces.cli.main import cli

RECORDED = recorded_names()


@pytest.fixture(scope="module")
def present() -> Names:
    return collect_names()


def test_M2_every_recorded_name_still_exists(present: Names) -> None:
    assert missing_names(RECORDED, present) == []


def test_M2_the_list_is_sorted_and_whole() -> None:
    sizes = {section: len(names) for section, names in RECORDED.items()}
    assert sizes.keys() == {
        "python",
        "cli",
        "settings",
        "variables",
        "rest",
        "mcp",
        "metrics",
        "errors",
        "exit codes",
        "installed commands",
    }
    assert all(names == sorted(set(names)) for names in RECORDED.values())


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize(
    "name",
    [
        "python: muisti.Gone",
        "python: muisti.Muisti.gone",
        "python: muisti.Muisti.save(gone)",
        "python: muisti.Muisti.chats(gone)",
        "cli: muisti gone",
        "cli: muisti chat gone",
        "cli: muisti search --gone",
        "cli: muisti search --mode=gone",
        "rest: GET /api/gone",
        "settings: gone",
    ],
)
def test_M2_a_name_that_is_gone_is_named(present: Names, name: str) -> None:
    section, _, wanted = name.partition(": ")
    assert missing_names({section: [wanted]}, present) == [name]


@pytest.mark.parametrize("name", ["muisti search --mode=vector", "muisti chat list", "muisti"])
def test_M2_a_name_that_is_only_hidden_still_exists(name: str) -> None:
    assert missing_names({"cli": [f"{name} (hidden)"]}, {}) == []


COMMANDS = sorted({name.partition(": ")[2] for name in RECORDED["installed commands"]})


@pytest.mark.parametrize("command", COMMANDS)
def test_M2_commands_in_configurations_of_agents_are_still_understood(command: str) -> None:
    _, verb, *arguments = shlex.split(command)
    found = cli.get_command(click.Context(cli), verb)
    assert found is not None
    found.make_context(verb, arguments)  # raises UsageError for what it does not know


# -- Names that were changed: the old one works, warns and is not listed


@pytest.mark.parametrize(("old", "new"), [*muisti._RENAMED.items()])
def test_M2_an_old_class_name_is_the_same_class(old: str, new: str) -> None:
    with pytest.warns(DeprecationWarning, match=f"muisti.{old} was renamed to muisti.{new}"):
        found = getattr(muisti, old)
    assert found is getattr(muisti, new)
    assert old not in muisti.__all__


@pytest.fixture
def conversation(memory: Muisti) -> str:
    """A vault with a message, a memory in the trash and one in the archive."""
    memory.append_message("telegram_1", "user", "Where do otters sleep?")
    memory.delete(memory.save("Thrown away").id)
    memory.save("The oldest of all")
    memory.evict(1, to=0)
    return "telegram_1"


@pytest.mark.parametrize(("old", "new"), RENAMED_METHODS.items())
def test_M2_an_old_method_name_gives_the_same_result(
    memory: Muisti, conversation: str, old: str, new: str
) -> None:
    expected = getattr(memory, new)()
    with pytest.warns(DeprecationWarning, match=rf"^{old}\(\) was renamed to {new}\(\)$") as warned:
        assert getattr(memory, old)() == expected
    assert warned[0].filename == __file__
    assert bool(expected) is (new != "list_document_sources")


CALLS: dict[str, dict[str, Any]] = {
    "append_message": {"role": "user", "content": "Hello"},
    "session_break": {},
    "window": {},
    "search_messages": {"query": "otters"},
}


@pytest.mark.parametrize("method", CALLS)
def test_M2_an_old_argument_name_is_accepted(
    memory: Muisti, conversation: str, method: str
) -> None:
    with pytest.warns(DeprecationWarning, match="^the argument 'chat' was renamed") as warned:
        assert getattr(memory, method)(chat=conversation, **CALLS[method])
    assert warned[0].filename == __file__


def test_M2_an_argument_under_both_names_is_refused(memory: Muisti) -> None:
    with pytest.raises(TypeError, match="both 'conversation' and its old name 'chat'"):
        memory.window(chat="a_1", conversation="a_1")  # type: ignore[call-arg]


def test_M2_old_names_work_in_the_async_service(vault: Path) -> None:
    async def work() -> None:
        async with await MemoryService.open(vault) as service:
            with pytest.warns(DeprecationWarning, match="'chat'") as warned:
                await service.append_message(chat="a_1", role="user", content="Hello")  # type: ignore[call-arg]
            assert warned[0].filename == __file__
            for old, new in RENAMED_METHODS.items():
                with pytest.warns(DeprecationWarning, match=old) as warned:
                    found = await getattr(service, old)()
                assert found == await getattr(service, new)()
                assert warned[0].filename == __file__

    asyncio.run(work())


def test_M2_a_message_has_its_old_field_name() -> None:
    fields = {"id": "1", "role": "user", "content": "Hello", "at": datetime(2026, 3, 1, tzinfo=UTC)}
    message = Message(conversation="a_1", **fields)  # type: ignore[arg-type]
    with pytest.warns(DeprecationWarning, match="Message.chat was renamed to Message.conversation"):
        assert message.chat == "a_1"  # type: ignore[attr-defined]
    with pytest.warns(DeprecationWarning, match="'chat'"):
        assert Message(chat="a_1", **fields) == message  # type: ignore[call-arg, arg-type]
    assert dataclasses.replace(message, id="2").conversation == "a_1"
    assert copy.deepcopy(message) == pickle.loads(pickle.dumps(message)) == message
