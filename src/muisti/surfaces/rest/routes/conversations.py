"""Conversations, core memory, document sources and extraction."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request

from muisti import model
from muisti.errors import InvalidRequest
from muisti.surfaces.rest.concurrency import ThreadedRoute
from muisti.surfaces.rest.dependencies import Id, MemoryDep
from muisti.surfaces.rest.folders import resolve_allowed_path
from muisti.surfaces.rest.problems import HttpProblem, document_errors
from muisti.surfaces.rest.schemas import Memory, ScopeQuery
from muisti.surfaces.rest.schemas_conversations import (
    Assignment,
    Conversation,
    CoreMemory,
    CoreText,
    CoreValue,
    DocumentSource,
    DocumentSourceQuery,
    Exchange,
    ExtractedMemory,
    ExtractionAccepted,
    ExtractionPreview,
    ForgetReport,
    ForgetRequest,
    HardQuery,
    IndexedDocument,
    Message,
    MessagesQuery,
    NewDocumentSource,
    NewMessage,
    SectionName,
    UserQuery,
)

EXTRACTION_OFF = 'extraction is off: the setting extractor is "none"'
router = APIRouter(route_class=ThreadedRoute)
Key = Annotated[str, Path(min_length=1, max_length=100)]

# The paths below /api/chats are the old names of those below /api/conversations (contract M2).


@router.get("/api/chats", include_in_schema=False)
@router.get("/api/conversations", tags=["Conversations"], responses=document_errors())
def list_conversations(
    memory: MemoryDep, query: Annotated[ScopeQuery, Query()]
) -> list[Conversation]:
    """List conversations, latest first."""
    found = memory.list_conversations(project=query.project, user=query.user)
    return [Conversation.model_validate(one) for one in found]


@router.get(
    "/api/conversations/{conversation}",
    tags=["Conversations"],
    responses=document_errors("item"),
)
def get_conversation(
    memory: MemoryDep, conversation: Id, query: Annotated[ScopeQuery, Query()]
) -> Conversation:
    """Return a conversation: its model, and where its current segment starts."""
    found = memory.get_conversation(conversation, project=query.project, user=query.user)
    return Conversation.model_validate(found)


@router.post(
    "/api/conversations/{conversation}/assign",
    tags=["Conversations"],
    responses=document_errors("item", "write", "body"),
)
def assign_conversation(memory: MemoryDep, conversation: Id, body: Assignment) -> Conversation:
    """Assign a project or a user to a conversation that has neither."""
    assigned = memory.assign_conversation(conversation, project=body.project, user=body.user)
    return Conversation.model_validate(assigned)


@router.get("/api/chats/{conversation}/messages", include_in_schema=False)
@router.get(
    "/api/conversations/{conversation}/messages",
    tags=["Conversations"],
    responses=document_errors("item"),
)
def list_messages(
    memory: MemoryDep, conversation: Id, query: Annotated[MessagesQuery, Query()]
) -> list[Message]:
    """Return the latest messages since the last session break, oldest first."""
    found = memory.window(conversation, query.limit, project=query.project, user=query.user)
    return [Message.model_validate(one) for one in found]


@router.get(
    "/api/conversations/{conversation}/summaries",
    tags=["Conversations"],
    responses=document_errors(),
)
def list_summaries(
    memory: MemoryDep, conversation: Id, query: Annotated[ScopeQuery, Query()]
) -> list[Memory]:
    """List the summaries of a conversation, in the order of the messages that they cover."""
    found = memory.list_summaries(conversation, project=query.project, user=query.user)
    return [Memory.model_validate(one) for one in found]


@router.post("/api/chats/{conversation}/messages", status_code=201, include_in_schema=False)
@router.post(
    "/api/conversations/{conversation}/messages",
    tags=["Conversations"],
    status_code=201,
    responses=document_errors("write", "body"),
)
def append_message(memory: MemoryDep, conversation: Id, body: NewMessage) -> Message:
    """Append a message to a conversation such as `telegram_123456`; created if missing."""
    return Message.model_validate(memory.append_message(conversation, **body.given_fields()))


@router.post("/api/chats/{conversation}/break", status_code=201, include_in_schema=False)
@router.post(
    "/api/conversations/{conversation}/break",
    tags=["Conversations"],
    status_code=201,
    responses=document_errors("write"),
)
def add_session_break(memory: MemoryDep, conversation: Id) -> Message:
    """Start a new session in a conversation: reading messages begins there."""
    return Message.model_validate(memory.session_break(conversation))


@router.delete(
    "/api/conversations/{conversation}",
    tags=["Conversations"],
    status_code=204,
    responses=document_errors("item", "write"),
)
def delete_conversation(
    memory: MemoryDep, conversation: Id, query: Annotated[HardQuery, Query()]
) -> None:
    """Move a conversation to the trash; with `hard`, delete it permanently."""
    memory.delete_conversation(conversation, hard=query.hard)


@router.delete(
    "/api/conversations/{conversation}/messages/{message_id}",
    tags=["Conversations"],
    status_code=204,
    responses=document_errors("item", "write"),
)
def delete_message(
    memory: MemoryDep, conversation: Id, message_id: Id, query: Annotated[HardQuery, Query()]
) -> None:
    """Move a message to the trash; with `hard`, delete it permanently."""
    memory.delete_messages(conversation, [message_id], hard=query.hard)


@router.post(
    "/api/conversations/{conversation}/restore",
    tags=["Conversations"],
    responses=document_errors("item", "write"),
)
def restore_conversation(memory: MemoryDep, conversation: Id) -> Conversation:
    """Restore a conversation's messages from the trash."""
    return Conversation.model_validate(memory.restore_conversation(conversation))


@router.post("/api/forget", tags=["Maintenance"], responses=document_errors("write", "body"))
def forget(memory: MemoryDep, body: ForgetRequest) -> ForgetReport:
    """Remove everything of a project, a user or a conversation."""
    return ForgetReport.model_validate(memory.forget(**body.given_fields()))


@router.get("/api/core", tags=["Core memory"], responses=document_errors(also=[409]))
def get_core_memory(memory: MemoryDep, query: Annotated[UserQuery, Query()]) -> CoreMemory:
    """Return core memory: facts about the user and standing instructions."""
    return CoreMemory.model_validate(memory.core_get(user=query.user))


@router.post("/api/core", tags=["Core memory"], responses=document_errors("write", "body"))
def fill_core_memory(
    memory: MemoryDep, body: CoreText, query: Annotated[UserQuery, Query()]
) -> CoreMemory:
    """Fill the section `user` from a text such as USER.md, if the section is empty."""
    return CoreMemory.model_validate(memory.core_init(body.text, user=query.user))


@router.put(
    "/api/core/{section}/{key}", tags=["Core memory"], responses=document_errors("write", "body")
)
def set_core_entry(
    memory: MemoryDep,
    section: SectionName,
    key: Key,
    body: CoreValue,
    query: Annotated[UserQuery, Query()],
) -> CoreMemory:
    """Set one entry. Returns core memory."""
    core = memory.core_update(section, key, body.value, user=query.user)
    return CoreMemory.model_validate(core)


@router.delete(
    "/api/core/{section}/{key}", tags=["Core memory"], responses=document_errors("item", "write")
)
def delete_core_entry(
    memory: MemoryDep, section: SectionName, key: Key, query: Annotated[UserQuery, Query()]
) -> CoreMemory:
    """Delete one entry. Returns core memory."""
    return CoreMemory.model_validate(memory.core_delete(section, key, user=query.user))


@router.get("/api/documents", tags=["Documents"], responses=document_errors())
def list_document_sources(memory: MemoryDep) -> list[DocumentSource]:
    """List the indexed Markdown files and folders."""
    return [DocumentSource.model_validate(one) for one in memory.list_document_sources()]


@router.get("/api/documents/files", tags=["Documents"], responses=document_errors())
def list_documents(
    memory: MemoryDep, query: Annotated[ScopeQuery, Query()]
) -> list[IndexedDocument]:
    """List the indexed Markdown files with their versions."""
    found = memory.list_documents(project=query.project, user=query.user)
    return [IndexedDocument.model_validate(one) for one in found]


@router.post(
    "/api/documents",
    tags=["Documents"],
    status_code=201,
    responses=document_errors("write", "body"),
)
def add_document_source(
    memory: MemoryDep, body: NewDocumentSource, request: Request
) -> DocumentSource:
    """Index a Markdown file or folder that `muisti serve --documents` allows."""
    path = resolve_allowed_path(body.path, request.app.state.config.document_folders)
    options = body.given_fields()
    del options["path"]
    return DocumentSource.model_validate(memory.index_path(path, **options))


@router.delete(
    "/api/documents",
    tags=["Documents"],
    status_code=204,
    responses=document_errors("item", "write"),
)
def remove_document_source(
    memory: MemoryDep, query: Annotated[DocumentSourceQuery, Query()]
) -> None:
    """Remove a file or folder from the index; the files are not changed."""
    # Only indexed paths are looked at, so that clients cannot probe for others.
    if query.path not in {source.path for source in memory.list_document_sources()}:
        detail = f"{query.path!r} is not indexed"
        raise HttpProblem(404, "document-not-found", "Document source not found", detail)
    memory.forget_path(query.path)


@router.post(
    "/api/extract",
    tags=["Extraction"],
    status_code=202,
    responses=document_errors("item", "write", "body"),
)
def extract_memories(memory: MemoryDep, body: Exchange) -> ExtractionAccepted:
    """Extract memories from an exchange in the background. It is on disk when this returns.

    If extraction is off (`extractor = "none"`), it is not accepted and `note` says so.
    """
    if not body.user_message.strip() and not body.assistant_response.strip():
        reason = "must not be empty if assistantResponse is"
        raise InvalidRequest("user_message", body.user_message, reason)
    accepted = memory.extract_and_save(**body.given_fields())
    if not memory.settings.extraction_enabled:
        return ExtractionAccepted(accepted=False, note=EXTRACTION_OFF)
    if not accepted:
        detail = "too many exchanges are queued, or the disk is full; nothing was extracted"
        raise HttpProblem(503, "extraction-refused", "Extraction is not available", detail)
    return ExtractionAccepted(accepted=True)


@router.post("/api/extract/preview", tags=["Extraction"], responses=document_errors("body"))
def preview_extraction(memory: MemoryDep, body: ExtractionPreview) -> list[ExtractedMemory]:
    """Return the memories that extraction finds in a conversation. Nothing is stored."""
    conversation = [
        model.Utterance(one.content, one.speaker, one.role, one.at, one.addressee)
        for one in body.messages
    ]
    extracted = memory.extract(conversation, mode=body.mode)
    return [ExtractedMemory.model_validate(one) for one in extracted]
