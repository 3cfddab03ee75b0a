"""The JSON of sessions, conversations, core memory, documents and extraction."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field, computed_field

from muisti.surfaces.rest.schemas import (
    Fraction,
    Integer,
    Name,
    NonBlankText,
    QueryModel,
    RequestModel,
    ResponseModel,
    Timestamp,
)

RoleName = Literal["user", "assistant", "system", "tool"]
ExtractionMode = Literal["default", "coding", "research"]
SectionName = Literal["user", "agent"]
Count = Annotated[int, Field(ge=0, le=2**31)]
ProjectName = Annotated[str, Field(max_length=100)]


class SessionMemory(ResponseModel):
    """A memory of a session, as chat applications know it."""

    id: str
    session_id: str
    memory_content: str
    memory_type: str
    importance: float
    created_at: datetime
    last_accessed_at: datetime


class NewSessionMemory(RequestModel):
    """A memory that a person adds to a session."""

    content: NonBlankText
    type: (
        Annotated[
            Name,
            Field(description="fact, preference, insight or any other kind; unset: worked out."),
        ]
        | None
    ) = None
    importance: Fraction | None = None


class NewSession(RequestModel):
    """A session to begin."""

    project: ProjectName | None = None
    session_id: Name | None = None


class SessionEnd(RequestModel):
    """How a session ended."""

    summary: Annotated[str, Field(max_length=20_000)] | None = None
    tool_calls: Count | None = None


class Session(ResponseModel):
    """One stretch of work."""

    id: str
    project: str
    status: Literal["active", "completed"]
    started_at: datetime
    ended_at: datetime | None
    summary: str
    tool_calls: int


class SessionsQuery(QueryModel):
    """Which sessions."""

    project: ProjectName | None = None
    limit: Annotated[Integer, Field(ge=1, le=1000)] = 50


class SessionUse(ResponseModel):
    """What a session did with a memory."""

    session_id: str
    memory_id: str
    use: Literal["created", "recalled", "updated", "reinforced"]
    at: datetime


class NewSessionUse(RequestModel):
    """What a session did with a memory."""

    memory_id: Name
    use: Literal["created", "recalled", "updated", "reinforced"] = "recalled"


class SessionText(ResponseModel):
    """All that a session made, as one text."""

    content: str
    token_count: int


class Message(ResponseModel):
    """What was said."""

    id: str
    conversation: str
    role: str
    content: str
    at: datetime
    type: str | None
    meta: dict[str, Any]
    index_pending: bool

    @computed_field(description="Old name of `conversation`.")  # type: ignore[prop-decorator]
    @property
    def chat(self) -> str:
        """The conversation, under its old name."""
        return self.conversation


class NewMessage(RequestModel):
    """Something that was said."""

    role: RoleName
    content: str
    type: Annotated[str, Field(min_length=1, max_length=60)] | None = None
    meta: dict[str, Any] = Field(default={})
    at: Timestamp | None = None
    id: (
        Annotated[str, Field(min_length=1, max_length=120, description="Makes it safe to repeat.")]
        | None
    ) = None


class Conversation(ResponseModel):
    """A conversation in numbers."""

    name: str
    messages: int
    first_at: datetime
    last_at: datetime
    since_break: int


class MessagesQuery(QueryModel):
    """How much of a conversation."""

    limit: Annotated[Integer, Field(ge=1, le=1000)] = 20


class CoreMemory(ResponseModel):
    """What an agent always knows."""

    user: dict[str, str]
    agent: dict[str, str]


class CoreValue(RequestModel):
    """The value of an entry."""

    value: NonBlankText


class CoreText(RequestModel):
    """A text such as that of a USER.md."""

    text: NonBlankText


class DocumentSource(ResponseModel):
    """A file or folder with Markdown that is searched too."""

    path: str
    source: str
    project: str
    trusted: bool
    documents: int


class NewDocumentSource(RequestModel):
    """A file or folder to search; it has to lie in a folder that the server was started with."""

    path: Annotated[str, Field(min_length=1, max_length=4000)]
    source: Annotated[str, Field(max_length=200)] | None = None
    project: ProjectName | None = None
    trusted: bool | None = None


class DocumentSourceQuery(QueryModel):
    """Which file or folder, as the list names it."""

    path: Annotated[str, Field(min_length=1, max_length=4000)]


class Exchange(RequestModel):
    """What a user said and what was answered."""

    session_id: Name
    user_message: str
    assistant_response: str = ""
    mode: ExtractionMode = "default"
    speaker: Annotated[str, Field(min_length=1, max_length=100)] = "User"
    project: ProjectName | None = None
    at: Timestamp | None = None


class ExtractionAccepted(ResponseModel):
    """It is on the disk, and is dealt with in the background."""

    accepted: bool


class Utterance(RequestModel):
    """One message of a talk."""

    text: NonBlankText
    speaker: Annotated[str, Field(min_length=1, max_length=100)] = "User"
    role: Literal["user", "assistant"] = "user"
    at: Timestamp | None = None
    addressee: Annotated[str, Field(max_length=100)] = ""


class ExtractionPreview(RequestModel):
    """A talk to look for memories in; nothing is stored."""

    messages: Annotated[list[Utterance], Field(min_length=1, max_length=1000)]
    mode: ExtractionMode = "default"


class ExtractedMemory(ResponseModel):
    """Something worth keeping."""

    content: str
    kind: str
    importance: float
    source_text: str
    about: datetime | None
