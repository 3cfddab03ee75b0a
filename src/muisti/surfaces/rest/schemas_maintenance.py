"""The JSON of links, history, upkeep, numbers and exchange."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field

from muisti.surfaces.rest.schemas import (
    FilterQuery,
    Flag,
    Fraction,
    Integer,
    Link,
    LinkName,
    Memory,
    Name,
    QueryModel,
    RequestModel,
    ResponseModel,
    Timestamp,
)
from muisti.surfaces.rest.schemas_conversations import ProjectName


class NewLink(RequestModel):
    """How this memory stands to another."""

    target: Name
    type: LinkName = "RELATED_TO"
    confidence: Fraction = 1.0
    extracted_by: Literal["user", "llm", "system"] = "user"
    valid_from: Timestamp | None = None
    valid_until: Timestamp | None = None


class LinkQuery(QueryModel):
    """Which link to take back."""

    target: Name
    type: LinkName = "RELATED_TO"


class SupersedeRequest(RequestModel):
    """The memory that takes the place of this one."""

    new_id: Name


class SupersedingMemory(ResponseModel):
    """The memory that took its place, if one did."""

    memory: Memory | None


class ReinforceRequest(RequestModel):
    """By how much."""

    amount: Annotated[float, Field(gt=0, le=1)] | None = None
    session_id: Name | None = None


class DeemphasizeRequest(RequestModel):
    """By how much."""

    amount: Annotated[float, Field(gt=0, le=1)] | None = None


class GraphQuery(QueryModel):
    """How far."""

    depth: Annotated[Integer, Field(ge=1, le=5)] = 1


class Graph(ResponseModel):
    """A memory's surroundings, itself first."""

    memories: list[Memory]
    links: list[Link]


class HistoryEntry(ResponseModel):
    """One line of a memory's history."""

    at: datetime
    what: str
    note: str
    session_id: str | None
    other_id: str | None
    content: str | None


class FileProblem(ResponseModel):
    """A file that cannot be used as it is, and what to do."""

    path: str
    reason: str


class Stats(ResponseModel):
    """The vault in numbers."""

    total_count: int
    by_kind: dict[str, int]
    by_sector: dict[str, int]
    by_project: dict[str, int]
    total_tokens: int
    avg_salience: float
    oldest_memory: datetime | None
    newest_memory: datetime | None
    deleted_count: int
    session_count: int
    index_size_bytes: int
    embedding_model: str | None
    waiting_count: int
    problems: list[FileProblem]


class SyncRequest(RequestModel):
    """Whether to forget files that vanished, however many."""

    confirm: bool = False


class SyncReport(ResponseModel):
    """What was taken in."""

    added: int
    changed: int
    moved: int
    removed: int
    missing: int
    paused: bool
    problems: list[FileProblem]


class VerifyReport(ResponseModel):
    """Whether files and index agree."""

    ok: bool
    files: int
    memories: int
    journal_events: int
    problems: list[FileProblem]


class MaintenanceRequest(RequestModel):
    """Whether only to tell what would be done."""

    dry_run: bool = False


class MaintenanceReport(ResponseModel):
    """What upkeep did, or would do."""

    dry_run: bool
    decayed: int
    cleaned: list[Memory]
    evicted: list[Memory]
    live_bytes: int
    limit_bytes: int


class ReindexRequest(RequestModel):
    """Whether only to make the vectors that are missing."""

    vectors: bool = False


class ExportQuery(FilterQuery):
    """What to export, and how."""

    format: Literal["json", "markdown"] = "json"
    include_deleted: Flag = False


class ImportRequest(RequestModel):
    """Memories from elsewhere, such as an export. Other programs' names of fields are understood."""

    memories: Annotated[list[dict[str, Any]], Field(max_length=10_000)]
    kind: Name | None = None
    project: ProjectName | None = None
    trusted: Annotated[
        bool, Field(description="Agents may rely on it as on your own memories.")
    ] = False


class ImportReport(ResponseModel):
    """How many were new."""

    imported: int


class EmptyTrashReport(ResponseModel):
    """How many were removed for good."""

    removed: int


class Health(ResponseModel):
    """That the server lives."""

    status: Literal["ok"]


class Readiness(ResponseModel):
    """Whether the memory can be used."""

    status: Literal["ready", "degraded"]
    version: str
    vault: str
    memories: int
    embedding_model: str | None
    waiting_count: int
    problems: list[FileProblem]
    notes: list[str]
