"""The JSON of sessions, conversations, core memory, documents and extraction."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field, computed_field, model_validator

from muisti.surfaces.rest.schemas import (
    Flag,
    Fraction,
    Integer,
    Name,
    NonBlankText,
    QueryModel,
    RequestModel,
    ResponseModel,
    ScopeQuery,
    Timestamp,
    UserName,
)

RoleName = Literal["user", "assistant", "system", "tool"]
ExtractionMode = Literal["default", "coding", "research"]
SectionName = Literal["user", "agent"]
Count = Annotated[int, Field(ge=0, le=2**31)]
ProjectName = Annotated[str, Field(max_length=100)]


class MessageModel(RequestModel):
    """A message in a request. Its text is `content`; the old name `text` is accepted, too."""

    @model_validator(mode="before")
    @classmethod
    def rename_text(cls, values: Any) -> Any:
        """Return the fields with `content` for `text`, unless both are there."""
        if isinstance(values, dict) and "text" in values and "content" not in values:
            return {"content" if name == "text" else name: one for name, one in values.items()}
        return values


class UserQuery(QueryModel):
    """Whose core memory it is. Omitted: the vault's."""

    user: UserName | None = None


class SessionMemory(ResponseModel):
    """A memory of a session, in the JSON of chat applications."""

    id: str
    session_id: str
    memory_content: str
    memory_type: str
    importance: float
    created_at: datetime
    last_accessed_at: datetime


class NewSessionMemory(RequestModel):
    """A memory to add to a session."""

    content: NonBlankText
    type: Name | None = Field(
        default=None, description="fact, preference, insight or another kind. Default: inferred."
    )
    importance: Fraction | None = None


class NewSession(RequestModel):
    """A session to start. It fixes project and user."""

    project: ProjectName | None = None
    user: UserName | None = None
    session_id: Name | None = None


class SessionEnd(RequestModel):
    """The end of a session; omitted fields are unchanged."""

    summary: Annotated[str, Field(max_length=20_000)] | None = None
    tool_calls: Count | None = None


class Session(ResponseModel):
    """A session."""

    id: str
    project: str
    user: str
    status: Literal["active", "completed"]
    started_at: datetime
    ended_at: datetime | None
    summary: str
    tool_calls: int
    last_used: datetime | None
    needs_summary: bool = Field(
        description="Whether its memories have more tokens than `summarize_token_threshold`, "
        "and no summary."
    )


class SessionsQuery(QueryModel):
    """The sessions to list."""

    project: ProjectName | None = None
    user: UserName | None = None
    limit: Annotated[Integer, Field(ge=1, le=1000)] = 50


class SessionUse(ResponseModel):
    """How a session used a memory."""

    session_id: str
    memory_id: str
    use: Literal["created", "recalled", "updated", "reinforced"]
    at: datetime


class NewSessionUse(RequestModel):
    """How a session used a memory."""

    memory_id: Name
    use: Literal["created", "recalled", "updated", "reinforced"] = "recalled"


class SessionText(ResponseModel):
    """The memories of a session as one text."""

    content: str
    token_count: int


class Message(ResponseModel):
    """A message of a conversation."""

    id: str
    conversation: Annotated[str, Field(description="Its name, such as `telegram_123456`.")]
    role: str
    content: str
    at: datetime
    type: str | None
    meta: dict[str, Any]
    project: str
    user: str
    index_pending: bool

    @computed_field(json_schema_extra={"deprecated": True})  # type: ignore[prop-decorator]
    @property
    def chat(self) -> str:
        """Old name of `conversation`."""
        return self.conversation


class NewMessage(MessageModel):
    """A message to append."""

    role: RoleName
    content: str
    type: Annotated[str, Field(min_length=1, max_length=60)] | None = None
    meta: dict[str, Any] = Field(default={})
    at: Timestamp | None = None
    id: Annotated[str, Field(min_length=1, max_length=120)] | None = Field(
        default=None, description="Makes a repeated request safe."
    )
    project: ProjectName | None = Field(
        default=None, description="The first message that names one fixes that of the conversation."
    )
    user: UserName | None = None


class Conversation(ResponseModel):
    """A conversation and how many messages it has."""

    name: str
    messages: int
    first_at: datetime
    last_at: datetime
    since_break: int
    project: str
    user: str
    model: Annotated[str, Field(description="Of the latest assistant message that names one.")]
    segment_start: Annotated[
        str, Field(description="The ID of the first message after the last session break.")
    ]


class Assignment(RequestModel):
    """The project and the user that a conversation belongs to."""

    project: ProjectName | None = None
    user: UserName | None = None


class HardQuery(QueryModel):
    """Whether to delete permanently."""

    hard: Flag = False


class ForgetRequest(RequestModel):
    """What to forget. All given values must match."""

    project: ProjectName | None = None
    user: UserName | None = None
    conversation: Name | None = None
    before: Timestamp | None = None
    hard: bool = False
    dry_run: bool = Field(default=False, description="Only return what would be removed.")


class ForgetReport(ResponseModel):
    """What was removed or, in a dry run, would be."""

    dry_run: bool
    hard: bool
    memories: list[str]
    messages: int
    conversations: list[str]
    documents: list[str]
    sessions: list[str]
    core_entries: int
    exchanges: int


class MessagesQuery(ScopeQuery):
    """How many messages to return, and whose."""

    limit: Annotated[Integer, Field(ge=1, le=1000)] = 20


class CoreMemory(ResponseModel):
    """Permanent facts about the user and standing instructions for the agent."""

    user: dict[str, str]
    agent: dict[str, str]


class CoreValue(RequestModel):
    """The value of a core memory entry."""

    value: NonBlankText


class CoreText(RequestModel):
    """A text such as USER.md."""

    text: NonBlankText


class DocumentSource(ResponseModel):
    """A Markdown file or folder that is searched too."""

    path: str
    source: str
    project: str
    trusted: bool
    documents: int
    user: str


class IndexedDocument(ResponseModel):
    """A Markdown file that is searched too."""

    path: str
    version: Annotated[str, Field(description="A digest of the file as it was indexed.")]
    source: Annotated[str, Field(description="The path of its document source.")]
    project: str
    user: str


class NewDocumentSource(RequestModel):
    """A file or folder to index, in a folder that the server was started with."""

    path: Annotated[str, Field(min_length=1, max_length=4000)]
    source: Annotated[str, Field(max_length=200)] | None = None
    project: ProjectName | None = None
    user: UserName | None = None
    trusted: bool | None = None


class DocumentSourceQuery(QueryModel):
    """A file or folder, as in the list of document sources."""

    path: Annotated[str, Field(min_length=1, max_length=4000)]


class Exchange(RequestModel):
    """A user message and the assistant's reply."""

    session_id: Name
    user_message: str
    assistant_response: str = ""
    mode: ExtractionMode = "default"
    speaker: Annotated[str, Field(min_length=1, max_length=100)] = "User"
    project: ProjectName | None = None
    user: UserName | None = None
    at: Timestamp | None = None


class ExtractionAccepted(ResponseModel):
    """Whether the exchange is queued on disk, to be extracted in the background."""

    accepted: bool
    note: str = Field(default="", description="Why it was not accepted; else empty.")


class Utterance(MessageModel):
    """A message to extract from."""

    content: NonBlankText
    speaker: Annotated[str, Field(min_length=1, max_length=100)] = "User"
    role: Literal["user", "assistant"] = "user"
    at: Timestamp | None = None
    addressee: Annotated[str, Field(max_length=100)] = ""


class ExtractionPreview(RequestModel):
    """Messages to extract memories from; nothing is stored."""

    messages: Annotated[list[Utterance], Field(min_length=1, max_length=1000)]
    mode: ExtractionMode = "default"


class ExtractedMemory(ResponseModel):
    """A memory that extraction found."""

    content: str
    kind: str
    importance: float
    source_text: str
    about: datetime | None
