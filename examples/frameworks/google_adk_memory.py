"""Google's ADK with its memory in a vault. Usage: `python google_adk_memory.py [VAULT]`.

Needs `pip install 'muisti[google-adk]'`. A runner takes the service as `memory_service=`.
"""

import asyncio
import sys

from google.adk.events import Event
from google.adk.sessions import InMemorySessionService
from google.genai.types import Content, Part

from muisti import Muisti
from muisti.integrations.google_adk import MuistiMemoryService


async def talk(memory: Muisti) -> None:
    """Add a session to the memory, and search for what was said in it."""
    sessions, service = InMemorySessionService(), MuistiMemoryService(memory)
    session = await sessions.create_session(app_name="pets", user_id="anna")
    said = Content(role="user", parts=[Part(text="My dog is called Musti.")])
    await sessions.append_event(session, Event(author="user", content=said))
    await service.add_session_to_memory(session)
    found = await service.search_memory(app_name="pets", user_id="anna", query="dog called")
    for entry in found.memories:
        print(f"{entry.author}: {(entry.content.parts or [])[0].text}")


if __name__ == "__main__":
    with Muisti.open(sys.argv[1] if sys.argv[1:] else "notes") as memory:
        asyncio.run(talk(memory))
