"""What is said, what is always known, what is written elsewhere, and what a talk teaches."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request

from muisti import model
from muisti.errors import InvalidRequest
from muisti.surfaces.rest.concurrency import Lane
from muisti.surfaces.rest.dependencies import Asking, Id
from muisti.surfaces.rest.folders import allowed_path
from muisti.surfaces.rest.problems import Refused, may_fail
from muisti.surfaces.rest.schemas_conversations import (
    Accepted,
    Chat,
    Core,
    CoreText,
    CoreValue,
    Exchange,
    Extracted,
    Message,
    NewMessage,
    NewShelf,
    SectionName,
    Shelf,
    ShelfQuery,
    Talk,
    WindowQuery,
)

router = APIRouter(route_class=Lane)
Key = Annotated[str, Path(min_length=1, max_length=100)]


@router.get("/api/chats", tags=["Conversations"], responses=may_fail())
def list_chats(memory: Asking) -> list[Chat]:
    """All conversations, the latest first."""
    return [Chat.model_validate(one) for one in memory.list_conversations()]


@router.get("/api/chats/{chat}/messages", tags=["Conversations"], responses=may_fail("one"))
def chat_window(memory: Asking, chat: Id, asked: Annotated[WindowQuery, Query()]) -> list[Message]:
    """The latest messages since the last break, in their order."""
    return [Message.model_validate(one) for one in memory.window(chat, asked.limit)]


@router.post(
    "/api/chats/{chat}/messages",
    tags=["Conversations"],
    status_code=201,
    responses=may_fail("change", "body"),
)
def append_message(memory: Asking, chat: Id, body: NewMessage) -> Message:
    """Write down what was said in a chat, such as `telegram_123456`."""
    return Message.model_validate(memory.append_message(chat, **body.given_fields()))


@router.post(
    "/api/chats/{chat}/break", tags=["Conversations"], status_code=201, responses=may_fail("change")
)
def session_break(memory: Asking, chat: Id) -> Message:
    """Begin a new talk: the window shows what follows."""
    return Message.model_validate(memory.session_break(chat))


@router.get("/api/core", tags=["Core memory"], responses=may_fail(also=[409]))
def get_core(memory: Asking) -> Core:
    """Both sections."""
    return Core.model_validate(memory.core_get())


@router.post("/api/core", tags=["Core memory"], responses=may_fail("change", "body"))
def fill_core(memory: Asking, body: CoreText) -> Core:
    """Fill the section `user`, if it is empty, from a text like that of a USER.md."""
    return Core.model_validate(memory.core_init(body.text))


@router.put("/api/core/{section}/{key}", tags=["Core memory"], responses=may_fail("change", "body"))
def set_core(memory: Asking, section: SectionName, key: Key, body: CoreValue) -> Core:
    """Set one entry."""
    return Core.model_validate(memory.core_update(section, key, body.value))


@router.delete(
    "/api/core/{section}/{key}", tags=["Core memory"], responses=may_fail("one", "change")
)
def unset_core(memory: Asking, section: SectionName, key: Key) -> Core:
    """Remove one entry."""
    return Core.model_validate(memory.core_delete(section, key))


@router.get("/api/documents", tags=["Documents"], responses=may_fail())
def list_documents(memory: Asking) -> list[Shelf]:
    """The Markdown that is searched beside the memories."""
    return [Shelf.model_validate(one) for one in memory.list_document_sources()]


@router.post(
    "/api/documents", tags=["Documents"], status_code=201, responses=may_fail("change", "body")
)
def add_documents(memory: Asking, body: NewShelf, request: Request) -> Shelf:
    """Search a Markdown file or folder from now on, if the server was started with a folder that it lies in."""
    path = allowed_path(body.path, request.app.state.serving.document_folders)
    said = {name: value for name, value in body.given_fields().items() if name != "path"}
    return Shelf.model_validate(memory.index_path(path, **said))


@router.delete(
    "/api/documents", tags=["Documents"], status_code=204, responses=may_fail("one", "change")
)
def forget_documents(memory: Asking, asked: Annotated[ShelfQuery, Query()]) -> None:
    """Search a file or folder no longer; the files stay as they are."""
    if asked.path not in {
        shelf.path for shelf in memory.list_document_sources()
    }:  # no other path is looked at
        raise Refused(
            404,
            "document-not-found",
            "There is no such document",
            f"{asked.path!r} is not searched",
        )
    memory.forget_path(asked.path)


@router.post(
    "/api/extract", tags=["Extraction"], status_code=202, responses=may_fail("change", "body")
)
def extract(memory: Asking, body: Exchange) -> Accepted:
    """Learn from an exchange, in the background: it is on the disk when this answers."""
    if not body.user_message.strip() and not body.assistant_response.strip():
        raise InvalidRequest("user_message", body.user_message, "one of the two must say something")
    if not memory.extract_and_save(**body.given_fields()):
        detail = "too many exchanges wait already, or the disk is full; the chat goes on without it"
        raise Refused(503, "extraction-refused", "It cannot be taken now", detail)
    return Accepted(accepted=True)


@router.post("/api/extract/preview", tags=["Extraction"], responses=may_fail("body"))
def preview_extraction(memory: Asking, body: Talk) -> list[Extracted]:
    """What of a talk is worth keeping. Nothing is stored."""
    talk = [
        model.Utterance(one.text, one.speaker, one.role, one.at, one.addressee)
        for one in body.messages
    ]
    return [Extracted.model_validate(one) for one in memory.extract(talk, mode=body.mode)]
