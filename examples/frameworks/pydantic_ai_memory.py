"""A Pydantic AI agent with a memory. Usage: `python pydantic_ai_memory.py [VAULT]`.

Needs `pip install 'muisti[pydantic-ai]'`. A real agent uses a model instead of `decide`.
"""

import sys

from pydantic_ai import Agent, ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from muisti import Muisti
from muisti.integrations.pydantic_ai import MuistiToolset


def decide(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
    """Save a statement; look up a question, and answer with what was found."""
    last = messages[-1].parts[-1]
    if isinstance(last, ToolReturnPart):
        return ModelResponse([TextPart(str(last.content))])
    said = str(last.content) if hasattr(last, "content") else ""
    if said.endswith("?"):
        return ModelResponse([ToolCallPart("search_memory", {"query": said})])
    return ModelResponse([ToolCallPart("save_memory", {"text": said})])


if __name__ == "__main__":
    with Muisti.open(sys.argv[1] if sys.argv[1:] else "notes") as memory:
        agent = Agent(FunctionModel(decide), toolsets=[MuistiToolset(memory, user="anna")])
        for text in ("My dog is called Musti.", "What is my dog called?"):
            print(agent.run_sync(text).output)
