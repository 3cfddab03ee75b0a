"""A LangGraph checkpointer with its file in the folder of a vault.

    with Muisti.open("~/notes") as memory, MuistiSaver(memory) as saver:
        graph = builder.compile(checkpointer=saver, store=MuistiStore(memory))

The state of your graphs is stored as it is: it is neither redacted nor found by searches.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from muisti.engine import Muisti
from muisti.errors import InvalidRequest, VaultError
from muisti.integrations.checkpoint_file import CheckpointFile, CheckpointRow, Key, WriteRow
from muisti.integrations.frameworks import in_thread, require

require("langgraph-checkpoint", "4.0", "langgraph")

from langchain_core.runnables import RunnableConfig  # noqa: E402
from langgraph.checkpoint.base import (  # noqa: E402
    WRITES_IDX_MAP,
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    get_checkpoint_id,
    get_checkpoint_metadata,
)
from langgraph.checkpoint.serde.base import SerializerProtocol  # noqa: E402

FILE = "langgraph-checkpoints.sqlite"
"""The name of the file in the vault's folder."""


def _to_config(key: Key) -> RunnableConfig:
    thread, namespace, id_ = key
    return {"configurable": {"thread_id": thread, "checkpoint_ns": namespace, "checkpoint_id": id_}}


class MuistiSaver(BaseCheckpointSaver[int], AbstractContextManager["MuistiSaver"]):
    """Stores checkpoints in the file `langgraph-checkpoints.sqlite` of a vault, or in `path`.

    Reading a checkpoint can run code, so use only your own files: raises VaultError if the vault
    is not trusted or the file cannot be opened.
    """

    def __init__(
        self,
        memory: Muisti,
        *,
        path: str | os.PathLike[str] | None = None,
        serde: SerializerProtocol | None = None,
    ) -> None:
        super().__init__(serde=serde)
        if path is None and not memory.is_trusted:
            raise VaultError(f"{memory.location} is not trusted: run `muisti trust` or pass a path")
        folder = Path(str(memory.location))
        if path is None and not folder.is_dir():
            raise InvalidRequest("path", path, f"is needed: {memory.location} is not a folder")
        self._file = CheckpointFile(folder / FILE if path is None else Path(path).expanduser())

    def close(self) -> None:
        """Close the file. Closing twice is allowed."""
        self._file.close()

    def __exit__(self, *error: object) -> None:
        self.close()

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return the checkpoint that the config names, or the latest of its thread, or None."""
        named = {"checkpoint_ns": "", **config["configurable"]}
        return next(self.list({"configurable": named}, limit=1), None)

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Yield checkpoints, the latest first. `filter` has values of their metadata."""
        of = config["configurable"] if config else {}
        conditions = {
            "thread = ?": of.get("thread_id"),
            "namespace = ?": of.get("checkpoint_ns"),
            "id = ?": of.get("checkpoint_id") or None,
            "id < ?": get_checkpoint_id(before) if before else None,
        }
        rows = self._file.select(conditions)
        left = len(rows) if limit is None else limit
        for row in rows:
            if left <= 0:
                return
            metadata = self.serde.loads_typed((row.metadata_type, row.metadata))
            if any(metadata.get(name) != value for name, value in (filter or {}).items()):
                continue
            left -= 1
            yield CheckpointTuple(
                config=_to_config(row.key),
                checkpoint=self.serde.loads_typed((row.type, row.data)),
                metadata=metadata,
                parent_config=_to_config((*row.key[:2], row.parent)) if row.parent else None,
                pending_writes=[
                    (one.task, one.channel, self.serde.loads_typed((one.type, one.data)))
                    for one in self._file.select_writes(row.key)
                ],
            )

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a checkpoint and return its config. It is on disk when this returns."""
        of = config["configurable"]
        key = str(of["thread_id"]), of.get("checkpoint_ns", ""), checkpoint["id"]
        complete = get_checkpoint_metadata(config, metadata)
        parent, run = get_checkpoint_id(config), complete.get("run_id")
        data, more = self.serde.dumps_typed(checkpoint), self.serde.dumps_typed(complete)
        self._file.put(CheckpointRow(*key, parent, run, *data, *more))
        return _to_config(key)

    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Store what a task wrote. What it wrote before stays, except errors and interrupts."""
        of = config["configurable"]
        key = str(of["thread_id"]), of.get("checkpoint_ns", ""), of["checkpoint_id"]
        rows = []
        for number, (channel, value) in enumerate(writes):
            position = WRITES_IDX_MAP.get(channel, number)
            data = self.serde.dumps_typed(value)
            rows.append(WriteRow(*key, task_id, position, task_path, channel, *data))
        self._file.put_writes(rows)

    def delete_thread(self, thread_id: str) -> None:
        """Delete all checkpoints of a thread."""
        self._file.delete_thread(thread_id)

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete the checkpoints that these runs created."""
        for run in run_ids:
            self._file.delete(row.key for row in self._file.select({"run = ?": run}))

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy all checkpoints and writes of a thread to another."""
        self._file.copy_thread(source_thread_id, target_thread_id)

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Delete all but the latest checkpoint of each namespace; with `delete`, all.

        Earlier ones stay if a channel of the latest is stored as changes to them. Raises
        InvalidRequest for another strategy.
        """
        if strategy not in ("keep_latest", "delete"):
            raise InvalidRequest("strategy", strategy, "must be keep_latest or delete")
        for thread in thread_ids:
            if strategy == "delete":
                self._file.delete_thread(thread)
                continue
            rows = {row.key: row for row in self._file.select({"thread = ?": thread})}
            kept: set[Key] = set()
            for namespace in {row.namespace for row in rows.values()}:
                latest = next(row for row in rows.values() if row.namespace == namespace)
                metadata = self.serde.loads_typed((latest.metadata_type, latest.metadata))
                needed = set(metadata.get("counters_since_delta_snapshot") or ())
                row: CheckpointRow | None = latest
                while row is not None and row.key not in kept:
                    kept.add(row.key)
                    needed -= self.serde.loads_typed((row.type, row.data))["channel_values"].keys()
                    row = rows.get((thread, namespace, row.parent or "")) if needed else None
            self._file.delete(rows.keys() - kept)

    aget_tuple = in_thread(get_tuple)
    aput = in_thread(put)
    aput_writes = in_thread(put_writes)
    adelete_thread = in_thread(delete_thread)
    adelete_for_runs = in_thread(delete_for_runs)
    acopy_thread = in_thread(copy_thread)
    aprune = in_thread(prune)

    async def alist(
        self, config: RunnableConfig | None, **options: Any
    ) -> AsyncIterator[CheckpointTuple]:
        """As `list`, in a thread."""
        for one in await asyncio.to_thread(tuple, self.list(config, **options)):
            yield one


__all__ = ["MuistiSaver"]
