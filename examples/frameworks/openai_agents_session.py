"""An OpenAI agent with its history in a vault. Usage: `python openai_agents_session.py [VAULT]`.

Needs `pip install 'muisti[openai-agents]'`. A real agent uses a model; `Echo` repeats its input.
"""

import asyncio
import sys
from typing import Any

from openai.types.responses import ResponseOutputMessage, ResponseOutputText

from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage
from muisti import Muisti
from muisti.integrations.openai_agents import MuistiSession


class Echo(Model):
    """Replies with everything that the user said."""

    async def get_response(self, system_instructions: Any, input: Any, *_: Any, **__: Any) -> Any:
        """Return a message."""
        said = " ".join(item["content"] for item in input if item.get("role") == "user")
        text = ResponseOutputText(type="output_text", text=f"I heard: {said}", annotations=[])
        message: Any = {"id": "1", "role": "assistant", "type": "message", "status": "completed"}
        return ModelResponse([ResponseOutputMessage(content=[text], **message)], Usage(), None)

    def stream_response(self, *_: Any, **__: Any) -> Any:
        """Not used."""


if __name__ == "__main__":
    agent, config = Agent("assistant", model=Echo()), RunConfig(tracing_disabled=True)
    with Muisti.open(sys.argv[1] if sys.argv[1:] else "notes") as memory:
        session = MuistiSession("anna-1", memory, user="anna")
        for text in ("My dog is called Musti.", "What is my dog called?"):
            run = Runner.run(agent, text, session=session, run_config=config)
            print(asyncio.run(run).final_output)
        print(
            "found:", memory.search_messages("dog is called Musti", user="anna")[0].memory.content
        )
