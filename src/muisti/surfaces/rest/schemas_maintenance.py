"""The JSON of links, history, statistics, maintenance, import and export."""

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
    SessionScopeQuery,
    Timestamp,
)
from muisti.surfaces.rest.schemas_conversations import ProjectName, Session


class NewLink(RequestModel):
    """A link from this memory to another."""

    target: Name
    type: LinkName = "RELATED_TO"
    confidence: Fraction = 1.0
    extracted_by: Literal["user", "llm", "system"] = "user"
    valid_from: Timestamp | None = None
    valid_until: Timestamp | None = None


class LinkQuery(QueryModel):
    """The link to remove."""

    target: Name
    type: LinkName = "RELATED_TO"


class SupersedeRequest(RequestModel):
    """The memory that replaces this one."""

    new_id: Name


class SupersedingMemory(ResponseModel):
    """The memory that replaced this one; null if it is current."""

    memory: Memory | None


class ReinforceRequest(RequestModel):
    """How much to raise the salience, and for which session."""

    amount: Annotated[float, Field(gt=0, le=1)] | None = None
    session_id: Name | None = None


class DeemphasizeRequest(RequestModel):
    """How much to lower the salience."""

    amount: Annotated[float, Field(gt=0, le=1)] | None = None


class GraphQuery(SessionScopeQuery):
    """How far to follow links."""

    depth: Annotated[Integer, Field(ge=1, le=5)] = 1


class Graph(ResponseModel):
    """A memory and those it links to, itself first."""

    memories: list[Memory]
    links: list[Link]


class UnresolvedLink(ResponseModel):
    """A wikilink that leads to no memory."""

    source: str
    title: str
    target: str


class HistoryEntry(ResponseModel):
    """One entry of a memory's history."""

    at: datetime
    what: str
    note: str
    session_id: str | None
    other_id: str | None
    content: str | None


class FileProblem(ResponseModel):
    """A file with a problem, and how to fix it."""

    path: str
    reason: str


class DatabaseStatus(ResponseModel):
    """The database of the vault, and the connections of this server."""

    is_primary: bool
    replicas: int | None
    lag_bytes: int | None = Field(description="What the slowest replica has not applied yet.")
    read_lag_seconds: float | None = Field(
        description="How far the replica that serves reads is behind; null: the primary does."
    )
    connections: int
    connections_used: int
    waiting_requests: int


class Stats(ResponseModel):
    """Statistics of the vault."""

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
    embedder: str
    waiting_count: int
    problems: list[FileProblem]
    long_sessions: dict[str, int] = Field(
        description="Sessions that need a summary, with the tokens of their memories."
    )
    database: DatabaseStatus | None = Field(description="Null for a vault in a folder.")


class SyncRequest(RequestModel):
    """Whether to remove the memories of missing files, however many."""

    confirm: bool = False


class SyncReport(ResponseModel):
    """The external changes that were picked up."""

    added: int
    changed: int
    moved: int
    removed: int
    missing: int
    paused: bool
    problems: list[FileProblem]


class VerifyReport(ResponseModel):
    """Whether the index matches the files."""

    ok: bool
    files: int
    memories: int
    journal_events: int
    problems: list[FileProblem]


class MaintenanceRequest(RequestModel):
    """Whether to only report what maintenance would do."""

    dry_run: bool = False


class MaintenanceReport(ResponseModel):
    """What maintenance did, or would do."""

    dry_run: bool
    decayed: int
    cleaned: list[Memory]
    evicted: list[Memory]
    live_bytes: int
    limit_bytes: int
    ended_sessions: list[Session]


class ReindexRequest(RequestModel):
    """Whether to only create missing vectors."""

    vectors: bool = False


class ExportQuery(FilterQuery):
    """The memories to export, and the format."""

    format: Literal["json", "markdown"] = "json"
    include_deleted: Flag = False


class ImportRequest(RequestModel):
    """Memories to import, such as an export. Field names of other programs are understood."""

    memories: Annotated[list[dict[str, Any]], Field(max_length=10_000)]
    kind: Name | None = None
    project: ProjectName | None = None
    trusted: Annotated[bool, Field(description="Treat the memories as confirmed by you.")] = False


class ImportReport(ResponseModel):
    """How many memories were new."""

    imported: int


class EmptyTrashReport(ResponseModel):
    """How many memories were deleted permanently."""

    removed: int


class Health(ResponseModel):
    """The server is running."""

    status: Literal["ok"]


class Readiness(ResponseModel):
    """Whether the vault can be used."""

    status: Literal["ready", "degraded"]
    version: str
    vault: str
    memories: int
    embedding_model: str | None
    waiting_count: int
    queued_exchanges: int = Field(description="Exchanges that wait for extraction.")
    database: DatabaseStatus | None = Field(description="Null for a vault in a folder.")
    problems: list[FileProblem]
    notes: list[str]
