"""J8 · A memory service of Google's Agent Development Kit, beside its InMemoryMemoryService."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from google.adk.events import Event
from google.adk.memory import InMemoryMemoryService
from google.adk.memory.base_memory_service import BaseMemoryService
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.sessions import Session
from google.genai.types import Content, Part

from muisti import InvalidRequest, Muisti
from muisti.integrations.google_adk import MuistiMemoryService

from .examples import run_example


def say(id_: str, author: str, *texts: str) -> Event:
    role = "user" if author == "user" else "model"
    content = Content(role=role, parts=[Part(text=text) for text in texts])
    return Event(id=id_, author=author, content=content, timestamp=1_700_000_000.0)


EVENTS = [
    say("1", "user", "My dog is called Musti"),
    say("2", "assistant", "Musti is a fine name"),
    Event(id="3", author="assistant"),
    say("4", "user", "And my cat is called Mau"),
]


def search(service: BaseMemoryService, query: str, user: str = "anna", app: str = "pets") -> Any:
    found = asyncio.run(service.search_memory(app_name=app, user_id=user, query=query)).memories
    return [(entry.author, entry.content.parts[0].text) for entry in found]  # type: ignore[index]


@pytest.mark.parametrize("query", ["Musti", "cat", "elephants"])
def test_J8_what_the_service_in_memory_finds_comes_first(opened: Any, query: str) -> None:
    memory = opened(embedder="none")
    theirs, ours = InMemoryMemoryService(), MuistiMemoryService(memory)
    for service in (theirs, ours):
        for count in (2, 4):  # a session may be added several times
            session = Session(id="s1", app_name="pets", user_id="anna", events=EVENTS[:count])
            asyncio.run(service.add_session_to_memory(session))  # type: ignore[attr-defined]
    expected = search(theirs, query)
    found = search(ours, query)  # neighbours in the conversation follow
    assert set(found[: len(expected)]) == set(expected)
    assert bool(found) == bool(expected)
    for scope in ({"user": "bob"}, {"app": "shop"}):
        assert search(ours, query, **scope) == search(theirs, query, **scope) == []


def test_J8_an_entry_has_author_time_and_id(memory: Muisti) -> None:
    service = MuistiMemoryService(memory)
    scope = {"app_name": "pets", "user_id": "anna"}
    asyncio.run(service.add_events_to_memory(events=EVENTS, **scope))
    asyncio.run(
        service.add_memory(
            memories=[MemoryEntry(content=Content(parts=[Part(text="Anna likes birds")]))], **scope
        )
    )
    [bird] = asyncio.run(service.search_memory(query="likes birds", **scope)).memories[:1]
    assert bird.author == "ai"
    assert [one.trusted for one in memory.list()] == [False]
    [dog] = asyncio.run(service.search_memory(query="my dog is called", **scope)).memories[:1]
    assert dog.timestamp == "2023-11-14T22:13:20+00:00"
    for entry in (bird, dog):
        with pytest.raises(InvalidRequest, match="memory_id"):
            asyncio.run(service.delete_memory(app_name="pets", user_id="bob", memory_id=entry.id))
        asyncio.run(service.delete_memory(memory_id=entry.id, **scope))
    left = asyncio.run(service.search_memory(query="dog birds", **scope)).memories
    assert not {entry.id for entry in left} & {bird.id, dog.id}
    assert len(memory.list_trash()) == 1


@pytest.mark.parametrize("session", [None, "main"])
def test_J8_apps_and_users_have_sessions_of_their_own(memory: Muisti, session: str | None) -> None:
    service = MuistiMemoryService(memory)
    owners = {
        ("pets", "anna"): "My dog is called Musti",
        ("pets", "bob"): "My dog is called Rex",
        ("zoo", "anna"): "My dog is called Fido",
    }
    for (app, user), text in owners.items():
        scope = {"app_name": app, "user_id": user, "session_id": session}
        asyncio.run(service.add_events_to_memory(events=[say("1", "user", text)], **scope))
    for (app, user), text in owners.items():
        assert search(service, "dog", user, app) == [("user", text)]


def test_J8_the_example_runs(vault: Path) -> None:
    assert run_example("google_adk_memory.py", vault.parent) == ["user: My dog is called Musti."]
