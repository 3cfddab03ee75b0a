"""Hooks of agents on a database: recall and capture as in a folder."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from muisti import Muisti
from muisti.locations import restore_password, strip_password
from muisti.surfaces.hooks import spool
from muisti.surfaces.hooks.log import read_recent
from tests.postgres.server import make_location
from tests.rest.conftest import until
from tests.surfaces.hooks.conftest import Hook


@pytest.mark.exhaustive
def test_L1_hooks_recall_and_capture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    location = make_location()
    host = location.partition("host=")[2]
    store = f"postgresql://postgres:hunter2hunter2@/postgres?host={host}"
    monkeypatch.setenv("MUISTI_STORE", store)
    monkeypatch.setenv("MUISTI_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("MUISTI_EMBEDDER", "none")
    hook = Hook(vault=tmp_path / "none", repository=tmp_path, named=False)
    with Muisti.open(store, embedder="none") as memory:
        memory.save("We deploy with Docker Compose on Fridays.", tier="global", importance=0.9)
        # A hook ends itself after a few seconds, which a busy machine may need.
        until(lambda: "Docker Compose" in hook("SessionStart"), seconds=60)
        prompt = partial(hook, "UserPromptSubmit", prompt="How do we deploy?", session="s2")
        until(lambda: "Docker Compose" in prompt(), seconds=60)
        hook("Stop", last_assistant_message="With Docker Compose.", session="s2")
        until(lambda: not spool.list_entries() and memory.list_conversations(), seconds=60)
        [one] = memory.list_conversations()
        texts = [message.content for message in memory.window(one.name)]
        assert texts == ["How do we deploy?", "With Docker Compose."]
    runs = read_recent(100)
    assert {
        run.detail for run in runs if run.outcome == "error" and "longer than" not in run.detail
    } == set()
    kept = [path for path in (tmp_path / "state").rglob("*") if path.is_file()]
    assert kept, "the log"
    assert not any(b"hunter2" in path.read_bytes() for path in kept)


@pytest.mark.parametrize(
    ("address", "stripped"),
    [
        ("postgresql://me:pw@db/x", "postgresql://me@db/x"),
        ("postgresql://me@db:5432/x?options=a", "postgresql://me@db:5432/x?options=a"),
        ("postgresql://db/x?password=pw", "postgresql://db/x"),
        ("postgresql://me:p%40w@/x?host=/s&password=pw&a=b", "postgresql://me@/x?host=/s&a=b"),
        ("postgresql://db/x", "postgresql://db/x"),
    ],
)
def test_L1_an_address_without_its_password(
    address: str, stripped: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert strip_password(address) == stripped
    monkeypatch.setenv("MUISTI_STORE", address)
    assert restore_password(stripped) == address
    monkeypatch.setenv("MUISTI_STORE", "postgresql://other/x")
    assert restore_password(stripped) == stripped
