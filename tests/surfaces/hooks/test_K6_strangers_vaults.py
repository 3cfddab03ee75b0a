"""Hooks leave a vault alone that came with a repository: what the user says goes to the user's own
vault, and nothing in the stranger's reaches the agent (contract K6).
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from muisti import bootstrap, trust
from muisti.surfaces.hooks import spool, worker
from tests.chat_server import ChatServer, serving
from tests.surfaces.hooks.conftest import Hook
from tests.surfaces.strangers import (
    PLANTED,
    RULE,
    hostile_settings,
    open_own,
    own_vault,
    plant,
    snapshot,
)

SECRET = "sk-ant-api03-" + "Ab1" * 31 + "AA"
SAID = f"I prefer the ferry to Tallinn. My key is {SECRET}"
ANSWER = "Noted: the ferry to Tallinn, canary-7731"


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with serving() as server:
        yield server


def talk(hook: Hook, folder: Path) -> list[str]:
    """Run a whole session in a folder; return what the agent was given."""
    told: dict[str, Any] = {"cwd": str(folder), "env": {"MUISTI_VAULT": ""}}
    given = [
        hook("SessionStart", source="startup", **told),
        hook("UserPromptSubmit", prompt=SAID, **told),
        hook("UserPromptSubmit", prompt="What is the release password procedure?", **told),
    ]
    hook("Stop", last_assistant_message=ANSWER, **told)
    hook("SessionEnd", **told)
    return given


def contents(folder: Path) -> str:
    return "\n".join(
        path.read_bytes().decode("utf-8", "replace") for path in folder.rglob("*") if path.is_file()
    )


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("settings", ["hostile", "", 'extractor = "anthropic"\n'])
def test_K6_a_planted_clone_gets_and_gives_nothing(
    hook: Hook, tmp_path: Path, server: ChatServer, settings: str
) -> None:
    if settings == "hostile":
        settings = hostile_settings(server.url, tmp_path)
    clone = plant(tmp_path, settings)
    before = snapshot(clone)
    hook = replace(hook, named=False, repository=clone)
    given = talk(hook, clone)
    log = hook.settled()
    for text in given:
        assert RULE not in text
        assert PLANTED not in text
        assert "Mallory" not in text
    assert snapshot(clone) == before  # nothing of the talk, and nothing else
    assert "ferry to Tallinn" in contents(own_vault())  # nothing of it is lost
    assert SECRET not in contents(own_vault())
    assert SECRET not in contents(tmp_path / "state")
    assert server.requests == []
    told = [run for run in log if "not trusted" in run.detail]
    assert told
    assert str(clone) in told[0].detail
    assert all(run.vault == str(own_vault()) for run in log if run.vault)


def test_K6_the_users_own_memories_are_recalled_there(hook: Hook, tmp_path: Path) -> None:
    clone = plant(tmp_path)
    with open_own() as memory:
        memory.save("The user's release password procedure needs two people", tier="global")
    hook = replace(hook, named=False, repository=clone)
    given = "\n".join(talk(hook, clone))
    hook.settled()
    assert "needs two people" in given
    assert PLANTED not in given


def test_K6_a_trusted_one_is_used(hook: Hook, tmp_path: Path) -> None:
    clone = plant(tmp_path)
    trust.give_consent(clone)
    bootstrap.open(clone, settings={"embedder": "none"}).close()
    hook = replace(hook, named=False, repository=clone)
    given = "\n".join(talk(hook, clone))
    hook.settled()
    assert RULE in given
    assert "ferry to Tallinn" in contents(clone / "conversations")
    assert not own_vault().exists()


def test_K6_a_vault_that_was_replaced_before_the_worker_ran(hook: Hook, tmp_path: Path) -> None:
    clone = plant(tmp_path)
    entry = spool.new_entry("claude-code", str(clone), "", "s1")
    entry.foreign, entry.prompts, entry.answer = True, [(entry.at, SAID)], ANSWER
    spool.add_entry(entry)
    before = snapshot(clone)
    worker.process_entries()
    assert snapshot(clone) == before
    assert "ferry to Tallinn" in contents(own_vault())
    # The worker is also told to update the index of a vault: not of this one.
    shutil.rmtree(clone / ".muisti")
    worker.process_entries(str(clone), foreign=True)
    assert not (clone / ".muisti").exists()


def test_K6_a_parent_folder_of_another_user_is_a_strangers_too(hook: Hook, tmp_path: Path) -> None:
    (tmp_path / "muisti.toml").write_text("")
    hook = replace(hook, named=False)
    talk(hook, hook.repository)
    hook.settled()
    assert not (tmp_path / "conversations").exists()
    assert not (tmp_path / ".muisti").exists()
