"""J8 · The checkpointer passes LangGraph's own suite, and its file is apart from the index."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncGenerator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver, empty_checkpoint
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.conformance.capabilities import Capability
from langgraph.checkpoint.serde.types import _DeltaSnapshot

from muisti import Muisti, VaultError, bootstrap
from muisti.integrations.langgraph import MuistiSaver
from muisti.integrations.langgraph_checkpoints import FILE


def config(thread: str = "one", **more: str) -> Any:
    return {"configurable": {"thread_id": thread, "checkpoint_ns": "", **more}}


def put(saver: MuistiSaver, at: Any, values: dict[str, Any], **metadata: Any) -> Any:
    checkpoint = {**empty_checkpoint(), "channel_values": values}
    return saver.put(at, checkpoint, metadata, {})


@pytest.mark.parametrize("capability", [one.value for one in Capability])
def test_J8_the_conformance_suite_passes(memory: Muisti, capability: str) -> None:
    @checkpointer_test(name="MuistiSaver")
    async def make_saver() -> AsyncGenerator[BaseCheckpointSaver[Any], None]:
        with MuistiSaver(memory) as saver:
            yield saver

    report = asyncio.run(validate(make_saver, capabilities={capability}))
    result = report.results[capability]
    assert result.failures in (None, [])
    assert result.passed
    assert result.tests_passed


def test_J8_checkpoints_survive_the_index_and_are_not_searched(opened: Any, vault: Path) -> None:
    with opened() as memory, MuistiSaver(memory) as saver:
        put(saver, config(), {"text": "zebra"}, source="input")
        assert not memory.search("zebra")
        assert memory.verify().ok
    assert (vault / FILE).stat().st_mode & 0o777 == 0o600
    shutil.rmtree(vault / ".muisti")
    with opened() as memory, MuistiSaver(memory) as saver:
        found = saver.get_tuple(config())
        assert found is not None
        assert found.checkpoint["channel_values"] == {"text": "zebra"}


def test_J8_pruning_keeps_what_a_delta_channel_is_the_sum_of(memory: Muisti) -> None:
    with MuistiSaver(memory) as saver:
        put(saver, config(), {"log": _DeltaSnapshot(["too early"])})
        base = put(saver, config(), {"log": _DeltaSnapshot([1])})
        saver.put_writes(base, [("log", 2)], "task")
        middle = put(saver, base, {})
        saver.put_writes(middle, [("log", 3)], "task")
        latest = put(saver, middle, {}, counters_since_delta_snapshot={"log": (2, 2)})
        before = saver.get_delta_channel_history(config=latest, channels=["log"])
        assert [write[2] for write in before["log"]["writes"]] == [2, 3]
        saver.prune(["one"])
        assert saver.get_delta_channel_history(config=latest, channels=["log"]) == before
        kept = [one.config["configurable"]["checkpoint_id"] for one in saver.list(config())]
        assert kept == [one["configurable"]["checkpoint_id"] for one in (latest, middle, base)]


def test_J8_several_threads_and_processes_share_a_file(opened: Any) -> None:
    with opened() as memory, MuistiSaver(memory) as one, MuistiSaver(memory) as other:

        def write(number: int) -> None:
            put((one, other)[number % 2], config(f"thread-{number % 5}"), {"n": number})

        with ThreadPoolExecutor(8) as threads:
            list(threads.map(write, range(60)))
        assert len(list(one.list(None))) == len(list(other.list(None))) == 60


def test_J8_a_file_that_cannot_be_used_is_refused(opened: Any, vault: Path, tmp_path: Path) -> None:
    memory = opened()
    broken = tmp_path / "broken.sqlite"
    broken.write_bytes(b"no database" * 100)
    with pytest.raises(VaultError, match="broken.sqlite cannot be opened as a checkpoint file"):
        MuistiSaver(memory, path=broken)
    assert broken.read_bytes() == b"no database" * 100
    (vault / FILE).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(VaultError, match="is a symbolic link"):
        MuistiSaver(memory)
    with bootstrap.open(":memory:") as nowhere, pytest.raises(ValueError, match="path"):
        MuistiSaver(nowhere)
