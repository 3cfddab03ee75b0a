"""J8 · A Pydantic AI agent with a memory."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

from pydantic_ai import Agent, ModelMessage, ModelRequest, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from muisti import Muisti
from muisti.integrations.pydantic_ai import MuistiToolset

from .examples import run_example


class Model:
    """Calls one tool, and keeps what it was told."""

    def __init__(self, tool: str, **arguments: Any) -> None:
        self.tool, self.arguments = tool, arguments
        self.instructions: list[str] = []
        self.told: list[str] = []

    def __call__(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        last = messages[-1]
        assert isinstance(last, ModelRequest)
        self.instructions.append(info.instructions or "")
        assert {tool.name for tool in info.function_tools} == {"search_memory", "save_memory"}
        if len(messages) == 1:
            return ModelResponse([ToolCallPart(self.tool, self.arguments)])
        self.told.append(str(last.parts[-1].content))  # type: ignore[union-attr]
        return ModelResponse([TextPart("done")])


def ask(memory: Muisti, model: Model, prompt: str, **options: Any) -> None:
    agent = Agent(FunctionModel(model), toolsets=[MuistiToolset(memory, **options)])
    assert asyncio.run(agent.run(prompt)).output == "done"


def test_J8_tools_save_and_search_within_the_scope(memory: Muisti) -> None:
    model = Model("save_memory", text="Anna's dog is called Musti")
    ask(memory, model, "Hello", user="anna", project="pets")
    assert model.told == ["Saved: Anna's dog is called Musti"]
    [saved] = memory.list()
    assert (saved.user, saved.project, saved.source) == ("anna", "pets", "ai")
    assert not saved.trusted
    model = Model("search_memory", query="dog")
    ask(memory, model, "Hello", user="anna", project="pets")
    assert re.fullmatch(r"- \d{4}-\d\d-\d\d: Anna's dog is called Musti", model.told[0])
    ask(memory, model, "Hello", user="bob", project="pets")
    assert model.told[1] == "No matching memories."


def test_J8_what_is_known_about_the_prompt_is_in_the_instructions(memory: Muisti) -> None:
    memory.save("Anna's dog is called Musti", user="anna")
    model = Model("search_memory", query="dog")
    ask(memory, model, "What is the dog called?", user="anna")
    assert "Musti" in model.instructions[0]
    model = Model("search_memory", query="dog")
    ask(memory, model, "What is the dog called?", user="anna", recall=False)
    assert "Musti" not in model.instructions[0]


def test_J8_the_model_is_told_what_is_wrong_with_a_call(memory: Muisti) -> None:
    model = Model("save_memory", text=" ")
    ask(memory, model, "Hello")
    assert "content must not be empty" in model.told[0]
    assert not memory.list()


def test_J8_the_example_runs(vault: Path) -> None:
    first, second = run_example("pydantic_ai_memory.py", vault.parent)
    assert first == "Saved: My dog is called Musti."
    assert second.endswith("My dog is called Musti.")
