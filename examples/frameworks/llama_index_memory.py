"""A LlamaIndex memory that recalls from a vault. Usage: `python llama_index_memory.py [VAULT]`.

Needs `pip install 'muisti[llama-index]'`. An agent takes it as `agent.run(…, memory=chat)`.
"""

import asyncio
import sys

from llama_index.core.llms import ChatMessage
from llama_index.core.memory import Memory

from muisti import Muisti
from muisti.integrations.llama_index import MuistiMemoryBlock


async def talk(memory: Muisti) -> None:
    """Say something, let it leave the short-term memory, and ask about it."""
    block = MuistiMemoryBlock(memory=memory, user="anna")
    chat = Memory.from_defaults(
        session_id="anna-1",
        memory_blocks=[block],
        tokenizer_fn=str.split,
        token_limit=60,
        token_flush_size=20,
    )
    await chat.aput(ChatMessage("My dog is called Musti.", role="user"))
    for number in range(8):
        await chat.aput(ChatMessage(f"Tell me joke number {number} about a cat", role="user"))
    await chat.aput(ChatMessage("What is my dog called?", role="user"))
    for message in await chat.aget():
        for line in (message.content or "").splitlines():
            if "Musti" in line:
                print(f"{message.role.value}: {line.strip()}")


if __name__ == "__main__":
    with Muisti.open(sys.argv[1] if sys.argv[1:] else "notes") as memory:
        asyncio.run(talk(memory))
