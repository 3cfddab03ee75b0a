"""CrewAI with its memory in a vault. Usage: `python crewai_memory.py VAULT`.

Needs `pip install 'muisti[crewai]'`. A crew takes the memory as `memory=`. A real one has a model
instead of `Silent`, which then finds scope, categories and importance, too.
"""

import os
import sys
from typing import Any

os.environ["CREWAI_DISABLE_TELEMETRY"] = os.environ["OTEL_SDK_DISABLED"] = "true"

from crewai import BaseLLM
from crewai.memory import Memory

from muisti import Muisti
from muisti.integrations.crewai import MuistiStorage


class Silent(BaseLLM):
    """A model that is not asked: the calls below say all that it would be asked for."""

    def call(self, *_: Any, **__: Any) -> str:
        """Return an answer."""
        return ""


if __name__ == "__main__":
    with Muisti.open(sys.argv[1]) as vault:
        storage = MuistiStorage(vault, project="pets", user="anna")
        memory = Memory(storage=storage, embedder=storage.embed, llm=Silent(model="silent"))
        known: dict[str, Any] = {"scope": "/dogs", "categories": ["names"], "importance": 0.8}
        memory.remember("My dog is called Musti.", **known)
        for match in memory.recall("What is my dog called?", depth="shallow"):
            print(f"{match.record.scope}: {match.record.content}")
        memory.close()
