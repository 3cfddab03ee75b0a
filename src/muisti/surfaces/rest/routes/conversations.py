"""What is said, what is always known, what is written elsewhere, and what a talk teaches."""

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


@router.get("/api/chats", tags=["Conversations"], responses=document_errors())
def list_chats(memory: MemoryDep) -> list[Conversation]:
    """All conversations, the latest first."""
    return [Conversation.model_validate(one) for one in memory.list_conversations()]


@router.get("/api/chats/{chat}/messages", tags=["Conversations"], responses=document_errors("one"))
def chat_window(
    memory: MemoryDep, chat: Id, asked: Annotated[MessagesQuery, Query()]
) -> list[Message]:
    """The latest messages since the last break, in their order."""
    return [Message.model_validate(one) for one in memory.window(chat, asked.limit)]


@router.post(
    "/api/chats/{chat}/messages",
    tags=["Conversations"],
    status_code=201,
    responses=document_errors("change", "body"),
)
def append_message(memory: MemoryDep, chat: Id, body: NewMessage) -> Message:
    """Write down what was said in a chat, such as `telegram_123456`."""
    return Message.model_validate(memory.append_message(chat, **body.given_fields()))


@router.post(
    "/api/chats/{chat}/break",
    tags=["Conversations"],
    status_code=201,
    responses=document_errors("change"),
)
def session_break(memory: MemoryDep, chat: Id) -> Message:
    """Begin a new talk: the window shows what follows."""
    return Message.model_validate(memory.session_break(chat))


@router.get("/api/core", tags=["Core memory"], responses=document_errors(also=[409]))
def get_core(memory: MemoryDep) -> CoreMemory:
    """Both sections."""
    return CoreMemory.model_validate(memory.core_get())


@router.post("/api/core", tags=["Core memory"], responses=document_errors("change", "body"))
def fill_core(memory: MemoryDep, body: CoreText) -> CoreMemory:
    """Fill the section `user`, if it is empty, from a text like that of a USER.md."""
    return CoreMemory.model_validate(memory.core_init(body.text))


@router.put(
    "/api/core/{section}/{key}", tags=["Core memory"], responses=document_errors("change", "body")
)
def set_core(memory: MemoryDep, section: SectionName, key: Key, body: CoreValue) -> CoreMemory:
    """Set one entry."""
    return CoreMemory.model_validate(memory.core_update(section, key, body.value))


@router.delete(
    "/api/core/{section}/{key}", tags=["Core memory"], responses=document_errors("one", "change")
)
def unset_core(memory: MemoryDep, section: SectionName, key: Key) -> CoreMemory:
    """Remove one entry."""
    return CoreMemory.model_validate(memory.core_delete(section, key))


@router.get("/api/documents", tags=["Documents"], responses=document_errors())
def list_documents(memory: MemoryDep) -> list[DocumentSource]:
    """The Markdown that is searched beside the memories."""
    return [DocumentSource.model_validate(one) for one in memory.list_document_sources()]


@router.post(
    "/api/documents",
    tags=["Documents"],
    status_code=201,
    responses=document_errors("change", "body"),
)
def add_documents(memory: MemoryDep, body: NewDocumentSource, request: Request) -> DocumentSource:
    """Search a Markdown file or folder from now on, if the server was started with a folder that it lies in."""
    path = resolve_allowed_path(body.path, request.app.state.config.document_folders)
    said = {name: value for name, value in body.given_fields().items() if name != "path"}
    return DocumentSource.model_validate(memory.index_path(path, **said))


@router.delete(
    "/api/documents",
    tags=["Documents"],
    status_code=204,
    responses=document_errors("one", "change"),
)
def forget_documents(memory: MemoryDep, asked: Annotated[DocumentSourceQuery, Query()]) -> None:
    """Search a file or folder no longer; the files stay as they are."""
    if asked.path not in {shelf.path for shelf in memory.list_document_sources()}:  # no other path is looked at
        raise HttpProblem(
            404,
            "document-not-found",
            "There is no such document",
            f"{asked.path!r} is not searched",
        )
    memory.forget_path(asked.path)


@router.post(
    "/api/extract",
    tags=["Extraction"],
    status_code=202,
    responses=document_errors("change", "body"),
)
def extract(memory: MemoryDep, body: Exchange) -> ExtractionAccepted:
    """Learn from an exchange, in the background: it is on the disk when this answers."""
    if not body.user_message.strip() and not body.assistant_response.strip():
        raise InvalidRequest("user_message", body.user_message, "one of the two must say something")
    if not memory.extract_and_save(**body.given_fields()):
        detail = "too many exchanges wait already, or the disk is full; the chat goes on without it"
        raise HttpProblem(503, "extraction-refused", "It cannot be taken now", detail)
    return ExtractionAccepted(accepted=True)


@router.post("/api/extract/preview", tags=["Extraction"], responses=document_errors("body"))
def preview_extraction(memory: MemoryDep, body: ExtractionPreview) -> list[ExtractedMemory]:
    """What of a talk is worth keeping. Nothing is stored."""
    talk = [
        model.Utterance(one.text, one.speaker, one.role, one.at, one.addressee)
        for one in body.messages
    ]
    return [ExtractedMemory.model_validate(one) for one in memory.extract(talk, mode=body.mode)]
