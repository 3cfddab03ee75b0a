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
from muisti.surfaces.rest.schemas_conversations import (
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
    Message,
    MessagesQuery,
    NewDocumentSource,
    NewMessage,
    SectionName,
)

router = APIRouter(route_class=ThreadedRoute)
Key = Annotated[str, Path(min_length=1, max_length=100)]

# The paths below /api/chats are the old names of those below /api/conversations (contract M2).


@router.get("/api/chats", include_in_schema=False)
@router.get("/api/conversations", tags=["Conversations"], responses=document_errors())
def list_conversations(memory: MemoryDep) -> list[Conversation]:
    """List all conversations, latest first."""
    return [Conversation.model_validate(one) for one in memory.list_conversations()]


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
    return [Message.model_validate(one) for one in memory.window(conversation, query.limit)]


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
    """Mark the start of a new session: reading messages begins there."""
    return Message.model_validate(memory.session_break(conversation))


@router.get("/api/core", tags=["Core memory"], responses=document_errors(also=[409]))
def get_core_memory(memory: MemoryDep) -> CoreMemory:
    """Return core memory: facts about the user and standing instructions."""
    return CoreMemory.model_validate(memory.core_get())


@router.post("/api/core", tags=["Core memory"], responses=document_errors("write", "body"))
def fill_core_memory(memory: MemoryDep, body: CoreText) -> CoreMemory:
    """Fill the section `user` from a text such as USER.md, if the section is empty."""
    return CoreMemory.model_validate(memory.core_init(body.text))


@router.put(
    "/api/core/{section}/{key}", tags=["Core memory"], responses=document_errors("write", "body")
)
def set_core_entry(
    memory: MemoryDep, section: SectionName, key: Key, body: CoreValue
) -> CoreMemory:
    """Set one entry. Returns core memory."""
    return CoreMemory.model_validate(memory.core_update(section, key, body.value))


@router.delete(
    "/api/core/{section}/{key}", tags=["Core memory"], responses=document_errors("item", "write")
)
def delete_core_entry(memory: MemoryDep, section: SectionName, key: Key) -> CoreMemory:
    """Delete one entry. Returns core memory."""
    return CoreMemory.model_validate(memory.core_delete(section, key))


@router.get("/api/documents", tags=["Documents"], responses=document_errors())
def list_document_sources(memory: MemoryDep) -> list[DocumentSource]:
    """List the indexed Markdown files and folders."""
    return [DocumentSource.model_validate(one) for one in memory.list_document_sources()]


@router.post(
    "/api/documents",
    tags=["Documents"],
    status_code=201,
    responses=document_errors("write", "body"),
)
def add_document_source(
    memory: MemoryDep, body: NewDocumentSource, request: Request
) -> DocumentSource:
    """Index a Markdown file or folder below one given to `muisti serve --documents`."""
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
    responses=document_errors("write", "body"),
)
def extract_memories(memory: MemoryDep, body: Exchange) -> ExtractionAccepted:
    """Extract memories from an exchange in the background. It is on disk when this returns."""
    if not body.user_message.strip() and not body.assistant_response.strip():
        reason = "must not be empty if assistantResponse is"
        raise InvalidRequest("user_message", body.user_message, reason)
    if not memory.extract_and_save(**body.given_fields()):
        detail = "too many exchanges are queued, or the disk is full; nothing was extracted"
        raise HttpProblem(503, "extraction-refused", "Extraction is not available", detail)
    return ExtractionAccepted(accepted=True)


@router.post("/api/extract/preview", tags=["Extraction"], responses=document_errors("body"))
def preview_extraction(memory: MemoryDep, body: ExtractionPreview) -> list[ExtractedMemory]:
    """Return the memories that extraction finds in a conversation. Nothing is stored."""
    conversation = [
        model.Utterance(one.text, one.speaker, one.role, one.at, one.addressee)
        for one in body.messages
    ]
    extracted = memory.extract(conversation, mode=body.mode)
    return [ExtractedMemory.model_validate(one) for one in extracted]
