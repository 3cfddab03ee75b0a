"""J8 · A memory block of LlamaIndex."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from llama_index.core.llms import ChatMessage, MessageRole

from muisti import Muisti
from muisti.integrations.llama_index import MuistiMemoryBlock

from .examples import run_example


def test_J8_messages_that_leave_the_chat_are_recalled(opened: Any) -> None:
    messages = [
        ChatMessage("My dog is called Musti", role="user"),
        ChatMessage("Noted", role="assistant"),
        ChatMessage("a developer's rule", role=MessageRole.DEVELOPER),
        ChatMessage(role="assistant", blocks=[]),
    ]
    with opened(embedder="none") as memory:
        block = MuistiMemoryBlock(memory=memory, user="anna", project="pets")
        asyncio.run(block.aput(messages, from_short_term_memory=True, session_id="one"))
        said = [(one.role, one.content) for one in memory.window("llama-index_one")]
        assert [role for role, _ in said] == ["user", "assistant", "system"]
    with opened(embedder="none") as memory:
        question = [ChatMessage("What is my dog called?", role="user")]
        block = MuistiMemoryBlock(memory=memory, user="anna", project="pets")
        assert "My dog is called Musti" in asyncio.run(block.aget(question))
        other = MuistiMemoryBlock(memory=memory, user="bob", project="pets")
        assert "Musti" not in asyncio.run(other.aget(question))


def test_J8_memories_are_recalled_and_nothing_without_a_question(memory: Muisti) -> None:
    memory.save("We chose PostgreSQL as our database", kind="decision")
    block = MuistiMemoryBlock(memory=memory)
    assert "PostgreSQL" in asyncio.run(block.aget([ChatMessage("which database?", role="user")]))
    assert asyncio.run(block.aget([])) == ""
    assert asyncio.run(block.aget([ChatMessage("PostgreSQL", role="assistant")])) == ""


def test_J8_the_example_runs(vault: Path) -> None:
    assert any(
        "My dog is called Musti." in line
        for line in run_example("llama_index_memory.py", vault.parent)
    )
